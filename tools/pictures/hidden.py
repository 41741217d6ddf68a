# SPDX-License-Identifier: Apache-2.0
"""A condition with encrypted constants: every flag of a column is multiplied with one, whatever the condition. The numbers are worked out here."""

from . import svg

ROW, TOP, LEFT = 26, 178, 24
# Sizes from 0 to 5, revenue.
ROWS = [(3, 310), (0, 127), (5, 560), (2, 75), (4, 940), (1, 55)]
WANTED = range(2, 5)
VALUES = 6
#: Flags as a table numbers them: at random.
NUMBERS = ["1", "#9", "#31", "#2", "#17", "#24"]
WIDTHS = [64, 84] + [84] * VALUES + [156, 130]


def constants() -> list[int]:
    """The steps of the set of wanted values: what their sum reaches at a value is whether that is wanted."""
    wanted = [int(value in WANTED) for value in range(VALUES)]
    return [here - before for here, before in zip(wanted, [0, *wanted])]


def flags(size: int) -> list[int]:
    """Whether a size is at least each value."""
    return [int(size >= value) for value in range(VALUES)]


def counts(size: int) -> int:
    """The sum of flags times constants."""
    return sum(flag * constant for flag, constant in zip(flags(size), constants()))


def draw() -> str:
    """Owner's rows, all flags of a column, encrypted constants, and the sum of products."""
    assert all(counts(size) == int(size in WANTED) for size, _ in ROWS)
    width, height = LEFT + sum(WIDTHS) + LEFT, TOP + ROW * len(ROWS) + 92
    canvas = svg.Canvas(
        width, height, "A condition with encrypted constants",
        "The server multiplies every flag of a column with an encrypted constant, adds them up row by row, and multiplies the sum with the measure. For other constants it does the same.",
    )
    canvas.text(LEFT, 34, "SELECT SUM(revenue) WHERE size BETWEEN 2 AND 4", 14.5, bold=True)
    places = [LEFT + sum(WIDTHS[:place]) for place in range(len(WIDTHS))]
    stored, sums = places[2 : 2 + VALUES], places[2 + VALUES :]
    canvas.text(LEFT, 66, "You have", 13, svg.SOFT)
    canvas.text(stored[0], 66, "The server stores ciphertexts (shown: what is in them), and takes all of the column", 13, svg.SOFT)
    canvas.box(stored[0] - 10, 82, sum(WIDTHS[2:]) + 4, TOP + ROW * len(ROWS) - 88, svg.SAND)
    for x, number, value in zip(stored, NUMBERS, range(VALUES)):
        canvas.text(x, 104, number, 13, svg.RED, bold=True)
        canvas.text(x, 120, "always" if value == 0 else f"size ≥ {value}", 10.5, svg.SOFT)
    canvas.text(sums[0], 104, "Σ flag · constant", 13, svg.RED, bold=True)
    canvas.text(sums[1], 104, "times revenue", 13, svg.RED, bold=True)
    for x, constant in zip(stored, constants()):
        canvas.text(x, 146, f"· {constant}".replace("-", "−"), 13, svg.RED, mono=True)
    canvas.text(sums[0], 146, "← one ciphertext from you", 10.5, svg.SOFT)
    canvas.line(stored[0], 156, places[-1] + WIDTHS[-1] - 20, 156, svg.INK)
    for x, name in zip(places, ("size", "revenue")):
        canvas.text(x, 104, name, 13, svg.GREEN, bold=True)
    for place, (size, revenue) in enumerate(ROWS):
        y = TOP + ROW * place
        for x, value in zip(places, (size, revenue)):
            canvas.text(x, y, str(value), 12.5, svg.INK, mono=True)
        for x, value in zip([*stored, *sums], [*flags(size), counts(size), counts(size) * revenue]):
            canvas.text(x, y, str(value), 12.5, svg.RED, mono=True)
    bottom, total = TOP + ROW * len(ROWS), sum(counts(size) * revenue for size, revenue in ROWS)
    canvas.line(sums[1], bottom - 14, sums[1] + WIDTHS[-1] - 20, bottom - 14, svg.INK)
    canvas.text(sums[1], bottom + 6, str(total), 13, svg.RED, mono=True)
    canvas.text(LEFT, bottom + 34, f"You decrypt one sum: {total}.", 13, bold=True)
    canvas.text(LEFT, bottom + 56, "For size = 3, for size < 9 or for another BETWEEN the server does the same with another ciphertext.", 12, svg.SOFT)
    return canvas.finish()
