#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on circles of imports between the modules of one crate.

A file that needs another one, which needs the first, cannot be read, tested or moved without it. A module and those
inside it are one thing told in several files: between them any import is allowed.

An import is a path in a `use` or in code (`crate::part::read(..)`), and leads to the module that defines what it names:
re-exports and globs are followed. Tests may use anything: items under `#[cfg(test)]` do not count. This reads the text
of the sources and knows nothing of types: a method called on a value is no import, nor is what a macro makes up.

`check_circles.py [ROOT]`: ROOT is a workspace with its crates in `crates/`; by default the one that holds this file.
"""

import pathlib
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field

Path = tuple[str, ...]

# What is no code, most of it by its first character; then a character, which a lifetime is not.
NO_CODE = re.compile(
    r"""//[^\n]* | /\* | [bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:[^"\\]|\\.)*"
    | b?'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))'""",
    re.VERBOSE | re.DOTALL,
)
TOKEN = re.compile(r"(?:r\#)?[A-Za-z_]\w*|\d\w*|::|\S")
NAME = re.compile(r"[A-Za-z_]\w*")
OPENING, CLOSING = set("([{"), set(")]}")
# Items that end at a semicolon, and those that end at it or after a block.
STATEMENTS = {"const", "let", "static", "type", "use"}
BLOCKS = {"async", "enum", "extern", "fn", "impl", "macro_rules", "mod", "struct", "trait", "union", "unsafe"}
DEFINING = {"const", "enum", "fn", "macro_rules", "static", "struct", "trait", "type", "union"}
BETWEEN = {"!", "async", "extern", "fn", "mut", "unsafe"}


@dataclass
class Module:
    """What one module holds, whether in a file of its own or inline in that of `home`."""

    home: Path
    defined: set[str] = field(default_factory=set)
    aliases: dict[str, Path] = field(default_factory=dict)
    # What stands before `::*`, and the modules of this crate among that.
    globs: list[Path] = field(default_factory=list)
    opened: list[Path] = field(default_factory=list)
    # Paths as written.
    paths: list[Path] = field(default_factory=list)
    words: set[str] = field(default_factory=set)


class Crate:
    """The modules below one root file (`lib.rs`, `main.rs`), by path."""

    def __init__(self, root: pathlib.Path):
        self.modules: dict[Path, Module] = {}
        self.load(root, (), root.parent)
        for path, module in self.modules.items():
            for name, target in list(module.aliases.items()):
                first = target[len(path)] if target[: len(path)] == path and len(target) > len(path) else None
                known = first is None or path + (first,) in self.modules or first in module.defined
                if not known and (first == name or first not in module.aliases):
                    # Of another crate, from here on as if it were of this module.
                    del module.aliases[name]
                    module.defined.add(name)
        for module in self.modules.values():
            # A glob that leads through another glob is not followed: that one may not be known yet.
            ends = [self.walk(glob, follow_globs=False) for glob in module.globs]
            module.opened = [place for place, rest in ends if not rest]

    def load(self, file: pathlib.Path, path: Path, directory: pathlib.Path) -> None:
        """Reads a file as the module `path`. The files of its submodules lie in `directory`."""
        text = file.read_text(encoding="utf-8")
        module = self.modules.setdefault(path, Module(path))
        found = [(match.group(), match.start()) for match in TOKEN.finditer(blank(text))]
        Reader(self, file, text, found).read(module, path, directory)

    def edges(self) -> dict[Path, dict[Path, set[str]]]:
        """What each file's module imports, and by what names; those around and inside it are left out."""
        edges: dict[Path, dict[Path, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path, module in self.modules.items():
            written = module.paths + [(word,) for word in module.words if module.opened]
            targets = [*module.aliases.values(), *(self.absolute(path, one) for one in written)]
            source = module.home
            for place, rest in (self.walk(target) for target in targets if target):
                home = self.modules[place].home
                # Naming a module is no import yet: using something of it is.
                if rest and home[: len(source)] != source and source[: len(home)] != home:
                    edges[source][home].add(rest[0])
        return edges

    def absolute(self, path: Path, written: Path) -> Path | None:
        """A path from the root for one written in the module `path`, or None for one into another crate."""
        first, *rest = written
        if first in ("crate", "self"):
            return (() if first == "crate" else path) + tuple(rest)
        if first == "super":
            above = tuple(rest) if rest[:1] == ["super"] else ("self", *rest)
            return self.absolute(path[:-1], above) if path else None
        place = self.named(path, first)
        return place and place + tuple(rest)

    def named(self, path: Path, name: str, follow_globs: bool = True, seen: tuple[Path, ...] = ()) -> Path | None:
        """The path of what `name` means in the module `path`: its own, imported by name, or by a glob."""
        module = self.modules[path]
        if path + (name,) in self.modules or name in module.defined:
            return path + (name,)
        if name in module.aliases:
            return module.aliases[name]
        opened = [place for place in module.opened if follow_globs and place not in seen]
        found = (self.named(place, name, True, (*seen, path)) for place in opened)
        return next(filter(None, found), None)

    def walk(self, path: Path, follow_globs: bool = True) -> tuple[Path, Path]:
        """The module that a path leads to through re-exports, and what is left of the path there."""
        seen, place, rest = set(), (), path
        while rest and (place, rest) not in seen:
            seen.add((place, rest))
            if place + rest[:1] in self.modules:
                place, rest = place + rest[:1], rest[1:]
                continue
            target = self.named(place, rest[0], follow_globs)
            if target is None or target == place + rest[:1]:
                break
            place, rest = (), target + rest[1:]
        return place, rest


class Reader:
    """Reads the tokens of one file."""

    def __init__(self, crate: Crate, file: pathlib.Path, text: str, tokens: list[tuple[str, int]]):
        self.crate, self.file, self.text = crate, file, text
        self.tokens, self.at = tokens, 0

    def token(self, ahead: int = 0) -> str:
        """A token, empty behind the last."""
        place = self.at + ahead
        return self.tokens[place][0] if place < len(self.tokens) else ""

    def read(self, module: Module, path: Path, directory: pathlib.Path) -> None:
        """Reads a module up to its closing brace or the end of the file."""
        depth, source = 0, None
        while token := self.token():
            if token == "#" and self.token(1) in ("[", "!"):
                inner = self.token(1) == "!"
                attribute, source = self.attribute(source)
                if is_test(attribute):
                    if inner:
                        self.at = len(self.tokens)
                    else:
                        self.skip_item()
                continue
            if token == "mod" and NAME.fullmatch(self.token(1)) and self.token(2) in (";", "{"):
                self.submodule(module, path, directory, source)
                source = None
                continue
            if token == "}" and depth == 0:
                return
            depth += (token == "{") - (token == "}")
            if token == "pub" and self.token(1) == "(":
                # `pub(in crate::part)` is no import.
                self.skip_group(1)
            elif token == "use":
                self.at += 1
                self.tree(module, path, ())
            elif NAME.fullmatch(token):
                if token in DEFINING and depth == 0:
                    self.define(module)
                self.path(module)
            else:
                self.at += 1

    def attribute(self, source: str | None) -> tuple[str, str | None]:
        """Passes over an attribute: its tokens, and the file that a `#[path = ".."]` names, else `source`."""
        start = self.at
        self.skip_group(2 if self.token(1) == "!" else 1)
        first, last = self.tokens[start][1], self.tokens[self.at - 1][1]
        named = re.match(r'#\s*\[\s*path\s*=\s*"([^"]+)"', self.text[first : last + 1])
        return "".join(token for token, _ in self.tokens[start : self.at]), named.group(1) if named else source

    def submodule(self, module: Module, path: Path, directory: pathlib.Path, source: str | None) -> None:
        """Reads `mod name;` or `mod name { .. }`."""
        name, inline = self.token(1), self.token(2) == "{"
        inside = path + (name,)
        self.at += 3
        if inline:
            child = self.crate.modules.setdefault(inside, Module(module.home))
            self.read(child, inside, directory / name)
            self.at += 1
            return
        candidates = [self.file.parent / source] if source else [directory / f"{name}.rs", directory / name / "mod.rs"]
        for file in filter(pathlib.Path.is_file, candidates):
            below = file.parent if file.name == "mod.rs" else file.with_suffix("")
            self.crate.load(file, inside, below)

    def define(self, module: Module) -> None:
        """Notes the name of the item whose keyword is here."""
        ahead = 1
        while self.token(ahead) in BETWEEN:
            ahead += 1
        if NAME.fullmatch(self.token(ahead)):
            module.defined.add(self.token(ahead))

    def path(self, module: Module) -> None:
        """Reads a name, or names joined by `::`, in code."""
        before = self.tokens[self.at - 1][0] if self.at else ""
        names = [self.token()]
        while self.token(1) == "::" and NAME.fullmatch(self.token(2)):
            names.append(self.token(2))
            self.at += 2
        self.at += 1
        if before not in (".", "::"):
            module.words.add(names[0])
            if len(names) > 1:
                module.paths.append(tuple(names))

    def tree(self, module: Module, path: Path, stem: Path) -> None:
        """Reads one tree of a `use`, up to the comma, brace or semicolon behind it."""
        foreign = not stem and self.token() == "::"
        names = list(stem)
        while token := self.token():
            if token == "{":
                while self.token() not in ("}", ""):
                    self.at += 1
                    if self.token() not in ("}", ""):
                        self.tree(module, path, tuple(names))
            elif token == "*":
                self.imported(module, path, tuple(names), "*")
            elif token in (",", "}", ";"):
                return
            elif token == "as":
                self.imported(module, path, tuple(names), self.token(1))
                self.at += 1
            elif token != "::" and not foreign:
                if not (token == "self" and names):
                    names.append(token)
                if self.token(1) in (",", "}", ";"):
                    self.imported(module, path, tuple(names), names[-1])
            self.at += 1

    def imported(self, module: Module, path: Path, names: Path, alias: str) -> None:
        """Notes what a `use` brings in. Its first name may itself be imported, so that it is resolved later."""
        if not names:
            return
        target = (*path, *names) if names[0] not in ("crate", "self", "super") else self.crate.absolute(path, names)
        if target is None:
            return
        if alias == "*":
            module.globs.append(target)
        elif alias == "_":
            module.paths.append(names)
        else:
            module.aliases[alias] = target

    def skip_group(self, ahead: int) -> None:
        """Passes over a bracket that opens `ahead` tokens from here, and all up to its closing one."""
        self.at += ahead
        depth = 0
        while token := self.token():
            depth += (token in OPENING) - (token in CLOSING)
            self.at += 1
            if depth == 0:
                return

    def skip_item(self) -> None:
        """Passes over an item, a statement, a field or an arm, and over attributes before it."""
        while self.token() == "#":
            self.attribute(None)
        if self.token() == "pub":
            self.at += 1
            if self.token() == "(":
                self.skip_group(0)
        statement = self.token() in STATEMENTS and self.token(1) not in BLOCKS
        block = self.token() in BLOCKS or self.token(1) in BLOCKS
        while (token := self.token()) and token not in CLOSING:
            if token in OPENING:
                self.skip_group(0)
                if token == "{" and not statement:
                    return
                continue
            self.at += 1
            if token == ";" or token == "," and not (statement or block):
                return


def blank(text: str) -> str:
    """The text with spaces for comments, strings and characters, at the same places."""
    parts, end = [], 0
    while match := NO_CODE.search(text, end):
        start, stop = match.span()
        if match.group() == "/*":
            depth = 1
            while depth and (mark := re.compile(r"/\*|\*/").search(text, stop)):
                depth += 1 if mark.group() == "/*" else -1
                stop = mark.end()
        elif start and (text[start - 1].isalnum() or text[start - 1] == "_") and text[start] in "bcr":
            # The end of a name, not the beginning of a string.
            parts.append(text[end : start + 1])
            end = start + 1
            continue
        parts += [text[end:start], " " * (stop - start)]
        end = stop
    return "".join([*parts, text[end:]])


def is_test(attribute: str) -> bool:
    """Whether what stands under an attribute, without spaces, is compiled for tests alone."""
    return re.match(r"#!?\[cfg\((test\)|all\((.*,)?test[,)])", attribute) is not None


def circles(edges: dict[Path, dict[Path, set[str]]]) -> list[list[Path]]:
    """The sets of modules of which each reaches each other one [Tarjan 1972], sorted."""
    order: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found = []

    def visit(module: Path) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for target in edges.get(module, ()):
            if target not in order:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], order[target])
        if low[module] == order[module]:
            place = stack.index(module)
            found.append(sorted(stack[place:]))
            del stack[place:]

    for module in list(edges):
        if module not in order:
            visit(module)
    return sorted(circle for circle in found if len(circle) > 1)


def describe(circle: list[Path], edges: dict[Path, dict[Path, set[str]]]) -> str:
    """The edges between the modules of a circle, with the names that they import."""
    parts = []
    for source in circle:
        for target in sorted(set(edges[source]) & set(circle)):
            names = ", ".join(sorted(edges[source][target]))
            parts.append(f"{'/'.join(source)} -> {'/'.join(target)} ({names})")
    return "; ".join(parts)


def main() -> int:
    """Prints every circle and returns 1 if there is one."""
    sys.setrecursionlimit(10_000)
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    breaches, module_count, edge_count = [], 0, 0
    for directory in sorted(path.parent for path in root.glob("crates/*/src")):
        sources = [directory / "src/lib.rs", directory / "src/main.rs", *sorted(directory.glob("src/bin/*.rs"))]
        found = []
        for source in filter(pathlib.Path.is_file, sources):
            crate = Crate(source)
            edges = crate.edges()
            module_count += len(crate.modules)
            edge_count += sum(map(len, edges.values()))
            found += [f"{directory.name}: {describe(circle, edges)}" for circle in circles(edges)]
        breaches += found
    for breach in breaches:
        print(f"circles: {breach}", file=sys.stderr)
    if not breaches:
        print(f"circles: {module_count} modules, {edge_count} imports, none in a circle")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
