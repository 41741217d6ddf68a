# SPDX-License-Identifier: Apache-2.0
"""`tools/check_links.py` finds links that lead nowhere, on pages of a few lines."""

import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tools"))
import check_links  # noqa: E402

OTHER = """# The other page

## What `it` says, twice (or more)
## Twice
## Twice
(marked)=
### [Linked](page.md) heading
#### Too deep
```
# No heading
```
"""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Writes `docs/page.md` beside another page and a tool, and checks it. Returns the exit code and the printed text."""

    def run(text):
        for file, content in {"docs/page.md": text, "docs/other.md": OTHER, "tools/a.py": "", "README.md": ""}.items():
            path = tmp_path / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["check_links.py", str(tmp_path)])
        check_links.anchors.cache_clear()
        code = check_links.main()
        return code, capsys.readouterr().out

    return run


BROKEN = {
    "no file": ("[a](missing.md)", 1, "missing.md"),
    "no picture": ("![a](pictures/missing.svg)", 1, "pictures/missing.svg"),
    "no heading": ("[a](other.md#missing)", 1, "other.md#missing"),
    "no heading here": ("[a](#missing)", 1, "#missing"),
    "a heading in a fence": ("[a](other.md#no-heading)", 1, "other.md#no-heading"),
    "a heading too deep": ("[a](other.md#too-deep)", 1, "other.md#too-deep"),
    "a third repeat": ("[a](other.md#twice-2)", 1, "other.md#twice-2"),
    "over two lines": ("[a\nb](missing.md)", 2, "missing.md"),
    "with a title": ('[a](missing.md "title")', 1, "missing.md"),
    "by reference": ("[a][b]\n\n[b]: missing.md", 3, "missing.md"),
    "out of the repository": ("[a](../../missing)", 1, "../../missing"),
    "code": ("[a](../tools/missing.py)", 1, "../tools/missing.py"),
    "a path": ("`tools/missing.py`", 1, "tools/missing.py"),
    "a pattern": ("`tools/*.sh`", 1, "tools/*.sh"),
    "behind a fence": ("```\n[a](other.md)\n```\n[a](missing.md)", 4, "missing.md"),
    "behind backquotes over two lines": ("`a\nb` [a](missing.md)", 2, "missing.md"),
}

SOUND = {
    "a page": "[a](other.md)",
    "headings": "[a](other.md#what-it-says-twice-or-more) [b](other.md#twice-1) [c](other.md#linked-heading)",
    "a target": "[a](other.md#marked)",
    "here": "# Top\n[a](#top)",
    "the network": "[a](https://example.org/missing.md#x) [b](mailto:a@example.org)",
    "code": "[a](../tools/a.py)",
    "a directory": "[a](../tools)",
    "paths": "`tools/a.py` `tools/*.py` `tools/`",
    "other words in backquotes": "`docs/{name}` `cargo run tools/missing.py` `tables/NAME`",
    "in a fence": "```\n[a](missing.md)\n```",
    "in backquotes": "`[a](missing.md)`",
}


@pytest.mark.parametrize("text, line, target", BROKEN.values(), ids=BROKEN)
def test_link_to_nowhere_is_found(check, text, line, target):
    """One line for it, with page, line and target."""
    code, printed = check(text)
    assert code == 1, printed
    assert printed.startswith(f"docs/page.md:{line}: {target}: ") and printed.count("\n") == 1


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_sound_link_passes(check, text):
    """One line of success, with the number of links."""
    code, printed = check(text)
    assert code == 0, printed
    assert printed.startswith("links: ") and printed.count("\n") == 1
