"""Comparisons as tables of a paper: Markdown, and LaTeX with booktabs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from gpusched.base.field_checks import check_integer
from gpusched.base.tables import Column, table
from gpusched.base.wording import plural, scale_of
from gpusched.results.metric_registry import metrics

if TYPE_CHECKING:
    import polars as pl

FORMATS: Final = ("markdown", "latex")
_LATEX: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
_MOST_DECIMALS: Final = 9


class Compared(Protocol):
    """What a table shows: a :class:`~gpusched.studies.ComparedRuns`."""

    @property
    def frame(self) -> pl.DataFrame: ...
    @property
    def metric(self) -> str: ...
    @property
    def axis(self) -> str: ...
    @property
    def by(self) -> tuple[str, ...]: ...
    @property
    def baseline(self) -> str | float | None: ...
    @property
    def level(self) -> float: ...
    @property
    def correction(self) -> str | None: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def num_comparisons(self) -> int: ...


@dataclass(frozen=True)
class _Style:
    """How a format writes what the tables consist of."""

    is_latex: bool

    def text(self, text: str) -> str:
        """Text as it is meant, whatever signs it has."""
        if self.is_latex:
            return "".join(_LATEX.get(sign, sign) for sign in text)
        return re.sub(r"([\\`*|<\[])", r"\\\1", text)

    def bold(self, text: str) -> str:
        return f"\\textbf{{{text}}}" if self.is_latex else f"**{text}**"

    def number(self, text: str) -> str:
        """A number, whose sign is no hyphen; without a sign where only zeros follow."""
        if text.startswith(("-", "+")) and not text.strip("+-0.,"):
            text = text[1:]
        if not self.is_latex:
            return text
        return text.replace("-", "$-$").replace("+", "$+$").replace(",", "{,}")

    @property
    def none(self) -> str:
        return "--" if self.is_latex else "-"

    @property
    def star(self) -> str:
        return "$^{*}$" if self.is_latex else "\\*"


def written(compared: Compared, format: str, caption: str | None, digits: int) -> str:
    """Return the table of a comparison; see :meth:`ComparedRuns.table`."""
    if format not in FORMATS:
        raise ValueError(f"format: {format!r} must be one of {', '.join(FORMATS)}")
    check_integer("digits", digits, 1, 6)
    style = _Style(format == "latex")
    rows = list(compared.frame.iter_rows(named=True))
    keys = (*compared.by, compared.axis)
    scale, unit = _unit(compared)
    columns = [
        (style.text(name.replace("_", " ")), [style.text(_key(row[name])) for row in rows])
        for name in keys
    ]
    columns.append(
        (
            style.text(_title(compared.metric, unit)),
            [_mean(row, scale, digits, style) for row in rows],
        )
    )
    if compared.baseline is not None:
        columns += _comparison(compared, rows, scale, unit, digits, style)
    headings = [Column(name, is_text=at < len(keys)) for at, (name, _) in enumerate(columns)]
    title = "" if caption is None else style.text(caption)
    body = zip(*(cells for _, cells in columns), strict=True)
    if style.is_latex:
        return table(title, headings, body, _notes(compared, style)).to_latex()
    text = table("", headings, body, _notes(compared, style)).to_markdown((":--", "--:"))
    return f"{title}\n\n{text}" if title else text


def _comparison(
    compared: Compared,
    rows: list[dict[str, Any]],
    scale: float,
    unit: str,
    digits: int,
    style: _Style,
) -> list[tuple[str, list[str]]]:
    baseline = style.text(str(compared.baseline))
    others = [row for row in rows if row[compared.axis] != compared.baseline]
    in_percent = all(
        row["ratio_low"] is None or math.isfinite(row["ratio_high"] - row["ratio_low"])
        for row in others
    ) and any(row["ratio"] is not None for row in others)
    cells, probabilities = [], []
    for row in rows:
        if row[compared.axis] == compared.baseline or row["difference"] is None:
            cells.append(style.none)
            probabilities.append(style.none)
            continue
        if in_percent:
            numbers = [None if row[name] is None else 100.0 * (row[name] - 1.0)
                       for name in ("ratio", "ratio_low", "ratio_high")]  # fmt: skip
        else:
            names = ("difference", "difference_low", "difference_high")
            numbers = [None if row[name] is None else row[name] / scale for name in names]
        mark = style.star if row["is_significant"] else ""
        value, limits = _spanned(numbers, digits, style, sign="+")
        cells.append(f"{value}{mark}{limits}")
        probabilities.append(_p(row["p_adjusted"], style))
    of = "\\%" if style.is_latex else "%"
    measure = of if in_percent else style.text(unit)
    heading = f"change from {baseline}" + (f" ({measure})" if measure else "")
    p = "p (Holm)" if compared.correction == "holm" else "p"
    return [(heading, cells), (p, probabilities)]


def _mean(row: dict[str, Any], scale: float, digits: int, style: _Style) -> str:
    numbers = [None if row[name] is None else row[name] / scale for name in ("mean", "low", "high")]
    value, limits = _spanned(numbers, digits, style)
    return f"{style.bold(value) if row['is_best'] else value}{limits}"


def _spanned(
    numbers: Sequence[float | None], digits: int, style: _Style, sign: str = ""
) -> tuple[str, str]:
    """An estimate and its limits, with the digits that the width allows."""
    value, low, high = numbers
    if value is None:
        return style.none, ""
    width = (high - low) / 2 if low is not None and high is not None else math.nan
    if not math.isfinite(width):
        return style.number(
            f"{value:{sign},.3g}" if abs(value) < 1e3 else f"{value:{sign},.0f}"
        ), ""
    decimals = decimals_for(width, value, digits)
    texts = [style.number(f"{number:{sign},.{decimals}f}") for number in (value, low, high)]
    opening, closing = ("{[}", "{]}") if style.is_latex else ("[", "]")
    return texts[0], f" {opening}{texts[1]}, {texts[2]}{closing}"


def decimals_for(half_width: float, value: float, digits: int) -> int:
    """Decimals that show ``digits`` significant digits of half a width; of the value if it is zero.

    A width of 0.21 at two digits gives two, one of 2.1 gives one, one of 21 or more none.
    """
    size = half_width if half_width > 1e-12 * abs(value) else abs(value)
    if size == 0.0:
        return 0
    # Rounding may carry into one more digit: 0.0996 is 0.10 at two.
    exponent = int(f"{size:.{digits - 1}e}".partition("e")[2])
    return min(max(0, digits - 1 - exponent), _MOST_DECIMALS)


def _unit(compared: Compared) -> tuple[float, str]:
    """The scale and the unit in which the means read best."""
    means = compared.frame["mean"].drop_nulls().to_list()
    known = metrics().get(compared.metric)
    if known is not None:
        scale, unit = scale_of(known.kind, means)
        return scale, unit or {"1/s": "1/s", "GPU h": "GPU h"}.get(known.unit, "")
    return scale_of("time" if compared.metric.endswith("_s") else "ratio", means)


def _title(metric: str, unit: str) -> str:
    known = metrics().get(metric)
    label = metric.removesuffix("_s").replace("_", " ") if known is None else known.label
    return f"{label} ({unit})" if unit and unit not in label else label


def _key(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _p(value: float | None, style: _Style) -> str:
    if value is None:
        return style.none
    if value < 0.001:
        return "$<$0.001" if style.is_latex else "<0.001"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _notes(compared: Compared, style: _Style) -> list[str]:
    frame = compared.frame
    used = sorted(set(frame["method"].drop_nulls()))
    counts = sorted(set(frame["num_seeds"]))
    seeds = plural(counts[-1], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    percent = f"{100 * compared.level:g} %"
    lines = [f"Means over {seeds} with {percent} intervals ({', '.join(used)})"]
    if frame["is_best"].any():
        lines[0] += "; the best is bold"
    lines[0] += "."
    texts = [style.text(lines[0])]
    if compared.baseline is not None:
        tests = plural(compared.num_comparisons, "comparison")
        adjusted = f" adjusted by Holm for {tests}" if compared.correction == "holm" else ""
        by_seed = f"Changes are paired by seed; p{adjusted}"
        limit = f" p < {1.0 - compared.level:.2g}."
        shown = limit.replace("<", "$<$") if style.is_latex else limit
        texts.append(f"{style.text(by_seed)}; {style.star}{shown}")
    return texts + [style.text(f"Note: {line}.") for line in compared.warnings]
