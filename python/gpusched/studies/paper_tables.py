"""Comparisons as tables of a paper: Markdown, and LaTeX with booktabs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusched.base.field_checks import check_integer
from gpusched.base.tables import Column, table
from gpusched.base.wording import plural, scale_of
from gpusched.results.metric_registry import metrics
from gpusched.studies.verdicts import Compared, ahead, growth_mark, is_significant, told_p

FORMATS: Final = ("markdown", "latex")
_LATEX: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
_MOST_DECIMALS: Final = 9
_MOST_SHARE: Final = 1 / 3
_LEAST_SEEDS: Final = 6


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
    columns += [
        ("seeds", [f"{row['num_seeds']:,}" for row in rows]),
        (
            style.text(_title(f"typical {_label(compared.metric)}", unit)),
            [
                _typical(row, scale, digits, style, is_bold=is_bold)
                for row, is_bold in zip(rows, ahead(compared), strict=True)
            ],
        ),
        ("mean", [_number(row["mean"], scale, digits, style) for row in rows]),
        ("worst", [_worst(row, scale, digits, style) for row in rows]),
    ]
    if compared.baseline is not None:
        columns += _comparison(compared, rows, scale, unit, digits, style)
    if any(marks := [growth_mark(row) for row in rows]):
        columns.append(("growth", marks))
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
    is_ratio = compared.scale == "ratio"
    found: list[tuple[str, str, str]] = []
    for row in rows:
        if row[compared.axis] == compared.baseline or row[compared.scale] is None:
            found.append((style.none,) * 3)
            continue
        numbers = [row[f"{compared.scale}{end}"] for end in ("", "_low", "_high")]
        if not is_ratio:
            numbers = [None if number is None else number / scale for number in numbers]
        value, limits = _spanned(numbers, digits, style, sign="" if is_ratio else "+")
        mark = style.star if is_significant(compared, row) else ""
        won = row["num_better"]
        better = style.none if won is None else f"{won}/{row['num_pairs']}"
        found.append((f"{value}{mark}{limits}", better, _p(told_p(compared, row), style)))
    what = f"ratio to {baseline}" if is_ratio else f"change from {baseline}"
    heading = what + (f" ({style.text(unit)})" if unit and not is_ratio else "")
    names = (heading, "better", "p (Holm)")
    return [(name, [row[at] for row in found]) for at, name in enumerate(names)]


def _typical(
    row: dict[str, Any], scale: float, digits: int, style: _Style, *, is_bold: bool
) -> str:
    ends = (None if row[name] is None else row[name] / scale for name in ("typical", "low", "high"))
    value, limits = _spanned(list(ends), digits, style)
    return f"{style.bold(value) if is_bold else value}{limits}"


def _number(value: float | None, scale: float, digits: int, style: _Style) -> str:
    return _spanned((None if value is None else value / scale, None, None), digits, style)[0]


def is_held_by_one(row: Mapping[str, Any]) -> bool:
    """Whether one of six seeds or more holds over a third of the sum."""
    return row["num_seeds"] >= _LEAST_SEEDS and (row["worst_share"] or 0.0) > _MOST_SHARE


def _worst(row: dict[str, Any], scale: float, digits: int, style: _Style) -> str:
    text = _number(row["worst"], scale, digits, style)
    return f"{text} !" if is_held_by_one(row) else text


def _spanned(
    numbers: Sequence[float | None], digits: int, style: _Style, sign: str = ""
) -> tuple[str, str]:
    """An estimate and its limits, with the digits that the width allows."""
    value, low, high = numbers
    if value is None:
        return style.none, ""
    width = math.nan
    if low is not None and high is not None:
        # The shorter side: of a ratio the longer one may be many times as wide.
        width = min(value - low, high - value) or (high - low) / 2
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
    """The scale and the unit in which typical values read best."""
    means = compared.frame["typical"].drop_nulls().to_list()
    known = metrics().get(compared.metric)
    if known is not None:
        scale, unit = scale_of(known.kind, means)
        return scale, unit or {"1/s": "1/s", "GPU h": "GPU h"}.get(known.unit, "")
    return scale_of("time" if compared.metric.endswith("_s") else "ratio", means)


def _title(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit and unit not in label else label


def _label(metric: str) -> str:
    known = metrics().get(metric)
    return metric.removesuffix("_s").replace("_", " ") if known is None else known.label


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


def notes_of(compared: Compared) -> list[str]:
    """Return by which methods a table was made."""
    frame = compared.frame
    of = "the logarithms" if compared.scale == "ratio" else "the values"
    lines = [f"Typical: Hodges-Lehmann of {of}, with {100 * compared.level:g} % intervals."]
    if compared.baseline is not None and compared.num_comparisons:
        tests = plural(compared.num_comparisons, "comparison")
        what = "ratios" if compared.scale == "ratio" else "changes"
        lines.append(
            f"{what.capitalize()} are of runs on the same jobs; p: exact signed-rank, Holm for "
            f"{tests}; * of at most {1 - compared.level:.2g}."
        )
    if any(ahead(compared)):
        lines.append("Bold: not beaten significantly and by 2 % or more.")
    if any(map(is_held_by_one, frame.iter_rows(named=True))):
        lines.append(
            "! One seed holds more than a third of the sum: the mean says nothing of a typical run."
        )
    if any(map(growth_mark, frame.iter_rows(named=True))):
        lines.append("Growth: jobs pile up, and figures hold for this length alone.")
    return lines


def _notes(compared: Compared, style: _Style) -> list[str]:
    lines = [*notes_of(compared), *(f"Note: {line}." for line in compared.warnings)]
    return list(map(style.text, lines))
