# SPDX-License-Identifier: Apache-2.0
"""TenSEAL, SEAL, OpenFHE or Pyfhel for Python on one row of the side-by-side benchmark; prints one JSON object.

Usage: libraries.py LIBRARY TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS, with the number of elements and
then the vectors x, y and z on standard input, one number a line, or for the table of programs those. Bits are a comma-separated list, or `-` for the
library's own choice; N = 0 likewise. OMP_NUM_THREADS sets OpenFHE's threads.
"""

import importlib
import json
import statistics
import sys
import time

import programs
from engines import Case, OpenFhe, SealPython, TenSeal
from pyfhel_engine import PyFhel

# What takes longer than this many milliseconds is repeated only so often.
SLOW_MS, FEW = 100.0, 5

# By the name that is imported.
LIBRARIES = {"tenseal": TenSeal, "seal": SealPython, "openfhe": OpenFhe, "Pyfhel": PyFhel}


class Laps:
    """What was timed, by name."""

    def __init__(self, repetitions):
        self.times, self.repetitions = {}, repetitions

    def push(self, name, start):
        """Ends a lap that began at `start`; its milliseconds."""
        ms = (time.perf_counter() - start) * 1e3
        self.times.setdefault(name, []).append(ms)
        return ms

    def is_enough(self, done, last_ms):
        """Whether `done` repetitions are enough."""
        return done >= self.repetitions or (done >= FEW and last_ms > SLOW_MS)

    def time(self, name, work):
        """Repeats an operation, after one that is not counted; its last result."""
        work()
        while True:
            start = time.perf_counter()
            last = work()
            if self.is_enough(len(self.times.get(name, [])) + 1, self.push(name, start)):
                return last

    def result(self):
        """Repetitions and medians."""
        medians = {name: statistics.median(times) for name, times in self.times.items()}
        return {"repetitions": min(map(len, self.times.values())), "times_ms": medians}


def workload(adapter, case, x, y, z):
    """y * (x + z), phase by phase."""
    laps = Laps(case.repetitions)
    while True:
        start = time.perf_counter()
        engine = adapter(case)
        laps.push("parameters", start)
        at = time.perf_counter()
        engine.keys(case.is_public, [])
        laps.push("keys", at)
        at = time.perf_counter()
        cx, cy, cz = engine.encrypt(x), engine.encrypt(y), engine.encrypt(z)
        laps.push("encrypt", at)
        at = time.perf_counter()
        result = engine.multiply(cy, engine.add(cx, cz))
        laps.push("evaluate", at)
        at = time.perf_counter()
        values = engine.decrypt(result, len(x))
        laps.push("decrypt", at)
        if laps.is_enough(len(laps.times["keys"]), laps.push("total", start)):
            return {**engine.describe(cx), **laps.result(), "values": {"result": values}}


def primitives(adapter, case, x, y, _z):
    """One operation at a time; those that the library does not offer are left out."""
    laps, engine = Laps(case.repetitions), adapter(case)
    engine.keys(True, [1])
    cx, cy = laps.time("encrypt_public", lambda: engine.encrypt(x)), engine.encrypt(y)
    if hasattr(engine, "encrypt_secret"):
        laps.time("encrypt_secret", lambda: engine.encrypt_secret(x))
    values = {"decrypted": laps.time("decrypt", lambda: engine.decrypt(cx, len(x)))}
    values["product"] = engine.decrypt(laps.time("multiply", lambda: engine.multiply_down(cx, cy)), len(x))
    if hasattr(engine, "rotate"):
        values["rotated"] = engine.decrypt(laps.time("rotate", lambda: engine.rotate(cx)), len(x) - 1)
    return {**engine.describe(cx), **laps.result(), "values": values}


def peak_mb():
    """Peak resident megabytes of this process."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def main():
    """Measures the row of the command line."""
    library, case = sys.argv[1], Case(sys.argv[2:])
    if library not in LIBRARIES:
        sys.exit(f"no adapter to {library}")
    # Before anything is timed.
    importlib.import_module(library)
    if case.table == "programs":
        answer = programs.run(LIBRARIES[library], case, sys.stdin.read())
    else:
        numbers = [int(line) for line in sys.stdin]
        count = numbers[0]
        vectors = [numbers[1 + i * count : 1 + (i + 1) * count] for i in range(3)]
        measure = workload if case.table == "workload" else primitives
        answer = measure(LIBRARIES[library], case, *vectors)
    answer["values"] = {name: [float(value) for value in values] for name, values in answer["values"].items()}
    print(json.dumps({**answer, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
