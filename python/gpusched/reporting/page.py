"""HTML pages: one file each, without a network, from templates that extend one."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from gpusched.reporting.drawing import palette, style

if TYPE_CHECKING:
    from jinja2 import Environment

_SCALES: Final = {
    "policy": (palette.COLOURS, palette.DARK_COLOURS),
    "share": tuple(
        palette.steps(each, 10) for each in (palette.SHARE_COLOURS, palette.DARK_SHARE_COLOURS)
    ),
    "ratio": tuple(map(palette.steps, (palette.RATIO_COLOURS, palette.DARK_RATIO_COLOURS))),
    "job": (palette.JOB_COLOURS, palette.JOB_COLOURS),
}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("gpusched.reporting", "assets"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.globals |= {
        "asset": asset,
        "colours": _colours,
        "figure": figure_html,
        "legend": legend_html,
        "config": in_script(style.config(in_page=True)),
    }
    return made


def render(template: str, **values: Any) -> str:
    """Return a page.

    ``template``: a file of ``assets`` that extends ``page.html.j2``.
    ``values``: its variables. Strings are escaped, unless they are ``markupsafe.Markup``; templates
        call ``figure(chart)`` and ``legend(labels)`` themselves.
    """
    return _environment().get_template(template).render(**values)


def asset(name: str) -> Markup:
    """Return a stylesheet or a script of the pages."""
    file = files("gpusched.reporting").joinpath("assets", name)
    if name == "vega.js" and not file.is_file():
        raise FileNotFoundError(
            f"{name}, the script of pages, comes with the wheel; in a checkout, make it "
            "with: python cmake/vega.py"
        )
    return Markup(file.read_text(encoding="utf-8"))


def in_script(value: Any) -> Markup:
    """Write a value as JSON that cannot end the surrounding element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _colours() -> Markup:
    """Return the colours of scales as CSS variables: light, dark, and light on paper."""
    light, dark = (
        ";".join(
            f"--{name}-{index}:{colour}"
            for name, both in _SCALES.items()
            for index, colour in enumerate(both[side])
        )
        for side in (0, 1)
    )
    return Markup(
        f":root{{{light}}}\n"
        "@media screen and (prefers-color-scheme: dark)"
        f"{{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )


def figure_html(chart: Any, *, before: str = "", kind: str = "") -> Markup:
    """Return a figure with heading and caption; the script of the page draws it.

    ``chart``: from :func:`gpusched.reporting.drawing.style.picture`, or its :func:`specification`.
    ``before``: HTML between the caption and the chart.
    ``kind``: ``"wide"`` for a figure of full width where others are next to each other.
    """
    spec = chart if isinstance(chart, dict) else specification(chart)
    name, caption = spec["usermeta"]["name"], spec["usermeta"]["caption"]
    return Markup(
        '<figure class="{}"><figcaption><h3 id="{}-title">{}</h3><p>{}</p></figcaption>{}'
        '<div class="chart" id="{}" role="img" tabindex="0" aria-label="{}" '
        'style="min-height:{:.0f}px"></div>'
        '<script type="application/json" id="{}-chart">{}</script></figure>'
    ).format(
        kind, name, spec["title"], caption, Markup(before), name, spec["description"],
        spec.get("height", 60), name, in_script(page_spec(spec)),
    )  # fmt: skip


def specification(chart: Any) -> dict[str, Any]:
    """Return one of our charts in Vega-Lite without validation, which dominates the time."""
    made: dict[str, Any] = chart.to_dict(validate=False)
    return made


def page_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a specification without texts that the page has, as wide as there is room."""
    said = ("$schema", "config", "title", "description", "usermeta")
    spec = {name: part for name, part in spec.items() if name not in said}
    for part in style.encodings_of_policies(spec):
        part["legend"] = None
    for parameter in spec.get("params", ()):
        parameter.pop("bind", None)
    for view in style.views(spec):
        view["width"] = "container" if view is spec else style.WIDTH
    if spec.get("width") == "container":
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def legend_html(
    labels: Sequence[str], highlighted: Sequence[str] = (), shown: Collection[str] | None = None
) -> Markup:
    """Return the legend of a page: a button for each policy, which highlights it in all charts.

    ``labels``: all policies, in the order of their colours.
    ``shown``: those with a button; None: all.
    """
    if len(labels) < 2:
        return Markup("")
    buttons = Markup("").join(
        Markup(
            '<button type="button" aria-pressed="{}" data-policy="{}">'
            '<i class="{}" style="--c:var(--policy-{})"></i>{}</button>'
        ).format(
            "true" if label in highlighted else "false", label, palette.dash_of(place),
            place % len(palette.COLOURS), label,
        )
        for place, label in enumerate(labels)
        if shown is None or label in shown
    )  # fmt: skip
    return Markup('<div class="legend" role="group" aria-label="highlight">{}</div>').format(
        buttons
    )
