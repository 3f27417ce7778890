"""What to know before a comparison of runs is believed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import plural
from gpusched.results.metric_registry import metrics
from gpusched.statistics.limits import usable
from gpusched.statistics.run_groups import Group

if TYPE_CHECKING:
    import polars as pl

_PERCENTILE: Final = re.compile(r"(?:^|_)p(\d{1,3})_")
_LEAST_BEYOND: Final = 10
_MOST_SEEDS: Final = 5
_FULL: Final = 0.995


def row_warnings(
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


def run_warnings(
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
