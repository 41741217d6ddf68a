#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on names that were given up, and says which one to use.

`docs/concepts/vocabulary.md` has one word for one thing. This holds code and pages to it: a name that returns, with a merge
or by habit, is found here and not by a reader. The rules are regular expressions over single lines.

`check_words.py [ROOT]`: ROOT is a workspace with `crates/` and `docs/`; by default the one that holds this file.
"""

import pathlib
import re
import sys
from dataclasses import dataclass

PAGE = "docs/concepts/vocabulary.md"


@dataclass(frozen=True)
class Rule:
    """What may not stand in the files that `files` matches, and what to write instead."""

    pattern: str
    instead: str
    files: str = "crates/**/*.rs"
    # The one file where the name keeps its one meaning.
    home: str = ""


def type_named(name: str, instead: str, home: str = "") -> Rule:
    """No type of this bare name: it has had several meanings, or none."""
    return Rule(rf"\b(?:struct|enum|trait|union|type) {name}\b", instead, home=home)


RULES = [
    Rule(
        r"(?<!No )(?<!Partial )\bContent\b(?!-)",
        "Quantity (of an encoded column) or EncryptedHalf (of an answer)",
    ),
    type_named("Columns", "a name that says whose columns: UsedColumns, ChunkColumns"),
    type_named("Facts", "the noun: ColumnStatistics, EncodingParams"),
    type_named("Form", "a name that says what takes the form: ReadAs, AnswerForm"),
    type_named("Found", "what was looked for: UsableEncoding, Lookup, TableLocation"),
    type_named("Held", "what holds and what is held: StoredPart, MemoryBatches"),
    type_named("Part", "PartEntry or PartFile for a file of a table; another noun for anything else"),
    Rule(r"\bPartKind\b", "FileKind: keys and zones have files too"),
    type_named("Way", "another noun; a way is a priced plan", home="crates/hush-plan/src/report.rs"),
    Rule(r"\bfn words\([^)]*\) -> (?:String|&'static str)", "fn describe; words are 64 bits"),
    Rule(r"\b\w*rescale\w*\b", "mod_switch: only CKKS has a scale", files="crates/hush-schemes/src/bgv/**/*.rs"),
    Rule(r"(?i)\bglossary\b", "vocabulary", files="docs/**/*.md"),
    Rule(r"(?i)\bcontents? of (?:a|an|the|each|every) (?:encoded )?columns?\b", "quantity", files="docs/**/*.md"),
]


def main() -> int:
    """Prints every line that breaks a rule and returns 1 if there is one."""
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    faults = []
    for rule in RULES:
        pattern = re.compile(rule.pattern)
        for path in sorted(root.glob(rule.files)):
            name = path.relative_to(root).as_posix()
            if name in (PAGE, rule.home):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                faults += [f"{name}:{number}: `{found.group()}`: use {rule.instead}" for found in pattern.finditer(line)]
    print("\n".join(faults) if faults else f"words: {len(RULES)} rules, none broken")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
