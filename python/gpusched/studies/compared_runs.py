"""Compare the runs of a study: typical runs, pairs with a baseline, ranking, warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.libraries import polars as pl
from gpusched.base.suggest import nearest
from gpusched.base.tables import FORMATS
from gpusched.base.wording import plural
from gpusched.results.metric_registry import metrics
from gpusched.results.same_jobs import MOST_LEFT, OTHERS, UNSERVED
from gpusched.results.shown_metrics import GROWTH
from gpusched.studies.hodges_lehmann import (
    Estimate,
    check_level,
    difference,
    holm,
    ratio,
    seeds_for,
    signed_rank,
    typical,
)
from gpusched.studies.verdicts import Scale, growth_mark, headline, not_beaten, too_few

SEED: Final = "seed"
Key = tuple[Any, ...]
# Columns in which runs of equal axes may differ.
_NOT_AXES: Final = frozenset(
    {"run", "digest", "wall_s", "clairvoyant", "warnings", "error", "repeat", SEED, UNSERVED,
     OTHERS}
)  # fmt: skip
_NUMBERS: Final = (
    "typical", "low", "high", "level", "mean", "worst", "worst_share", "ratio", "ratio_low",
    "ratio_high", "difference", "difference_low", "difference_high", "p", "p_adjusted", GROWTH,
)  # fmt: skip
_COUNTS: Final = ("num_seeds", "num_missing", "num_better", "num_pairs")
_ORDER: Final = (
    "num_seeds", "num_missing", "typical", "low", "high", "level", "mean", "worst", "worst_share",
    "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high",
    "num_better", "num_pairs", "p", "p_adjusted", "is_beaten", "is_clairvoyant", GROWTH, "warnings",
)  # fmt: skip
_PERCENTILE: Final = re.compile(r"(?:^|_)p(\d{1,3})_")
_LEAST_BEYOND: Final = 10
_MOST_SEEDS: Final = 5
_FULL: Final = 0.995


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Typical runs and their differences from the baseline, see :func:`compare_runs`.

    Attributes
    ----------
    frame
        One row per setting and value of the axis:

        - the columns of ``by`` and the axis;
        - ``num_seeds`` runs, and ``num_missing`` that failed or have no such value;
        - ``typical``, ``low``, ``high``: the typical run (:func:`typical`; for differences
          :func:`signed_rank`) and its interval, whose coverage is ``level``; below six seeds it is
          the range. Limits are null for a single seed;
        - ``mean``, ``worst``, ``worst_share``: the arithmetic mean, the worst run, and its share of
          the sum (for ratios of metrics whose lower values are better);
        - ``ratio``, ``ratio_low``, ``ratio_high``: the typical pair with the baseline, or
          ``difference``, ``difference_low``, ``difference_high``, depending on ``scale``;
        - ``num_better`` of ``num_pairs``: seeds in which it was better than the baseline;
        - ``p`` for no change, and ``p_adjusted`` by Holm for all comparisons of the frame;
        - ``is_beaten``: whether another value is better in the same setting, significantly and by
          2% or more. Null where this is not decided: ``is_clairvoyant`` next to others that are
          not, growing queues, and metrics that are neither better lower nor higher;
        - ``growth``: the median of the metric ``growth`` over the seeds, if the runs have it;
        - ``warnings``: caveats of the row.
    metric, axis, by, baseline
        The arguments of the comparison.
    level
        Coverage of the intervals.
    scale
        ``"ratio"`` for positive values, ``"difference"`` for shares and others.
    better
        Whether ``"lower"`` or ``"higher"`` values are better, or ``"neutral"``.
    warnings
        Caveats of several rows first, then those of single rows with their place.
    """

    frame: pl.DataFrame
    metric: str
    axis: str
    by: tuple[str, ...]
    baseline: str | float | None
    level: float
    scale: Scale
    better: str
    warnings: tuple[str, ...]

    @property
    def num_comparisons(self) -> int:
        """The number of tests that ``p_adjusted`` corrects for."""
        return int(self.frame["p"].is_not_null().sum())

    @property
    def headline(self) -> list[str]:
        """The conclusion, one string per sentence; empty if there is nothing to choose from."""
        return headline(self)

    def table(
        self,
        format: Literal["markdown", "latex", "csv", "json"] = "markdown",
        *,
        caption: str | None = None,
    ) -> str:
        """Format the comparison as a table for a paper, or for programs.

        The table has typical runs with intervals, means and worst seeds, the ratio to the baseline
        (a difference for shares and values that may be zero), and the adjusted p. The best values
        are bold; ``*`` marks significant differences from the baseline.

        Parameters
        ----------
        format
            ``"markdown"``; ``"latex"`` for the package booktabs; ``"csv"`` or ``"json"`` with
            values in base units.
        caption
            Text above the table; in LaTeX it makes the table a float.

        Returns
        -------
        str
            Ends in a line break; method and warnings are below the table.

        Raises
        ------
        ValueError
            If the format is unknown.

        Examples
        --------
        >>> import polars as pl
        >>> runs = pl.DataFrame({
        ...     "policy": ["fifo", "fifo", "fifo", "srtf", "srtf", "srtf"],
        ...     "seed": [1, 2, 3, 1, 2, 3],
        ...     "mean_jct_s": [7200.0, 7560.0, 7380.0, 3600.0, 3960.0, 3600.0],
        ... })
        >>> compared = gs.studies.compare_runs(runs, "mean_jct_s", baseline="fifo")
        >>> "srtf" in compared.table("latex", caption="Mean completion time")
        True
        """
        from gpusched.studies.paper_tables import table_of

        if format not in FORMATS:
            raise ValueError(f"format: {format!r} must be one of {', '.join(FORMATS)}")
        made: str = getattr(table_of(self, caption or ""), f"to_{format}")()
        return made

    def __repr__(self) -> str:
        return (
            f"<ComparedRuns: {self.metric} by {', '.join((*self.by, self.axis))}, "
            f"{len(self.frame)} rows>"
        )


def compare_runs(
    runs: pl.DataFrame,
    metric: str,
    *,
    axis: str = "policy",
    by: Sequence[str] = (),
    baseline: str | float | None = None,
    level: float = 0.95,
    better: Literal["lower", "higher", "neutral"] | None = None,
    warm_up_s: float | None = None,
) -> ComparedRuns:
    """Compare the runs of a study by a metric, over the seeds.

    Parameters
    ----------
    runs
        One row per run: its ``seed``, axes and metrics. Runs of equal ``seed`` had the same jobs
        and make a pair; failed ones have null. The columns ``clairvoyant`` and ``growth``, if
        present, show which policies could be deployed and where the queue grows without bound.
    metric
        The column that is compared.
    axis
        The column whose values are compared.
    by
        The columns that make a setting; each setting is compared separately.
    baseline
        The value of the axis with which the others are compared; None: no pairs.
    level
        Coverage of the intervals; 1 - ``level`` is the error of all tests of the table.
    better
        Which values are better; None: as the metric is registered, ``"neutral"`` if it is not.
        registered one.
    Seconds at the start of each run that the metric leaves out; None: the column
    ``warm_up_s``, if there is one. Runs under load without a warm-up cause a warning.

    Returns
    -------
    ComparedRuns

    Raises
    ------
    ValueError
        If a column is missing or not numeric, two runs of a setting have the same seed, no run has
        the baseline, or an option is unknown.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "fifo", "fifo", "srtf", "srtf", "srtf"],
    ...     "seed": [1, 2, 3, 1, 2, 3],
    ...     "mean_jct_s": [7200.0, 7560.0, 7380.0, 3600.0, 3780.0, 3690.0],
    ... })
    >>> compared = gs.studies.compare_runs(runs, "mean_jct_s", baseline="fifo")
    >>> compared.frame["ratio"].round(6).to_list()
    [1.0, 0.5]
    """
    check_level(level)
    if better is None:
        known: Any = metrics().get(metric)
        better = "neutral" if known is None else known.better
    elif better not in ("lower", "higher", "neutral"):
        raise ValueError(f"better: {better!r} must be 'lower', 'higher' or 'neutral'")
    settings = _settings_of(runs, metric, axis, by)
    _check_baseline(settings, axis, baseline)
    scale = _scale(metric, settings)
    rows: list[dict[str, Any]] = []
    for key, setting in settings.items():
        base = setting.get(baseline) if baseline is not None else None
        own = []
        for name, group in setting.items():
            row = dict(zip(by, key, strict=True)) | {axis: name, GROWTH: group.median_growth}
            row |= _typical(group, scale, better, level)
            if base is not None:
                row |= _pair(group, base, scale, better, level, is_base=name == baseline)
            row["warnings"] = _row_warnings(
                group,
                base if name != baseline else None,
                baseline,
                level,
                lacks_baseline=baseline is not None and base is None,
            )
            own.append(row)
        _judge(own, setting, scale, better, level)
        rows += own
    tested = [row for row in rows if row.get("p") is not None]
    if tested:
        adjusted = holm([row["p"] for row in tested]).tolist()
        for row, p in zip(tested, adjusted, strict=True):
            row["p_adjusted"] = p
    _spare_baseline(rows, axis, baseline, by, level)
    whole = [
        *_unstable(runs, axis),
        *_no_warm_up(runs, metric, warm_up_s),
        *_weak_quantile(runs, metric),
        *_other_jobs(runs, axis, by),
    ]
    seeds, needed = (
        max((row["num_pairs"] for row in tested), default=0),
        seeds_for(max(1, len(tested)), level=level),
    )
    if tested and seeds < needed:
        whole.append(too_few(axis, seeds, needed, len(tested)))
    placed = _placed(rows, (*by, axis))
    for row in rows:
        if mark := growth_mark(row):
            row["warnings"].append(
                f"jobs pile up (growth {mark}): its metrics depend on the trace length"
            )
    return ComparedRuns(
        frame=_frame(rows, runs, (*by, axis)),
        metric=metric,
        axis=axis,
        by=tuple(by),
        baseline=baseline,
        level=level,
        scale=scale,
        better=better,
        warnings=(*whole, *placed),
    )


def _scale(metric: str, settings: dict[Key, Setting]) -> Scale:
    """Use ratios for positive metrics, but differences for shares."""
    known: Any = metrics().get(metric)
    if known is not None and known.kind == "percent":
        return "difference"
    groups = (group for setting in settings.values() for group in setting.values())
    return "ratio" if all((group.values > 0).all() for group in groups) else "difference"


def _limits(name: str, found: Estimate) -> dict[str, float]:
    prefix = "" if name == "typical" else f"{name}_"
    return {name: found.value, f"{prefix}low": found.low, f"{prefix}high": found.high}


def _typical(group: Group, scale: Scale, better: str, level: float) -> dict[str, Any]:
    """The statistics of the runs of a row."""
    values = group.values
    row: dict[str, Any] = {
        "num_seeds": len(values), "num_missing": len(group.missing), "num_pairs": len(values),
        "is_clairvoyant": group.is_clairvoyant,
    }  # fmt: skip
    if not len(values):
        return row
    found = (typical if scale == "ratio" else signed_rank)(values, level=level)
    worst = float(values.min() if better == "higher" else values.max())
    row |= _limits("typical", found)
    row |= {"level": found.level, "mean": float(values.mean()), "worst": worst}
    if scale == "ratio" and better != "higher":
        row["worst_share"] = worst / float(values.sum())
    return row


def _pair(
    group: Group, base: Group, scale: Scale, better: str, level: float, *, is_base: bool
) -> dict[str, Any]:
    """The differences of a row from the baseline."""
    if is_base:
        same = 1.0 if scale == "ratio" else 0.0
        return _limits(scale, Estimate(same, same, same, 1.0, 0, level)) if group.by_seed else {}
    mine, other = group.pairs(base)
    row: dict[str, Any] = {"num_pairs": len(mine)}
    if not len(mine) or group.is_of_others_than(base):
        return row
    found = (ratio if scale == "ratio" else difference)(mine, other, level=level)
    row |= _limits(scale, found) | {"p": found.p}
    if len(mine) < len(group.by_seed):
        row["level"] = found.level
    if better != "neutral":
        row["num_better"] = int((mine < other if better == "lower" else mine > other).sum())
    return row


def _judge(
    rows: list[dict[str, Any]], setting: Setting, scale: Scale, better: str, level: float
) -> None:
    """Mark which rows of a setting are beaten, judged by the seeds that all have."""
    judged = [row for row in rows if row["num_seeds"] and not growth_mark(row)]
    if any(not row["is_clairvoyant"] for row in rows):
        judged = [row for row in judged if not row["is_clairvoyant"]]
    if better == "neutral" or len(judged) < 2:
        return
    groups = [group for group, row in zip(setting.values(), rows, strict=True) if row in judged]
    if any(group.is_of_others_than(groups[0]) for group in groups):
        return
    common = [seed for seed in groups[0].by_seed if all(seed in g.by_seed for g in groups)]
    if not common:
        return
    columns = {str(at): [group.by_seed[seed] for seed in common] for at, group in enumerate(groups)}
    left = not_beaten(columns, better=better, scale=scale, level=level)
    for at, row in enumerate(judged):
        row["is_beaten"] = str(at) not in left


def _spare_baseline(
    rows: Sequence[dict[str, Any]], axis: str, baseline: Any, by: Sequence[str], level: float
) -> None:
    """Call the baseline beaten only where the table has a row that is significantly better.

    Its comparisons are more than those among the rows that are judged, so its p are larger.
    """
    for base in rows:
        if base[axis] == baseline and base.get("is_beaten"):
            base["is_beaten"] = any(
                row.get("is_beaten") is not None
                and row.get("p_adjusted", 1.0) <= 1 - level
                and row["num_better"] * 2 > row["num_pairs"]
                for row in rows
                if all(row[name] == base[name] for name in by)
            )


def _check_baseline(settings: dict[Key, Setting], axis: str, baseline: str | float | None) -> None:
    known = dict.fromkeys(name for setting in settings.values() for name in setting)
    if baseline is not None and baseline not in known:
        raise ValueError(
            f"baseline: no run has {axis} {baseline!r}{nearest(str(baseline), [*map(str, known)])}"
        )


def _frame(rows: list[dict[str, Any]], runs: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    types: dict[str, Any] = dict.fromkeys(_NUMBERS, pl.Float64)
    types |= dict.fromkeys(_COUNTS, pl.Int64)
    types |= {"is_beaten": pl.Boolean, "is_clairvoyant": pl.Boolean}
    types["warnings"] = pl.List(pl.String)
    types |= {name: runs.schema[name] for name in keys}
    columns = {
        name: pl.Series(name, [row.get(name) for row in rows], types[name])
        for name in (*keys, *_ORDER)
    }
    numbers = [pl.col(name).fill_nan(None) for name in _NUMBERS]
    return pl.DataFrame(columns).with_columns(numbers)


def _placed(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[str]:
    """Each row's warnings; one that applies to several rows is listed once, with their number."""
    places: dict[str, list[str]] = {}
    for row in rows:
        where = ", ".join(str(row[name]) for name in keys)
        for line in row["warnings"]:
            places.setdefault(line, []).append(where)
    return [
        f"{found[0]}: {line}"
        if len(found) == 1
        else f"{found[0]} and {len(found) - 1} more: {line}"
        for line, found in places.items()
    ]


@dataclass
class Group:
    """Runs of one setting and one value of the axis.

    ``by_seed``: the metric of each seed that has one.
    ``missing``: seeds whose run failed, or has no such value.
    ``growth``: the metric ``growth`` of each run that has one.
    ``is_clairvoyant``: whether any run saw the true run times.
    ``unserved``, ``others``: the share of the requested GPU time that a run did not finish, or that
        only some of the runs compared finished: the largest over the seeds. 0 for metrics of all
        jobs.
    """

    by_seed: dict[Any, float] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)
    growth: list[float] = field(default_factory=list)
    is_clairvoyant: bool = False
    unserved: float = 0.0
    others: float = 0.0

    @property
    def median_growth(self) -> float | None:
        """The statistic over the runs; None if no run has a value."""
        return float(np.median(self.growth)) if self.growth else None

    @property
    def values(self) -> Float64:
        """One value per seed."""
        return np.array(list(self.by_seed.values()), np.float64)

    def in_order(self) -> Group:
        """The same sorted by seed, so that the order of the runs does not matter."""

        def place(seed: Any) -> tuple[bool, Any]:
            return seed is None, seed

        by_seed = {seed: self.by_seed[seed] for seed in sorted(self.by_seed, key=place)}
        return replace(self, by_seed=by_seed, missing=sorted(self.missing, key=place))

    def pairs(self, baseline: Group) -> tuple[Float64, Float64]:
        """The values of both at their common seeds."""
        seeds = [seed for seed in self.by_seed if seed in baseline.by_seed]
        mine, other = (
            np.array([group.by_seed[seed] for seed in seeds], np.float64)
            for group in (self, baseline)
        )
        return mine, other

    def is_of_others_than(self, other: Group) -> bool:
        """Whether the two finish too different sets of jobs for a comparison."""
        apart = abs(self.unserved - other.unserved)
        return max(apart, self.others, other.others) > MOST_LEFT

    def unpaired(self, other: Group) -> list[Any]:
        """Seeds that this group has and the other lacks."""
        return [seed for seed in self.by_seed if seed not in other.by_seed]


Setting = dict[Any, Group]
"""The groups of one setting, by the value of the axis."""


def _settings_of(
    runs: pl.DataFrame, metric: str, axis: str, by: Sequence[str]
) -> dict[Key, Setting]:
    """Group the runs by setting and by value of the axis, in the order of the frame."""
    _check_columns(runs, metric, axis, by)
    found: dict[Key, dict[Any, Group]] = {}
    known: Any = metrics().get(metric)
    of_jobs = (UNSERVED, OTHERS) if known is None or known.is_of_finished else ()
    more = [name for name in (GROWTH, *of_jobs, "clairvoyant") if name in runs.columns]
    rows = runs.select(*dict.fromkeys((*by, axis, SEED, metric, *more))).iter_rows(named=True)
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
        if (growth := row.get(GROWTH)) is not None and math.isfinite(growth):
            group.growth.append(growth)
        group.is_clairvoyant |= bool(row.get("clairvoyant"))
        group.unserved = max(group.unserved, row.get(UNSERVED) or 0.0)
        group.others = max(group.others, row.get(OTHERS) or 0.0)
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
        raise ValueError("runs: column 'seed' is missing; it shows which runs belong together")
    if not (runs.schema[metric].is_numeric() or runs[metric].null_count() == len(runs)):
        raise ValueError(f"metric: {metric!r} is {runs.schema[metric]}, not a number")
    if axis in by:
        raise ValueError(f"by: {axis!r} is the axis that is compared; leave it out")
    if len(runs) == 0:
        raise ValueError("runs: must not be empty")


def _twice(
    runs: pl.DataFrame, metric: str, axis: str, by: Sequence[str], row: dict[str, Any]
) -> str:
    same = pl.all_horizontal(pl.col(name).eq_missing(row[name]) for name in (*by, axis, SEED))
    alike = runs.filter(same)
    measured = {*metrics(), metric, *_NOT_AXES} - {"load"}  # both a metric and an axis
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
    return f"{text}, and no column distinguishes them"


def _row_warnings(
    group: Group,
    base: Group | None,
    baseline: str | float | None,
    level: float,
    *,
    lacks_baseline: bool,
) -> list[str]:
    """Return the warnings of a row: seeds without a value or a pair, too few of them.

    ``base``: the runs it is compared with: None for the baseline itself, or where there is none.
    ``lacks_baseline``: whether the setting has no run of the baseline.
    """
    lines = []
    num = len(group.by_seed)
    if group.missing:
        without = plural(len(group.missing), "run")
        lines.append(f"{without} failed or without a value: {_seeds(group.missing)}")
    if base is not None:
        alone = group.unpaired(base)
        for seeds, lacks in ((alone, f"of {baseline}"), (base.unpaired(group), "here")):
            if seeds:
                lines.append(f"no value {lacks}, so not in the change: {_seeds(seeds)}")
        if group.is_of_others_than(base):
            lines.append(
                f"jobs with {100 * group.unserved:.3g}% of the GPU time were not finished, "
                f"{100 * base.unserved:.3g}% under {baseline}: too many for a fair comparison"
            )
        pairs = num - len(alone)
        if pairs == 0:
            lines.append(f"no pair with {baseline}: no change")
    elif lacks_baseline:
        lines.append(f"no run of {baseline} in this setting: no change")
    if num == 1:
        lines.append("a single seed: no interval")
    elif num and (reached := 1 - 2.0 ** (1 - num)) < level:
        lines.append(
            f"{num} seeds: the limits are their range, which covers only {100 * reached:.4g}%"
        )
    return lines


def _seeds(seeds: Sequence[Any]) -> str:
    shown = ", ".join(map(str, seeds[:_MOST_SEEDS]))
    more = f" and {len(seeds) - _MOST_SEEDS} more" if len(seeds) > _MOST_SEEDS else ""
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {shown}{more}"


def _unstable(runs: pl.DataFrame, axis: str) -> list[str]:
    lines = []
    has_load = _is_number(runs, "load") and runs["load"].null_count() < len(runs)
    if has_load and (over := runs.filter(pl.col("load") >= 1.0)).height:
        loads = over["load"].unique().sort().to_list()
        shown = ", ".join(f"{load:.3g}" for load in dict.fromkeys((loads[0], loads[-1])))
        lines.append(
            f"overloaded at load {shown} ({plural(over.height, 'run')}): the queue grows without "
            "bound; waits and JCT depend on the length of the run"
        )
    elif not has_load and _is_number(runs, "allocation"):
        full = runs.filter(pl.col("allocation") >= _FULL)
        if full.height:
            lines.append(
                f"{plural(full.height, 'run')} held {_FULL:.1%} of the GPU time or more: there "
                "was a queue to the end, so waits and JCT may depend on the length of the run"
            )
    for name, what in (("num_unfinished", "did not finish"), ("num_rejected", "were rejected")):
        if _is_number(runs, name) and (some := runs.filter(pl.col(name) > 0)).height:
            worst = some.sort(name)[-1]
            lines.append(
                f"jobs {what} in {plural(some.height, 'run')} (at most {worst[name].item():,}, "
                f"{axis} {worst[axis].item()}): figures are for the others"
            )
    return lines


def _no_warm_up(runs: pl.DataFrame, metric: str, warm_up_s: float | None) -> list[str]:
    at_load = _is_number(runs, "load") and runs["load"].null_count() < len(runs)
    known: Any = metrics().get(metric)
    if not at_load or known is None or known.group != "jobs":
        return []
    if warm_up_s is None:
        if not _is_number(runs, "warm_up_s"):
            return []
        without = runs.filter((runs["warm_up_s"].fill_null(0.0)) <= 0.0).height
    else:
        without = 0 if warm_up_s > 0.0 else len(runs)
    if not without:
        return []
    return [
        f"no warm-up in {plural(without, 'run')}: metrics include the start on an empty cluster; "
        "set warm_up_s"
    ]


def _weak_quantile(runs: pl.DataFrame, metric: str) -> list[str]:
    size = next((name for name in ("num_finished", "jobs") if _is_number(runs, name)), None)
    if metric.startswith("max_"):
        return [f"{metric} is an extreme value: it grows with the number of jobs of a run"]
    match = _PERCENTILE.search(metric)
    if match is None or size is None:
        return []
    least: Any = runs[size].min()
    share = int(match[1]) / (100.0 if len(match[1]) < 3 else 1_000.0)
    share = min(share, 1.0 - share)
    if least is None or least * share >= _LEAST_BEYOND:
        return []
    return [
        f"{metric} is weak: of {int(least):,} jobs of a run about {least * share:.2g} lie beyond "
        f"it; at least {_LEAST_BEYOND} should"
    ]


def _other_jobs(runs: pl.DataFrame, axis: str, by: Sequence[str]) -> list[str]:
    if OTHERS in runs.columns or not _is_number(runs, "num_finished"):
        return []
    counts = runs.group_by(*by, "seed").agg(pl.col("num_finished").drop_nulls().n_unique())
    num = counts.filter(pl.col("num_finished") > 1).height
    if not num:
        return []
    return [
        f"runs of the same seed finished different numbers of jobs ({plural(num, 'seed')}): "
        "their figures are for different jobs"
    ]


def _is_number(runs: pl.DataFrame, name: str) -> bool:
    return name in runs.columns and runs.schema[name].is_numeric()
