#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on links of the documentation that lead nowhere.

Every relative link of a page must name a file or directory of the repository, and its anchor a heading of that page. A path
of the repository in backquotes (`tools/check_links.py`) must exist too; one with `*` must match something. Links into the
network are left alone.

`check_links.py [ROOT]`: ROOT holds the pages; by default the repository that holds this file.
"""

import pathlib
import re
import sys
from functools import cache
from urllib.parse import unquote

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**/*.md"]

FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*~* *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?P<text>(?:(?!\1).)+?)\1", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]^]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
# A path from the root in backquotes. Braces, brackets and capitals stand for something else in commands and addresses.
REPOSITORY_PATH = re.compile(r"(?:crates|docs|examples|python|tests|tools|\.ci)/[a-z0-9_*./-]+")
# Sphinx gives anchors to headings of three levels.
HEADING = re.compile(r"^#{1,3} +(.+?) *#*$|^\((?P<target>[\w-]+)\)=$", re.MULTILINE)


def main() -> int:
    """Prints every link that leads nowhere and returns 1 if there is one."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    pages = sorted({page for pattern in PAGES for page in root.glob(pattern)})
    faults, count = [], 0
    for page in pages:
        for line, target, fault in links(root, page):
            count += 1
            if fault:
                faults.append(f"{page.relative_to(root)}:{line}: {target}: {fault}")
    print("\n".join(faults) if faults else f"links: {count} in {len(pages)} pages, all lead somewhere")
    return 1 if faults else 0


def links(root: pathlib.Path, page: pathlib.Path):
    """Line, target and fault (empty if there is none) of each link of a page."""
    text = FENCE.sub(blank, page.read_text(encoding="utf-8"))
    for found in CODE.finditer(text):
        path = found["text"]
        if REPOSITORY_PATH.fullmatch(path):
            exists = any(root.glob(path.rstrip("/"))) if "*" in path else (root / path).exists()
            yield line_of(text, found), path, "" if exists else "no such file in the repository"
    for found in LINK.finditer(CODE.sub(blank, text)):
        target = found.group(1) or found.group(2)
        if not SCHEME.match(target):
            yield line_of(text, found), target, fault_of(root, page, unquote(target))


def fault_of(root: pathlib.Path, page: pathlib.Path, target: str) -> str:
    """What is wrong with a relative link, empty if nothing is."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.is_relative_to(root):
        return "leads out of the repository"
    if not file.exists():
        return "no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "no such heading"
    return ""


@cache
def anchors(page: pathlib.Path) -> set[str]:
    """The anchors of a page's headings: small letters, punctuation left out, hyphens for spaces, numbers for repeats."""
    found: set[str] = set()
    counts: dict[str, int] = {}
    for heading in HEADING.finditer(FENCE.sub(blank, page.read_text(encoding="utf-8"))):
        if heading["target"]:
            found.add(heading["target"])
            continue
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        repeats = counts.get(slug, 0)
        counts[slug] = repeats + 1
        found.add(f"{slug}-{repeats}" if repeats else slug)
    return found


def blank(found: re.Match) -> str:
    """The same number of lines, with nothing on them."""
    return "\n" * found.group().count("\n")


def line_of(text: str, found: re.Match) -> int:
    """The line on which a match starts. Blanking keeps lines, not columns."""
    return found.string.count("\n", 0, found.start()) + 1


if __name__ == "__main__":
    sys.exit(main())
