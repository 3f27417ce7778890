"""The result of one run: what happened, what it cost, how far from optimal it can be at most."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.memo import kept
from gpusched.results.result_answers import ResultAnswers
from gpusched.results.result_metrics import ResultMetrics
from gpusched.results.result_views import Shown
from gpusched.schedules.event_table import Events
from gpusched.schedules.jobs_table import Jobs
from gpusched.schedules.schedule import FINISHED, INTERVAL_COLUMNS, Schedule
from gpusched.schedules.series import Series, series_of

if TYPE_CHECKING:
    from gpusched.audit import AuditReport, Level
    from gpusched.clusters.cluster import Cluster
    from gpusched.prediction import PredictionReport
    from gpusched.schedules.contention import Contention
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


class Result(ResultMetrics, ResultAnswers, Shown):
    """A schedule with the trace, the cluster and the specification that led to it.

    Everything is computed when it is first asked for, and then kept.

    Attributes
    ----------
    trace, cluster, spec
        What was simulated.
    schedule
        The core's columns in microseconds.
    wall_s
        Time that the simulation took, seconds.
    clairvoyant
        Whether the policy decided by the true service times, which no live scheduler knows.
    prediction
        How good the predictions were and what they cost; None if there were none.
    is_partial
        Whether the run was stopped, so that its schedule ends in the middle: it can be looked at
        and pickled, but neither audited nor saved.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        spec: RunSpec,
        schedule: Schedule,
        wall_s: float,
        *,
        clairvoyant: bool = False,
        prediction: PredictionReport | None = None,
        is_partial: bool = False,
        remarks: Sequence[str] = (),
    ) -> None:
        self.trace = trace
        self.cluster = cluster
        self.spec = spec
        self.schedule = schedule
        self.wall_s = wall_s
        self.clairvoyant = clairvoyant
        self.prediction = prediction
        self.is_partial = is_partial
        self._remarks = remarks

    def __repr__(self) -> str:
        num_finished = int(np.count_nonzero(np.asarray(self.schedule.status) == FINISHED))
        return (
            f"Result({self.spec.policy}, {self.spec.placement} on {self.cluster}: "
            f"{num_finished:,} of {len(self.trace):,} jobs finished)"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return {name: value for name, value in vars(self).items() if not _is_cached(self, name)}

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs as columns, in seconds."""
        return Jobs(self.trace, self.schedule)

    @kept
    def intervals(self) -> Mapping[str, AnyArray]:
        """Who held which GPUs when: read-only columns job, start_us, end_us, server, mask.

        One row per interval and server, sorted by (job, start, server); server -1 and mask 0 if
        the cluster is one pool.
        """
        rows = self.schedule.intervals()
        return MappingProxyType({column: rows[column] for column in INTERVAL_COLUMNS})

    @cached_property
    def events(self) -> Events:
        """Finishes, arrivals, rejects, preemptions, starts, resumes and resizes, in order."""
        return Events(self.trace, self.schedule, self.intervals)

    @cached_property
    def series(self) -> Series:
        """Allocated GPUs, the queue and the running jobs over time."""
        return series_of(self.trace, self.schedule, self.intervals)

    @cached_property
    def contention(self) -> Contention:
        """How many rings (gangs on several servers) share each link over time."""
        from gpusched.schedules.contention import Contention

        return Contention(self.cluster, self.intervals)

    @property
    def is_fixed(self) -> bool:
        """Whether every job ran for its service wherever it was, so that no link mattered."""
        from gpusched.plugins.registry import speed_has

        return speed_has(self.spec.speed, "steady")

    def _check_whole(self, what: str) -> None:
        if self.is_partial:
            raise ValueError(f"the run was stopped: its result cannot be {what}")

    @kept
    def digest(self) -> str:
        """SHA-256 of the interval log and the rejects: equal if and only if the schedule is."""
        return self.schedule.digest

    @property
    def jobs_per_s(self) -> float:
        """Jobs simulated per second."""
        return len(self.trace) / self.wall_s if self.wall_s > 0 else np.inf

    @property
    def warnings(self) -> Sequence[str]:
        """What the run has to say, one sentence each: of the core, what the policy lacked, and what
        the call left unread, which a file does not keep.
        """
        from gpusched.results.run_remarks import lacking, misread

        return [*self.schedule.warnings, *lacking(self), *misread(self), *self._remarks]

    def save_case(self, path: str | os.PathLike[str]) -> None:
        """Write the run for the native replay tool; see :func:`gpusched.specs.case.save_case`.

        Returns
        -------
        None
            The case is in the file.

        Raises
        ------
        ValueError, OSError
            If the replay tool cannot repeat the run, or the file cannot be written.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.save_case("run.case")
        """
        from gpusched.prediction.choose import resolve
        from gpusched.specs.case import save_case
        from gpusched.specs.predicted_columns import PredictedBy

        is_made = any(thing.role == "predictor" for thing in self.spec.python)
        found = None if is_made else resolve(self.spec.predictor)
        predicted = found if isinstance(found, PredictedBy) else None
        save_case(self.trace, self.cluster, self.spec, path, predicted=predicted)

    def audit(self, *, level: Level = "log") -> AuditReport:
        """Check the schedule against the trace and the cluster, independently of the core.

        Parameters
        ----------
        level
            ``"log"``: the log is possible, complete and honestly reported. ``"decisions"``: the
            policy, as it is documented, would also have decided so: an engine written from the
            documentation decides the run again, of a long one as many of the first jobs as take
            about ten seconds, which a note tells. Where there is none for a policy, or
            predictions were learned in the run, a note says that its decisions are not shown.

        Returns
        -------
        AuditReport
            ``ok``, and the ``problems``, a sentence each.

        Raises
        ------
        ValueError
            If the run was stopped: the rules are those of whole schedules; or the level is unknown.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.audit().ok
        True
        >>> result.audit(level="decisions").ok
        True
        """
        self._check_whole("audited")
        from gpusched.audit import audit
        from gpusched.results.audited_names import declared

        return audit(
            self.trace, self.cluster, self.spec, self.schedule, self.intervals, self.digest,
            self.summary, declared(self.spec), level,
            partial(declared, self.spec),
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole result, with trace, specification, version and digest, as one file.

        The file is an uncompressed ``.npz`` archive of plain arrays, for
        :func:`gpusched.load_result`.

        Returns
        -------
        None
            The result is in the file.

        Raises
        ------
        OSError
            If it cannot be written; an old one is still there.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.save("result.npz")
        >>> gs.load_result("result.npz").digest == result.digest
        True
        """
        from gpusched.results.result_store import StoredResult, write

        self._check_whole("saved")
        stored = StoredResult(
            self.trace,
            self.spec,
            self.schedule,
            self.intervals,
            self.wall_s,
            self.clairvoyant,
            self.prediction,
        )
        write(stored, path)


def load_result(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Result:
    """Read what :meth:`Result.save` wrote; ValueError if it is anything else, or was changed.

    The checks find accidents and edits, not a forger who computes the stored sums anew.

    Parameters
    ----------
    max_bytes
        A longer file is refused before it is read; default: 4 GiB.

    Returns
    -------
    Result
        With trace, specification and digest, as it was saved.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is anything else, of another layout, too long, or was changed in any byte; the
        message names the file and the member.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> result = gs.simulate(trace, cluster)
    >>> result.save("result.npz")
    >>> gs.load_result("result.npz").digest == result.digest
    True
    """
    from gpusched.results.result_store import read

    stored = read(path, max_bytes=max_bytes)
    return Result(
        stored.trace,
        stored.spec.cluster,
        stored.spec,
        stored.schedule,
        stored.wall_s,
        clairvoyant=stored.clairvoyant,
        prediction=stored.prediction,
    )


def _is_cached(result: Result, name: str) -> bool:
    return isinstance(getattr(type(result), name, None), cached_property)
