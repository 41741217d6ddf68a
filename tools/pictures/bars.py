# SPDX-License-Identifier: Apache-2.0
"""Measured figures as bars on a logarithmic scale."""

import math

from . import svg

ROW, LEFT, SCALE, TOP, BOTTOM = 30, 330, 420, 62, 40


def draw(figure: dict) -> str:
    """`figure` has `title`, `unit`, `note` and `bars` of (name, value, whether it is ours)."""
    bars = figure["bars"]
    low = 10 ** math.floor(math.log10(min(bar["value"] for bar in bars)))
    high = 10 ** math.ceil(math.log10(max(bar["value"] for bar in bars)))
    decades = round(math.log10(high / low))
    height = TOP + ROW * len(bars) + BOTTOM
    canvas = svg.Canvas(LEFT + SCALE + 110, height, figure["title"], figure["note"])
    canvas.text(24, 30, figure["title"], 17, bold=True)
    canvas.text(24, 49, figure["note"], 12, svg.SOFT)

    def place(value: float) -> float:
        return LEFT + SCALE * math.log10(value / low) / decades

    for step in range(decades + 1):
        x = place(low * 10**step)
        canvas.line(x, TOP, x, height - BOTTOM + 4)
        canvas.text(x, height - BOTTOM + 20, f"{low * 10**step:,g}" if low * 10**step < 1e5 else f"10^{round(math.log10(low * 10**step))}", 11.5, svg.SOFT, "middle")
    canvas.text(LEFT + SCALE + 24, height - BOTTOM + 20, figure["unit"], 11.5, svg.SOFT)
    for index, bar in enumerate(bars):
        y = TOP + ROW * index + 5
        colour = svg.BLUE if bar["ours"] else svg.LINE
        canvas.box(LEFT, y, max(2, place(bar["value"]) - LEFT), ROW - 10, colour, radius=2)
        canvas.text(LEFT - 10, y + 15, bar["name"], 12.5, anchor="end", bold=bar["ours"])
        canvas.text(place(bar["value"]) + 7, y + 15, bar["text"], 12.5)
    return canvas.finish()
