"""GPU time that sharing links and poor places cost."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts
from gpusched.schedules.schedule import contention_excess_us


@register_metric(
    "lost_to_contention",
    unit="ratio",
    summary="Share of the cluster's GPU time that jobs ran longer as links were shared.",
    definition="sum of g (e - q - u) / (M x makespan): GPU time that sharing cost",
    better="lower",
    needs=("contention",),
    kind="percent",
    label="lost to contention",
    short="lost to|contention",
    group="cluster",
    table="main",
    place=200,
    gives_way=4,
    window="time",
    rank=390,
)
def _lost_to_contention(run: RunFacts) -> float:
    done = run.all_finished
    widths = run.within(run.mean_widths)
    lost_us = np.dot(widths[done], contention_excess_us(run.schedule)[done])
    return _of_gpu_time(run, float(lost_us))


@register_metric(
    "lost_to_placement",
    unit="ratio",
    summary="Share of the cluster's GPU time that jobs ran longer where they were put.",
    definition="sum of g (u - p) / (M x makespan): GPU time that spread, slower links or slower "
    "GPUs cost",
    better="lower",
    needs=("contention",),
    kind="percent",
    label="lost to placement",
    short="lost to|placement",
    group="cluster",
    place=1130,
    window="time",
    rank=400,
)
def _lost_to_placement(run: RunFacts) -> float:
    done = run.all_finished
    alone_us = run.schedule.uncontended_us[done]
    beyond_us = np.maximum(alone_us - run.trace.service_us[done], 0.0)
    return _of_gpu_time(run, float(np.dot(run.within(run.mean_widths)[done], beyond_us)))


def _of_gpu_time(run: RunFacts, lost_us: float) -> float:
    return lost_us / run.gpu_us if run.gpu_us else np.nan
