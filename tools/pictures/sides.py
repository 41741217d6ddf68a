# SPDX-License-Identifier: Apache-2.0
"""One table from both sides: what its owner has, and what the server stores of it."""

from . import svg

ROW, TOP, LEFT = 24, 106, 24
COLOURS = {"clear": svg.GREEN, "encrypted": svg.RED, "sealed": svg.BLUE, "dropped": svg.SOFT}
WORDS = {
    "clear": "clear: the server reads it",
    "encrypted": "encrypted: the server adds it up",
    "sealed": "sealed: stored, only you read it",
    "dropped": "dropped: not in the table",
}


def draw(captured: dict) -> str:
    """`captured` has `columns` (name, protection, width in characters), `rows` of texts, `stored` by column in hexadecimal digits."""
    columns = captured["columns"]
    widths = [7.6 * column["characters"] + 18 for column in columns]
    side = sum(widths)
    height = TOP + ROW * (len(captured["rows"]) + 1) + 64
    canvas = svg.Canvas(
        2 * side + 3 * LEFT, height, "The same table from both sides",
        "On the left the rows that the owner has; on the right what the server stores: clear columns as they are, others as bytes.",
    )
    canvas.text(LEFT, 34, "The owner has", 17, bold=True)
    canvas.text(side + 2 * LEFT, 34, "The server stores", 17, bold=True)
    for start, is_server in ((LEFT, False), (side + 2 * LEFT, True)):
        x = start
        for index, (column, width) in enumerate(zip(columns, widths)):
            one_column(canvas, captured, index, x, width, is_server)
            x += width
        canvas.line(start, TOP - 22, start + side, TOP - 22, svg.INK)
    x = LEFT
    for protection, words in WORDS.items():
        canvas.box(x, height - 34, 12, 12, COLOURS[protection], radius=2)
        canvas.text(x + 18, height - 24, words, 12, svg.SOFT)
        x += 44 + 6.6 * len(words)
    return canvas.finish()


def one_column(canvas: svg.Canvas, captured: dict, index: int, x: float, width: float, is_server: bool):
    """A column on one side."""
    column = captured["columns"][index]
    name, protection = column["name"], column["protection"]
    colour = COLOURS[protection]
    if not is_server:
        canvas.text(x, TOP - 32, name, 13, colour, bold=True)
        canvas.text(x, TOP - 46, protection, 10.5, svg.SOFT)
    elif protection == "clear":
        canvas.text(x, TOP - 32, name, 13, colour, bold=True)
    elif protection != "dropped":
        canvas.text(x, TOP - 32, column["stored_as"], 13, colour, bold=True)
    rows = len(captured["rows"])
    if not is_server or protection == "clear":
        for place, row in enumerate(captured["rows"]):
            canvas.text(x, TOP + ROW * place, row[index], 12.5, mono=True)
        canvas.text(x, TOP + ROW * rows, "…", 12.5, svg.SOFT, mono=True)
    elif protection != "dropped":
        canvas.box(x - 4, TOP - 16, width - 8, ROW * (rows + 1) - 2, svg.SAND)
        digits, each = captured["stored"][name], max(1, int((width - 16) / 7.6))
        for place in range(rows + 1):
            canvas.text(x, TOP + ROW * place, digits[place * each : (place + 1) * each], 12.5, colour, mono=True)
