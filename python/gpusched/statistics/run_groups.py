"""The runs of a study by setting and by what is compared: one value a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.suggest import nearest
from gpusched.results.metric_registry import metrics

if TYPE_CHECKING:
    import polars as pl

SEED: Final = "seed"
Key = tuple[Any, ...]
# What runs of equal axes may differ in.
_NOT_AXES: Final = frozenset(
    {"run", "digest", "wall_s", "clairvoyant", "warnings", "error", "repeat", SEED}
)


@dataclass
class Group:
    """Runs of one setting and one value of the axis.

    Attributes
    ----------
    by_seed
        The metric of each seed that has one.
    missing
        Seeds whose run failed, or has no such value.
    """

    by_seed: dict[Any, float] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)

    @property
    def values(self) -> Float64:
        """One value a seed."""
        return np.array(list(self.by_seed.values()), np.float64)

    def in_order(self) -> Group:
        """The same by rising seed, so that the order of the runs decides nothing."""

        def place(seed: Any) -> tuple[bool, Any]:
            return seed is None, seed

        by_seed = {seed: self.by_seed[seed] for seed in sorted(self.by_seed, key=place)}
        return Group(by_seed, sorted(self.missing, key=place))

    def pairs(self, baseline: Group) -> tuple[Float64, Float64]:
        """Values of both at the seeds that both have."""
        seeds = [seed for seed in self.by_seed if seed in baseline.by_seed]
        mine, other = (
            np.array([group.by_seed[seed] for seed in seeds], np.float64)
            for group in (self, baseline)
        )
        return mine, other

    def unpaired(self, other: Group) -> list[Any]:
        """Seeds that this one has and the other has not."""
        return [seed for seed in self.by_seed if seed not in other.by_seed]


Setting = dict[Any, Group]
"""The groups of one setting, by the value of the axis."""


def settings_of(
    runs: pl.DataFrame, metric: str, axis: str, by: Sequence[str]
) -> dict[Key, Setting]:
    """Group the runs by setting and by value of the axis, in the order of the whole frame.

    Raises
    ------
    ValueError
        If a column is missing, the metric is no number, or two runs of a group have the same seed:
        the message names the columns in which they differ.
    """
    _check_columns(runs, metric, axis, by)
    found: dict[Key, dict[Any, Group]] = {}
    rows = runs.select(*dict.fromkeys((*by, axis, SEED, metric))).iter_rows(named=True)
    for row in rows:
        setting = found.setdefault(tuple(row[name] for name in by), {})
        group = setting.setdefault(row[axis], Group())
        seed, value = row[SEED], row[metric]
        if seed in group.by_seed or seed in group.missing:
            raise ValueError(_twice(runs, metric, axis, by, row))
        if value is None or not math.isfinite(value):
            group.missing.append(seed)
        else:
            group.by_seed[seed] = float(value)
    names = dict.fromkeys(runs[axis])
    return {
        key: {name: setting[name].in_order() for name in names if name in setting}
        for key, setting in found.items()
    }


def _check_columns(runs: pl.DataFrame, metric: str, axis: str, by: Sequence[str]) -> None:
    for what, name in (("metric", metric), ("axis", axis), *(("by", one) for one in by)):
        if name not in runs.columns:
            raise ValueError(
                f"{what}: the runs have no column {name!r}{nearest(name, runs.columns)}"
            )
    if SEED not in runs.columns:
        raise ValueError("runs: they have no column 'seed', which tells what belongs together")
    if not (runs.schema[metric].is_numeric() or runs[metric].null_count() == len(runs)):
        raise ValueError(f"metric: {metric!r} is {runs.schema[metric]}, not a number")
    if axis in by:
        raise ValueError(f"by: {axis!r} is the axis that is compared")
    if len(runs) == 0:
        raise ValueError("runs: there are none")


def _twice(
    runs: pl.DataFrame, metric: str, axis: str, by: Sequence[str], row: dict[str, Any]
) -> str:
    import polars as pl

    same = pl.all_horizontal(pl.col(name).eq_missing(row[name]) for name in (*by, axis, SEED))
    alike = runs.filter(same)
    measured = {*metrics(), metric, *_NOT_AXES} - {"load"}  # a metric, and an axis as well
    differing = [
        name
        for name in alike.columns
        if name not in measured
        and not alike.schema[name].is_nested()
        and alike[name].n_unique() > 1
    ]
    where = ", ".join(f"{name} {row[name]!r}" for name in (*by, axis, SEED))
    text = f"runs: {len(alike)} have {where}"
    if differing:
        return f"{text}; they differ in {', '.join(differing)}: name it in by=, or filter the runs"
    return f"{text}, and nothing tells them apart"
