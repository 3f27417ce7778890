"""Predictors without a model: a figure of the jobs of the same kind that finished before."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.prediction.learner import COUNTS, COUNTS_NOTE, Learner
from gpusched.prediction.registry import register_predictor

_BATCH = (0, 1_000_000)
_BATCH_NOTE = "most jobs predicted together, 0 for 1/500 of those so far (at most 1,000)"


class _OfKinds(Learner):
    """Has a figure of the jobs of the same kind, and else of more and more other jobs."""

    limits: ClassVar = {"batch_jobs": _BATCH}
    choices: ClassVar = {"counts": COUNTS}
    notes: ClassVar = {"batch_jobs": _BATCH_NOTE, "counts": COUNTS_NOTE}

    def __init__(self, batch_jobs: int, counts: str) -> None:
        super().__init__(counts)
        self.batch_jobs = batch_jobs


@register_predictor("group-mean")
class GroupMean(_OfKinds):
    """The mean service of the same user and group, of the group, of the user, else the median."""

    source = "common practice; the order of what is asked is ours"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known = self.log.of["kind"].mean_us(rows)
        for level in ("group", "user"):
            known = np.where(np.isnan(known), self.log.of[level].mean_us(rows), known)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("last-value")
class LastValue(_OfKinds):
    """The service of the job of the same user and group that finished last, else as group-mean."""

    source = "common practice (Tsafrir et al., TPDS 2007, average the last two of a user)"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known: Float64 = np.full(len(rows), np.nan)
        for level in ("kind", "group", "user"):
            last = self.log.of[level].recent(rows, 1)[:, 0]
            found = np.where(last < 0, np.nan, self.log.service_us[last])
            known = np.where(np.isnan(known), found, known)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("quantile")
class Quantile(_OfKinds):
    """A quantile of the last services of the same user and group, of the group, user, or all."""

    source = "common practice; a high quantile guards against underestimates"
    limits: ClassVar = {"q": (0, 1), "window": (1, 1000), "batch_jobs": _BATCH}
    notes: ClassVar = {
        "q": "0.5 is the median",
        "window": "of the last so many finished jobs",
        "batch_jobs": _BATCH_NOTE,
        "counts": COUNTS_NOTE,
    }

    def __init__(
        self, q: float = 0.5, window: int = 100, batch_jobs: int = 0, counts: str = "service"
    ) -> None:
        super().__init__(batch_jobs, counts)
        self.q = q
        self.window = window

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known: Float64 = np.full(len(rows), np.nan)
        for level in ("kind", "group", "user"):
            missing = np.flatnonzero(np.isnan(known))
            if len(missing):
                known[missing] = self.log.quantile_us(level, rows[missing], self.q, self.window)
        finished = self.log.recent_us()
        everyone = float(np.quantile(finished, self.q)) if len(finished) else np.nan
        return self._or_all(known, everyone)


def _median(values: Int64) -> float:
    return float(np.median(values)) if len(values) else np.nan
