#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the architecture against `cargo metadata`.

Four rules: an edge between our crates must be listed below; `hush-server`, `hush-exec` and the modules for workers never reach
`hush-keys`, even indirectly, and `hush-plan` reaches no crate that computes; nothing reaches `hush-lab`, whose
schemes are insecure; `unsafe` code is possible in `hush-kernels` alone. Only normal and build dependencies count: tests may use anything.
"""

import json
import pathlib
import re
import subprocess
import sys

GROUND = {"hush-arith", "hush-params"}
RING = GROUND | {"hush-ring"}
SCHEMES = RING | {"hush-rlwe", "hush-schemes"}
TABLES = {"hush-params", "hush-plan", "hush-table"}

ALLOWED = {
    "hush-arith": set(),
    "hush-expr": set(),
    "hush-protocol": set(),
    "hush-system": set(),
    "hush-terminal": set(),
    "hush-lab": SCHEMES | {"hush-expr", "hush-kernels", "hush-keys", "hush-system"},
    "hush-params": set(),
    "hush-kernels": {"hush-arith"},
    "hush-ring": GROUND | {"hush-kernels"},
    "hush-rlwe": RING,
    "hush-schemes": RING | {"hush-rlwe"},
    "hush-tfhe": RING,
    "hush-circuits": SCHEMES | {"hush-expr", "hush-tfhe"},
    "hush-keys": SCHEMES | {"hush-system", "hush-tfhe"},
    "hush-plan": {"hush-params"},
    "hush-table": {"hush-kernels", "hush-params", "hush-plan", "hush-system"},
    "hush-exec": SCHEMES | TABLES,
    "hush-worker": {"hush-exec", "hush-table"},
    "hush-py-worker": {"hush-edge", "hush-table", "hush-worker"},
    "hush-server": {"hush-exec", "hush-plan", "hush-protocol", "hush-system", "hush-table"},
    "hush-lambda": {"hush-exec", "hush-protocol", "hush-server", "hush-table"},
    "hush-remote": {"hush-plan", "hush-protocol", "hush-ring", "hush-table"},
    "hush-encode": TABLES | {"hush-schemes"},
    "hush-edge": SCHEMES | TABLES | {"hush-encode", "hush-remote", "hush-system", "hush-terminal"},
    "hush-client": SCHEMES | TABLES | {"hush-circuits", "hush-edge", "hush-encode", "hush-exec", "hush-expr", "hush-keys", "hush-protocol", "hush-remote", "hush-system", "hush-tfhe"},
    "hush": {"hush-client", "hush-edge", "hush-plan", "hush-system", "hush-table", "hush-worker"},
    "hush-bench": SCHEMES | {"hush", "hush-circuits", "hush-expr", "hush-keys", "hush-system", "hush-terminal", "hush-tfhe"},
    "hush-cli": {"hush", "hush-edge", "hush-system", "hush-terminal"},
    "hush-testkit": set(),
    "hush-py": {"hush", "hush-py-worker"},
}

NEVER = [
    ("hush-server", "hush-keys"),
    ("hush-lambda", "hush-keys"),
    ("hush-lambda", "hush-client"),
    ("hush-exec", "hush-keys"),
    ("hush-worker", "hush-keys"),
    ("hush-py-worker", "hush-keys"),
    ("hush-py-worker", "hush-client"),
    ("hush-circuits", "hush-keys"),
    ("hush-edge", "hush-exec"),
    ("hush-edge", "hush-keys"),
    *(("hush-plan", crate) for crate in ("hush-arith", "hush-kernels", "hush-ring", "hush-rlwe", "hush-schemes", "hush-circuits")),
]

MAY_USE_UNSAFE = {"hush-kernels"}


def main() -> int:
    """Prints every breach and returns 1 if there is one."""
    root = pathlib.Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--no-deps"]
    metadata = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
    edges = {
        package["name"]: {
            dependency["name"]
            for dependency in package["dependencies"]
            if dependency.get("path") and dependency["kind"] != "dev"
        }
        for package in metadata["packages"]
    }
    breaches = []
    for crate, targets in sorted(edges.items()):
        if crate not in ALLOWED:
            breaches.append(f"{crate}: not in the layer table of tools/check_layers.py")
            continue
        for target in sorted(targets - ALLOWED[crate]):
            breaches.append(f"{crate} -> {target}: this edge is not allowed")
    for source, target in [*NEVER, *((crate, "hush-lab") for crate in edges if crate != "hush-lab")]:
        if target in reachable(edges, source):
            breaches.append(f"{source} reaches {target}")
    breaches += lint_fence(metadata["packages"])
    for breach in breaches:
        print(f"layers: {breach}", file=sys.stderr)
    if not breaches:
        print(f"layers: {len(edges)} crates, {sum(map(len, edges.values()))} edges, as designed")
    return 1 if breaches else 0


def reachable(edges: dict[str, set[str]], source: str) -> set[str]:
    """All crates of ours that `source` reaches."""
    seen, stack = set(), [source]
    while stack:
        for target in edges.get(stack.pop(), ()):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def lint_fence(packages: list[dict]) -> list[str]:
    """Crates that do not inherit the workspace lints, where `unsafe_code` is forbidden."""
    breaches = []
    for package in packages:
        text = pathlib.Path(package["manifest_path"]).read_text(encoding="utf-8")
        inherits = re.search(r"^\[lints\]\s*\nworkspace = true", text, re.MULTILINE)
        if not inherits and package["name"] not in MAY_USE_UNSAFE:
            breaches.append(f"{package['name']}: must inherit the workspace lints (unsafe is forbidden)")
    return breaches


if __name__ == "__main__":
    sys.exit(main())
