"""Prepare a run: resolve and describe its arguments, and call the core."""

from __future__ import annotations

import copy
import copyreg
import dataclasses
import threading
import time
from collections.abc import Mapping
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
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
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
from gpusched.model.outages import Outages, core_outages, outage_remarks
from gpusched.plugins.identity import PythonObject, identify
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.case import (
    TRUTH,
    PredictedBy,
    core_cluster,
    holds_of,
    iteration_limits,
    job_columns,
    job_table,
)
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.run_spec import OutageSource, RunSpec, TraceSource
from gpusched.traces.job_columns import NOT_GIVEN
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
    outages: Mapping[str, Any] | None = None,
    kill_invalid_depend: bool = False,
) -> _core.RunDescription:
    """Return the description of a run for the core, without its jobs and its cluster.

    ``outages``: see :func:`gpusched.model.outages.core_outages`; None: no outage.
    """
    limit: dict[str, Any] = {} if max_intervals is None else {"max_intervals": max_intervals}
    return _core.RunDescription(
        policy=policy.native,
        policy_values=policy.parameters,
        policy_flags=list(policy.flags),
        policy_label=policy.label,
        placement=placement.native,
        placement_values=placement.parameters,
        speed=speed.name,
        speed_values=speed.core_values(),
        contention=contention.name,
        contention_values=contention.core_values(),
        seed=seed,
        verify=verify,
        kill_invalid_depend=kill_invalid_depend,
        **limit,
        **(outages or {}),
    )


def tell_iterations(
    predictor: Predictor, trace: Trace, cluster: Cluster, speed: SpeedChoice
) -> None:
    """Describe how long iterations take, if the predictor needs it."""
    if not predictor.counts_iterations:
        return
    if speed.has("steady"):
        raise ValueError(
            f"predictor {predictor}: jobs have no iterations under speed '{speed}'; name another "
            "speed"
        )
    predictor.iteration_s = iteration_limits(trace, cluster, speed=speed)["low"]


REMEDY: Final = "run fewer jobs, give it more memory, or end other programs"


def least_bytes(trace: Trace, cluster: Cluster, *, is_pooled: bool) -> int:
    """Return the memory that a run and its result need beyond the columns of its trace.

    That is a record per job, and a log row per job that can start; preemptions, multi-server jobs,
    speeds and policies need more.
    """
    num_started = int(np.count_nonzero(trace.gpus <= cluster.num_gpus))
    return _core.least_run_bytes(len(trace), num_started, is_pooled)


def of_jobs(num_jobs: int) -> int:
    """Return the same if only the number of jobs is known."""
    return _core.least_run_bytes(num_jobs, num_jobs, True)


def check_memory(needed: int, num_jobs: int, num_runs: int = 1) -> list[str]:
    """Return a remark on the memory needed by runs that are kept together.

    Raises MemoryError if they cannot fit.
    """
    what = f"a run of {num_jobs:,} jobs needs"
    remedy = REMEDY
    if num_runs > 1:
        what = f"{num_runs} runs of up to {num_jobs:,} jobs together need"
        remedy = f"make fewer runs at a time; {REMEDY}"
    return check_fits(needed, what, remedy)


def check_trace(spec: RunSpec, trace: Trace) -> None:
    """Raise a ValueError unless these are, or become, the jobs of the specification."""
    run_on, _, _ = restate_services(trace, spec.cluster, spec.speed, spec.contention)
    found, wanted = fingerprint(run_on), spec.trace
    if found != wanted.sha256:
        raise ValueError(
            f"trace: {trace.name} ({len(trace):,} jobs, SHA-256 {found[:12]}...) is not the trace "
            f"of the specification: {wanted.name} ({wanted.num_jobs:,} jobs, SHA-256 "
            f"{wanted.sha256[:12]}..., from {wanted.source})"
        )


def check_outages(spec: RunSpec, outages: Outages | None) -> None:
    """Raise a ValueError unless these are the outages of the specification."""
    found, wanted = OutageSource.of(outages), spec.outages
    if found and not wanted:
        raise ValueError("outages: the specification has none")
    if wanted and (not found or found.sha256 != wanted.sha256):
        is_there = "other ones than" if found else "missing; the specification has"
        raise ValueError(
            f"outages: {is_there} {wanted.num_rows:,} from {wanted.source}, SHA-256 "
            f"{wanted.sha256[:12]}...; pass them as outages="
        )


def checkpoint_remarks(trace: Trace) -> list[str]:
    """Warn about checkpoints that take longer than the work between them."""
    if trace.checkpoint_write_us is None or trace.checkpoint_every_us is None:
        return []
    jobs = np.flatnonzero(trace.checkpoint_write_us > trace.checkpoint_every_us)
    if not len(jobs):
        return []
    return [
        f"{plural(len(jobs), 'job')} with a checkpoint_write_s above checkpoint_every_s (first: "
        f"row {trace.row[jobs].min()})"
    ]


def named(role: str, text: str) -> str:
    """Return the string of a policy or a placement; a ValueError if it only names a class."""
    if text.startswith("python:"):
        raise ValueError(f"{role}: {text} was a Python object; pass an equal one as {role}=")
    return text


def untrained(text: str) -> str:
    """Return the string of a predictor; a ValueError if it cannot be rebuilt from it."""
    if "@" in text:
        raise ValueError(
            f"predictor: {text} had been trained; load it with load_predictor and pass predictor="
        )
    return text


def check_same(spec: RunSpec, ready: RunSpec, *, takes_unreadable: bool = False) -> None:
    """Compare all that affects the schedule, except the trace and the version.

    Raises
    ------
    ValueError
        It names the field, or the difference of a Python object. An object that could not be read
        differs from any other, unless ``takes_unreadable``.
    """
    for name in ("policy", "placement", "predictor", "speed", "contention"):
        wanted, found = getattr(spec, name), getattr(ready, name)
        if wanted != found:
            raise ValueError(f"{name}: is {found}, but {wanted} in the specification")
    known = {thing.role: thing for thing in ready.python}
    for thing in spec.python:
        check_object(thing, known.pop(thing.role, None), takes_unreadable=takes_unreadable)
    for thing in known.values():
        raise ValueError(f"{thing.role}: {thing.name} is not in the specification")


def check_object(
    wanted: PythonObject, found: PythonObject | None, *, takes_unreadable: bool = False
) -> None:
    """Compare one Python object; errors as in :func:`check_same`."""
    name = f"{wanted.module}.{wanted.name}"
    if found is None:
        raise ValueError(f"{wanted.role}: missing; the specification has {name}")
    if wanted.unreadable:
        if takes_unreadable:
            return
        raise ValueError(f"{wanted.role}: {name} has no stable digest ({wanted.unreadable})")
    for field in msgspec.structs.fields(wanted):
        if getattr(wanted, field.name) != getattr(found, field.name):
            raise ValueError(
                f"{wanted.role}: {found.module}.{found.name} differs from the specification's "
                f"{name} in {field.name}"
            )


_MOST_INTERVALS: Final = 2**62


def _as_arrays(schedule: _core.Schedule) -> Any:
    return partial(StoredSchedule, **vars(StoredSchedule.of(schedule))), ()


# The core's own object belongs to this process; other processes get its arrays.
copyreg.pickle(_core.Schedule, _as_arrays)


class Ready:
    """One run with checked arguments; arguments and errors as for :func:`gpusched.simulate`.

    ``trace``: the jobs, with run times on the GPU types of the cluster.
    ``spec``: its specification, known before it starts.
    ``policy``, ``placement``, ``speed``, ``contention``: the resolved plug-ins, ready for the core.
    ``outages``: the outages of servers; None if there is none.
    ``learner``: the predictor that learns during the run; None if there is none.
    ``predicted``: the column of the trace that policies read, without a learning predictor.
    ``waits``: whether jobs wait for others or for a time before they are in the queue, or are
        cancelled.
    ``jobs``, ``servers``: the core's views of the trace (without a learning predictor) and of the
        cluster.
    ``remarks``: warnings before the start.
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
        outages: Outages | None = None,
        kill_invalid_depend: bool = False,
        priority_age_s: float | None = None,
        verify: bool = False,
        max_intervals: int | None = None,
    ) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r}")
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
        if not (outages is None or isinstance(outages, Outages)):
            raise TypeError(f"outages: expected Outages, not {outages!r}")
        if not isinstance(kill_invalid_depend, bool | np.bool_):
            raise TypeError(f"kill_invalid_depend: {kill_invalid_depend!r} must be True or False")
        self.verify, self.max_intervals = verify, max_intervals
        self.outages = outages
        self._outages = None if outages is None else core_outages(outages, cluster)
        seed = check_seed(seed)
        if max_intervals is not None:
            check_integer("max_intervals", max_intervals, 1, _MOST_INTERVALS)
        self.policy = policy_seam(policy)
        self.placement = placement_seam(placement)
        self._given = trace
        trace, self.speed, self.contention = restate_services(trace, cluster, speed, contention)
        self.trace = trace
        self._unread = (*unread_models(trace, speed, self.speed), *checkpoint_remarks(trace))
        if outages is not None:
            self._unread += tuple(outage_remarks(outages, int(trace.submit_us[0])))
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
            outages=OutageSource.of(outages),
            kill_invalid_depend=bool(kill_invalid_depend),
            priority_age_s=msgspec.UNSET if priority_age_s is None else priority_age_s,
        )
        self.servers = core_cluster(cluster)
        self._take_jobs()
        needed = least_bytes(trace, cluster, is_pooled=self.placement.has("pooled"))
        self.remarks = check_memory(needed, len(trace))

    def _take_jobs(self) -> None:
        held = holds_of(self.trace)
        self.waits = held is not None and bool(held.columns)
        self._unmet = () if held is None else held.remarks
        reads: Any = {
            "uses_estimates": self.policy.has("estimate"),
            "speed": self.speed.name,
            "priority_age_s": self.spec.priority_age_s or None,
        }
        reads["states"] = self.outages is not None and self.outages.is_known_ahead
        if self.learner is None:
            self.jobs = job_table(self.trace, self.spec.cluster, self.predicted, **reads)
        else:  # it writes into the columns during the run
            self._columns = job_columns(
                self.trace, self.spec.cluster, fills_estimates=False, holds=True, **reads
            )

    @property
    def is_native(self) -> bool:
        """Whether the run calls no Python code."""
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
            schedule = made[-1].so_far("the run stopped at the limit of its log")
            ended.result = self.result(schedule, None, wall_s, is_partial=True)
            raise
        finally:
            made.clear()  # a run holds its policy, whose error may hold this frame
        return self.result(*done[0], wall_s)

    def begin(self, control: _core.RunControl, made: list[_core.Run]) -> OnlineRun | None:
        """Start the core's run into ``made``; return the predictor that learns during it."""

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
            outages=self.outages,
            is_partial=is_partial,
            remarks=(*self._unread, *self._unmet, *self._outlasts(schedule)),
        )

    def _outlasts(self, schedule: Schedule) -> list[str]:
        """Warn about a run that is longer than the time for which its failures were drawn."""
        until_s = None if self.outages is None else self.outages.until_s
        end_s = int(np.max(schedule.finish_us, initial=0)) / US_PER_S
        if until_s is None or end_s <= until_s:
            return []
        return [
            f"failures were drawn until {duration(until_s)} only, and the run ends at "
            f"{duration(end_s)}: no server fails after that"
        ]

    def untouched(self) -> Ready:
        """Return a copy with its Python objects in their current state, for later."""
        made = self.with_seams(untouched(self.policy), untouched(self.placement))
        if self.learner is not None:
            made.learner = self.learner.clone()
        return made

    def anew(self) -> Ready:
        """Return a copy with copies of its Python objects, for one more run."""
        made = self.with_seams(copied(self.policy), copied(self.placement))
        if self.learner is not None:
            made.learner = self.learner.clone()
            made._take_jobs()
        return made

    def joined(self, jobs: Trace) -> Ready:
        """Return a copy with more jobs, whose times are those of its trace."""
        from gpusched.traces.workload import Trace

        before = self._given
        here = dataclasses.replace(
            jobs,
            epoch=before.epoch,
            origin_s=before.origin_s,
            reference_type=before.reference_type,
        )
        return self._of(Trace.concat([before, here], ["the run", "jobs"]))

    def with_eligible(self, job: int, eligible_us: int) -> Ready:
        """Return a copy in which a job is eligible from another time on."""
        given = self._given
        known = np.full(len(given), NOT_GIVEN) if given.eligible_us is None else given.eligible_us
        changed = known.copy()
        changed[job] = eligible_us
        return self._of(dataclasses.replace(given, eligible_us=changed))

    def _of(self, given: Trace) -> Ready:
        made = copy.copy(self)
        made._given = given
        made.trace, _, _ = restate_services(given, self.spec.cluster, self.speed, self.contention)
        made._take_jobs()
        made.spec = msgspec.structs.replace(self.spec, trace=TraceSource.of(made.trace))
        return made

    def with_outages(self, outages: Outages) -> Ready:
        """Return a copy with other outages."""
        made = copy.copy(self)
        made.outages, made._outages = outages, core_outages(outages, self.spec.cluster)
        made.spec = msgspec.structs.replace(self.spec, outages=OutageSource.of(outages))
        return made

    def with_seams(self, policy: Chosen, placement: Chosen) -> Ready:
        """Return a copy with other objects, or another policy, in these places."""
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
        """Return the description of the run for the core, without its jobs and its cluster."""
        # No frame of this call may hold the description of a Python object: a plug-in that keeps
        # its error, and so these frames, would never be freed.
        chosen = (self.policy, self.placement, self.speed, self.contention)
        return described(
            *chosen, self.spec.seed, self.verify, self.max_intervals, self._outages,
            bool(self.spec.kill_invalid_depend),
        )  # fmt: skip

    def _sees_truth(self) -> bool:
        learner = self.learner
        is_true = learner.needs_truth if learner is not None else self.predicted.is_truth
        policy = self.policy
        return is_true and (
            policy.has("clairvoyant") or (policy.has("estimate") and self.trace.estimate_us is None)
        )
