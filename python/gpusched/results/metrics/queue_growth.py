"""Whether jobs come faster than they leave."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "queue_growth",
    unit="ratio",
    summary="Jobs in the system while the last third of the jobs' time runs over those in the one "
    "before: about 1 where they leave as fast as they come, 5/3 where a queue grows steadily.",
    definition="time from the first to the last submission in thirds, N the mean number of jobs "
    "with r <= t < C in one: N of the last / N of the middle third",
    table="none",
    window="time",
    is_default=False,
    rank=475,
)
def _queue_growth(run: RunFacts) -> float:
    if not len(run.trace):
        return np.nan
    begin_us, end_us = int(run.trace.submit_us[0]), int(run.trace.submit_us[-1])
    if run.window is not None:
        begin_us, end_us = run.ends_us[0], min(run.ends_us[1], end_us)
    first, second = begin_us + (end_us - begin_us) // 3, begin_us + 2 * (end_us - begin_us) // 3
    if not begin_us < first < second < end_us:
        return np.nan
    before_us, after_us = run.time_there_us([first, second, end_us])
    before = before_us / (second - first)
    return after_us / (end_us - second) / before if before else np.nan
