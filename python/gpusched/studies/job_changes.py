"""What a change of policy did to each job, and to groups of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched.base.arrays import AnyArray, Bool
from gpusched.results.breakdown import job_groups
from gpusched.results.cost import sums

if TYPE_CHECKING:
    import polars

    from gpusched.results.result import Result

Side = Literal["lost", "won"]


def changed_jobs(
    baseline: Result, policy: Result, side: Side, limit: int | None, counted: Bool
) -> polars.DataFrame:
    """Return the jobs that lost, or won, the most; see ``Comparison.losers``."""
    change_s = np.where(counted, _change_s(baseline, policy, side), np.nan)
    # What ended under one policy only has lost, or won, more than any time tells.
    chosen = np.flatnonzero(change_s > 0)
    order = np.lexsort((chosen, -change_s[chosen]))
    jobs = chosen[order][:limit]
    return _described(baseline, policy, jobs).with_columns(_seconds(f"{side}_s", change_s[jobs]))


def changed_groups(
    baseline: Result, policy: Result, side: Side, by: str, counted: Bool
) -> polars.DataFrame:
    """Return the groups of jobs that lost, or won, the most in all; see ``Comparison.losers``."""
    import polars as pl

    groups = job_groups(baseline, by)
    codes, size = groups.codes, len(groups.names)
    change_s = np.where(counted, _change_s(baseline, policy, side), np.nan)
    both = np.isfinite(change_s)
    waits = [run.jobs.wait_s for run in (baseline, policy)]
    waited = np.isfinite(waits[0]) & np.isfinite(waits[1]) & counted

    def count(mask: AnyArray) -> AnyArray:
        return np.bincount(codes[mask], minlength=size)

    def mean(values: AnyArray, mask: AnyArray) -> AnyArray:
        with np.errstate(invalid="ignore"):
            return sums(codes[mask], values[mask], size) / count(mask)

    # What is later is worse, whichever side is asked for.
    later_s = change_s if side == "lost" else -change_s
    data: dict[str, Any] = {
        by: list(groups.names),
        "num_jobs": count(counted),
        "num_worse": count(later_s > 0),
        "num_better": count(later_s < 0),
        f"{side}_s": sums(codes[both], np.maximum(change_s[both], 0), size),
        "mean_change_s": mean(later_s, both),
        "baseline_mean_wait_s": mean(waits[0], waited),
        "policy_mean_wait_s": mean(waits[1], waited),
    }
    frame = pl.DataFrame(data, nan_to_null=True).filter(pl.col("num_jobs") > 0)
    return frame.sort(f"{side}_s", "num_jobs", by, descending=[True, True, False])


def _change_s(baseline: Result, policy: Result, side: Side) -> AnyArray:
    """JCT lost or won by each job, seconds; infinite where it ended under one policy only.

    NaN where it ended under neither.
    """
    before, after = (np.where(r.jobs.is_finished, r.jobs.jct_s, np.inf) for r in (baseline, policy))
    with np.errstate(invalid="ignore"):
        lost: AnyArray = after - before
    return lost if side == "lost" else -lost


def _described(baseline: Result, policy: Result, jobs: AnyArray) -> polars.DataFrame:
    import polars as pl

    trace = baseline.trace
    data: dict[str, Any] = {"job": jobs, "id": trace.id[jobs].tolist()}
    for column in ("user", "queue"):
        labels = getattr(trace, column)
        if labels is not None:
            data[column] = labels.values()[jobs].tolist()
    data["gpus"] = trace.gpus[jobs]
    for column in ("submit_s", "service_s"):
        data[column] = getattr(trace, column)[jobs]
    for name, run in (("baseline", baseline), ("policy", policy)):
        data[f"{name}_status"] = run.jobs.status[jobs].tolist()
        data[f"{name}_wait_s"] = run.jobs.wait_s[jobs]
        data[f"{name}_jct_s"] = run.jobs.jct_s[jobs]
    return pl.DataFrame(data, nan_to_null=True)


def _seconds(name: str, values: AnyArray) -> polars.Series:
    """Seconds as a column; null where they are infinite."""
    import polars as pl

    return pl.Series(name, np.where(np.isfinite(values), values, np.nan), nan_to_null=True)
