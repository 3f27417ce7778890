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
import numpy as np

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.defaults import POLICY
from gpusched.base.draws import check_seed
from gpusched.base.field_checks import check_integer
from gpusched.base.memory import check_fits
from gpusched.base.progress import OnProgress
from gpusched.base.supervision import Cancelled, supervised
from gpusched.engine.seams import (
    Chosen,
    copied,
    placement_seam,
    policy_seam,
    unread_models,
    untouched,
)
from gpusched.engine.type_speeds import restate_services
from gpusched.model.cluster import Cluster
from gpusched.plugins.identity import PythonObject, identify
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.case import (
    TRUTH,
    PredictedBy,
    core_cluster,
    iteration_limits,
    job_columns,
    job_table,
)
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.run_spec import RunSpec, TraceSource
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import PredictionReport, Predictor
    from gpusched.prediction.online import OnlineRun


def described(
    policy: Chosen,
    placement: Chosen,
    speed: SpeedChoice,
    contention: ContentionChoice,
    seed: int,
    verify: bool = False,
    max_intervals: int | None = None,
) -> _core.RunDescription:
    """Return what the core is told of a run beside its jobs and its cluster."""
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
        **({} if max_intervals is None else {"max_intervals": max_intervals}),
    )


def tell_iterations(
    predictor: Predictor, trace: Trace, cluster: Cluster, speed: SpeedChoice
) -> None:
    """Tell how long iterations take, if it is asked for.

    Raises
    ------
    ValueError
        If jobs have none under this speed.
    """
    if not predictor.counts_iterations:
        return
    if speed.has("steady"):
        raise ValueError(
            f"predictor {predictor}: under speed '{speed}' jobs have no iterations; name another "
            "speed"
        )
    predictor.iteration_s = iteration_limits(trace, cluster, speed=speed)["low"]


REMEDY: Final = "run fewer jobs, give it more memory, or end what else uses it"


def least_bytes(trace: Trace, cluster: Cluster, *, is_pooled: bool) -> int:
    """Return what a run needs beyond the columns of its trace, and its result keeps.

    That is a record of each job, and the row of the log that each job has which can start; what
    preemptions, gangs on several servers, speeds and policies need comes on top.
    """
    num_started = int(np.count_nonzero(trace.gpus <= cluster.num_gpus))
    return _core.least_run_bytes(len(trace), num_started, is_pooled)


def of_jobs(num_jobs: int) -> int:
    """Return the same where no more is known than how many jobs there are."""
    return _core.least_run_bytes(num_jobs, num_jobs, True)


def check_memory(needed: int, num_jobs: int, num_runs: int = 1) -> list[str]:
    """Return what is to be said of the memory that runs need which are kept side by side.

    Raises
    ------
    MemoryError
        If they cannot fit.
    """
    what = f"a run of {num_jobs:,} jobs needs"
    remedy = REMEDY
    if num_runs > 1:
        what = f"{num_runs} runs of up to {num_jobs:,} jobs together need"
        remedy = f"make fewer runs at a time; {REMEDY}"
    return check_fits(needed, what, remedy)


def check_trace(spec: RunSpec, trace: Trace) -> None:
    """Raise a ValueError unless these are the jobs of the specification, or become those."""
    run_on, _, _ = restate_services(trace, spec.cluster, spec.speed, spec.contention)
    found, wanted = fingerprint(run_on), spec.trace
    if found != wanted.sha256:
        raise ValueError(
            f"trace: {trace.name} ({len(trace):,} jobs, SHA-256 {found[:12]}...) is not what the "
            f"specification ran on: {wanted.name} ({wanted.num_jobs:,} jobs, SHA-256 "
            f"{wanted.sha256[:12]}..., from {wanted.source})"
        )


def named(role: str, text: str) -> str:
    """Return the text of a policy or a placement; a ValueError if it only names a class."""
    if text.startswith("python:"):
        raise ValueError(
            f"{role}: {text} was an object written in Python; give one like it as {role}="
        )
    return text


def untrained(text: str) -> str:
    """Return the text of a predictor; a ValueError if that says too little to make it of it."""
    if "@" in text:
        raise ValueError(
            f"predictor: {text} had been trained; give it, from load_predictor, as predictor="
        )
    return text


def check_same(spec: RunSpec, ready: RunSpec, *, takes_unreadable: bool = False) -> None:
    """Compare all that decides the schedule, but for the trace and the version.

    Raises
    ------
    ValueError
        That names the field, or what of a Python object is another. An object that could not be
        read is another than any, unless ``takes_unreadable``.
    """
    for name in ("policy", "placement", "predictor", "speed", "contention"):
        wanted, found = getattr(spec, name), getattr(ready, name)
        if wanted != found:
            raise ValueError(f"{name}: {found} is not that of the specification: {wanted}")
    known = {thing.role: thing for thing in ready.python}
    for thing in spec.python:
        check_object(thing, known.pop(thing.role, None), takes_unreadable=takes_unreadable)
    for thing in known.values():
        raise ValueError(f"{thing.role}: {thing.name} is not in the specification")


def check_object(
    wanted: PythonObject, found: PythonObject | None, *, takes_unreadable: bool = False
) -> None:
    """Compare one object of Python; errors as of :func:`check_same`."""
    name = f"{wanted.module}.{wanted.name}"
    if found is None:
        raise ValueError(f"{wanted.role}: the specification has {name}, which is not given")
    if wanted.unreadable:
        if takes_unreadable:
            return
        raise ValueError(f"{wanted.role}: {name} cannot be told from others ({wanted.unreadable})")
    for field in msgspec.structs.fields(wanted):
        if getattr(wanted, field.name) != getattr(found, field.name):
            raise ValueError(
                f"{wanted.role}: {found.module}.{found.name} differs from the specification's "
                f"{name} in {field.name}"
            )


_MOST_INTERVALS: Final = 2**62


def _as_arrays(schedule: _core.Schedule) -> Any:
    return partial(StoredSchedule, **vars(StoredSchedule.of(schedule))), ()


# The core's own object is of this process; others get its arrays.
copyreg.pickle(_core.Schedule, _as_arrays)


class Ready:
    """One run whose arguments are checked; arguments and errors as of :func:`gpusched.simulate`.

    Attributes
    ----------
    trace
        The jobs, with run times that are those on the GPU types of the cluster.
    spec
        What it will do, known before it does it.
    policy, placement, speed, contention
        What decides, ready for the core.
    learner
        What predicts in the course of the run; None: nothing does.
    predicted
        The column of the trace that policies are told, where nothing predicts in the course.
    jobs, servers
        The core's views of the trace, without one that learns, and of the cluster.
    remarks
        What is to be said before it begins.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        *,
        policy: str | Policy | _core.Order | _core.Scheduler = POLICY,
        placement: str | PlacementChoice | _core.Placement = "consolidated",
        predictor: str | Predictor = "auto",
        speed: str | SpeedChoice | None = None,
        contention: str | ContentionChoice = "none",
        seed: int = 0,
        verify: bool = False,
        max_intervals: int | None = None,
    ) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r}")
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
        self.verify, self.max_intervals = verify, max_intervals
        seed = check_seed(seed)
        if max_intervals is not None:
            check_integer("max_intervals", max_intervals, 1, _MOST_INTERVALS)
        self.policy = policy_seam(policy)
        self.placement = placement_seam(placement)
        self._given = trace
        trace, self.speed, self.contention = restate_services(trace, cluster, speed, contention)
        self.trace = trace
        self._unread = unread_models(trace, speed, self.speed)
        from gpusched.prediction.choose import for_trace, resolve

        predictor = for_trace(predictor, trace)
        found = resolve(predictor)
        self.learner = None if isinstance(found, PredictedBy) else found
        self.predicted = found if isinstance(found, PredictedBy) else TRUTH
        learns = None if self.learner is None else identify("predictor", self.learner)
        known = (self.policy.python, self.placement.python, learns)
        self.spec = RunSpec(
            policy=self.policy.label,
            placement=self.placement.label,
            predictor=str(predictor) if self.learner is None else self.learner.label,
            seed=seed,
            cluster=cluster,
            trace=TraceSource.of(trace),
            version=_core.__version__,
            speed=str(self.speed),
            contention=str(self.contention),
            python=tuple(thing for thing in known if thing is not None),
        )
        self.servers = core_cluster(cluster)
        self._take_jobs()
        needed = least_bytes(trace, cluster, is_pooled=self.placement.has("pooled"))
        self.remarks = check_memory(needed, len(trace))

    def _take_jobs(self) -> None:
        reads: Any = {"uses_estimates": self.policy.has("estimate"), "speed": self.speed.name}
        if self.learner is None:
            self.jobs = job_table(self.trace, self.spec.cluster, self.predicted, **reads)
        else:  # which writes into the columns as the run goes
            self._columns = job_columns(
                self.trace, self.spec.cluster, fills_estimates=False, **reads
            )

    @property
    def is_native(self) -> bool:
        """Whether the run calls nothing in Python."""
        seams = (self.policy.native, self.placement.native)
        return self.learner is None and all(isinstance(seam, str) for seam in seams)

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

        if self.learner is None:
            made.append(_core.Run(self.jobs, self.servers, self.description(), control))
            return None
        from gpusched.prediction.online import OnlineRun

        tell_iterations(self.learner, self.trace, self.spec.cluster, self.speed)
        return OnlineRun(
            make_learning_run,
            self.trace,
            self.learner,
            seed=self.spec.seed,
            estimate_us=self._columns.get("estimate_us"),
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
        if self.learner is not None:
            made.learner = self.learner.clone()
        return made

    def anew(self) -> Ready:
        """Return it with copies of its objects of Python, for one more run."""
        made = self.with_seams(copied(self.policy), copied(self.placement))
        if self.learner is not None:
            made.learner = self.learner.clone()
            made._take_jobs()
        return made

    def joined(self, jobs: Trace) -> Ready:
        """Return it with more jobs, whose times are those of its trace."""
        from gpusched.traces.workload import Trace

        before = self._given
        here = dataclasses.replace(
            jobs,
            epoch=before.epoch,
            origin_s=before.origin_s,
            reference_type=before.reference_type,
        )
        made = copy.copy(self)
        made._given = Trace.concat([before, here], ["the run", "jobs"])
        made.trace, _, _ = restate_services(
            made._given, self.spec.cluster, self.speed, self.contention
        )
        made._take_jobs()
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
        chosen = (self.policy, self.placement, self.speed, self.contention)
        return described(*chosen, self.spec.seed, self.verify, self.max_intervals)

    def _sees_truth(self) -> bool:
        learner = self.learner
        is_true = learner.needs_truth if learner is not None else self.predicted.is_truth
        policy = self.policy
        return is_true and (
            policy.has("clairvoyant") or (policy.has("estimate") and self.trace.estimate_us is None)
        )
