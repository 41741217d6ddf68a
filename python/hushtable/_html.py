# SPDX-License-Identifier: Apache-2.0
"""Tables as HTML and as text, in which no name and no value can be anything else than text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def visible(text: str) -> str:
    """Control characters as escapes, so that data can drive neither a terminal nor the direction of a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def escaped(text: object) -> str:
    """Text of a page. Quotes are escaped as well, so that it may stand in an attribute."""
    return html.escape(visible(str(text)), quote=True)


def table(names: Iterable[str], rows: Iterable[Sequence[str]], right: Sequence[bool], notes: Iterable[str] = ()) -> str:
    """A table with numbers to the right and notes below. Takes plain text; escapes all of it."""

    def line(cells: Iterable[str], tag: str) -> str:
        written = (
            f'<{tag} style="text-align: {"right" if number else "left"}">{escaped(cell)}</{tag}>'
            for cell, number in zip(cells, right)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    below = "".join(f"<p><small>{escaped(note)}</small></p>" for note in notes)
    return f"<div><table><thead>{line(names, 'th')}</thead><tbody>{body}</tbody></table>{below}</div>"
