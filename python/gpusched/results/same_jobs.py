"""Runs are compared by the jobs that all of them finish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.wording import plural
from gpusched.schedules.schedule import FINISHED

if TYPE_CHECKING:
    from gpusched.base.arrays import Bool
    from gpusched.results.result import Result
    from gpusched.results.run_window import RunWindow

MOST_LEFT: Final = 0.01
"""Jobs that hold more of the GPU time than this make changes in percent say little."""

UNSERVED: Final = "unserved_share"
"""The column of :func:`unserved_share` in the runs of a study."""


def unserved_share(result: Result, window: RunWindow | None) -> float:
    """Return the part of the GPU time that jobs ask for which the run does not finish."""
    trace = result.trace
    asked = trace.gpus * trace.service_s
    is_left = np.asarray(result.schedule.status) != FINISHED
    counted = np.ones(len(trace), np.bool_) if window is None else window.counted(trace)
    return float(asked[counted & is_left].sum() / asked[counted].sum()) if counted.any() else 0.0


class SameJobs:
    """The jobs that every one of some runs of a trace finishes.

    Attributes
    ----------
    num, num_others
        How many these are, and how many others some run finishes or could have.
    share_of_others
        The part of the GPU time, GPUs x service, that the others ask for.
    """

    def __init__(self, results: Mapping[str, Result], window: RunWindow | None) -> None:
        self._window, trace = window, next(iter(results.values())).trace
        every = np.ones(len(trace), np.bool_)
        counted = every if window is None else window.counted(trace)
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
        asked = trace.gpus * trace.service_s
        self.share_of_others = float(asked[others].sum() / asked[counted].sum())

    def measured(self, label: str, result: Result) -> dict[str, Any]:
        """Return what a run's summary says of finished jobs, of these alone.

        Nothing where the run finishes no others: its summary is of these.
        """
        if self._num_finished[label] == self.num:
            return {}
        return result._of_jobs(self.jobs, self._window)

    def lines(self, every: str) -> list[str]:
        """Say which jobs count, in a sentence; nothing if all do, or of a single run.

        Parameters
        ----------
        every
            What finishes them: ``"every policy"``.
        """
        if not self.num_others or len(self._num_finished) == 1:
            return []
        return [
            f"job metrics count the {plural(self.num, 'job')} that {every} finishes; "
            f"{plural(self.num_others, 'other')} {'asks' if self.num_others == 1 else 'ask'} for "
            f"{100 * self.share_of_others:.3g}% of the GPU time"
        ]
