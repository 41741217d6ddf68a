# SPDX-License-Identifier: Apache-2.0
"""Random programs: read, run in a library, and what the library gave; the semantics are in the crate, libraries/programs.rs.

A program is a seed, a depth, inputs, clear vectors and steps `(name, value, operand)`. Inputs are the first values, and each step
makes the next one.
"""

import time


class Program:
    """One program."""

    def __init__(self, words, degree):
        if next(words) != "program":
            raise ValueError("expected a program")
        self.seed, self.depth, inputs, clears, steps = (int(next(words)) for _ in range(5))
        vectors = [[int(next(words)) for _ in range(degree)] for _ in range(inputs + clears)]
        self.inputs, self.clears = vectors[:inputs], vectors[inputs:]
        self.steps = [(next(words), int(next(words)), int(next(words))) for _ in range(steps)]

    def rotations(self):
        """How far it rotates, each once."""
        return sorted({places for name, _, places in self.steps if name == "rotate"})


def read(text):
    """The programs of a batch."""
    words = iter(text.split())
    if next(words) != "programs":
        raise ValueError("expected programs")
    count, degree = int(next(words)), int(next(words))
    return [Program(words, degree) for _ in range(count)]


def result(engine, program, slots):
    """The last value's ciphertext, and one of an input."""
    values = [engine.encrypt(vector[:slots]) for vector in program.inputs]
    clears = [vector[:slots] for vector in program.clears]
    for name, a, b in program.steps:
        operation, value = getattr(engine, METHODS[name]), values[a]
        if name == "neg":
            values.append(operation(value))
        elif name == "rotate":
            values.append(operation(value, b))
        else:
            values.append(operation(value, (clears if name.endswith("_clear") else values)[b]))
    return values[-1], values[0]


def run(adapter, case, text):
    """Runs every program whose steps the library offers."""
    batch, start = read(text), time.perf_counter()
    case.depth = max((program.depth for program in batch), default=0)
    slots = case.degree // (2 if case.is_ckks else 1)
    engine, fresh, values, left_out = adapter(case), None, {}, {}
    for index, program in enumerate(batch):
        missing = sorted({name for name, _, _ in program.steps if not hasattr(engine, METHODS[name])})
        if missing:
            left_out[str(index)] = f"no {' and '.join(missing)}"
            continue
        engine.keys(True, program.rotations())
        last, fresh = result(engine, program, slots)
        values[str(index)] = engine.decrypt(last, slots)
    if fresh is None:
        raise ValueError("no program of which every step is offered")
    times = {"programs": (time.perf_counter() - start) * 1e3}
    described = {**engine.describe(fresh), "repetitions": 1, "times_ms": times, "key_bytes": None}
    return {**described, "values": values, "left_out": left_out}


# The method of an engine for each step.
METHODS = {
    "add": "add",
    "add_clear": "add_clear",
    "mul": "multiply_down",
    "mul_clear": "multiply_clear",
    "neg": "negate",
    "rotate": "rotate",
    "sub": "subtract",
}
