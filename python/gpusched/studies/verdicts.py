"""Conclusions of a comparison: the best values, growing queues, the headline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.libraries import polars as pl
from gpusched.base.wording import plural, written
from gpusched.results.shown_metrics import GROWTH, is_growing, kind_of
from gpusched.studies.hodges_lehmann import difference, holm, ratio, seeds_for, values_of

Scale = Literal["ratio", "difference"]
_LEAST_GAIN: Final = 0.02
_ALIKE: Final = 1.05
Row = Mapping[str, Any]


class Compared(Protocol):
    """The comparison: a :class:`~gpusched.studies.ComparedRuns`."""

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
    def scale(self) -> str: ...
    @property
    def better(self) -> str: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def num_comparisons(self) -> int: ...


def not_beaten(
    columns: Mapping[str, ArrayLike],
    *,
    better: str = "lower",
    scale: Scale = "ratio",
    level: float = 0.95,
) -> set[str]:
    """Return the names that no other beats significantly and by 2% or more.

    All pairs are compared, with p values adjusted by Holm.

    ``columns``: by name one value per seed, in the same order.
    ``better``: whether ``"lower"`` or ``"higher"`` values are better.
    ``scale``: compare by :func:`ratio`, or by :func:`difference`, whose 2% are of the median.
    """
    pairs = list(combinations(columns, 2))
    if not pairs:
        return set(columns)
    compare = ratio if scale == "ratio" else difference
    found = [compare(columns[a], columns[b], level=level) for a, b in pairs]
    left = set(columns)
    for (a, b), one, p in zip(pairs, found, holm([one.p for one in found]), strict=True):
        if scale == "ratio":
            change, least = math.log(one.value), -math.log(1 - _LEAST_GAIN)
        else:
            change = one.value
            least = _LEAST_GAIN * float(np.median(np.abs(values_of(b, columns[b]))))
        if p <= 1 - level and abs(change) >= least:
            left.discard(b if (change < 0) == (better == "lower") else a)
    return left


def growth_mark(row: Row) -> str:
    """Return the growth of a row if its queue grows without bound; else an empty string."""
    return f"{row[GROWTH]:.2g}" if is_growing(row[GROWTH], row["num_seeds"]) else ""


def ahead(compared: Compared) -> list[bool]:
    """Return for each row whether it is unbeaten while others of its setting are beaten."""
    rows = list(compared.frame.iter_rows(named=True))
    if _too_few(compared, rows):
        return [False] * len(rows)
    keys = [tuple(row[name] for name in compared.by) for row in rows]
    told = {key for key, row in zip(keys, rows, strict=True) if row["is_beaten"]}
    return [row["is_beaten"] is False and key in told for key, row in zip(keys, rows, strict=True)]


def told_p(compared: Compared, row: Row) -> float | None:
    """Return the adjusted p of a row; None with too few seeds for a test."""
    needed = seeds_for(max(1, compared.num_comparisons), level=compared.level)
    return row["p_adjusted"] if row["num_pairs"] >= needed else None


def is_significant(compared: Compared, row: Row) -> bool:
    """Whether a row differs significantly from the baseline, allowing for all intervals."""
    p = row["p_adjusted"]
    return p is not None and p <= 1 - compared.level


def pile_ups(growths: Mapping[str, float]) -> list[str]:
    """Report policies whose queue grows, by the :data:`GROWTH` of each; empty if there are none."""
    told = [
        f"{label} (growth {written(value)})"
        for label, value in growths.items()
        if is_growing(value, 1)
    ]
    if not told:
        return []
    whose = "its" if len(told) == 1 else "their"
    return [f"jobs pile up under {', '.join(told)}: {whose} metrics depend on the trace length"]


def headline(compared: Compared) -> list[str]:
    """Return the conclusion in a few sentences; empty if nothing is compared.

    Only a deployable policy without a growing queue can be called best.
    """
    if compared.better == "neutral" or compared.frame[compared.axis].n_unique() < 2:
        return []
    rows = list(compared.frame.iter_rows(named=True))
    deployable = list(dict.fromkeys(r[compared.axis] for r in rows if not r["is_clairvoyant"]))
    if len(deployable) < 2:
        return _nothing_to_choose(compared, rows, deployable)
    lines = _pile_ups(compared, rows)
    settings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        settings.setdefault(tuple(row[name] for name in compared.by), []).append(row)
    judged = {
        key: [row for row in own if row["is_beaten"] is not None] for key, own in settings.items()
    }
    judged = {key: own for key, own in judged.items() if own}
    if not judged:
        return lines
    if few := _too_few(compared, rows):
        return [*lines, f"{few}."]
    left = {key: [row for row in own if not row["is_beaten"]] for key, own in judged.items()}
    single = {key: own[0] for key, own in left.items() if len(own) == 1}
    is_everywhere = len(judged) == len(settings)
    if not single:
        places = "" if is_everywhere else f" at {_places(compared, list(judged))}"
        every = [row for own in left.values() for row in own]
        return [*lines, *_not_told_apart(compared, every, places)]
    by_name: dict[Any, list[tuple[Any, ...]]] = {}
    for key, one in single.items():
        by_name.setdefault(one[compared.axis], []).append(key)
    if len(by_name) == 1 and len(single) == len(settings):
        (name,) = by_name
        where = f" at all {_settings(compared, len(settings))}" if compared.by else ""
        gain = _gain(compared, list(single.values()))
        return [*lines, f"Of these, on this workload, {name} is best{where}{gain}."]
    told = [f"{name} is best at {_places(compared, keys)}" for name, keys in by_name.items()]
    rest = "; elsewhere there is no clear best" if len(single) < len(settings) else ""
    return [*lines, f"Of these, on this workload, {', '.join(told)}{rest}."]


def too_few(axis: str, seeds: int, needed: int, num: int) -> str:
    """Report that seeds are too few for any significant difference."""
    what = "policies" if axis == "policy" else f"values of {axis}"
    return (
        f"{plural(seeds, 'seed')} cannot distinguish {what}; at least {needed} are needed for "
        f"{plural(num, 'comparison')}"
    )


def _too_few(compared: Compared, rows: Sequence[Row]) -> str:
    """Report that seeds are too few for the table, or for the pairs of a setting, if they are."""
    candidates: dict[tuple[Any, ...], int] = {}
    for row in rows:
        if row["is_beaten"] is not None:
            key = tuple(row[name] for name in compared.by)
            candidates[key] = candidates.get(key, 0) + 1
    most = max(candidates.values(), default=0)
    num = max(compared.num_comparisons, most * (most - 1) // 2, 1)
    seeds, needed = max(row["num_seeds"] for row in rows), seeds_for(num, level=compared.level)
    return too_few(compared.axis, seeds, needed, num) if seeds < needed else ""


def _nothing_to_choose(
    compared: Compared, rows: Sequence[Row], deployable: Sequence[Any]
) -> list[str]:
    whom = f"only {deployable[0]}" if deployable else "none"
    lines = [f"Of these {whom} could be deployed; nothing to choose."]
    if compared.baseline in deployable and compared.scale == "ratio":
        ends = [(row["ratio"], row[compared.axis]) for row in rows
                if row["is_clairvoyant"] and row["ratio"] is not None]  # fmt: skip
        if ends:
            value, name = (min if compared.better == "lower" else max)(ends, key=lambda e: e[0])
            lines.append(
                f"Clairvoyant {name} is typically {value:.2g} times {compared.baseline}: the most "
                "that better estimates could bring."
            )
    return lines


def _pile_ups(compared: Compared, rows: Iterable[Row]) -> list[str]:
    growing = [row for row in rows if is_growing(row[GROWTH], row["num_seeds"])]
    places: dict[Any, list[tuple[Any, ...]]] = {}
    for row in growing:
        places.setdefault(row[compared.axis], []).append(tuple(row[one] for one in compared.by))
    names: dict[tuple[Any, ...], list[Any]] = {}
    for name, keys in places.items():
        names.setdefault(tuple(keys), []).append(name)
    lines = []
    for found, own in names.items():
        where = f"At {_places(compared, found)} jobs" if compared.by else "Jobs"
        most = max(row[GROWTH] for row in growing if row[compared.axis] in own)
        whose, up_to = ("its", "") if len(own) == 1 else ("their", "up to ")
        lines.append(
            f"{where} pile up under {', '.join(map(str, own))} (growth {up_to}{most:.2g}): {whose} "
            "metrics depend on the trace length."
        )
    return lines


def _places(compared: Compared, keys: Sequence[tuple[Any, ...]]) -> str:
    if len(keys) > 5:
        return _settings(compared, len(keys))
    if len(compared.by) == 1:
        return f"{compared.by[0]} {', '.join(str(key[0]) for key in keys)}"
    pairs = ([f"{axis} {v}" for axis, v in zip(compared.by, key, strict=True)] for key in keys)
    return "; ".join(", ".join(one) for one in pairs)


def _settings(compared: Compared, num: int) -> str:
    return plural(num, compared.by[0] if len(compared.by) == 1 else "setting")


def _gain(compared: Compared, rows: Sequence[Row]) -> str:
    """How far the best one is from the baseline; empty for the baseline itself."""
    known = [row for row in rows if row["p"] is not None]
    if len(known) < len(rows):
        return ""
    values = [row[compared.scale] for row in known]
    of = compared.metric
    ends = dict.fromkeys(
        f"{value:.2g}" if compared.scale == "ratio" else change_text(of, value)
        for value in (min(values), max(values))
    )
    amount = " to ".join(ends)
    amount += f" times {compared.baseline}" if compared.scale == "ratio" else ""
    least = min(known, key=lambda row: row["num_better"] / row["num_pairs"])
    each = " each" if len(rows) > 1 else ""
    better = f"{least['num_better']} of {plural(least['num_pairs'], 'seed')}{each}"
    return f": typically {amount} ({better})"


def change_text(metric: str, value: float) -> str:
    """Format a difference; for shares in percentage points."""
    kind = kind_of(metric)
    return f"{100 * value:+.2g} points" if kind == "percent" else written(value, kind, "+")


def _not_told_apart(compared: Compared, rows: Sequence[Row], places: str) -> list[str]:
    names = list(dict.fromkeys(row[compared.axis] for row in rows))
    text = f"Not distinguishable from the best{places}: {', '.join(map(str, names))}."
    known = [row for row in rows if row["ratio_low"] is not None]
    if compared.baseline not in names or len(known) < len(rows) or len(names) < 2:
        return [text]
    widest = max(max(row["ratio_high"], 1 / row["ratio_low"]) for row in known)
    if widest <= _ALIKE:
        return [text, f"They are within 5% of {compared.baseline}."]
    most = f"{100 * (widest - 1):.0f}%" if widest <= 3 else f"a factor of {widest:,.0f}"
    return [text, f"Differences from {compared.baseline} of more than {most} are excluded."]
