#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the native module that cargo has built, and python/hushtable, into one abi3 wheel.

    wheel.py LIBRARY DIRECTORY    writes DIRECTORY/hushtable-VERSION-cp311-abi3-PLATFORM.whl and prints its path

maturin would compile the module by itself: with other features of shared crates, hence the query engine once more.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The smallest date that a zip archive has: equal inputs give equal wheels.
EPOCH = (1980, 1, 1, 0, 0, 0)


def main(library: str, directory: str) -> None:
    """Writes the wheel and prints its path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp311-abi3-{platform}"
    info = f"{project['name']}-{version}.dist-info"
    package = ROOT / "python" / "hushtable"
    files = {f"hushtable/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    files["hushtable/_hushtable.abi3.so"] = pathlib.Path(library).read_bytes()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: hushtable\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/METADATA"] = metadata(project, version).encode()
    record = [f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    path = pathlib.Path(directory) / f"{project['name']}-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 1)
    print(path)


def metadata(project: dict, version: str) -> str:
    """The METADATA file."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {requirement}" for requirement in project["dependencies"]),
    ]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {requirement}; extra == "{extra}"' for requirement in requirements]
    readme = (ROOT / project["readme"]).read_text(encoding="utf-8")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def digest(content: bytes) -> str:
    """As RECORD wants it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(*sys.argv[1:])
