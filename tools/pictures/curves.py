# SPDX-License-Identifier: Apache-2.0
"""Measured figures over rows, as lines on two logarithmic scales."""

import math

from . import svg

LEFT, WIDTH, TOP, HEIGHT, RIGHT, BOTTOM = 70, 520, 84, 300, 230, 56
COLOURS = (svg.BLUE, svg.GREEN, svg.RED, svg.INK)


def draw(figure: dict) -> str:
    """`figure` has `title`, `note`, `across`, `up` (words for the scales) and `curves` of `name` and `points` (x, y)."""
    xs, ys = zip(*(point for curve in figure["curves"] for point in curve["points"]))
    across, up = decades(xs), decades(ys)
    canvas = svg.Canvas(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, figure["title"], figure["note"])
    canvas.text(24, 30, figure["title"], 17, bold=True)
    canvas.text(24, 49, figure["note"], 12, svg.SOFT)

    def place(x: float, y: float) -> tuple[float, float]:
        part = lambda value, ends: (math.log10(value) - ends[0]) / (ends[1] - ends[0])
        return LEFT + WIDTH * part(x, across), TOP + HEIGHT * (1 - part(y, up))

    for exponent in range(across[0], across[1] + 1):
        x, _ = place(10**exponent, 10 ** up[0])
        canvas.line(x, TOP, x, TOP + HEIGHT)
        canvas.text(x, TOP + HEIGHT + 18, f"{10**exponent:,}".replace(",", " "), 11.5, svg.SOFT, "middle")
    for exponent in range(up[0], up[1] + 1):
        _, y = place(10 ** across[0], 10**exponent)
        canvas.line(LEFT, y, LEFT + WIDTH, y)
        canvas.text(LEFT - 8, y + 4, f"{10**exponent:g}", 11.5, svg.SOFT, "end")
    canvas.text(LEFT + WIDTH / 2, TOP + HEIGHT + 42, figure["across"], 12.5, anchor="middle")
    canvas.text(LEFT - 8, TOP - 8, figure["up"], 11.5, svg.SOFT, "end")
    # Names stand beside the last points, one under another where they would meet.
    taken = -math.inf
    for colour, curve in sorted(zip(COLOURS, figure["curves"]), key=lambda pair: -pair[1]["points"][-1][1]):
        points = [place(x, y) for x, y in curve["points"]]
        for (x1, y1), (x2, y2) in zip(points, points[1:]):
            canvas.line(x1, y1, x2, y2, colour, 2.5)
        for x, y in points:
            canvas.box(x - 3, y - 3, 6, 6, colour, radius=3)
        taken = max(points[-1][1] + 4, taken + 16)
        canvas.text(points[-1][0] + 10, taken, curve["name"], 12.5, colour, bold=True)
    return canvas.finish()


def decades(values) -> tuple[int, int]:
    """The powers of ten around values."""
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
