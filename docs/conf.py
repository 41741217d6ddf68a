# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration: Markdown pages, the built-in theme, nothing fetched from a network."""

import pathlib
import tomllib

_root = pathlib.Path(__file__).resolve().parent.parent
_workspace = tomllib.loads((_root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]

project = "Hushtable"
author = "the Hushtable authors"
project_copyright = "the Hushtable authors; Apache-2.0"
release = version = _workspace["package"]["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "alabaster"
html_theme_options = {
    "description": "Ask questions of a table that the server cannot read.",
    "fixed_sidebar": True,
    "page_width": "64rem",
}
html_show_sphinx = False
html_copy_source = False
