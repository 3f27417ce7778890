"""Sphinx: ``sphinx-build -W -b html docs docs/_build``, with the extra "docs" installed."""

from __future__ import annotations

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
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signatures of a typed package say enough in the source

html_theme = "alabaster"
html_theme_options = {
    "description": "A scheduling core for GPU clusters",
    "fixed_sidebar": True,
    "page_width": "1100px",
}


def setup(app: Any) -> None:
    """Have the page of the Python API hold all docstrings once it is built."""
    app.connect("source-read", python_api.add_docstrings)
