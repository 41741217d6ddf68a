# SPDX-License-Identifier: Apache-2.0
"""`tools/check_words.py` finds names that were given up, on files of a line."""

import re
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tools"))
import check_words  # noqa: E402


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Writes one file and checks it. Returns the exit code and the printed text."""

    def run(file, text):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["check_words.py", str(tmp_path)])
        code = check_words.main()
        return code, capsys.readouterr().out

    return run


RUST = "crates/some/src/a.rs"
BROKEN = {
    "a use": (RUST, "use hush_plan::Content;", "Quantity"),
    "a variant": (RUST, "    if let Content::Rows(chunks) = x {}", "EncryptedHalf"),
    "a struct": (RUST, "pub(super) struct Held {", "StoredPart"),
    "a struct of a lifetime": (RUST, "struct Facts<'a> {", "ColumnStatistics"),
    "an enum": (RUST, "enum Way {", "a way is a priced plan"),
    "a type": (RUST, "type Form = u8;", "ReadAs"),
    "a description": (RUST, "    pub fn words(&self) -> String {", "describe"),
    "a test": ("crates/some/tests/b.rs", "struct Part;", "PartFile"),
    "BGV": ("crates/hush-schemes/src/bgv/deep/a.rs", "pub fn mul_rescale(&self) {}", "mod_switch"),
    "a page": ("docs/guides/a.md", "see the Glossary", "vocabulary"),
    "a page of columns": ("docs/a.md", "the content of an encoded column", "quantity"),
}

KEPT = {
    "headers": (RUST, '/// `Content-Length`\nconst A: &str = "206 Partial Content\\r\\ncontent-length: 6";'),
    "longer names": (RUST, "struct HeldOut; enum LineForm {} fn words_of() -> String {} struct Columnar;"),
    "machine words": (RUST, "pub struct Words;\npub fn words(&self) -> &[u64] {}"),
    "CKKS": ("crates/hush-schemes/src/ckks/a.rs", "pub fn mul_rescale(&self) {}"),
    "the price of a plan": ("crates/hush-plan/src/report.rs", "pub struct Way {"),
    "the page that names them": ("docs/concepts/vocabulary.md", "glossary, Content"),
    "other texts": ("README.md", "glossary"),
}


@pytest.mark.parametrize("file, line, instead", BROKEN.values(), ids=BROKEN)
def test_old_name_is_found(check, file, line, instead):
    """One line for it, with its place and the word to use."""
    code, printed = check(file, f"\n{line}\n")
    assert code == 1, printed
    assert printed.startswith(f"{file}:2: `") and printed.count("\n") == 1
    assert instead in printed.split("`: use ")[1]


@pytest.mark.parametrize("file, text", KEPT.values(), ids=KEPT)
def test_other_names_pass(check, file, text):
    """One line of success."""
    code, printed = check(file, text)
    assert code == 0, printed
    assert printed.startswith("words: ") and printed.count("\n") == 1


def test_names_in_the_vocabulary_exist():
    """Each name that the page has under *in code* stands in the sources."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("crates/*/src/**/*.rs"))
    crates = {path.name for path in (ROOT / "crates").iterdir()}
    rows = [line.split(" | ") for line in (ROOT / check_words.PAGE).read_text(encoding="utf-8").splitlines()]
    names = [name for row in rows if len(row) == 4 for name in re.findall(r"`([^`]+)`", row[2])]
    assert len(names) > 40
    items = re.findall(r"\b(?:const|enum|fn|mod|struct|trait|type) (\w+)", sources)
    variants_and_fields = re.findall(r"^ +(?:pub )?(\w+)(?:[(,]|: | \{)", sources, re.MULTILINE)
    defined = {*items, *variants_and_fields}
    for name in names:
        for word in name.split("::"):
            assert word in defined or word.replace("_", "-") in crates, name
