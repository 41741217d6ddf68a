# SPDX-License-Identifier: Apache-2.0
"""Equality in a code of constant weight: each value is a set of two of five flags, and a condition multiplies the flags of its constant. The numbers are
worked out here."""

import itertools
import math

from . import svg

ROW, TOP, LEFT = 26, 166, 24
#: Orders from 0 to 9, price.
ROWS = [(7, 310), (2, 127), (9, 560), (7, 75), (0, 940), (4, 55)]
WANTED = 7
LENGTH, WEIGHT = 5, 2
#: Flags as a table numbers them: at random.
NUMBERS = ["#9", "#31", "#2", "#17", "#24"]
WIDTHS = [96, 80] + [84] * LENGTH + [154, 130]


def codewords() -> list[set[int]]:
    """The set of each value: sets in their order, a value's number times the step nearest to a golden section."""
    sets = sorted(itertools.combinations(range(LENGTH), WEIGHT), key=lambda one: one[::-1])
    step = next(step for step in range(int(len(sets) * 0.618), 0, -1) if math.gcd(step, len(sets)) == 1)
    return [set(sets[value * step % len(sets)]) for value in range(len(sets))]


def draw() -> str:
    """Owner's rows, the flags of their codewords, the product of the constant's, and the sum."""
    words = codewords()
    assert len({frozenset(word) for word in words}) == len(words) == 10
    wanted = words[WANTED]
    width, height = LEFT + sum(WIDTHS) + LEFT, TOP + ROW * len(ROWS) + 92
    canvas = svg.Canvas(
        width, height, "Equality in a code of constant weight",
        "Every value is a set of two of five flags. The server multiplies the two flags of the constant row by row, which is 1 for rows with this value alone, and adds up the measure.",
    )
    canvas.text(LEFT, 34, f"SELECT SUM(price) WHERE orderkey = {WANTED}", 14.5, bold=True)
    places = [LEFT + sum(WIDTHS[:place]) for place in range(len(WIDTHS))]
    stored, sums = places[2 : 2 + LENGTH], places[2 + LENGTH :]
    canvas.text(LEFT, 66, "You have", 13, svg.SOFT)
    canvas.text(stored[0], 66, f"The server stores ciphertexts (shown: what is in them), {WEIGHT} of {LENGTH} flags for each of {len(words)} values", 13, svg.SOFT)
    canvas.box(stored[0] - 10, 82, sum(WIDTHS[2:]) + 4, TOP + ROW * len(ROWS) - 88, svg.SAND)
    for x, name in zip(places, ("orderkey", "price")):
        canvas.text(x, 104, name, 13, svg.GREEN, bold=True)
    for place, (x, number) in enumerate(zip(stored, NUMBERS)):
        canvas.text(x, 104, number, 13, svg.RED if place in wanted else svg.SOFT, bold=place in wanted)
        canvas.text(x, 120, "flag of 7" if place in wanted else "", 10.5, svg.RED)
    product = " · ".join(NUMBERS[place] for place in sorted(wanted))
    canvas.text(sums[0], 104, product, 13, svg.RED, bold=True)
    canvas.text(sums[1], 104, "times price", 13, svg.RED, bold=True)
    canvas.line(stored[0], 136, places[-1] + WIDTHS[-1] - 20, 136, svg.INK)
    total = 0
    for place, (key, price) in enumerate(ROWS):
        y, flags = TOP + ROW * place, words[key]
        for x, value in zip(places, (key, price)):
            canvas.text(x, y, str(value), 12.5, svg.INK, mono=True)
        for number, x in enumerate(stored):
            is_set = number in flags
            canvas.text(x, y, str(int(is_set)), 12.5, svg.RED if number in wanted else svg.SOFT, mono=True, bold=is_set and number in wanted)
        holds = int(wanted <= flags)
        assert holds == int(key == WANTED)
        total += holds * price
        canvas.text(sums[0], y, str(holds), 12.5, svg.RED if holds else svg.SOFT, mono=True, bold=bool(holds))
        canvas.text(sums[1], y, str(holds * price), 12.5, svg.RED if holds else svg.SOFT, mono=True, bold=bool(holds))
    bottom = TOP + ROW * len(ROWS)
    canvas.line(sums[1], bottom - 12, sums[1] + 84, bottom - 12, svg.INK)
    canvas.text(sums[1], bottom + 8, str(total), 13, svg.RED, mono=True, bold=True)
    canvas.text(LEFT, bottom + 40, "A row has all flags of the constant only if it has the same set, and so the same value.", 12.5)
    canvas.text(LEFT, bottom + 62, "The server sees which two numbers are multiplied: no key, not which rows have it, and not how many.", 12, svg.SOFT)
    return canvas.finish()
