#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimates the security of every named parameter set with the Lattice Estimator, and prints the table of docs/security/parameters.md.

The estimator (https://github.com/malb/lattice-estimator) needs Sage, or the part of it that pip installs:

    python3 -m venv sage && sage/bin/pip install passagemath-standard-no-symbolics passagemath-symbolics passagemath-plot
    git clone https://github.com/malb/lattice-estimator && git -C lattice-estimator checkout 27a581bb
    PYTHONPATH=lattice-estimator sage/bin/python tools/estimate.py             # the sets and chains: some ten minutes
    PYTHONPATH=lattice-estimator sage/bin/python tools/estimate.py --lab       # those of the laboratory: a minute

The sets come from the code (``cargo run -p hush-params --example sets``). ``--check`` compares the table in the documentation with what
the estimator says, and fails where they differ by more than a tenth of a bit. A test of ``hush-params`` compares the table with the code.
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


def sets(crate):
    """Name, code, dimension and modulus of each set that a crate names."""
    command = ["cargo", "run", "-q", "--locked", "-p", crate, "--example", "sets"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        name, code, dimension, primes = line.split()
        yield name, int(code), int(dimension), math.prod(map(int, primes.split(",")))


@functools.cache
def estimate(dimension, modulus_log2, secret_is_ternary):
    """log2 of the operations of each attack, with as many samples as it wants. Only the size of the modulus matters."""
    from estimator import LWE, ND, RC
    from sage.all import oo

    error = ND.CenteredBinomial(21)
    secret = ND.Uniform(-1, 1) if secret_is_ternary else error
    modulus = math.ceil(2 ** (modulus_log2 % 1 + 40)) * 2 ** math.floor(modulus_log2) // 2**40
    instance = LWE.Parameters(n=dimension, q=modulus, Xs=secret, Xe=error, m=oo)
    attacks = (LWE.primal_usvp, LWE.primal_bdd, LWE.dual_hybrid)
    return [math.log2(attack(instance, red_cost_model=RC.MATZOV)["rop"]) for attack in attacks]


def down(bits):
    """Two digits, rounded down: a label never says more than the estimate."""
    return f"{math.floor(bits * 100) / 100:.2f}"


def published():
    """The figures of the page, by code of the set."""
    rows = re.findall(r"^\| `\w+` \| (\d+) \| \d+ \| [\d.]+ \|((?: [\d.]+ \|){3})", PAGE.read_text(), re.M)
    return {int(code): [float(cell) for cell in cells.split("|")[:-1]] for code, cells in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lab", action="store_true", help="the sets of the laboratory (LWE with secrets like errors)")
    parser.add_argument("--check", action="store_true", help="compare with the page")
    parser.add_argument("--only", default="", help="sets whose name contains this")
    arguments = parser.parse_args()
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
        label = 0 if arguments.lab and code == 42 else code if arguments.lab else int(re.search(r"_sec(\d+)_", name)[1])
        if min(figures) < label:
            wrong.append(f"{name}: {down(min(figures))} bits, labelled {label}")
        if arguments.check and not arguments.lab:
            there = known.get(code, [])
            if len(there) != 3 or any(abs(a - b) > 0.1 for a, b in zip(there, figures)):
                wrong.append(f"{name}: the page says {there}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
