"""A run made ready: all that was named is resolved and described, and the core is called."""

from __future__ import annotations

import copyreg
import dataclasses
import threading
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.draws import check_seed
from gpusched.base.progress import OnProgress
from gpusched.base.supervision import Cancelled, supervised
from gpusched.clusters.cluster import Cluster
from gpusched.engine.seams import Chosen, placement_seam, policy_seam, speed_seam
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
    ) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r}")
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
        self.trace = trace
        self._seed = check_seed(seed)
        self._verify = verify
        self._policy = policy_seam(policy)
        self._placement = placement_seam(placement)
        self._speed, self._contention = speed_seam(trace, speed, contention)
        from gpusched.prediction.choose import resolve

        found = resolve(predictor)
        self._learner = None if isinstance(found, PredictedBy) else found
        self._predicted = found if isinstance(found, PredictedBy) else TRUTH
        learns = None if self._learner is None else identify("predictor", self._learner)
        uses_estimates = self._policy.has("estimate")
        if self._learner is None:
            self._jobs = job_table(
                trace,
                cluster,
                self._predicted,
                uses_estimates=uses_estimates,
                speed=self._speed.name,
            )
        else:  # which writes into the columns as the run goes
            self._columns = job_columns(
                trace,
                cluster,
                uses_estimates=uses_estimates,
                speed=self._speed.name,
                fills_estimates=False,
            )
        known = (self._policy.python, self._placement.python, learns)
        self.spec = RunSpec(
            policy=self._policy.label,
            placement=self._placement.label,
            predictor=str(predictor) if self._learner is None else self._learner.label,
            seed=self._seed,
            cluster=cluster,
            trace=TraceSource.of(trace),
            version=_core.__version__,
            speed=str(self._speed),
            contention=str(self._contention),
            python=tuple(thing for thing in known if thing is not None),
        )

    @property
    def _is_native(self) -> bool:
        """Whether the run calls nothing in Python."""
        seams = (self._policy.native, self._placement.native)
        return self._learner is None and all(isinstance(seam, str) for seam in seams)

    def run(self, progress: OnProgress | None, stop: threading.Event | None) -> Result:
        """Run it, once."""
        servers = core_cluster(self.spec.cluster)
        control = _core.RunControl()
        made: list[_core.Run] = []
        done: list[tuple[Schedule, PredictionReport | None]] = []
        begin = time.perf_counter()

        def make_run(jobs: _core.JobTable) -> _core.Run:
            run = self._core_run(jobs, servers, control)
            made.append(run)
            return run

        def make_learning_run(predicted_us: Int64) -> _core.Run:
            return make_run(_core.JobTable(**{**self._columns, "predicted_us": predicted_us}))

        def work() -> float:
            nonlocal begin
            begin = time.perf_counter()
            if self._learner is None:
                done.append((make_run(self._jobs).finish(), None))
            else:
                from gpusched.prediction.online import run_online

                estimate_us = self._columns.get("estimate_us")
                found = run_online(
                    make_learning_run,
                    self.trace,
                    self._learner,
                    seed=self._seed,
                    estimate_us=estimate_us,
                )
                done.append(found)
            return time.perf_counter() - begin

        try:
            wall_s = supervised(
                work, control, progress, stop, len(self.trace), is_native=self._is_native
            )
        except Cancelled as error:
            wall_s = time.perf_counter() - begin
            if done:
                error.result = self._result(*done[0], wall_s)
            elif made:
                schedule = _so_far(made[-1], str(error))
                error.result = self._result(schedule, None, wall_s, is_partial=True)
            raise
        finally:
            made.clear()  # a run keeps its policy, whose error may keep this frame
        return self._result(*done[0], wall_s)

    def _result(
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
        )

    def _core_run(
        self, jobs: _core.JobTable, servers: _core.Cluster, control: _core.RunControl
    ) -> _core.Run:
        # Nothing of this call holds the description of a Python object: a plug-in that keeps its
        # error, and so these frames, would never be freed.
        describe = _known_description if self._is_native else _description
        chosen = (self._policy, self._placement, self._speed, self._contention)
        return _core.Run(jobs, servers, describe(*chosen, self._seed, self._verify), control)

    def _sees_truth(self) -> bool:
        learner = self._learner
        is_true = learner.needs_truth if learner is not None else self._predicted.is_truth
        policy = self._policy
        return is_true and (
            policy.has("clairvoyant") or (policy.has("estimate") and self.trace.estimate_us is None)
        )


def _description(
    policy: Chosen,
    placement: Chosen,
    speed: SpeedChoice,
    contention: ContentionChoice,
    seed: int,
    verify: bool,
) -> _core.RunDescription:
    return _core.RunDescription(
        policy=policy.native,
        policy_values=policy.parameters,
        policy_flags=list(policy.flags),
        placement=placement.native,
        placement_values=placement.parameters,
        speed=speed.name,
        speed_values=speed.core_values(),
        contention=contention.name,
        contention_values=contention.core_values(),
        seed=seed,
        verify=verify,
    )


# Runs that differ in their trace or cluster alone are described alike.
_known_description = lru_cache(maxsize=64)(_description)


def _so_far(run: _core.Run, why: str) -> Schedule:
    """Return what was done until the stop; that jobs wait is no wonder then."""
    return dataclasses.replace(StoredSchedule.of(run.so_far()), warnings=(why,))
