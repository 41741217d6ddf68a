# SPDX-License-Identifier: Apache-2.0
"""The modulus of a CKKS ciphertext through one bootstrapping and the program after it. The sizes are those of the first set for bootstrapping."""

from . import svg

#: Thirds of a prime of 46 bits: level 0, a level of the program, a level above it.
BASE, LOW, HIGH = 4, 3, 4
TO_COEFFICIENTS, PROGRAM, REDUCTION, TO_SLOTS = 3, 9, 8, 4
THIRD = 46 / 3
LEFT, BOTTOM, SCALE, STEP = 70, 330, 0.17, 25


def bits(level: int) -> float:
    """log2 of the modulus at a level."""
    low = min(level, TO_COEFFICIENTS + PROGRAM)
    return THIRD * (BASE + LOW * low + HIGH * (level - low))


def phases() -> list[tuple[str, str, list[int]]]:
    """Each phase with a colour and the levels of its ciphertexts, first to last."""
    output = TO_COEFFICIENTS + PROGRAM
    reduction = output + REDUCTION
    top = reduction + TO_SLOTS
    return [
        ("to coefficients", svg.BLUE, list(range(TO_COEFFICIENTS, 0, -1))),
        ("level 0", svg.RED, [0]),
        ("to slots", svg.BLUE, list(range(top, reduction, -1))),
        ("reduction modulo q0", svg.SOFT, list(range(reduction, output, -1))),
        ("levels of the program", svg.GREEN, list(range(output, TO_COEFFICIENTS, -1))),
        ("and again", svg.BLUE, [TO_COEFFICIENTS]),
    ]


def draw() -> str:
    """A bar for each level that a ciphertext passes, in order."""
    count = sum(len(levels) for _, _, levels in phases())
    width = LEFT + STEP * count + 90
    canvas = svg.Canvas(
        width, BOTTOM + 70, "Bootstrapping",
        "The modulus of a ciphertext, level by level: it falls to level 0, is raised to 1349 bits, falls on the way to slots and in the reduction, and leaves nine levels for a program.",
    )
    canvas.text(LEFT, 30, "A ciphertext has no levels left, and then nine for a program: log2 of its modulus, level by level", 14.5, bold=True)
    for mark in range(0, 1401, 200):
        y = BOTTOM - mark * SCALE
        canvas.line(LEFT, y, LEFT + STEP * count + 6, y)
        canvas.text(LEFT - 8, y + 4, str(mark), 11.5, svg.SOFT, "end")
    x = LEFT + 6
    for name, colour, levels in phases():
        start = x
        for level in levels:
            height = bits(level) * SCALE
            canvas.box(x, BOTTOM - height, STEP - 6, height, colour, radius=2)
            x += STEP
        middle = (start + x - 6) / 2
        row = BOTTOM + (40 if name in ("level 0", "and again") else 20)
        canvas.text(middle, row, name, 12, colour, "middle")
    raised = LEFT + 6 + STEP * (TO_COEFFICIENTS + 1)
    canvas.text(raised - 8, BOTTOM - bits(0) * SCALE - 66, "raise the modulus,", 12, svg.RED, "end")
    canvas.text(raised - 8, BOTTOM - bits(0) * SCALE - 50, "under a sparse secret", 12, svg.RED, "end")
    canvas.line(raised - STEP + 9, BOTTOM - bits(0) * SCALE - 6, raised + 6, BOTTOM - bits(24) * SCALE - 4, svg.RED, 1.5)
    return canvas.finish()
