"""The jobs of an episode: a whole trace, or a window of it that is drawn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gpusched import _core
from gpusched.base.run_warning import RunWarning
from gpusched.clusters.cluster import Cluster
from gpusched.engine.seams import placement_seam
from gpusched.engine.simulation import simulate
from gpusched.prediction.choose import resolve
from gpusched.schedules.schedule import REJECTED
from gpusched.specs.case import job_columns
from gpusched.specs.core_tables import core_cluster
from gpusched.specs.predicted_columns import PredictedBy
from gpusched.traces.workload import Trace

_PER_JOB = frozenset(column.name for column in _core.JOB_COLUMNS if column.per == "job")


class Episodes:
    """What episodes are made of.

    Attributes
    ----------
    trace, cluster
        All jobs, and the servers.
    num_jobs
        Of an episode.
    servers
        The core's view of the cluster.
    """

    def __init__(
        self, trace: Trace, cluster: Cluster, placement: str, predictor: str, jobs: int | None
    ) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r}")
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
        if jobs is not None:
            if isinstance(jobs, bool) or not isinstance(jobs, int | np.integer):
                raise TypeError(f"jobs: {jobs!r} must be an integer")
            if not 1 <= jobs <= len(trace):
                raise ValueError(f"jobs: {jobs} is not between 1 and the {len(trace)} of the trace")
        chosen = placement_seam(placement)
        if not isinstance(chosen.native, str):
            raise ValueError(f"placement: {chosen.label} is written in Python; name a native one")
        predicted = resolve(predictor)
        if not isinstance(predicted, PredictedBy):
            raise ValueError(
                f"predictor: {predicted.label} learns in the course of a run; predict before, and "
                "give the trace a column"
            )
        self.trace, self.cluster = trace, cluster
        self.placement, self.placement_values = chosen.native, chosen.parameters
        self.placement_label = chosen.label
        self.predictor = predictor
        self.is_random = chosen.has("random")
        self.is_clairvoyant = predicted.is_truth
        self.num_jobs = len(trace) if jobs is None else int(jobs)
        self.servers = core_cluster(cluster)
        self._columns = job_columns(trace, cluster, predicted, uses_estimates=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunWarning)
            tried = simulate(trace, cluster, policy="fifo-skip", placement=placement)
        can_run = tried.schedule.status != REJECTED
        if not can_run.any():
            raise ValueError("trace: the cluster can run none of its jobs")
        self._num_before = np.concatenate([[0], np.cumsum(can_run)])

    def draw(self, rng: np.random.Generator) -> tuple[int, int]:
        """Draw the first job of an episode, and the seed of its run."""
        first = int(rng.integers(len(self.trace) - self.num_jobs + 1))
        seed = int(rng.integers(2**63)) if self.is_random else 0
        return first, seed

    def lanes(self, num_lanes: int, num_slots: int, cost: str) -> _core.AskingLanes:
        """Return lanes of the core in which episodes can begin."""
        return _core.AskingLanes(
            self.servers,
            placement=self.placement,
            placement_values=self.placement_values,
            num_slots=num_slots,
            cost=cost,
            num_lanes=num_lanes,
        )

    def begin(self, lanes: _core.AskingLanes, lane: int, first: int, seed: int) -> None:
        """Begin an episode in a lane."""
        last = first + self.num_jobs
        num_feasible = int(self._num_before[last] - self._num_before[first])
        lanes.begin(lane, self._table(first, last), num_feasible, seed)

    def part(self, first: int) -> Trace:
        """Return the jobs of an episode as a trace, at their own times."""
        if self.num_jobs == len(self.trace):
            return self.trace
        return self.trace._take(slice(first, first + self.num_jobs))

    def _table(self, first: int, last: int) -> _core.JobTable:
        columns: dict[str, Any] = {
            name: values[first:last] if name in _PER_JOB and values is not None else values
            for name, values in self._columns.items()
        }
        return _core.JobTable(**columns)
