#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/pictures.

    draw_pictures.py              draws all from the crates and from docs/pictures/*.json
    draw_pictures.py --check      draws nothing; fails if a picture is not what would be drawn
    draw_pictures.py --capture    first runs the programs for what they print; needs HUSH_BIN, a folder with `hush`, and pyarrow

Figures that were measured stand in docs/pictures/figures.json and curves.json with the command that prints them.
"""

import json
import os
import pathlib
import sys

from pictures import architecture, bars, capture, codewords, curves, flags, hidden, levels, matching, ranks, sides, trees, turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"


def main() -> int:
    """Returns 1 if a checked picture is out of date."""
    wanted = set(sys.argv[1:])
    if not wanted <= {"--check", "--capture"}:
        print(__doc__, file=sys.stderr)
        return 2
    if "--capture" in wanted:
        take(pathlib.Path(os.environ["HUSH_BIN"]) / "hush")
    drawn = pictures()
    if "--check" not in wanted:
        for name, text in drawn.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"pictures: {len(drawn)} drawn in {FOLDER.relative_to(ROOT)}")
        return 0
    stale = [name for name, text in drawn.items() if not is_same(FOLDER / name, text)]
    for name in stale:
        print(f"pictures: docs/pictures/{name} is out of date; run `make pictures`", file=sys.stderr)
    if not stale:
        print(f"pictures: {len(drawn)}, up to date")
    return 1 if stale else 0


def pictures() -> dict[str, str]:
    """The text of each picture by file name."""
    drawn = {
        "architecture.svg": architecture.draw(architecture.edges(ROOT)),
        "conditions-without-keys.svg": flags.draw(),
        "bootstrapping.svg": levels.draw(),
        "deep-program.svg": turns.draw(),
        "codewords.svg": codewords.draw(),
        "hidden-constants.svg": hidden.draw(),
        "ranks.svg": ranks.draw(),
        "rows-that-match.svg": matching.draw(),
        "sides.svg": sides.draw(read("sides.json")),
        "tree.svg": trees.draw(read("tree.json")),
    }
    for name, figure in read("figures.json").items():
        drawn[f"{name}.svg"] = bars.draw(figure)
    for name, figure in read("curves.json").items():
        drawn[f"{name}.svg"] = curves.draw(figure)
    return drawn


def take(hush: pathlib.Path):
    """Runs the programs for the pictures that show what they print."""
    write("sides.json", capture.capture(ROOT, hush))


def read(name: str) -> dict:
    """A file of facts."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def write(name: str, facts: dict):
    """Stores a file of facts."""
    (FOLDER / name).write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_same(path: pathlib.Path, text: str) -> bool:
    """Whether a file holds this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
