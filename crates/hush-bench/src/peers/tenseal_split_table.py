# SPDX-License-Identifier: Apache-2.0
"""TenSEAL on the split-table workload, in one of four ways; prints one JSON object.

Usage: python3 - WAY ROWS NAIVE_SECONDS, with the table's columns as little-endian int64 on standard input.

naive   the thesis's own way: CKKS, N = 8192, [60, 40, 40, 60], scale 2^40, Galois keys, a fresh context and one
        ciphertext per cell, the 4 sensitive columns; stops after NAIVE_SECONDS and extrapolates, marked so
packed  4096 slots, `.sum()` by rotations, the 4 sensitive columns
added   packed, no Galois keys, the owner adds the decrypted slots
tuned   as added, on the smallest ring that holds the sums: N = 4096, [60, 40], secret key, scale 2^30
"""

import json
import resource
import sys
import time

import tenseal as ts

COLUMNS, SENSITIVE, SLOTS, TUNED_SLOTS = 8, 4, 4096, 2048


def context(galois):
    """A CKKS context as in the thesis."""
    made = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
    made.global_scale = 2**40
    if galois:
        made.generate_galois_keys()
    return made


def naive(columns, budget):
    """One ciphertext per cell, a running sum."""
    total, done, sums = sum(map(len, columns)), 0, []
    start = time.perf_counter()
    for values in columns:
        keys = context(galois=True)
        running = None
        for value in values:
            cell = ts.ckks_vector(keys, [value])
            running = cell if running is None else running + cell
            done += 1
            if time.perf_counter() - start > budget:
                spent = time.perf_counter() - start
                return spent * total / done, None, done / total
        sums.append(running.decrypt()[0])
    return time.perf_counter() - start, sums, 1.0


def packed(columns, _budget):
    """Packed, sums by rotation on the ciphertexts."""
    start = time.perf_counter()
    keys = context(galois=True)
    sums = []
    for values in columns:
        parts = [ts.ckks_vector(keys, values[i : i + SLOTS]).sum() for i in range(0, len(values), SLOTS)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        sums.append(total.decrypt()[0])
    return time.perf_counter() - start, sums, 1.0


def added(columns, _budget):
    """The thesis's parameters without Galois keys: ciphertexts are added and the owner adds the slots."""
    start = time.perf_counter()
    sums = sums_of_slots(context(galois=False), SLOTS, columns)
    return time.perf_counter() - start, sums, 1.0


def tuned(columns, _budget):
    """One level, half the ring, and the secret key, whose ciphertexts carry a seed for half of them."""
    start = time.perf_counter()
    keys = ts.context(
        ts.SCHEME_TYPE.CKKS,
        2 * TUNED_SLOTS,
        coeff_mod_bit_sizes=[60, 40],
        encryption_type=ts.ENCRYPTION_TYPE.SYMMETRIC,
    )
    keys.global_scale = 2**30
    sums = sums_of_slots(keys, TUNED_SLOTS, columns)
    return time.perf_counter() - start, sums, 1.0


def sums_of_slots(keys, slots, columns):
    """Sums of columns whose ciphertexts are added slot by slot; the owner adds the slots."""
    sums = []
    for values in columns:
        full = len(values) - len(values) % slots
        total = None
        for i in range(0, full, slots):
            part = ts.ckks_vector(keys, values[i : i + slots])
            total = part if total is None else total + part
        result = sum(total.decrypt()) if total is not None else 0.0
        if full < len(values):
            result += sum(ts.ckks_vector(keys, values[full:]).decrypt())
        sums.append(result)
    return sums


def usage():
    """CPU seconds and context switches so far, children included."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return cpu, own.ru_nvcsw + children.ru_nvcsw, own.ru_nivcsw + children.ru_nivcsw, own.ru_maxrss / 1024


def main():
    """Runs the way named first."""
    way, rows, budget = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    data = memoryview(sys.stdin.buffer.read()).cast("q")
    columns = [[float(v) for v in data[c * rows : (c + 1) * rows]] for c in range(COLUMNS)]
    used = columns[:SENSITIVE]
    before = usage()
    seconds, sums, fraction = {"naive": naive, "packed": packed, "added": added, "tuned": tuned}[way](used, budget)
    after = usage()
    expected = [sum(values) for values in used]
    print(json.dumps({
        "way": way,
        "version": ts.__version__,
        "wall_s": seconds,
        "cpu_s": (after[0] - before[0]) / fraction,
        "voluntary_switches": round((after[1] - before[1]) / fraction),
        "involuntary_switches": round((after[2] - before[2]) / fraction),
        "peak_mb": after[3],
        "sampled_fraction": fraction,
        "max_error": max(abs(a - b) for a, b in zip(sums, expected)) if sums else None,
    }))


if __name__ == "__main__":
    main()
