# SPDX-License-Identifier: Apache-2.0
"""A condition without keys: flags are chosen, multiplied with a measure row by row, and added up. The numbers are worked out here."""

from . import svg

ROW, TOP, LEFT = 26, 128, 24
# Days of a year, discounts in hundredths, revenue.
ROWS = [(17, 6, 310), (204, 5, 127), (391, 7, 560), (88, 2, 75), (300, 9, 940), (142, 8, 55)]
CONDITION = "day >= 90 AND day < 365 AND discount >= 5"
COLUMNS = [
    ("day", "what you have", lambda row: row[0], None),
    ("discount", "", lambda row: row[1], None),
    ("revenue", "", lambda row: row[2], None),
    ("#41", "day ≥ 90", lambda row: int(row[0] >= 90), svg.RED),
    ("#7", "day ≥ 365", lambda row: int(row[0] >= 365), svg.RED),
    ("#88", "discount ≥ 5", lambda row: int(row[1] >= 5), svg.RED),
    ("#23", "revenue", lambda row: row[2], svg.RED),
    ("(#41 − #7) · #88 · #23", "the server multiplies", lambda row: matches(row) * row[2], svg.RED),
]
WIDTHS = [64, 84, 92, 84, 88, 104, 92, 190]


def matches(row: tuple[int, int, int]) -> int:
    """1 where the condition holds, as the flags have it."""
    day, discount, _ = row
    return (int(day >= 90) - int(day >= 365)) * int(discount >= 5)


def draw() -> str:
    """Owner's rows, stored ciphertexts, products and their sum."""
    width, height = LEFT + sum(WIDTHS) + LEFT, TOP + ROW * len(ROWS) + 92
    canvas = svg.Canvas(
        width, height, "A condition without keys",
        "Of each column the owner has encrypted flags. The server takes those that belong to the constants, multiplies them and the measure row by row, and adds the products up.",
    )
    canvas.text(LEFT, 34, f"SELECT SUM(revenue) WHERE {CONDITION}", 14.5, bold=True)
    stored = LEFT + sum(WIDTHS[:3])
    canvas.text(LEFT, 66, "You have", 13, svg.SOFT)
    canvas.text(stored, 66, "The server stores ciphertexts (shown: what is in them), numbered at random; you choose four", 13, svg.SOFT)
    canvas.box(stored - 10, TOP - 46, sum(WIDTHS[3:]) + 4, ROW * len(ROWS) + 40, svg.SAND)
    x = LEFT
    for (name, note, value, colour), column in zip(COLUMNS, WIDTHS):
        canvas.text(x, TOP - 26, name, 13, colour or svg.GREEN, bold=True)
        if colour:
            canvas.text(x, TOP - 11, note, 10.5, svg.SOFT)
        for place, row in enumerate(ROWS):
            canvas.text(x, TOP + 14 + ROW * place, str(value(row)), 12.5, colour or svg.INK, mono=True)
        x += column
    bottom = TOP + ROW * len(ROWS)
    canvas.line(x - WIDTHS[-1], bottom, x - 20, bottom, svg.INK)
    total = sum(matches(row) * row[2] for row in ROWS)
    canvas.text(x - WIDTHS[-1], bottom + 20, str(total), 13, svg.RED, mono=True)
    canvas.text(x - WIDTHS[-1] + 62, bottom + 20, "added up, still encrypted", 11, svg.SOFT)
    canvas.text(LEFT, bottom + 48, f"You decrypt one sum: {total}.", 13, bold=True)
    canvas.text(LEFT, bottom + 70, "The server has seen the formula in numbers of columns: no constant, no row that matches, and not how many do.", 12, svg.SOFT)
    return canvas.finish()
