#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a native module that cargo has built, and its package of python/, into one abi3 wheel.

    wheel.py PYPROJECT LIBRARY DIRECTORY    writes DIRECTORY/NAME-VERSION-cp311-abi3-PLATFORM.whl and prints its path

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


def main(pyproject: str, library: str, directory: str) -> None:
    """Writes the wheel and prints its path."""
    described = tomllib.loads(pathlib.Path(pyproject).read_text(encoding="utf-8"))
    project, module = described["project"], described["tool"]["maturin"]["module-name"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp311-abi3-{platform}"
    name = project["name"].replace("-", "_")
    info, package = f"{name}-{version}.dist-info", module.split(".")[0]
    sources = sorted((ROOT / "python" / package).iterdir())
    files = {f"{package}/{path.name}": path.read_bytes() for path in sources if path.is_file()}
    files[f"{module.replace('.', '/')}.abi3.so"] = pathlib.Path(library).read_bytes()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: hushtable\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    readme = (pathlib.Path(pyproject).parent / project["readme"]).read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = metadata(project, version, readme).encode()
    record = [f"{path},sha256={digest(content)},{len(content)}\n" for path, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    path = pathlib.Path(directory) / f"{name}-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        for file, content in files.items():
            entry = zipfile.ZipInfo(file, EPOCH)
            entry.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 1)
    print(path)


def metadata(project: dict, version: str, readme: str) -> str:
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
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {requirement}; extra == "{extra}"' for requirement in requirements]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def digest(content: bytes) -> str:
    """As RECORD wants it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(*sys.argv[1:])
