# SPDX-License-Identifier: Apache-2.0
"""Rows that match: of each slot the sums that come back, and what is found from them. The numbers are worked out here."""

from . import svg

ROW, TOP, LEFT = 30, 132, 24
#: Prices, by slot and ring element.
PRICES = [[70, 31, 95, 12, 58], [44, 83, 27, 66, 19], [52, 90, 38, 75, 61], [23, 47, 88, 34, 99]]
#: Where the rows match.
MATCHES = {(0, 1), (0, 4), (2, 3)}
ELEMENTS = 5
CELL = 74
NAMES = ["p0", "p1", "p2", "v0", "v1"]
EXPONENTS = ["Σ 1", "Σ n", "Σ n²", "Σ price", "Σ price·n"]
WIDTH = 78


def sums(slot: int) -> list[int]:
    """Power sums of the numbers of elements whose row matches in a slot, and of these times prices."""
    found = [(number, PRICES[slot][number]) for number in range(ELEMENTS) if (slot, number) in MATCHES]
    return [sum(number**power for number, _ in found) for power in range(3)] + [sum(price * number**power for number, price in found) for power in range(2)]


def solved(slot: int) -> list[tuple[int, int]]:
    """The numbers and prices that have these sums, of two rows at most."""
    p0, p1, p2, v0, v1 = sums(slot)
    if p0 == 0:
        return []
    if p0 == 1:
        return [(p1, v0)]
    product = (p1 * p1 - p2) // 2
    one, other = [number for number in range(ELEMENTS) if number * number - p1 * number + product == 0]
    first = (v1 - other * v0) // (one - other)
    return [(one, first), (other, v0 - first)]


def draw() -> str:
    """Rows as they lie in ring elements, the sums of each slot, and what you find."""
    rows = len(PRICES)
    for slot in range(rows):
        assert solved(slot) == [(number, PRICES[slot][number]) for number in range(ELEMENTS) if (slot, number) in MATCHES]
    left, sides = LEFT + 62, LEFT + 62 + ELEMENTS * CELL + 20
    width, height = sides + len(NAMES) * WIDTH + 240, TOP + ROW * rows + 76
    canvas = svg.Canvas(
        width, height, "Rows that match",
        "The server multiplies each row's match and its match times price with powers of the number of its ring element, and adds them up in each slot. From the sums of a slot the owner finds the elements whose row matches, and the prices.",
    )
    canvas.text(LEFT, 34, "SELECT price WHERE … (two rows of a slot at most, here)", 14.5, bold=True)
    canvas.text(left, 66, "Rows in ring elements n (encrypted; bold: match)", 12.5, svg.SOFT)
    canvas.text(sides, 66, "Sums of a slot, all that comes back", 12.5, svg.SOFT)
    canvas.text(sides + len(NAMES) * WIDTH, 66, "You find", 12.5, svg.SOFT)
    canvas.box(left - 10, 76, sides + len(NAMES) * WIDTH - left - 4, TOP + ROW * rows - 84, svg.SAND)
    for number in range(ELEMENTS):
        canvas.text(left + CELL * number, 98, f"n = {number}", 12.5, svg.RED, bold=True)
    for place, (name, what) in enumerate(zip(NAMES, EXPONENTS)):
        canvas.text(sides + WIDTH * place, 94, name, 12.5, svg.RED, bold=True)
        canvas.text(sides + WIDTH * place, 110, what, 10.5, svg.SOFT)
    canvas.line(sides - 14, 82, sides - 14, TOP + ROW * rows - 14, svg.LINE)
    for slot in range(rows):
        y = TOP + ROW * slot
        canvas.text(LEFT, y, f"slot {slot}", 12.5, svg.SOFT)
        for number in range(ELEMENTS):
            matches = (slot, number) in MATCHES
            canvas.text(left + CELL * number, y, str(PRICES[slot][number]), 12.5, svg.RED if matches else svg.SOFT, mono=True, bold=matches)
        for place, value in enumerate(sums(slot)):
            canvas.text(sides + WIDTH * place, y, str(value), 12.5, svg.RED, mono=True)
        found = ", ".join(f"{price} (n = {number})" for number, price in solved(slot)) or "no row"
        canvas.text(sides + len(NAMES) * WIDTH, y, found, 12.5, svg.GREEN, bold=bool(solved(slot)))
    bottom = TOP + ROW * rows
    canvas.text(LEFT, bottom + 26, "n = 1 and 4 are the roots of X² − p1·X + (p1² − p2)/2, and v0, v1 are two equations in two prices.", 12.5)
    canvas.text(LEFT, bottom + 48, "The server does the same whichever rows match, and however many. p0 tells you if they are more than the sums tell apart.", 12, svg.SOFT)
    return canvas.finish()
