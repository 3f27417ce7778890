"""Sphinx: ``sphinx-build -W -b html docs docs/_build``, with the extra "docs" installed."""

import gpusched

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

html_theme = "furo"
html_title = f"gpusched {release}"
html_theme_options = {
    "navigation_with_keys": True,
    # Tables that commands print are up to 100 columns wide.
    "light_css_variables": {"code-font-size": "var(--font-size--small--3)"},
}
