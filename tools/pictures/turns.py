# SPDX-License-Identifier: Apache-2.0
"""The level of a state through the turns of a repetition that is deeper than its chain. The levels are those of the first set for bootstrapping, and a turn takes one."""

from . import svg

#: The level from which a value is bootstrapped, and the one that it has afterwards.
INPUT, OUTPUT = 3, 12
TURNS = 40
LEFT, BOTTOM, STEP, HEIGHT = 70, 262, 17, 15


def raises() -> list[int]:
    """Turns after which the state is bootstrapped, as late as it can be: from the last one backwards."""
    turns = []
    turn = TURNS - OUTPUT
    while turn > 0:
        turns.append(turn)
        turn -= OUTPUT - INPUT
    return turns[::-1]


def levels() -> list[int]:
    """The level behind each turn, before it is bootstrapped; first that of the vector."""
    first = raises()[0]
    level = INPUT + first
    found = [level]
    for turn in range(1, TURNS + 1):
        level -= 1
        found.append(level)
        if turn in raises():
            level = OUTPUT
    return found


def draw() -> str:
    """A bar for the level behind each turn, and an arrow up for each bootstrapping."""
    width = LEFT + STEP * (TURNS + 1) + 40
    canvas = svg.Canvas(
        width, BOTTOM + 66, "A deep program",
        f"The level of a state behind each of {TURNS} turns: it falls by one with each, and is raised to {OUTPUT} after turns {', '.join(map(str, raises()))}.",
    )
    canvas.text(LEFT, 30, f"{TURNS} turns with {len(raises())} bootstrappings: the level of the state behind each turn", 14.5, bold=True)
    for mark in range(0, OUTPUT + 1, 3):
        y = BOTTOM - mark * HEIGHT
        canvas.line(LEFT, y, LEFT + STEP * (TURNS + 1), y)
        canvas.text(LEFT - 8, y + 4, str(mark), 11.5, svg.SOFT, "end")
    for turn, level in enumerate(levels()):
        x = LEFT + STEP * turn + 3
        height = max(level * HEIGHT, 2)
        canvas.box(x, BOTTOM - height, STEP - 6, height, svg.BLUE if turn == 0 else svg.GREEN, radius=2)
        if turn in raises():
            middle = x + (STEP - 6) / 2
            canvas.line(middle, BOTTOM - height - 3, middle, BOTTOM - OUTPUT * HEIGHT, svg.RED, 2)
            canvas.text(middle, BOTTOM - OUTPUT * HEIGHT - 6, f"after {turn}", 11.5, svg.RED, "middle")
        if turn % 10 == 0:
            canvas.text(x + (STEP - 6) / 2, BOTTOM + 18, str(turn), 11.5, svg.SOFT, "middle")
    canvas.text(LEFT, BOTTOM + 40, "turn; 0 is the vector, encrypted at the level that the first turns need", 12, svg.SOFT)
    return canvas.finish()
