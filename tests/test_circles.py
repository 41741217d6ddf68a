# SPDX-License-Identifier: Apache-2.0
"""`tools/check_circles.py` finds circles of imports, on crates of a few lines."""

import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tools"))
import check_circles  # noqa: E402


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Writes a crate `some` (`a__b` stands for `a/b.rs`) and checks it. Returns the exit code and the printed text."""

    def run(files):
        for file, text in {"lib": "mod a;\nmod b;\n", **files}.items():
            path = tmp_path / "crates" / "some" / "src" / f"{file.replace('__', '/')}.rs"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["check_circles.py", str(tmp_path)])
        code = check_circles.main()
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


CIRCLES = {
    "direct": {"a": "use crate::b::B;\npub struct A(B);", "b": "use crate::a::A;\npub struct B;\nfn f(_: A) {}"},
    "super": {"a": "use super::b;\npub fn f() { b::g() }", "b": "pub fn g() { super::a::f() }"},
    "in code": {"a": "pub fn f() { crate::b::g() }", "b": "pub fn g() { crate::a::f::<u8>() }"},
    "nested trees": {
        "a": "pub struct A;\nuse std::{fmt, io};\nuse crate::{\n    b::{self as other, deep::{D, E as F}},\n};",
        "b": "pub mod deep;",
        "b__deep": "pub(crate) use {crate::a::{A}};\npub struct D;\npub struct E;",
    },
    "re-export": {
        "lib": "mod a;\nmod b;\nmod face;",
        "face": "pub use crate::b::B as Renamed;",
        "a": "use crate::face::Renamed;\npub struct A;",
        "b": "pub struct B;\nfn f(_: crate::a::A) {}",
    },
    "root": {
        "lib": "mod a;\nmod b;\npub use b::B;",
        "a": "pub struct A;\nfn f(_: crate::B) {}",
        "b": "use super::a::A;\npub struct B;",
    },
    "globs": {
        "lib": "mod a;\nmod b;\nmod face;",
        "face": "pub use crate::b::*;",
        "a": "use crate::face::*;\npub struct A(B);",
        "b": "pub struct B;\nuse crate::a::*;\nfn f(_: A) {}",
    },
    "inline modules": {
        "a": "pub mod inner { pub fn f() { super::super::b::g() } }",
        "b": "pub fn g() { crate::a::inner::f() }",
    },
    "named file": {
        "lib": 'mod a;\n#[path = "other.rs"]\nmod b;',
        "a": "use crate::b::B;\npub struct A;",
        "other": "use crate::a::A;\npub struct B;",
    },
    "macro": {"a": "macro_rules! m { () => { $crate::b::g() } }\npub fn f() {}", "b": "pub fn g() { crate::a::f() }"},
}

NONE = {
    "one way": {"a": "use crate::b::B;", "b": "pub struct B;"},
    "parent and child": {
        "a": "mod inside;\nuse inside::Inside;\npub struct A;\npub fn f(_: Inside) { self::inside::g() }",
        "a__inside": "use super::A;\npub struct Inside;\npub fn g(_: A) { super::f(Inside) }",
        "b": "",
    },
    "tests": {
        "a": "use crate::b::B;\npub struct A;",
        "b": """pub struct B;
#[cfg(test)]
use crate::a::A;
#[cfg(test)]
#[allow(unused)]
pub(crate) fn f<T, U>(_: crate::a::A) -> [T; 3] { crate::a::g() }
#[cfg(all(test, unix))]
mod inner { use crate::a::A; }
#[cfg(test)]
mod tests;
struct C { #[cfg(test)] a: crate::a::A, b: u8 }
""",
        "b__tests": "use crate::a::A;",
    },
    "no code": {
        "a": "use crate::b::B;\npub struct A;",
        "b": """//! [`crate::a::A`]
/* crate::a::A /* nested */ crate::a::A */
pub struct B; // use crate::a::A;
const TEXT: &str = "use crate::a::A; \\" crate::a::A";
const RAW: &str = r#"" crate::a::A "#;
fn f<'a>(text: &'a str) -> [char; 2] { ['"', '\\''] }
const END: &str = "crate::a::A";
pub(in crate::a) struct D;
""",
    },
    "only the module is named": {
        "lib": "mod a;\nmod b;\nmod c;",
        "a": "use crate::b;\npub use crate::c::C;\nfn f(_: b::B) {}",
        "b": "use crate::a;\npub struct B(a::C);",
        "c": "pub struct C;",
    },
    "other crates": {
        "a": "use b::b;\nuse std::b::*;\nuse ::b::B;\npub struct A;",
        "b": "use crate::a::A;\nuse c::c;\nfn f() { c::g() }",
    },
}


@pytest.mark.parametrize("files", CIRCLES.values(), ids=CIRCLES)
def test_circle_is_found(check, files):
    """One line for it, which names the crate and both ways."""
    code, printed = check(files)
    assert code == 1, printed
    assert printed.startswith("circles: some: ") and printed.count("\n") == 1
    assert " -> a " in printed and "a -> " in printed


@pytest.mark.parametrize("files", NONE.values(), ids=NONE)
def test_none_is_made_up(check, files):
    """One line of success."""
    code, printed = check(files)
    assert code == 0, printed
    assert printed.startswith("circles: ") and printed.count("\n") == 1
