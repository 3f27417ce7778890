"""Sphinx: ``sphinx-build -W -b html docs docs/_build``, with the extra "docs" installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import gpusched

sys.path.insert(0, str(Path(__file__).parent))

import python_api

project = "gpusched"
author = "The gpusched developers"
copyright = "The gpusched developers"
release = version = gpusched.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "studies/data"]  # what the pages link to as files
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
smartquotes_action = "qe"  # the two hyphens of an option stay

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signatures of a typed package say enough in the source

html_theme = "furo"
html_title = f"gpusched {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {
    "navigation_with_keys": True,
    # Tables that commands print are up to 100 columns wide.
    "light_css_variables": {"code-font-size": "var(--font-size--small--3)"},
}


_HERE = Path(__file__).parent
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+\.md)(?:#[^)]*)?\)")


def _link_files(app: Any, docname: str, source: list[str]) -> None:
    """Link Markdown files that are no pages, such as contributing/testing.md, as files."""

    def link(match: re.Match[str]) -> str:
        path = (_HERE / docname).parent.joinpath(match[1]).resolve()
        inside = path.is_relative_to(_HERE) and not path.is_relative_to(_HERE / "studies" / "data")
        return match[0] if inside or not path.exists() else f"](path:{match[1]})"

    source[0] = _LINK.sub(link, source[0])


def setup(app: Any) -> None:
    """Have the page of the Python API hold all docstrings, and links lead to files."""
    app.connect("source-read", python_api.add_docstrings)
    app.connect("source-read", _link_files)
