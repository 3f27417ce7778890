"""Where the page has its chart library from: Plotly, in the file or linked."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Final

INLINE: Final = "inline"
CDN: Final = "cdn"


def checked(plotly: str, name: str = "plotly") -> str:
    """Return the choice as it is, if it is one.

    Parameters
    ----------
    name
        What the user calls it.

    Raises
    ------
    TypeError, ValueError
        If it is neither ``"inline"`` nor ``"cdn"`` nor ends in ``.js``.
    """
    if not isinstance(plotly, str):
        raise TypeError(f"{name}: expected a text, not {plotly!r}")
    if plotly not in (INLINE, CDN) and not plotly.endswith(".js"):
        raise ValueError(
            f"{name}: must be {INLINE!r}, {CDN!r} or a path or address that ends in .js, "
            f"not {plotly!r}"
        )
    return plotly


def library_tag(plotly: str) -> str:
    """Return the tag of the page that loads the chart library.

    Raises
    ------
    TypeError, ValueError
        If it is neither ``"inline"`` nor ``"cdn"`` nor ends in ``.js``.
    """
    if checked(plotly) not in (INLINE, CDN):
        return f'<script src="{escape(plotly)}"></script>'
    from plotly.offline import get_plotlyjs, get_plotlyjs_version

    source = get_plotlyjs()
    if plotly == INLINE:
        return f"<script>{source}</script>"
    # A browser refuses a file whose digest is another than that of the copy at hand.
    digest = base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode()
    address = f"https://cdn.plot.ly/plotly-{get_plotlyjs_version()}.min.js"
    return (
        f'<script src="{address}" integrity="sha256-{digest}" crossorigin="anonymous" '
        'charset="utf-8"></script>'
    )
