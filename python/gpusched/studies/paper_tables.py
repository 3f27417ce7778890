"""Comparisons of the runs of a study as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gpusched.base.tables import BEST, Cell, Column, Table, Value, table, text_column
from gpusched.base.wording import Kind, plural
from gpusched.results.shown_metrics import CLAIRVOYANT, GROWTH_NOTE, SEES_TRUTH, kind_of, label_of
from gpusched.studies.verdicts import (
    Compared,
    Row,
    ahead,
    growth_mark,
    is_significant,
    told_p,
)

_MOST_SHARE: Final = 1 / 3
_LEAST_SEEDS: Final = 6


def table_of(compared: Compared, title: str = "") -> Table:
    """Lay out typical runs with intervals, means and worst seeds, and changes from the baseline."""
    rows = list(compared.frame.iter_rows(named=True))
    keys, kind = (*compared.by, compared.axis), kind_of(compared.metric)
    columns = [text_column(name.replace("_", " ")) for name in keys]
    columns += [Column("seeds", kind="count", key="num_seeds"), *typical_columns(compared)]
    is_up = compared.better == "higher"
    columns += [
        Column(end, kind=kind, key=end, is_highest_first=is_up) for end in ("mean", "worst")
    ]
    is_growing = any(map(growth_mark, rows))
    if compared.baseline is not None:
        columns += change_columns(compared)
    if is_growing:
        columns.append(Column("growth", key="growth"))
    body: list[list[Value | Cell]] = []
    for row, is_ahead in zip(rows, ahead(compared), strict=True):
        mark = f" {CLAIRVOYANT}" * bool(row["is_clairvoyant"])
        cells: list[Value | Cell] = [axis_text(row[name]) for name in compared.by]
        cells.append(Cell(axis_text(row[compared.axis]), mark=mark))
        cells += [
            row["num_seeds"],
            Cell(row["typical"], BEST * is_ahead),
            (row["low"], row["high"]),
        ]
        cells += [row["mean"], Cell(row["worst"], mark=" !" * is_held_by_one(row))]
        if compared.baseline is not None:
            cells += change_cells(compared, row)
        body.append(cells + [growth_mark(row)] * is_growing)
    notes = (f"Note: {line}." for line in compared.warnings)
    return table(title, columns, body, [*notes_of(compared), *notes])


def typical_columns(compared: Compared, heading: str = "typical") -> list[Column]:
    """Return the columns of a typical run: its estimate and its limits."""
    kind, label = kind_of(compared.metric), label_of(compared.metric)
    is_up, name = compared.better == "higher", f"{heading} {label}"
    typical = Column(name, kind=kind, key="typical", short=heading, is_highest_first=is_up)
    return [typical, Column(_share(compared), kind=kind, key="low,high")]


def change_columns(compared: Compared) -> list[Column]:
    """Return the columns of the differences from the baseline."""
    scale, is_ratio = compared.scale, compared.scale == "ratio"
    kind: Kind = "ratio" if is_ratio else kind_of(compared.metric)
    name = f"ratio to {compared.baseline}" if is_ratio else f"change from {compared.baseline}"
    sign = "" if is_ratio else "+"
    return [
        Column(name, kind=kind, key=scale, sign=sign, short=name.split()[0]),
        Column(_share(compared), kind=kind, key=f"{scale}_low,{scale}_high", sign=sign),
        Column("better"),
        Column("p (Holm)", kind="p", key="p_adjusted", short="p"),
    ]


def change_cells(compared: Compared, row: Row) -> list[Value | Cell]:
    """Return a row's difference: estimate, limits, better seeds and p; empty for the baseline."""
    if row[compared.axis] == compared.baseline:
        return [""] * 4
    scale = compared.scale
    won = "-" if row["num_better"] is None else f"{row['num_better']}/{row['num_pairs']}"
    limits = row[f"{scale}_low"], row[f"{scale}_high"]
    p = Cell(told_p(compared, row), mark=" *" * is_significant(compared, row))
    return [row[scale], limits, won, p]


def axis_text(value: object) -> str:
    """Format the value of an axis for tables."""
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def is_held_by_one(row: Mapping[str, Any]) -> bool:
    """Whether one of six seeds or more contributes over a third of the sum."""
    return row["num_seeds"] >= _LEAST_SEEDS and (row["worst_share"] or 0.0) > _MOST_SHARE


def _share(compared: Compared) -> str:
    return f"{100 * compared.level:g}%"


def notes_of(compared: Compared) -> list[str]:
    """Return notes on the methods of a table."""
    frame = compared.frame
    of = "the logarithms" if compared.scale == "ratio" else "the values"
    lines = [f"Typical: Hodges-Lehmann of {of}, with {100 * compared.level:g}% intervals."]
    if compared.baseline is not None and compared.num_comparisons:
        tests = plural(compared.num_comparisons, "comparison")
        what = "ratios" if compared.scale == "ratio" else "changes"
        lines.append(
            f"{what.capitalize()} compare runs on the same jobs; p: exact signed-rank, Holm for "
            f"{tests}; *: p at most {1 - compared.level:.2g}."
        )
    if any(ahead(compared)):
        lines.append("Bold: not beaten significantly and by 2% or more.")
    if any(map(is_held_by_one, frame.iter_rows(named=True))):
        lines.append(
            "! One seed contributes more than a third of the sum: the mean is not typical of a run."
        )
    if frame["is_clairvoyant"].any():
        lines.append(f"{CLAIRVOYANT} {SEES_TRUTH}.")
    if any(map(growth_mark, frame.iter_rows(named=True))):
        lines.append(GROWTH_NOTE)
    return lines
