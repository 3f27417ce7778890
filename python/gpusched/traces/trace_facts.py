"""What a reader of a trace wants to know first, and the percentiles that all tables share."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.ticks import us_to_seconds
from gpusched.traces.checked_columns import LABELS
from gpusched.traces.job_columns import NO_LIMIT
from gpusched.traces.trace_columns import TraceColumns

_NUM_OF: Final = {"status": "num_statuses", "qos": "num_qos", "dependency": "num_dependencies"}


def nearest_rank(ordered: AnyArray, percent: float) -> float:
    """Return the least value of a sorted array that ``percent`` % of the values do not exceed.

    NaN if there are no values.
    """
    if len(ordered) == 0:
        return np.nan
    return float(ordered[max(0, int(-(-percent * len(ordered) // 100)) - 1)])


def describe(trace: TraceColumns) -> dict[str, Any]:
    """Return the facts of :meth:`gpusched.Trace.describe`."""
    service, gpus = np.sort(trace.service_s), np.sort(trace.gpus)
    facts: dict[str, Any] = {
        "name": trace.name,
        "source": trace.source,
        "num_jobs": len(trace),
        "num_rejected": trace.rejects.total,
        "epoch": None if trace.epoch is None else trace.epoch.isoformat(sep=" "),
        "span_s": us_to_seconds(trace.span_us),
        "mean_service_s": float(np.mean(service)),
        "p50_service_s": nearest_rank(service, 50),
        "p95_service_s": nearest_rank(service, 95),
        "max_service_s": float(service[-1]),
        "mean_gpus": float(np.mean(gpus)),
        "p50_gpus": int(nearest_rank(gpus, 50)),
        "max_gpus": int(gpus[-1]),
        "gpu_hours": trace.gpu_seconds / 3600,
    }
    facts |= _wishes(trace)
    for column in LABELS:
        labels = getattr(trace, column)
        if labels is not None:
            facts[_NUM_OF.get(column, f"num_{column}s")] = int(np.count_nonzero(labels.counts()))
    return facts


def _wishes(trace: TraceColumns) -> dict[str, Any]:
    """Return the facts of demands, deadlines and widths, of those columns that there are."""
    facts: dict[str, Any] = {}
    if trace.gpu_share is not None:
        is_part = trace.gpu_share < 1
        facts["num_shares"] = int(np.count_nonzero(is_part))
        facts["mean_share"] = float(np.mean(trace.gpu_share[is_part])) if is_part.any() else None
    for column in ("cpu", "memory_gib"):
        values = getattr(trace, column)
        if values is not None:
            facts[f"mean_{column}"] = float(np.mean(values))
            facts[f"max_{column}"] = float(np.max(values))
    if trace.deadline_s is not None:
        given = np.isfinite(trace.deadline_s)
        # The time from submit to deadline, in run times of the job.
        slack = np.sort((trace.deadline_s - trace.submit_s)[given] / trace.service_s[given])
        facts["num_deadlines"] = len(slack)
        facts["p50_slack"] = float(nearest_rank(slack, 50)) if len(slack) else None
        facts["num_slack_below_1"] = int(np.count_nonzero(slack < 1))
    if trace.value is not None:
        facts["total_value"] = float(np.sum(trace.value))
    if trace.min_gpus is not None or trace.max_gpus is not None:
        least = np.ones_like(trace.gpus) if trace.min_gpus is None else trace.min_gpus
        most = np.full_like(trace.gpus, NO_LIMIT) if trace.max_gpus is None else trace.max_gpus
        facts["num_elastic"] = int(np.count_nonzero(least < most))
    return facts
