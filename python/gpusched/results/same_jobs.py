"""Restrict a comparison to the jobs that all runs finish."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from gpusched.base.wording import plural
from gpusched.schedules.schedule import FINISHED

if TYPE_CHECKING:
    from gpusched.base.arrays import Bool
    from gpusched.results.result import Result
    from gpusched.results.run_window import RunWindow
    from gpusched.traces.workload import Trace

MOST_LEFT: Final = 0.01
"""Share of GPU time of other jobs above which percentage changes are misleading."""

UNSERVED: Final = "unserved_share"
"""Column: share of the requested GPU time that a run does not finish."""
OTHERS: Final = "others_share"
"""Column: share of the requested GPU time that only some of the compared runs finish."""
LEFT: Final = "left"
"""Column: the jobs that a run does not finish, packed."""


def say_left(result: Result, window: RunWindow | None) -> dict[str, Any]:
    """Return the columns :data:`UNSERVED` and :data:`LEFT` of a run; LEFT is None for no job."""
    trace = result.trace
    counted = _counted(trace, window)
    left = counted & (np.asarray(result.schedule.status) != FINISHED)
    packed = zlib.compress(np.packbits(left).tobytes()) if left.any() else None
    return {UNSERVED: _share(trace, left, counted), LEFT: packed}


@dataclass(frozen=True)
class Apart:
    """Jobs left out of several runs, because one run does not finish them.

    ``left``: all of these, packed.
    ``others``: those that another run finishes.
    """

    left: bytes
    others: bytes

    @classmethod
    def of(cls, packed: Iterable[bytes | None]) -> Self:
        """Combine the column :data:`LEFT` of runs; at least one leaves a job."""
        every = list(packed)
        there = [np.frombuffer(zlib.decompress(one), np.uint8) for one in every if one]
        some = np.bitwise_or.reduce(there)
        shared = np.bitwise_and.reduce(there) * np.uint8(len(there) == len(every))
        return cls(some.tobytes(), (some & ~shared).tobytes())

    def name(self, run: str) -> str:
        """Return the storage key of a run's row without these jobs."""
        return f"{run}:{hashlib.sha256(self.left + self.others).hexdigest()[:16]}"

    def measured(
        self, result: Result, window: RunWindow | None, more: Iterable[str]
    ) -> dict[str, Any]:
        """Return the metrics of the other finished jobs, and the column :data:`OTHERS`.

        ``more``: metrics in addition to the default ones.
        """
        trace = result.trace
        left, others = (
            np.unpackbits(np.frombuffer(jobs, np.uint8), count=len(trace)).astype(np.bool_)
            for jobs in (self.left, self.others)
        )
        counted = _counted(trace, window)
        found = result._of_jobs(counted & ~left, window, more)
        return found | {OTHERS: _share(trace, others, counted)}


def _counted(trace: Trace, window: RunWindow | None) -> Bool:
    return np.ones(len(trace), np.bool_) if window is None else window.counted(trace)


def _share(trace: Trace, some: Bool, counted: Bool) -> float:
    """Return the share of the requested GPU time of some jobs."""
    asked = trace.gpus * trace.service_s
    return float(asked[some].sum() / asked[counted].sum()) if counted.any() else 0.0


class SameJobs:
    """The jobs that all of several runs of a trace finish.

    ``num``, ``num_others``: their number, and the number of others.
    ``share_of_others``: the others' share of the requested GPU time (GPUs x service).
    """

    def __init__(self, results: Mapping[str, Result], window: RunWindow | None) -> None:
        self._window, trace = window, next(iter(results.values())).trace
        counted = _counted(trace, window)
        self.jobs: Bool = counted.copy()
        self._num_finished = {}
        for label, result in results.items():
            finished = np.asarray(result.schedule.status) == FINISHED
            if window is not None:
                finished &= window.counted(result.trace)
            self._num_finished[label] = int(np.count_nonzero(finished))
            self.jobs &= finished
        others = counted & ~self.jobs
        self.num, self.num_others = (int(np.count_nonzero(some)) for some in (self.jobs, others))
        self.share_of_others = _share(trace, others, counted)

    def measured(self, label: str, result: Result) -> dict[str, Any]:
        """Return a run's metrics of finished jobs, restricted to these.

        Empty if the run finishes no others, as its summary is the same.
        """
        if self._num_finished[label] == self.num:
            return {}
        return result._of_jobs(self.jobs, self._window)

    def lines(self, every: str) -> list[str]:
        """Describe which jobs count; empty if all do, or for a single run.

        ``every``: the subject of the sentence: ``"every policy"``.
        """
        if not self.num_others or len(self._num_finished) == 1:
            return []
        return [
            f"job metrics count the {plural(self.num, 'job')} that {every} finishes; "
            f"{plural(self.num_others, 'other')} {'asks' if self.num_others == 1 else 'ask'} for "
            f"{100 * self.share_of_others:.3g}% of the GPU time"
        ]
