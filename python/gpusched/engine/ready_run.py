"""A run made ready: all that was named is resolved and described, and the core is called."""

from __future__ import annotations

import copy
import copyreg
import dataclasses
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.draws import check_seed
from gpusched.base.field_checks import check_integer
from gpusched.base.progress import OnProgress
from gpusched.base.supervision import Cancelled, supervised
from gpusched.clusters.cluster import Cluster
from gpusched.engine.core_description import described
from gpusched.engine.run_memory import check_memory, least_bytes
from gpusched.engine.seams import (
    Chosen,
    copied,
    placement_seam,
    policy_seam,
    speed_seam,
    unread_models,
    untouched,
)
from gpusched.plugins.identity import identify
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.case import job_columns
from gpusched.specs.core_tables import core_cluster, job_table
from gpusched.specs.predicted_columns import TRUTH, PredictedBy
from gpusched.specs.run_spec import RunSpec, TraceSource
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import PredictionReport, Predictor
    from gpusched.prediction.online import OnlineRun

_MOST_INTERVALS: Final = 2**62


def _as_arrays(schedule: _core.Schedule) -> Any:
    return partial(StoredSchedule, **vars(StoredSchedule.of(schedule))), ()


# The core's own object is of this process; others get its arrays.
copyreg.pickle(_core.Schedule, _as_arrays)


class Ready:
    """One run whose arguments are checked; arguments and errors as of :func:`gpusched.simulate`.

    Attributes
    ----------
    spec
        What it will do, known before it does it.
    policy, placement
        What decides, ready for the core.
    jobs, servers
        The core's views of the trace, without one that learns, and of the cluster.
    remarks
        What is to be said before it begins.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        policy: str | Policy | _core.Order | _core.Scheduler,
        placement: str | PlacementChoice | _core.Placement,
        predictor: str | Predictor,
        speed: str | SpeedChoice | None,
        contention: str | ContentionChoice,
        *,
        seed: int,
        verify: bool,
        max_intervals: int | None,
    ) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r}")
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
        self.trace = trace
        self._seed = check_seed(seed)
        self._verify = verify
        if max_intervals is not None:
            check_integer("max_intervals", max_intervals, 1, _MOST_INTERVALS)
        self._max_intervals = max_intervals
        self.policy = policy_seam(policy)
        self.placement = placement_seam(placement)
        self._speed, self._contention = speed_seam(trace, speed, contention)
        self._unread = unread_models(trace, speed, self._speed)
        from gpusched.prediction.choose import resolve

        found = resolve(predictor)
        self._learner = None if isinstance(found, PredictedBy) else found
        self._predicted = found if isinstance(found, PredictedBy) else TRUTH
        learns = None if self._learner is None else identify("predictor", self._learner)
        self._cluster = cluster
        if self._learner is None:
            self.jobs = self._job_table()
        else:  # which writes into the columns as the run goes
            self._columns = self._learning_columns()
        known = (self.policy.python, self.placement.python, learns)
        self.servers = core_cluster(cluster)
        self.spec = RunSpec(
            policy=self.policy.label,
            placement=self.placement.label,
            predictor=str(predictor) if self._learner is None else self._learner.label,
            seed=self._seed,
            cluster=cluster,
            trace=TraceSource.of(trace),
            version=_core.__version__,
            speed=str(self._speed),
            contention=str(self._contention),
            python=tuple(thing for thing in known if thing is not None),
        )
        needed = least_bytes(trace, cluster, is_pooled=self.placement.has("pooled"))
        self.remarks = check_memory(needed, len(trace))

    def _job_table(self) -> _core.JobTable:
        return job_table(
            self.trace,
            self._cluster,
            self._predicted,
            uses_estimates=self.policy.has("estimate"),
            speed=self._speed.name,
        )

    def _learning_columns(self) -> dict[str, Any]:
        return job_columns(
            self.trace,
            self._cluster,
            uses_estimates=self.policy.has("estimate"),
            speed=self._speed.name,
            fills_estimates=False,
        )

    @property
    def is_native(self) -> bool:
        """Whether the run calls nothing in Python."""
        seams = (self.policy.native, self.placement.native)
        return self._learner is None and all(isinstance(seam, str) for seam in seams)

    def run(self, progress: OnProgress | None, stop: threading.Event | None) -> Result:
        """Run it, once."""
        control = _core.RunControl()
        made: list[_core.Run] = []
        done: list[tuple[Schedule, PredictionReport | None]] = []
        begin = time.perf_counter()

        def work() -> float:
            nonlocal begin
            begin = time.perf_counter()
            online = self.begin(control, made)
            done.append((made[-1].finish(), None) if online is None else online.finish())
            return time.perf_counter() - begin

        try:
            wall_s = supervised(
                work, control, progress, stop, len(self.trace), is_native=self.is_native
            )
        except Cancelled as error:
            wall_s = time.perf_counter() - begin
            if done:
                error.result = self.result(*done[0], wall_s)
            elif made:
                schedule = made[-1].so_far(str(error))
                error.result = self.result(schedule, None, wall_s, is_partial=True)
            raise
        except _core.LogLimitError as error:
            wall_s = time.perf_counter() - begin
            ended: Any = error
            schedule = made[-1].so_far("the run ended at the limit of its log")
            ended.result = self.result(schedule, None, wall_s, is_partial=True)
            raise
        finally:
            made.clear()  # a run keeps its policy, whose error may keep this frame
        return self.result(*done[0], wall_s)

    def begin(self, control: _core.RunControl, made: list[_core.Run]) -> OnlineRun | None:
        """Put the core's run at its beginning into ``made``; return what predicts in its course."""

        def make_learning_run(predicted_us: Int64) -> _core.Run:
            jobs = _core.JobTable(**{**self._columns, "predicted_us": predicted_us})
            made.append(_core.Run(jobs, self.servers, self.description(), control))
            return made[-1]

        if self._learner is None:
            made.append(_core.Run(self.jobs, self.servers, self.description(), control))
            return None
        from gpusched.engine.iteration_times import tell_iterations
        from gpusched.prediction.online import OnlineRun

        tell_iterations(self._learner, self.trace, self._cluster, self._speed)
        estimate_us = self._columns.get("estimate_us")
        return OnlineRun(
            make_learning_run, self.trace, self._learner, seed=self._seed, estimate_us=estimate_us
        )

    def result(
        self,
        schedule: Schedule,
        report: PredictionReport | None,
        wall_s: float,
        *,
        is_partial: bool = False,
    ) -> Result:
        return Result(
            self.trace,
            self.spec.cluster,
            self.spec,
            schedule,
            wall_s,
            clairvoyant=self._sees_truth(),
            prediction=report,
            is_partial=is_partial,
            remarks=self._unread,
        )

    def untouched(self) -> Ready:
        """Return it with its objects of Python as they are now, for later."""
        made = self.with_seams(untouched(self.policy), untouched(self.placement))
        if self._learner is not None:
            made._learner = self._learner.clone()
        return made

    def anew(self) -> Ready:
        """Return it with copies of its objects of Python, for one more run."""
        made = self.with_seams(copied(self.policy), copied(self.placement))
        if self._learner is not None:
            made._learner = self._learner.clone()
            made._columns = self._learning_columns()
        return made

    @property
    def learner(self) -> Predictor | None:
        """What predicts in the course of the run."""
        return self._learner

    @property
    def predicted(self) -> PredictedBy:
        """The column of the trace that policies are told, where nothing predicts in the course."""
        return self._predicted

    @property
    def verify(self) -> bool:
        """Whether the core computes all rates anew after each instant."""
        return self._verify

    @property
    def max_intervals(self) -> int | None:
        """How many intervals the log of the run may have."""
        return self._max_intervals

    def joined(self, jobs: Trace) -> Ready:
        """Return it with more jobs, whose times are those of its trace."""
        from gpusched.traces.intake.merging import merged

        here = dataclasses.replace(jobs, epoch=self.trace.epoch, origin_s=self.trace.origin_s)
        made = copy.copy(self)
        made.trace = merged([self.trace, here], ["the run", "jobs"])
        made.jobs = made._job_table()
        made.spec = msgspec.structs.replace(self.spec, trace=TraceSource.of(made.trace))
        return made

    def with_seams(self, policy: Chosen, placement: Chosen) -> Ready:
        """Return the same with other objects, or another policy, in these places."""
        made = copy.copy(self)
        made.policy, made.placement = policy, placement
        if policy.label != self.policy.label or policy.python != self.policy.python:
            others = [thing for thing in self.spec.python if thing.role != "policy"]
            own = () if policy.python is None else (policy.python,)
            made.spec = msgspec.structs.replace(
                self.spec, policy=policy.label, python=(*own, *others)
            )
        return made

    def description(self) -> _core.RunDescription:
        """Return what the core is told of the run beside its jobs and its cluster."""
        # Nothing of this call holds the description of a Python object: a plug-in that keeps its
        # error, and so these frames, would never be freed.
        chosen = (self.policy, self.placement, self._speed, self._contention)
        return described(*chosen, self._seed, self._verify, self._max_intervals)

    def _sees_truth(self) -> bool:
        learner = self._learner
        is_true = learner.needs_truth if learner is not None else self._predicted.is_truth
        policy = self.policy
        return is_true and (
            policy.has("clairvoyant") or (policy.has("estimate") and self.trace.estimate_us is None)
        )
