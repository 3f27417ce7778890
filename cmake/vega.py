"""Writes the script of pages: Vega, Vega-Lite and vega-embed in one file.

    python cmake/vega.py [FILE]

Needs vl-convert-python. The build of a wheel calls it; a checkout that runs from ``python/`` has to
call it once, without an argument.
"""

import sys
from pathlib import Path

import vl_convert

ASSETS = Path(__file__).parents[1] / "python/gpusched/reporting/assets"

if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ASSETS / "vega.js"
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # It stands in an element of the page, which this would end.
    assert "</script" not in script.lower()
    assert "<!--" not in script
    file.write_text(script, encoding="utf-8")
