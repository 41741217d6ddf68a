# SPDX-License-Identifier: Apache-2.0
"""The few shapes that the pictures of the documentation are made of, as text that is the same on every machine."""

from html import escape

INK, SOFT, LINE, PAPER = "#1b2733", "#5b6b7a", "#b9c4ce", "#ffffff"
BLUE, RED, GREEN, SAND = "#2f6fab", "#b3403a", "#3b8457", "#f3efe6"
SANS = "font-family='Helvetica, Arial, sans-serif'"
MONO = "font-family='DejaVu Sans Mono, Menlo, monospace'"


class Canvas:
    """A picture of `width` by `height` units on white paper."""

    def __init__(self, width: float, height: float, title: str, description: str):
        self.width, self.height = width, height
        self.parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {number(width)} {number(height)}' "
            f"width='{number(width)}' height='{number(height)}' role='img'>",
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<rect width='{number(width)}' height='{number(height)}' fill='{PAPER}'/>",
        ]

    def box(self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", radius: float = 4):
        """A rectangle."""
        self.parts.append(
            f"<rect x='{number(x)}' y='{number(y)}' width='{number(width)}' height='{number(height)}' "
            f"rx='{number(radius)}' fill='{fill}' stroke='{stroke}'/>"
        )

    def text(self, x: float, y: float, words: str, size: float = 13, fill: str = INK, anchor: str = "start",
             mono: bool = False, bold: bool = False):
        """One line of words whose baseline is at `y`."""
        weight = " font-weight='bold'" if bold else ""
        self.parts.append(
            f"<text x='{number(x)}' y='{number(y)}' font-size='{number(size)}' fill='{fill}' text-anchor='{anchor}' "
            f"{MONO if mono else SANS}{weight}>{escape(words)}</text>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = LINE, width: float = 1):
        """A straight line."""
        self.parts.append(
            f"<line x1='{number(x1)}' y1='{number(y1)}' x2='{number(x2)}' y2='{number(y2)}' stroke='{stroke}' "
            f"stroke-width='{number(width)}'/>"
        )

    def curve(self, x1: float, y1: float, x2: float, y2: float, stroke: str = LINE, width: float = 1):
        """A line that leaves its first end downwards and reaches its second from above."""
        bend = (y2 - y1) / 2
        self.parts.append(
            f"<path d='M{number(x1)} {number(y1)} C{number(x1)} {number(y1 + bend)} {number(x2)} {number(y2 - bend)} "
            f"{number(x2)} {number(y2)}' fill='none' stroke='{stroke}' stroke-width='{number(width)}'/>"
        )

    def finish(self) -> str:
        """The picture's text."""
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def number(value: float) -> str:
    """A coordinate with at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")
