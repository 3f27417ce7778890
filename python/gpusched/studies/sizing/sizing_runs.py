"""The runs behind a sizing: a simulation for each mix of servers, each once."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.supervision import Cancelled, is_asked
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.results.run_window import RunWindow
from gpusched.schedules.schedule import REJECTED, UNFINISHED
from gpusched.studies.sizing.goals import Goals
from gpusched.studies.sizing.server_kinds import ServerKinds

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

Counts = tuple[int, ...]


@dataclass(frozen=True)
class SizingRun:
    """One simulation.

    Attributes
    ----------
    counts
        Servers of each kind.
    values
        The metrics of the goals.
    num_without
        Jobs that this cluster cannot run, or did not get to run: there must be none.
    is_met
        Whether the goals are met, and every job was run.
    wall_s
        Time that it took, seconds.
    """

    counts: Counts
    values: Mapping[str, float]
    num_without: int
    is_met: bool
    wall_s: float


@dataclass
class SizingRuns:
    """Runs of one trace on clusters of other sizes.

    Attributes
    ----------
    options
        Of :func:`gpusched.simulate`, but for trace and cluster.
    window
        The part of each run that the metrics are of; None: all of it.
    runs
        Those so far, by their counts, in their order.
    """

    trace: Trace
    kinds: ServerKinds
    goals: Goals
    options: Mapping[str, Any]
    stop: threading.Event | None = None
    window: RunWindow | None = None
    runs: dict[Counts, SizingRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._usable = self.kinds.usable(self.trace)

    def run(self, counts: Counts) -> SizingRun:
        """Simulate, unless that was done before."""
        if counts not in self.runs:
            if is_asked(self.stop):
                raise Cancelled(0, len(self.trace), "jobs", None)
            begun = time.perf_counter()
            values, num_without = self._simulated(counts)
            is_met = num_without == 0 and self.goals.are_met(values)
            wall_s = time.perf_counter() - begun
            self.runs[counts] = SizingRun(counts, values, num_without, is_met, wall_s)
        return self.runs[counts]

    def has_room(self, counts: Counts) -> bool:
        """Whether the widest job of each set of types has GPUs for itself: if not, no run shows."""
        return self.kinds.have_room(counts, self._usable)

    def meets(self, counts: Counts) -> bool:
        """Whether there is room for every job, and a run meets the goals."""
        return self.has_room(counts) and self.run(counts).is_met

    def result(self, counts: Counts) -> Result:
        """Simulate, and return all of it."""
        return simulate(self.trace, self.kinds.cluster(counts), stop=self.stop, **self.options)

    def _simulated(self, counts: Counts) -> tuple[dict[str, float], int]:
        result = self.result(counts)
        return self._values(result), _num_without(result)

    def _values(self, result: Result) -> dict[str, float]:
        """The metrics of the goals; NaN where no job is submitted in the window."""
        window = self.window
        if window is not None and not window.counted(self.trace).any():
            return dict.fromkeys(self.goals.metrics, math.nan)
        cuts = {} if window is None else window.cuts
        return {key: float(result.metric(key, **cuts)) for key in self.goals.metrics}


def _num_without(result: Result) -> int:
    """Jobs that the cluster refused, or left waiting though the policy had promised nothing."""
    schedule = result.schedule
    status = np.asarray(schedule.status)
    refused = (status == REJECTED) & (np.asarray(schedule.reason) > 0)
    num_without = int(np.count_nonzero(refused))
    if len(schedule.decisions()["job"]) == 0:
        num_without += int(np.count_nonzero(status == UNFINISHED))
    return num_without
