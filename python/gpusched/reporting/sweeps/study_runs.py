"""The runs of a study: the axes in which they differ, and the selection for a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import polars as pl
from gpusched.base.suggest import nearest
from gpusched.base.wording import plural
from gpusched.results.metric_registry import METRICS

if TYPE_CHECKING:
    from gpusched.studies.sweep_result import SweepResult

AXES: Final = (
    "trace", "cluster", "placement", "speed", "contention", "predictor", "load", "jobs", "window",
)  # fmt: skip
"""Axes of runs, besides the policy, the seed and the parameters of the study."""
_FACTS: Final = {
    "run", "policy", "seed", "wall_s", "total_s", "clairvoyant", "warnings", "error", "repeat",
    "digest", "version", "offered_load", "window_begin_s", "window_end_s",
}  # fmt: skip

Where = Mapping[str, Any]


def runs_of(source: SweepResult | pl.DataFrame) -> pl.DataFrame:
    """Return the runs of a study."""
    frame = source if isinstance(source, pl.DataFrame) else getattr(source, "runs", None)
    if not isinstance(frame, pl.DataFrame):
        name = type(source).__name__
        raise TypeError(f"expected a SweepResult or a Polars frame of runs, not {name}")
    for column in ("policy", "seed"):
        if column not in frame.columns:
            raise ValueError(f"the runs have no column {column!r}; they have {frame.columns}")
    if frame.is_empty():
        raise ValueError("there is no run to draw")
    return frame


def baseline_of(source: Any, runs: pl.DataFrame, asked: str | None) -> str:
    """Return the baseline: the requested one, the study's, or the first policy."""
    known = policies_of(runs)
    chosen = asked or getattr(getattr(source, "study", None), "baseline", None) or known[0]
    if chosen not in known:
        raise ValueError(f"baseline: no run under {chosen!r}{nearest(chosen, known)}")
    return str(chosen)


def policies_of(runs: pl.DataFrame) -> list[str]:
    """Return the policies in the order of the runs."""
    return list(runs["policy"].unique(maintain_order=True).to_list())


def axes_of(runs: pl.DataFrame) -> list[str]:
    """Return the columns that describe the setup of a run, besides policy and seed."""
    known = METRICS.all()
    return [
        name
        for name in runs.columns
        if name in AXES or not (name in _FACTS or name in known or runs[name].dtype.is_nested())
    ]


def varying(runs: pl.DataFrame) -> list[str]:
    """Return the axes in which the runs differ.

    Among axes with the same information (such as clusters zipped with their sizes) the one with
    numbers represents all, else the first; an axis that follows from another one is left out. So
    are traces that differ per seed, and the number of jobs if the seed determines it.
    """
    kept = [name for name in axes_of(runs) if runs[name].n_unique() > 1]
    if "trace" in kept and follows(runs, "trace", ["seed"]) and follows(runs, "seed", ["trace"]):
        kept.remove("trace")
    others = [name for name in kept if name != "jobs"]
    if "jobs" in kept and follows(runs, "jobs", [*others, "seed"]):
        kept.remove("jobs")
    for name in sorted(kept, key=lambda name: runs[name].dtype.is_numeric()):
        if any(_stands_for(runs, other, name, kept) for other in kept if other != name):
            kept.remove(name)
    return kept


def _stands_for(runs: pl.DataFrame, other: str, name: str, order: Sequence[str]) -> bool:
    if not follows(runs, name, [other]):
        return False
    if not follows(runs, other, [name]):
        return True
    numbers = [runs[axis].dtype.is_numeric() for axis in (other, name)]
    return numbers[0] if numbers[0] != numbers[1] else order.index(other) < order.index(name)


def follows(runs: pl.DataFrame, name: str, others: Sequence[str]) -> bool:
    """Return whether the value of a column follows from those of others."""
    if not others:
        return runs[name].n_unique() == 1
    return runs.select(*others, name).n_unique() == runs.select(*others).n_unique()


def values_of(runs: pl.DataFrame, axis: str) -> list[Any]:
    """Return the values on an axis: numbers in ascending order, names in that of the runs."""
    found = runs[axis].unique(maintain_order=True)
    return (found.sort() if found.dtype.is_numeric() else found).to_list()


def name_of(axis: str, value: Any) -> str:
    """Format a value with its axis: ``load 0.9``."""
    if value is None:
        return f"no {axis}"
    if isinstance(value, int | float):
        return f"{axis} {value:,.6g}"
    return str(value)


def chosen_runs(runs: pl.DataFrame, where: Where | None) -> pl.DataFrame:
    """Return the runs in which each column has the given value, or one of the list."""
    for name, asked in (where or {}).items():
        if name not in runs.columns:
            raise ValueError(
                f"where: the runs have no column {name!r}{nearest(name, runs.columns)}"
            )
        several = isinstance(asked, Sequence) and not isinstance(asked, str)
        there = runs[name].unique(maintain_order=True).to_list()
        for value in asked if several else [asked]:
            if value not in there:
                raise ValueError(f"where: no run has {name} {value!r}; there are {there}")
        kept = pl.col(name).is_in(list(asked)) if several else pl.col(name).eq_missing(asked)
        runs = runs.filter(kept)
    if where and runs.is_empty():
        raise ValueError(f"where: no run matches {dict(where)}")
    return runs


def along(runs: pl.DataFrame, x: str | None) -> str:
    """Return the horizontal axis: the requested one, the load, or the first that differs."""
    axes = axes_of(runs)
    if x is not None:
        if x not in axes:
            raise ValueError(f"x: no axis {x!r}{nearest(x, axes)}")
        return x
    differing = varying(runs)
    if "load" in differing:
        return "load"
    if differing:
        return differing[0]
    if axes:
        return axes[0]
    raise ValueError("x: the runs do not differ in any axis")


def check_settled(runs: pl.DataFrame, shown: Sequence[str]) -> None:
    """Raise a ValueError for runs that differ in axes the chart does not show.

    Raises
    ------
    ValueError
        It lists the axes and their values.
    """
    known = [name for name in shown if name in runs.columns]
    hidden = [n for n in varying(runs) if n not in shown and not follows(runs, n, known)]
    if hidden:
        named = "; ".join(f"{name}: {values_of(runs, name)}" for name in hidden)
        raise ValueError(
            f"the runs differ in axes that this chart does not show ({named}): "
            f"select with where={{{hidden[0]!r}: ...}}"
        )


def check_metric(runs: pl.DataFrame, metric: str) -> None:
    """Raise a ValueError if the runs have no such numeric column."""
    numbers = [name for name in runs.columns if runs[name].dtype.is_numeric()]
    if metric not in numbers:
        raise ValueError(f"metric: no numeric column {metric!r}{nearest(metric, numbers)}")


def seeds_text(runs: pl.DataFrame) -> str:
    """Return the number of seeds, and the number of failed runs."""
    text = plural(runs["seed"].n_unique(), "seed")
    failed = num_failed(runs)
    return f"{text}; {plural(failed, 'failed run')} left out" if failed else text


def num_failed(runs: pl.DataFrame) -> int:
    """Return the number of failed runs."""
    return int(runs["error"].is_not_null().sum()) if "error" in runs.columns else 0
