# SPDX-License-Identifier: Apache-2.0
"""Ranks: what the owner finds in each chunk for one constant, and which flags the server multiplies there. The numbers are worked out here."""

import random

from . import svg

ROW, TOP, LEFT = 34, 138, 24
CONSTANT = 25
CHUNKS = [[40, 7, 25, 7, 31, 12], [90, 33, 26, 61, 28, 44], [3, 25, 18, 9, 24, 70], [25, 25, 24, 30, 2, 88]]
#: Values of a digit; the true ones have 25 and 26, and each rank two codes.
BASE = 3
COLUMNS = [("chunk", 0), ("values (encrypted; bold: below 25)", 70), ("you find", 330), ("flags of the comparison", 430), ("sent: where they stand", 640)]


def below(chunk: list[int]) -> int:
    """How many values of a chunk lie below the constant: the rank that all of them have less than."""
    return sum(value < CONSTANT for value in chunk)


def is_set(flag: tuple[int, int], rank: int) -> bool:
    """Whether a digit of a rank is at least a number."""
    digit, least = flag
    return [rank // BASE, rank % BASE][digit] >= least


def named(bound: int) -> list[tuple[int, int]]:
    """The flags that compare ranks with a bound, as pairs of digit and least value."""
    high, low = bound // BASE, bound % BASE
    return [(0, high + 1), (0, high), (1, low)]


def is_above(bound: int, rank: int) -> bool:
    """The comparison as the server computes it."""
    beyond, at, rest = (is_set(flag, rank) for flag in named(bound))
    return bool(beyond + (at - beyond) * rest)


def draw() -> str:
    """For each chunk its values, how many lie below the constant, and the flags of that number in the chunk's order."""
    flags = [(digit, least) for digit in range(2) for least in range(BASE + 1)]
    drawn = random.Random(4)
    width, height = 880, TOP + ROW * len(CHUNKS) + 66
    canvas = svg.Canvas(
        width, height, "Ranks in chunks",
        "For the condition x below 25 the owner finds in each chunk how many values lie below 25, and names the flags that compare ranks with this number, in an order that each chunk has of its own.",
    )
    canvas.text(LEFT, 34, "WHERE x < 25 (chunks of six rows, two digits and one code for each rank, here)", 14.5, bold=True)
    canvas.text(LEFT, 58, "Each row stores flags of its rank: how many rows of its chunk have less.", 12.5, svg.SOFT)
    canvas.box(LEFT - 8, 76, width - 2 * LEFT + 16, TOP + ROW * len(CHUNKS) - 96, svg.SAND)
    for words, x in COLUMNS:
        canvas.text(LEFT + x, 100, words, 12.5, svg.SOFT)
    for number, chunk in enumerate(CHUNKS):
        bound = below(chunk)
        for value in chunk:
            rank = sum(other < value for other in chunk)
            assert is_above(bound, rank) == (value >= CONSTANT)
        y = TOP + ROW * number
        canvas.text(LEFT + 8, y, str(number), 12.5, svg.SOFT)
        for place, value in enumerate(chunk):
            canvas.text(LEFT + 70 + 38 * place, y, str(value), 12.5, svg.RED if value < CONSTANT else svg.SOFT, mono=True, bold=value < CONSTANT)
        canvas.text(LEFT + 330, y, f"{bound} below", 12.5, svg.GREEN, bold=True)
        shown = ", ".join(f"{'high' if digit == 0 else 'low'} ≥ {least}" for digit, least in named(bound))
        canvas.text(LEFT + 430, y, shown, 12, svg.GREEN)
        order = drawn.sample(flags, len(flags))
        places = ", ".join(f"#{order.index(flag)}" for flag in named(bound))
        canvas.text(LEFT + 640, y, places, 12.5, svg.RED, mono=True)
    bottom = TOP + ROW * len(CHUNKS)
    canvas.text(LEFT, bottom + 14, "One block of each chunk's values in order, sealed, comes back for a constant; from it you know how many lie below.", 12.5)
    canvas.text(LEFT, bottom + 36, "The server sees three numbers for each chunk, in an order that was drawn for it. One bound says nothing; many tell an order of flags.", 12, svg.SOFT)
    return canvas.finish()
