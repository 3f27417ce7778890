"""What is known of a job when it is submitted, as one row of numbers."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.ticks import us_to_seconds
from gpusched.prediction.history import CompletionLog, quantiles
from gpusched.prediction.interface import UNKNOWN_US
from gpusched.prediction.keys import LABELS, JobKeys
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import Trace

FEATURES: Final = (
    *LABELS,
    "log2_gpus",
    "hour",
    "weekday",
    "log_estimate",
    "log_submits",
    "log_gap",
    "log_finished",
    "mean",
    "last",
    "second_last",
    "lower_quartile",
    "median",
    "upper_quartile",
    "queue_lower_quartile",
    "queue_median",
    "queue_upper_quartile",
    "user_mean",
    "queue_mean",
    "width_mean",
)
"""The columns. From ``mean`` on they are logarithms of services in seconds."""
_KNOWN: Final = FEATURES.index("log_finished")  # those before it never change after the arrival
_KIND_DEPTH: Final = 64  # quartiles of the last so many jobs of the kind
_QUEUE_DEPTH: Final = 16
_QUARTILES: Final = (0.25, 0.5, 0.75)
_DAY_S: Final = 86400


class FeatureTable:
    """float32, one row per row of the keys; :meth:`fill` completes the rows that arrive now.

    Where a kind has no history the mean stands in of the group, then of the user, then of all.
    Hours and days count from tick 0 if the trace has no epoch. ``old`` are the rows of the last so
    many records.
    """

    def __init__(self, keys: JobKeys, trace: Trace, old: AnyArray) -> None:
        num_records = keys.num_records
        self.values = np.zeros((len(keys), len(FEATURES)), np.float32)
        self.values[num_records - len(old) : num_records] = old
        ours = self.values[num_records:]
        for column, label in enumerate(LABELS):
            ours[:, column] = keys.codes[label][num_records:]
        known = {
            "log2_gpus": np.log2(trace.gpus),
            "log_estimate": _log_estimates(trace),
            "log_submits": np.log1p(keys.times_before()[num_records:]),
            "log_gap": _log_gaps(keys.gap_s(trace.submit_us)),
        }
        known["hour"], known["weekday"] = _clock(trace.submit_us, trace.epoch)
        for name, values in known.items():
            ours[:, FEATURES.index(name)] = values

    def fill(self, rows: Int64, log: CompletionLog) -> AnyArray:
        """Complete ``rows`` by what has finished so far, and return them."""
        dynamic = self.values[rows]
        kind = log.of["kind"]
        everyone = log.total_log / len(log) if len(log) else np.log(us_to_seconds(UNKNOWN_US))
        own = mean_log(log, rows)
        values = log.log_s[kind.recent(rows, _KIND_DEPTH)]
        queue = log.log_s[log.of["queue"].recent(rows, _QUEUE_DEPTH)]
        last = _or(values[:, 0], own)
        columns = (
            np.log1p(kind.finished(rows)),
            own,
            last,
            _or(values[:, 1], last) if values.shape[1] > 1 else last,
            *(_or(quartile, own) for quartile in quantiles(values, _QUARTILES)),
            *(_or(quartile, own) for quartile in quantiles(queue, _QUARTILES)),
            *(_or(log.of[name].mean_log(rows), everyone) for name in ("user", "queue", "width")),
        )
        for column, filled in enumerate(columns, start=_KNOWN):
            dynamic[:, column] = filled
        self.values[rows] = dynamic
        return dynamic


def mean_log(log: CompletionLog, rows: Int64) -> Float64:
    """Return the mean logarithm of the services (seconds) of each row's kind.

    That of its group, of its user, of all jobs where the one before is not known, and that of
    an hour if nothing is.
    """
    everyone = log.total_log / len(log) if len(log) else np.log(us_to_seconds(UNKNOWN_US))
    known = log.of["kind"].mean_log(rows)
    for level in ("group", "user"):
        known = _or(known, log.of[level].mean_log(rows))
    return _or(known, everyone)


def _or(values: Float64, default: Float64 | float) -> Float64:
    return np.where(np.isnan(values), default, values)


def _log_estimates(trace: Trace) -> Float64:
    if trace.estimate_us is None:
        return np.full(len(trace), -1.0)
    seconds = us_to_seconds(np.maximum(trace.estimate_us, 0))
    return np.where(trace.estimate_us == NOT_GIVEN, -1.0, np.log1p(seconds))


def _log_gaps(gap_s: Float64) -> Float64:
    return np.where(gap_s < 0, -1.0, np.log1p(np.maximum(gap_s, 0)))


def _clock(submit_us: Int64, epoch: datetime | None) -> tuple[Float64, Float64]:
    """Return the hour of the day (0 to 24) and the day of the week (Monday is 0)."""
    start_s, weekday = 0.0, 0
    if epoch is not None:
        midnight = epoch.replace(hour=0, minute=0, second=0, microsecond=0)
        start_s, weekday = (epoch - midnight).total_seconds(), epoch.weekday()
    day, second = np.divmod(start_s + us_to_seconds(submit_us), _DAY_S)
    return second / 3600, (weekday + day) % 7
