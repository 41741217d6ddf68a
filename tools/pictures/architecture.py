# SPDX-License-Identifier: Apache-2.0
"""The crates and what each is built on, from `cargo metadata`."""

import json
import pathlib
import subprocess

from . import svg

ROW, BOX_WIDTH, BOX_HEIGHT, PASSAGE, GAP, MARGIN = 70, 104, 30, 4, 14, 24
KEYS = "hush-keys"
LEGEND = ((svg.RED, "can reach secret keys"), (svg.BLUE, "cannot"))


def edges(root: pathlib.Path) -> dict[str, set[str]]:
    """Our crates, each with those of ours that it is built on; tests' tools left out."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--no-deps"]
    metadata = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
    return {
        package["name"]: {
            dependency["name"]
            for dependency in package["dependencies"]
            if dependency.get("path") and dependency["kind"] != "dev"
        }
        for package in metadata["packages"]
        if package["name"] != "hush-testkit"
    }


def draw(graph: dict[str, set[str]]) -> str:
    """Rows from the programs down to the ground; a line is a dependency that no longer path implies."""
    height = {crate: depth(graph, crate) for crate in graph}
    direct = {crate: reduced(graph, crate) for crate in graph}
    links = [steps(above, below, height) for above in sorted(graph) for below in sorted(direct[above])]
    top = max(height.values())
    rows = [sorted(crate for crate in graph if height[crate] == level) for level in range(top, -1, -1)]
    for link in links:
        for offset, passage in enumerate(link[1:-1], 1):
            rows[top - height[link[0]] + offset].append(passage)
    place = placed(ordered(rows, links))
    width = 2 * MARGIN + max(x + wide(one) for one, (x, _) in place.items())
    canvas = svg.Canvas(
        width, 2 * MARGIN + ROW * top + BOX_HEIGHT + 34, "Crates of Hushtable",
        "Rows of crates; a line leads from a crate down to one that it is built on.",
    )
    for link in links:
        for above, below in zip(link, link[1:]):
            (x1, y1), (x2, y2) = place[above], place[below]
            x1, x2 = (MARGIN + x + wide(one) / 2 for x, one in ((x1, above), (x2, below)))
            canvas.curve(x1, y1 + BOX_HEIGHT, x2, y2)
            if below not in graph:
                canvas.line(x2, y2, x2, y2 + BOX_HEIGHT)
    for crate in sorted(graph):
        x, y = place[crate]
        colour = svg.RED if crate == KEYS or KEYS in reachable(graph, crate) else svg.BLUE
        canvas.box(MARGIN + x, y, BOX_WIDTH, BOX_HEIGHT, svg.PAPER, colour)
        canvas.text(MARGIN + x + BOX_WIDTH / 2, y + 20, crate, 12.5, colour, "middle")
    x = MARGIN
    for colour, words in LEGEND:
        canvas.box(x, canvas.height - 32, 14, 14, svg.PAPER, colour, 2)
        canvas.text(x + 21, canvas.height - 20, words, 12.5, svg.SOFT)
        x += 170
    return canvas.finish()


def steps(above: str, below: str, height: dict[str, int]) -> list[str]:
    """Both ends of a line, and between them one passage in each row that it crosses."""
    passages = [f"{above}>{below}@{level}" for level in range(height[above] - 1, height[below], -1)]
    return [above, *passages, below]


def wide(one: str) -> float:
    """Width of a crate's box or of a passage between boxes."""
    return PASSAGE if "@" in one else BOX_WIDTH


def placed(rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Left upper corners; every row is centred."""
    widths = [sum(map(wide, row)) + GAP * (len(row) - 1) for row in rows]
    place = {}
    for level, (row, width) in enumerate(zip(rows, widths)):
        x = (max(widths) - width) / 2
        for one in row:
            place[one] = (x, MARGIN + level * ROW)
            x += wide(one) + GAP
    return place


def ordered(rows: list[list[str]], links: list[list[str]]) -> list[list[str]]:
    """Rows with neighbours near each other: each entry at the mean place of what it is joined to, a few times over."""
    joined: dict[str, set[str]] = {one: set() for row in rows for one in row}
    for link in links:
        for above, below in zip(link, link[1:]):
            joined[above].add(below)
            joined[below].add(above)
    for _ in range(24):
        width = max(x + wide(one) for one, (x, _) in placed(rows).items())
        at = {one: (x + wide(one) / 2) / width for one, (x, _) in placed(rows).items()}

        def middle(one: str) -> tuple[float, str]:
            near = [at[other] for other in sorted(joined[one])] or [at[one]]
            return round((at[one] + 2 * sum(near) / len(near)) / 3, 6), one

        rows = [sorted(row, key=middle) for row in rows]
    return rows


def reachable(graph: dict[str, set[str]], crate: str) -> set[str]:
    """All crates below `crate`."""
    seen, stack = set(), [crate]
    while stack:
        for below in graph[stack.pop()] & graph.keys():
            if below not in seen:
                seen.add(below)
                stack.append(below)
    return seen


def depth(graph: dict[str, set[str]], crate: str) -> int:
    """Length of the longest path down."""
    return max((1 + depth(graph, below) for below in graph[crate] & graph.keys()), default=0)


def reduced(graph: dict[str, set[str]], crate: str) -> set[str]:
    """Direct dependencies that are not also indirect ones."""
    below = graph[crate] & graph.keys()
    return {one for one in below if not any(one in reachable(graph, other) for other in below - {one})}

