"""Runs of a study compared: means over seeds, pairs with a baseline, ranks, warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.suggest import nearest
from gpusched.base.wording import plural
from gpusched.results.metric_registry import metrics
from gpusched.studies.corrections import holm
from gpusched.studies.effects import effect_size
from gpusched.studies.intervals import Method, check_level, check_method
from gpusched.studies.limits import mean_limits, ratio_limits, usable
from gpusched.studies.rank_tests import Better, RankTest, nemenyi, ranks
from gpusched.studies.resampling import NUM_RESAMPLES

if TYPE_CHECKING:
    import polars as pl

SEED: Final = "seed"
Key = tuple[Any, ...]
# What runs of equal axes may differ in.
_NOT_AXES: Final = frozenset(
    {"run", "digest", "wall_s", "clairvoyant", "warnings", "error", "repeat", SEED}
)
_NUMBERS: Final = (
    "mean", "low", "high", "difference", "difference_low", "difference_high", "ratio", "ratio_low",
    "ratio_high", "effect_size", "share_better", "p", "p_adjusted", "rank",
)  # fmt: skip
_ORDER: Final = (
    "mean", "low", "high", "num_seeds", "num_missing", "method", "difference", "difference_low",
    "difference_high", "ratio", "ratio_low", "ratio_high", "num_pairs", "effect_size",
    "share_better", "p", "p_adjusted", "is_significant", "rank", "is_best", "warnings",
)  # fmt: skip
_PERCENTILE: Final = re.compile(r"(?:^|_)p(\d{1,3})_")
_LEAST_BEYOND: Final = 10
_MOST_SEEDS: Final = 5
_FULL: Final = 0.995


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Means over seeds, and what each differs by from the baseline: see :func:`compare_runs`.

    Attributes
    ----------
    frame
        One row per setting and value of the axis:

        - the columns of ``by`` and the axis;
        - ``mean``, ``low``, ``high``: over ``num_seeds`` runs, by ``method``; ``num_missing`` runs
          failed or have no such value;
        - ``difference``, ``difference_low``, ``difference_high`` and ``ratio``, ``ratio_low``,
          ``ratio_high``: of the means to those of the baseline, over ``num_pairs`` seeds that both
          have. Null without a baseline or a pair; 0 and 1 of the baseline itself;
        - ``effect_size``: Hedges' g of the pairs; ``share_better``: of the pairs that are better
          than the baseline, half of the ties counted;
        - ``p`` of no difference, the larger one of the difference and of the ratio;
          ``p_adjusted`` for all comparisons of the frame, and whether that ``is_significant``;
        - ``rank``: mean rank over the seeds that all have, 1 is best; ``is_best``: whether the mean
          is the best of its setting. Null for a metric that is neither better lower nor higher;
        - ``warnings``: what to know before it is believed.
    metric, axis, by, baseline
        As they were asked for.
    level, method, correction
        Of the intervals and of ``p_adjusted``.
    better
        Whether ``"lower"`` or ``"higher"`` values are better, or ``"neutral"``.
    warnings
        All that concerns more than a row, then each row's with its place.
    """

    frame: pl.DataFrame
    metric: str
    axis: str
    by: tuple[str, ...]
    baseline: str | float | None
    level: float
    method: str
    correction: str | None
    better: str
    warnings: tuple[str, ...]
    _blocks: dict[Key, tuple[tuple[str, ...], Float64]]

    @property
    def num_comparisons(self) -> int:
        """Tests for which ``p_adjusted`` accounts."""
        return int(self.frame["p"].is_not_null().sum())

    @cached_property
    def rank_tests(self) -> dict[Key, RankTest]:
        """Friedman's test and Nemenyi's critical difference of each setting, by its values of
        ``by``; a setting with fewer than two values or common seeds has none."""
        better: Better = "higher" if self.better == "higher" else "lower"
        return {
            key: nemenyi(values, names, level=self.level, better=better)
            for key, (names, values) in self._blocks.items()
            if values.shape[0] > 1 and values.shape[1] > 1
        }

    def table(
        self,
        format: Literal["markdown", "latex"] = "markdown",
        *,
        caption: str | None = None,
        digits: int = 2,
    ) -> str:
        """Write the comparison as a table of a paper.

        Means with their intervals, the change against the baseline in percent (the difference
        itself where a ratio has no limits), and the adjusted p. The best mean of each setting is
        bold; ``*`` marks what differs significantly from the baseline.

        Parameters
        ----------
        format
            ``"markdown"``, or ``"latex"`` for the package booktabs.
        caption
            Put above; in LaTeX it makes the table a float.
        digits
            Significant digits of half an interval's width; its mean has as many decimals.

        Returns
        -------
        str
            Ends in a line break; method and warnings stand below the table.

        Raises
        ------
        ValueError
            If the format is not known or ``digits`` is not in 1..6.

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
        from gpusched.studies.paper_tables import written

        return written(self, format, caption, digits)

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
    method: Method = "bootstrap-t",
    correction: Literal["holm"] | None = "holm",
    seed: int = 0,
    better: Literal["lower", "higher", "neutral"] | None = None,
    warm_up_s: float | None = None,
) -> ComparedRuns:
    """Compare the runs of a study by a metric, over the seeds.

    Parameters
    ----------
    runs
        One row per run: its ``seed``, its axes, and its metrics. Runs of equal ``seed`` saw the
        same jobs and make a pair; failed ones have null.
    metric
        The column that is compared.
    axis
        The column whose values are compared.
    by
        The columns that make a setting; each setting is compared by itself.
    baseline
        The value of the axis with which the others are compared; None: no pairs.
    level, method, seed
        As of :func:`interval`; of the means, differences and ratios.
    correction
        ``"holm"``, for all comparisons of the frame; None: ``p_adjusted`` is ``p``.
    better
        Which values are better; None: as the metric was registered, and ``"neutral"`` if it is no
        registered one.
    warm_up_s
        Seconds at the start of each run that the metric leaves out; None: those of the column
        ``warm_up_s``, if there is one. It is warned of runs at a load that leave out nothing.

    Returns
    -------
    ComparedRuns

    Raises
    ------
    ValueError
        If a column is missing or no number, two runs of a setting have the same seed, no run has
        the baseline, or an option is not known.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "fifo", "fifo", "srtf", "srtf", "srtf"],
    ...     "seed": [1, 2, 3, 1, 2, 3],
    ...     "mean_jct_s": [7200.0, 7560.0, 7380.0, 3600.0, 3960.0, 3600.0],
    ... })
    >>> compared = gs.studies.compare_runs(runs, "mean_jct_s", baseline="fifo")
    >>> compared.frame["difference"].to_list()
    [0.0, -3660.0]
    """
    check_level(level)
    check_method(method)
    if correction not in (None, "holm"):
        raise ValueError(f"correction: {correction!r} must be 'holm' or None")
    if better is None:
        better = _better(metric)
    elif better not in ("lower", "higher", "neutral"):
        raise ValueError(f"better: {better!r} must be 'lower', 'higher' or 'neutral'")
    settings = _settings_of(runs, metric, axis, by)
    _check_baseline(settings, axis, baseline)
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[Float64, Float64]] = []
    values: list[Float64] = []
    for key, setting in settings.items():
        base = setting.get(baseline) if baseline is not None else None
        for name, group in setting.items():
            of_base = base is not None and name != baseline
            pair = group.pairs(base) if base is not None and of_base else _NO_PAIR
            values.append(group.values)
            pairs.append(pair)
            row = dict(zip(by, key, strict=True)) | {axis: name}
            row |= {"num_seeds": len(group.by_seed), "num_missing": len(group.missing)}
            row |= {"num_pairs": len(pair[0]) if of_base or base is None else len(group.by_seed)}
            row["warnings"] = _row_warnings(
                group,
                base if of_base else None,
                baseline,
                method,
                lacks_baseline=baseline is not None and base is None,
            )
            rows.append(row)
    _add_means(rows, values, level, method, seed)
    _add_pairs(rows, pairs, level, method, seed, better)
    if baseline is not None:
        for row in rows:
            if row[axis] == baseline and row["num_seeds"]:
                row |= dict.fromkeys(("difference", "difference_low", "difference_high"), 0.0)
                row |= dict.fromkeys(("ratio", "ratio_low", "ratio_high"), 1.0)
    _add_p(rows, correction, level)
    blocks = _add_ranks(rows, settings, better)
    whole = _run_warnings(runs, metric, axis, by, warm_up_s)
    return ComparedRuns(
        frame=_frame(rows, runs, (*by, axis)),
        metric=metric,
        axis=axis,
        by=tuple(by),
        baseline=baseline,
        level=level,
        method=method,
        correction=correction,
        better=better,
        warnings=(*whole, *_placed(rows, (*by, axis))),
        _blocks=blocks,
    )


_NO_PAIR: Final = (np.empty(0), np.empty(0))


def _better(metric: str) -> Any:
    known = metrics().get(metric)
    return "neutral" if known is None else known.better


def _check_baseline(settings: dict[Key, Setting], axis: str, baseline: str | float | None) -> None:
    known = dict.fromkeys(name for setting in settings.values() for name in setting)
    if baseline is not None and baseline not in known:
        raise ValueError(
            f"baseline: no run has {axis} {baseline!r}{nearest(str(baseline), [*map(str, known)])}"
        )


def _frame(rows: list[dict[str, Any]], runs: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    types: dict[str, Any] = dict.fromkeys(_NUMBERS, pl.Float64)
    types |= dict.fromkeys(("num_seeds", "num_missing", "num_pairs"), pl.Int64)
    types |= {"method": pl.String, "is_significant": pl.Boolean, "is_best": pl.Boolean}
    types["warnings"] = pl.List(pl.String)
    types |= {name: runs.schema[name] for name in keys}
    columns = {
        name: pl.Series(name, [row.get(name) for row in rows], types[name])
        for name in (*keys, *_ORDER)
    }
    numbers = [pl.col(name).fill_nan(None) for name in _NUMBERS]
    return pl.DataFrame(columns).with_columns(numbers)


def _placed(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[str]:
    """Each row's warnings; one that several rows have stands once, with their number."""
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


def _settings_of(
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


def _add_means(
    rows: list[dict[str, Any]], values: list[Float64], level: float, method: str, seed: int
) -> None:
    """Put the mean of each row's values into it, with its interval."""
    for size, places in _by_size([len(column) for column in values]).items():
        used = usable(method, size)
        stacked = np.stack([values[place] for place in places])
        found = mean_limits(stacked, used, level, NUM_RESAMPLES, seed)
        for at, place in enumerate(places):
            rows[place] |= {
                "mean": float(found.estimate[at]),
                "low": float(found.low[at]),
                "high": float(found.high[at]),
                "method": "t" if found.is_student[at] else used,
            }


def _add_pairs(
    rows: list[dict[str, Any]],
    pairs: list[tuple[Float64, Float64]],
    level: float,
    method: str,
    seed: int,
    better: str,
) -> None:
    """Put into each row what its pairs with the baseline tell."""
    for size, places in _by_size([len(pair[0]) for pair in pairs]).items():
        used = usable(method, size)
        mine, base = (np.stack([pairs[place][side] for place in places]) for side in (0, 1))
        change = mean_limits(mine - base, used, level, NUM_RESAMPLES, seed)
        has_ratio = base.mean(1) != 0.0
        safe = np.where(has_ratio[:, None], base, 1.0)
        ratio = ratio_limits(mine, safe, used, level, NUM_RESAMPLES, seed)
        for at, place in enumerate(places):
            row = rows[place]
            row |= {
                "difference": float(change.estimate[at]),
                "difference_low": float(change.low[at]),
                "difference_high": float(change.high[at]),
                "p": float(change.p[at]),
                "effect_size": effect_size(mine[at], base[at]),
            }
            if better != "neutral":
                row["share_better"] = _share_better(mine[at], base[at], better)
            if has_ratio[at]:
                row |= {
                    "ratio": float(ratio.estimate[at]),
                    "ratio_low": float(ratio.low[at]),
                    "ratio_high": float(ratio.high[at]),
                    # What is called a difference is one in units and in proportion.
                    "p": float(max(change.p[at], ratio.p[at])),
                }
            else:
                row["warnings"].append("the mean of the baseline is zero: there is no ratio to it")


def _share_better(mine: Float64, base: Float64, better: str) -> float:
    sign = np.sign(base - mine) if better == "lower" else np.sign(mine - base)
    return float((sign.mean() + 1.0) / 2)


def _by_size(sizes: list[int]) -> dict[int, list[int]]:
    """Places of the columns of each length, so that those are one table; empty ones left out."""
    found: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        if size:
            found.setdefault(size, []).append(place)
    return found


def _add_p(rows: list[dict[str, Any]], correction: str | None, level: float) -> None:
    """Adjust the p of all rows that have one."""
    tested = [row for row in rows if np.isfinite(row.get("p", np.nan))]
    given = [row["p"] for row in tested]
    adjusted = holm(given).tolist() if correction == "holm" and given else given
    for row, p in zip(tested, adjusted, strict=True):
        row |= {"p_adjusted": p, "is_significant": p < 1.0 - level}


def _add_ranks(
    rows: list[dict[str, Any]], settings: dict[Key, Setting], better: str
) -> dict[Key, tuple[tuple[str, ...], Float64]]:
    """Put mean ranks and the best into the rows; return what was ranked of each setting."""
    blocks = {}
    start = 0
    for key, setting in settings.items():
        own = rows[start : start + len(setting)]
        start += len(setting)
        if better == "neutral":
            continue
        known = [row["mean"] for row in own if "mean" in row]
        best = (min if better == "lower" else max)(known, default=None)
        for row in own:
            row["is_best"] = len(own) > 1 and row.get("mean") == best and best is not None
        ranked = {name: group for name, group in setting.items() if group.by_seed}
        common = [
            seed
            for seed in (next(iter(ranked.values())).by_seed if ranked else ())
            if all(seed in group.by_seed for group in ranked.values())
        ]
        if not common:
            continue
        table = np.array([[g.by_seed[seed] for g in ranked.values()] for seed in common])
        means = ranks(table, better="higher" if better == "higher" else "lower").mean(0)
        of_name = dict(zip(ranked, means.tolist(), strict=True))
        for row, name in zip(own, setting, strict=True):
            row["rank"] = of_name.get(name)
        blocks[key] = (tuple(map(str, ranked)), table)
    return blocks


def _row_warnings(
    group: Group,
    base: Group | None,
    baseline: str | float | None,
    method: str,
    *,
    lacks_baseline: bool,
) -> list[str]:
    """Return what is to be said of a row: seeds without a value or a pair, too few for a method.

    Parameters
    ----------
    base
        The runs with which it is compared: None for the baseline itself, or where there is none.
    lacks_baseline
        Whether the setting has no run of the baseline that was asked for.
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
                lines.append(f"no value {lacks}, so not in the difference: {_seeds(seeds)}")
        pairs = num - len(alone)
        if pairs == 0:
            lines.append(f"no pair with {baseline}: no difference")
    elif lacks_baseline:
        lines.append(f"no run of {baseline} in this setting: no difference")
    if num == 1:
        lines.append("a single seed: no interval")
    elif num and (used := usable(method, num)) != method:
        lines.append(f"{num} seeds are too few for {method}: {used} was used")
    return lines


def _run_warnings(
    runs: pl.DataFrame,
    metric: str,
    axis: str,
    by: Sequence[str],
    warm_up_s: float | None,
) -> list[str]:
    """Return what concerns settings: loads that are not stable, no warm-up, weak quantiles."""
    return [
        *_unstable(runs, axis),
        *_no_warm_up(runs, metric, warm_up_s),
        *_weak_quantile(runs, metric),
        *_other_jobs(runs, axis, by),
    ]


def _seeds(seeds: Sequence[Any]) -> str:
    shown = ", ".join(map(str, seeds[:_MOST_SEEDS]))
    more = f" and {len(seeds) - _MOST_SEEDS} more" if len(seeds) > _MOST_SEEDS else ""
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {shown}{more}"


def _unstable(runs: pl.DataFrame, axis: str) -> list[str]:
    import polars as pl

    lines = []
    has_load = _is_number(runs, "load") and runs["load"].null_count() < len(runs)
    if has_load and (over := runs.filter(pl.col("load") >= 1.0)).height:
        loads = over["load"].unique().sort().to_list()
        shown = ", ".join(f"{load:.3g}" for load in dict.fromkeys((loads[0], loads[-1])))
        lines.append(
            f"not stable at load {shown} ({plural(over.height, 'run')}): the queue grows with "
            "the length of the run, and waits and JCT with it; they hold for this length alone"
        )
    elif not has_load and _is_number(runs, "allocation"):
        full = runs.filter(pl.col("allocation") >= _FULL)
        if full.height:
            lines.append(
                f"{plural(full.height, 'run')} held {_FULL:.1%} of the GPU time or more: there "
                "was a queue to the end, so waits and JCT may hold for this length alone"
            )
    for name, what in (("num_unfinished", "did not finish"), ("num_rejected", "were refused")):
        if _is_number(runs, name) and (some := runs.filter(pl.col(name) > 0)).height:
            worst = some.sort(name)[-1]
            lines.append(
                f"jobs {what} in {plural(some.height, 'run')} (at most {worst[name].item():,}, "
                f"{axis} {worst[axis].item()}): means are of the others"
            )
    return lines


def _no_warm_up(runs: pl.DataFrame, metric: str, warm_up_s: float | None) -> list[str]:
    at_load = _is_number(runs, "load") and runs["load"].null_count() < len(runs)
    known = metrics().get(metric)
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
        f"no warm-up in {plural(without, 'run')}: they begin on an empty cluster, and the jobs "
        "that found it so are in the mean; set warm_up_s"
    ]


def _weak_quantile(runs: pl.DataFrame, metric: str) -> list[str]:
    size = next((name for name in ("num_finished", "jobs") if _is_number(runs, name)), None)
    if metric.startswith("max_"):
        return [f"{metric} is a single job of each run: it grows with the length of the run"]
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
        f"it, {_LEAST_BEYOND} or more should"
    ]


def _other_jobs(runs: pl.DataFrame, axis: str, by: Sequence[str]) -> list[str]:
    import polars as pl

    if not _is_number(runs, "num_finished"):
        return []
    counts = runs.group_by(*by, "seed").agg(pl.col("num_finished").drop_nulls().n_unique())
    num = counts.filter(pl.col("num_finished") > 1).height
    if not num:
        return []
    return [
        f"runs of the same seed finished different numbers of jobs ({plural(num, 'seed')}): their "
        "means are not of the same jobs"
    ]


def _is_number(runs: pl.DataFrame, name: str) -> bool:
    return name in runs.columns and runs.schema[name].is_numeric()
