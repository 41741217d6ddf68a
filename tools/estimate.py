#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimates the security of every named parameter set with the Lattice Estimator, and prints the table of docs/security/parameters.md.

The estimator (https://github.com/malb/lattice-estimator) needs Sage, or the part of it that pip installs:

    python3 -m venv sage && sage/bin/pip install passagemath-standard-no-symbolics passagemath-symbolics passagemath-plot
    git clone https://github.com/malb/lattice-estimator && git -C lattice-estimator checkout 27a581bb
    PYTHONPATH=lattice-estimator sage/bin/python tools/estimate.py             # the sets and chains: some ten minutes
    PYTHONPATH=lattice-estimator sage/bin/python tools/estimate.py --lab       # those of the laboratory: a minute
    PYTHONPATH=lattice-estimator sage/bin/python tools/estimate.py --tfhe      # those of TFHE: a minute
    PYTHONPATH=lattice-estimator sage/bin/python tools/estimate.py --bootstrapping  # those of CKKS bootstrapping: a quarter of an hour

The sets come from the code (``cargo run -p hush-params --example sets``, and ``tfhe_sets``, ``bootstrap_sets``). ``--check`` compares the
table in the documentation with what the estimator says, and fails where they differ by more than a tenth of a bit. A test of
``hush-params`` compares the table with the code.
"""

import argparse
import functools
import math
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/security/parameters.md"
ATTACKS = ("uSVP", "BDD", "dual hybrid")
SPARSE_ATTACKS = ("primal hybrid", "with meet-in-the-middle", "dual hybrid", "with meet-in-the-middle")


def printed(crate, example):
    """The words of each line that an example prints."""
    command = ["cargo", "run", "-q", "--locked", "-p", crate, "--example", example]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split() for line in lines]


def sets(crate):
    """Name, code, dimension and modulus of each set that a crate names."""
    for name, code, dimension, primes in printed(crate, "sets"):
        yield name, int(code), int(dimension), math.prod(map(int, primes.split(",")))


def tfhe_instances():
    """Name, dimension, modulus, secret and error of the two problems behind each set of TFHE."""
    from estimator import ND

    for name, _, *numbers in printed("hush-params", "tfhe_sets"):
        small, noise_bits, rank, degree, prime = map(int, numbers)
        yield name, "small", small, 2**32, ND.Uniform(0, 1), ND.TUniform(noise_bits)
        yield name, "ring", rank * degree, prime, ND.Uniform(-1, 1), ND.CenteredBinomial(21)


def operations(dimension, modulus, secret, error):
    """log2 of the operations of each attack, with as many samples as it wants."""
    from estimator import LWE, RC
    from sage.all import oo

    instance = LWE.Parameters(n=dimension, q=modulus, Xs=secret, Xe=error, m=oo)
    attacks = (LWE.primal_usvp, LWE.primal_bdd, LWE.dual_hybrid)
    return [math.log2(attack(instance, red_cost_model=RC.MATZOV)["rop"]) for attack in attacks]


@functools.cache
def estimate(dimension, modulus_log2, secret_is_ternary):
    """The operations for a ring with errors as everywhere. Only the size of the modulus matters."""
    from estimator import ND

    error = ND.CenteredBinomial(21)
    secret = ND.Uniform(-1, 1) if secret_is_ternary else error
    modulus = math.ceil(2 ** (modulus_log2 % 1 + 40)) * 2 ** math.floor(modulus_log2) // 2**40
    return operations(dimension, modulus, secret, error)


def down(bits):
    """Two digits, rounded down: a label never says more than the estimate."""
    return f"{math.floor(bits * 100) / 100:.2f}"


def published():
    """The figures of the page, by code of the set."""
    rows = re.findall(r"^\| `\w+` \| (\d+) \| \d+ \| [\d.]+ \|((?: [\d.]+ \|){3})", PAGE.read_text(), re.M)
    return {int(code): [float(cell) for cell in cells.split("|")[:-1]] for code, cells in rows}


def label_of(name):
    """The bits that a name promises."""
    return int(re.search(r"_sec(\d+)_", name)[1])


def tfhe(only):
    """Prints the table of the sets of TFHE, and returns what is wrong."""
    wrong = []
    print(f"| set | instance | dimension | log2 q | log2 of the relative deviation | {' | '.join(ATTACKS)} | smallest |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, which, dimension, modulus, secret, error in tfhe_instances():
        if only not in name:
            continue
        began = time.monotonic()
        figures = operations(dimension, modulus, secret, error)
        sizes = [down(math.log2(modulus)), down(math.log2(error.stddev / modulus))]
        cells = [f"`{name}`", which, str(dimension), *sizes, *map(down, figures), down(min(figures))]
        print("|", " | ".join(cells), "|", flush=True)
        print(f"{name}, {which}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        if min(figures) < label_of(name):
            wrong.append(f"{name}, {which}: {down(min(figures))} bits, labelled {label_of(name)}")
    return wrong


def sparse_operations(degree, modulus, weight):
    """log2 of the operations of each attack that guesses where a sparse secret is zero."""
    from estimator import LWE, ND, RC, lwe_dual, prob
    from sage.all import oo

    # The same chances are asked for thousands of times.
    prob.drop = lwe_dual.prob_drop = functools.cache(getattr(prob.drop, "__wrapped__", prob.drop))
    error, half = ND.CenteredBinomial(21), weight // 2
    instance = LWE.Parameters(n=degree, q=modulus, Xs=ND.SparseTernary(half, half), Xe=error, m=oo)
    attacks = (
        functools.partial(LWE.primal_hybrid, mitm=False, babai=False),
        functools.partial(LWE.primal_hybrid, mitm=True, babai=True),
        lwe_dual.dual_hybrid,
        functools.partial(lwe_dual.dual_hybrid, mitm_optimization=True),
    )
    return [math.log2(attack(instance, red_cost_model=RC.MATZOV)["rop"]) for attack in attacks]


def bootstrapping(only):
    """Prints the tables of the sets for bootstrapping, dense secrets and sparse ones, and returns what is wrong."""
    wrong, lines = [], {"dense": [ATTACKS], "sparse": [SPARSE_ATTACKS]}
    for name, _, degree, weight, dense, sparse in printed("hush-params", "bootstrap_sets"):
        if only not in name:
            continue
        product = [math.prod(map(int, primes.split(","))) for primes in (dense, sparse)]
        figures = {
            "dense": estimate(int(degree), round(math.log2(product[0]), 3), True),
            "sparse": sparse_operations(int(degree), product[1], int(weight)),
        }
        for (which, bits), modulus in zip(figures.items(), product):
            cells = [f"`{name}`", degree, down(math.log2(modulus)), *map(down, bits), down(min(bits))]
            lines[which].append(cells)
            if min(bits) < label_of(name):
                wrong.append(f"{name}, {which}: {down(min(bits))} bits, labelled {label_of(name)}")
    for which, (attacks, *rows) in lines.items():
        heads = ["set", "N", f"log2 q, {which} secret", *attacks, "smallest"]
        print("|", " | ".join(heads), "|")
        print("|" + "---|" * len(heads))
        for cells in rows:
            print("|", " | ".join(cells), "|", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lab", action="store_true", help="the sets of the laboratory (LWE with secrets like errors)")
    parser.add_argument("--tfhe", action="store_true", help="the sets of TFHE")
    parser.add_argument("--bootstrapping", action="store_true", help="the sets for CKKS bootstrapping")
    parser.add_argument("--check", action="store_true", help="compare with the page")
    parser.add_argument("--only", default="", help="sets whose name contains this")
    arguments = parser.parse_args()
    if arguments.tfhe:
        sys.exit("\n".join(tfhe(arguments.only)) or None)
    if arguments.bootstrapping:
        sys.exit("\n".join(bootstrapping(arguments.only)) or None)
    known, wrong = published(), []
    print(f"| set | code | N | log2 Q | {' | '.join(ATTACKS)} | smallest |\n|---|---|---|---|---|---|---|---|")
    for name, code, dimension, modulus in sets("hush-lab" if arguments.lab else "hush-params"):
        if arguments.only not in name:
            continue
        began = time.monotonic()
        figures = estimate(dimension, round(math.log2(modulus), 3), not arguments.lab)
        cells = [f"`{name}`", str(code), str(dimension), down(math.log2(modulus)), *map(down, figures), down(min(figures))]
        print("|", " | ".join(cells), "|", flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        label = 0 if arguments.lab and code == 42 else code if arguments.lab else label_of(name)
        if min(figures) < label:
            wrong.append(f"{name}: {down(min(figures))} bits, labelled {label}")
        if arguments.check and not arguments.lab:
            there = known.get(code, [])
            if len(there) != 3 or any(abs(a - b) > 0.1 for a, b in zip(there, figures)):
                wrong.append(f"{name}: the page says {there}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
