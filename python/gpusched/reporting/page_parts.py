"""What all pages are made of: their files, and their colours by day and by night."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Final

from gpusched.reporting.drawing import palette

MISSING: Final = """<p class="caption" id="missing" hidden>The pictures need the chart library,
which could not be loaded: is there a network?</p>
<script>document.getElementById("missing").hidden = typeof Plotly !== "undefined"</script>"""
"""Says that there are no pictures, where the chart library was not loaded."""
CONFIG: Final = {"displayModeBar": False, "responsive": True}
"""Of pictures of Plotly on a plain page."""


def asset(name: str) -> str:
    """Return a file of the pages: a template, a style or a script."""
    return files("gpusched.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def colours() -> str:
    """Return the colours of policies and scales as variables of the page, light and dark."""

    def variables(**lists: Sequence[str]) -> str:
        return ";".join(
            f"--{name}-{index}:{colour}"
            for name, those in lists.items()
            for index, colour in enumerate(those)
        )

    light = variables(
        policy=palette.COLOURS, share=palette.SHARE_COLOURS, ratio=palette.RATIO_COLOURS
    )
    dark = variables(
        policy=palette.DARK_COLOURS,
        share=palette.DARK_SHARE_COLOURS,
        ratio=palette.DARK_RATIO_COLOURS,
    )
    return (
        f":root{{{light}}}\n"
        f"@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
    )


def plain_page(title: str, body: str) -> str:
    """Return a page without filters: headings, paragraphs, pictures and tables."""
    return _PLAIN.format(title=escape(title), body=body)


_PLAIN: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gpusched: {title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1100px;
       margin: 1.5rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; margin: 0 0 .5rem; }}
h2 {{ font-size: 1.15rem; margin: 1.5rem 0 .5rem; }}
.caption {{ color: #52606d; margin: 0; overflow-wrap: anywhere; }}
.figures {{ display: grid; gap: 1rem; }}
.figures > div {{ min-width: 0; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #e3e6ea;
         white-space: nowrap; }}
.text td:first-child, .text th:first-child {{ text-align: left; }}
.answer td {{ color: #00704f; font-weight: 700; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
