"""What all pages are made of: their files, and their colours by day and by night."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

from gpusched.reporting.drawing import palette


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


def figure_html(
    name: str,
    title: str,
    caption: str,
    alt: str,
    height: int,
    data: str,
    *,
    kind: str = "",
    before: str = "",
) -> str:
    """Return a figure of Plotly with heading and caption; the script of the page draws it.

    Parameters
    ----------
    name
        Of the element, and so of its data.
    alt
        What the figure shows, for who does not see it.
    height
        Of the chart in pixels.
    data
        A figure of Plotly without a title, as JSON.
    before
        HTML between the caption and the chart.
    """
    return (
        f'<figure class="{kind}"><figcaption><h3 id="{name}-title">{escape(title)}</h3>'
        f"<p>{escape(caption)}</p></figcaption>{before}"
        f'<div class="chart" id="{name}" role="img" tabindex="0" '
        f'aria-label="{escape(alt)}" style="min-height:{height}px"></div>'
        f'<script type="application/json" id="{name}-data">{_enclosed(data)}</script>'
        "</figure>"
    )


def _enclosed(data: str) -> str:
    """Write JSON so that nothing in it can end the element that it stands in."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def answer_page(title: str, heading: str, caption: str, library: str, body: str) -> str:
    """Return a page without filters: an answer as its heading, pictures and tables.

    Parameters
    ----------
    title, heading
        Texts.
    caption, library, body
        HTML: what stands below the heading, the tag of the chart library, and all else.
    """
    return Template(asset("answer.html")).substitute(
        title=escape(title),
        heading=escape(heading),
        style=colours() + asset("report.css"),
        caption=caption,
        library=library,
        body=body,
        script=asset("report.js"),
    )
