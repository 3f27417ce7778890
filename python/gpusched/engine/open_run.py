"""A simulation that can be stepped, inspected, forked and changed."""

from __future__ import annotations

import copy
import dataclasses
import operator
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import Float64, Int32, Int64, read_only
from gpusched.base.defaults import POLICY
from gpusched.base.files import naming
from gpusched.base.run_warning import warn
from gpusched.base.ticks import MAX_HORIZON_US, US_PER_S, seconds_to_us
from gpusched.engine.prepare import Ready
from gpusched.engine.saved_run import (
    Change,
    Course,
    What,
    check_reached,
    opened,
    proceed,
    restored,
    store,
)
from gpusched.engine.seams import Chosen, copied, policy_seam
from gpusched.model.cluster import Cluster
from gpusched.model.outages import KINDS, Outages, changed
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.prediction import Predictor
from gpusched.prediction.online import OnlineRun
from gpusched.results.result import Result
from gpusched.results.run_remarks import unserved
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.job_columns import HELD
from gpusched.traces.workload import Trace

EVENTS: Final = (
    "start", "preempt", "resize", "finish", "reject", "cancel", "interrupt", "kill", "fail",
    "release", "instant",
)  # fmt: skip


@dataclass(frozen=True)
class SimulationEvent:
    """An event of an open run.

    Attributes
    ----------
    what
        ``"start"`` (or resume), ``"preempt"``, ``"resize"``, ``"finish"``, ``"reject"``,
        ``"cancel"``, ``"interrupt"`` (by a failed server; the job waits again), ``"fail"`` (by one
        failure too many), ``"kill"`` (at its time limit), ``"release"`` (a held job joins the
        queue), or ``"instant"`` after the last event of an instant.
    time_s
        Time, seconds.
    job
        The row of the job in the trace; None for an instant.
    """

    what: str
    time_s: float
    job: int | None


@dataclass(frozen=True, eq=False)
class SimulationState:
    """The state of a run between two instants: read-only copies; jobs are rows of the trace.

    Attributes
    ----------
    now_s
        The time of the run, seconds.
    waiting
        int64: jobs that have arrived and hold no GPUs, by id, without rejected and held ones.
    held
        int64: jobs that have arrived and are not in the queue, by id: an eligible time, a
        dependency, the limit of an array or :meth:`Simulation.hold` holds them.
    running
        int64: jobs that hold GPUs, by id.
    start_s, expected_finish_s, gpus
        float64 seconds, float64 seconds and int32, one per running job: when its present run began,
        when it ends if it keeps its GPUs and its speed (the true end, not a prediction), and its
        number of GPUs.
    held_job, held_server, held_mask
        int64, int64 and uint64: a row per running job and server, with the GPUs allocated there;
        bit i is GPU i. Empty under a placement without servers.
    free_gpus
        int32: fully free GPUs of each server; empty under a placement without servers.
    num_free
        Fully free GPUs of the cluster.
    num_arrived, num_finished, num_rejected
        Numbers of jobs so far.
    """

    now_s: float
    waiting: Int64
    held: Int64
    running: Int64
    start_s: Float64
    expected_finish_s: Float64
    gpus: Int32
    held_job: Int64
    held_server: Int64
    held_mask: npt.NDArray[np.uint64]
    free_gpus: Int32
    num_free: int
    num_arrived: int
    num_finished: int
    num_rejected: int

    @property
    def num_waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self.waiting)

    @property
    def num_running(self) -> int:
        """Number of running jobs."""
        return len(self.running)


def state_of(columns: dict[str, Any], now_us: int) -> SimulationState:
    """Convert the core's state of an open run, with times in seconds."""
    seconds = {
        "start_s": columns.pop("start_us") / US_PER_S,
        "expected_finish_s": columns.pop("finish_us") / US_PER_S,
    }
    arrays: dict[str, Any] = {
        name: read_only(value) if isinstance(value, np.ndarray) else value
        for name, value in (columns | seconds).items()
    }
    return SimulationState(now_s=now_us / US_PER_S, **arrays)


_ALL: Final = 2**63 - 1
_GOES_ON: Final = "the run is busy, in another thread or in a call around this one"
_IN_A_CALLBACK: Final = "a callback must not advance its own run; use fork()"


class Simulation:
    """A simulation that you advance yourself: :func:`simulate` is this, run to its end.

    A run is a sequence of *instants*: all events of one time, and one decision. Between two
    instants it can be inspected, forked and changed. Its digest is that of :func:`simulate`,
    whether it ends by steps, in parts or as a fork.

    Only one thread at a time may use it; a second one gets a ValueError. Python policies and
    callbacks are called in the calling thread. A method either succeeds or raises and leaves the
    run unchanged; those that advance it keep the progress made. Ctrl-C ends a call within a second.
    As that, or an error of a policy, may interrupt a decision, the run then cannot continue, but
    :meth:`result` still returns what was done.

    Parameters
    ----------
    trace, cluster, policy, placement, predictor, speed, contention, seed, outages
        As for :func:`simulate`. ``auto`` decides by the jobs of ``trace``: if all of them have
        estimates, jobs submitted later need them, too; name ``oracle`` otherwise.
    kill_invalid_depend, priority_age_s, verify, max_intervals
        As for :func:`simulate`.

    Attributes
    ----------
    cluster
        The servers.

    Raises
    ------
    ValueError, TypeError
        As :func:`simulate`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> run = gs.Simulation(trace, cluster, policy="srtf")
    >>> run.run_until(3600)
    >>> run.now, run.state.num_finished < 100
    (3600.0, True)
    >>> run.fork().run()
    >>> run.run()
    >>> run.result().digest == gs.simulate(trace, cluster, policy="srtf").digest
    True
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
        ready = Ready(
            trace, cluster, policy=policy, placement=placement, predictor=predictor, speed=speed,
            contention=contention, seed=seed, outages=outages,
            kill_invalid_depend=kill_invalid_depend, priority_age_s=priority_age_s, verify=verify,
            max_intervals=max_intervals,
        )  # fmt: skip
        warn(ready.remarks, stacklevel=2)
        self._stand(Course(ready.untouched()), ready, *opened(ready))

    def _stand(
        self, course: Course, ready: Ready, run: _core.Run, online: OnlineRun | None
    ) -> None:
        """Become the run that has progressed as far as ``run``."""
        self._course, self._ready = course, ready
        self._run, self._online = run, online
        self.cluster = ready.spec.cluster
        self._clock_us = 0
        self._ended: Schedule | None = None
        self._wall_s = 0.0
        self._is_warned = False
        self._belong_to_nobody()

    def _belong_to_nobody(self) -> None:
        """Start with no callbacks and no caller."""
        self._listeners: list[tuple[str, Callable[[SimulationEvent], object]]] = []
        self._tells = False
        self._thread = threading.RLock()  # held by the thread inside a call
        self._is_called = False

    @contextmanager
    def _call(self, *, looks: bool = False) -> Iterator[None]:
        """Admit one thread; within its own call admit only methods that inspect the run.

        A call may be many calls of the core, between which the run must not be advanced.
        """
        if not self._thread.acquire(blocking=False):
            raise ValueError(_GOES_ON)
        is_within = self._is_called
        try:
            if is_within and not looks:
                raise ValueError(_IN_A_CALLBACK if self._tells else _GOES_ON)
            self._is_called = True
            yield
        finally:
            self._is_called = is_within
            self._thread.release()

    def __repr__(self) -> str:
        policy = self._ready.spec.policy
        return f"<{type(self).__name__} of {self.trace.name} under {policy} at {self.now} s>"

    @property
    def trace(self) -> Trace:
        """The jobs, including those submitted later; a job is a row of it."""
        return self._ready.trace

    @property
    def spec(self) -> RunSpec:
        """The specification of the run now, with the current policy."""
        return self._ready.spec

    @property
    def now(self) -> float:
        """The time of the run, seconds: of the last instant, or where :meth:`run_until` stopped."""
        return self._clock_us / US_PER_S

    @property
    def done(self) -> bool:
        """Whether the run is at its end, with no instant left."""
        return self._run.next_us is None

    @property
    def next_time(self) -> float | None:
        """Time of the next instant, seconds; None at the end of the run."""
        next_us = self._run.next_us
        return None if next_us is None else next_us / US_PER_S

    @property
    def state(self) -> SimulationState:
        """Waiting and running jobs and free GPUs: read-only copies."""
        return state_of(self._run.state(), self._clock_us)

    def step(self) -> bool:
        """Process the next instant; return False if there is none.

        Returns
        -------
        bool
            Whether there was one.

        Raises
        ------
        ValueError
            If a callback of this run calls it, or the run ended with an error.
        InvariantError, LogLimitError
            As :func:`simulate`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.step(), run.now
        (True, 0.0)
        """
        with self._call():
            return self._advance(_ALL, 1) == 1

    def run_until(self, time_s: float) -> None:
        """Process all instants before ``time_s``, which becomes the time of the run.

        Events at ``time_s`` itself are not processed yet.

        Returns
        -------
        None
            The run is at ``time_s``.

        Raises
        ------
        ValueError
            If the time is not finite or is before :attr:`now`, or as for :meth:`step`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(30)
        >>> run.now
        30.0
        """
        limit_us = _tick(time_s)
        with self._call():
            if limit_us < self._clock_us:
                raise ValueError(f"time_s: {time_s} is before the time of the run, {self.now}")
            self._advance(limit_us, _ALL)
            self._clock_us = limit_us

    def run(self) -> None:
        """Process all remaining instants; errors as for :meth:`step`.

        Returns
        -------
        None
            The run is at its end.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run()
        >>> run.done, run.now
        (True, 69.0)
        """
        with self._call():
            self._advance(_ALL, _ALL)

    def on(self, event: str, callback: Callable[[SimulationEvent], object]) -> None:
        """Register ``callback(event)`` for an event.

        Callbacks are called after all of an instant is processed, in the order of the events, and
        for each event in the order of registration. They may inspect and fork the run, but not
        advance it. If one raises, the current call ends; the run can continue after that instant,
        but the remaining events of the instant are not reported.

        Parameters
        ----------
        event
            One of ``"start"``, ``"preempt"``, ``"resize"``, ``"finish"``, ``"reject"``,
            ``"cancel"``, ``"interrupt"``, ``"fail"``, ``"kill"``, ``"release"`` and
            ``"instant"``.

        Returns
        -------
        None
            Callbacks stay for the rest of the run.

        Raises
        ------
        ValueError
            If the event is unknown.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.on("finish", lambda event: print(event.job, event.time_s))
        >>> run.run_until(70)
        0 60.0
        1 69.0
        2 69.0
        """
        if event not in EVENTS:
            raise ValueError(f"event: unknown {event!r}; known: {', '.join(EVENTS)}")
        with self._call(looks=True):
            self._run.listen(True)
            self._listeners.append((event, callback))

    def _check_replayed(self, what: str) -> None:
        if self._online is not None:
            raise ValueError(
                f"predictor: {self._ready.spec.predictor} learns during the run: {what}"
            )

    def result(self) -> Result:
        """Return the result of the run, or of the part processed so far.

        For an unfinished run ``result.is_partial`` holds, and a warning reports it: finished jobs
        count as finished; running jobs are unfinished and held their GPUs until the last instant;
        waiting and future jobs are unfinished, too.

        Returns
        -------
        Result
            As for :func:`simulate`.

        Warns
        -----
        RunWarning
            At the end of the run, once, as :func:`simulate` does.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(61)
        >>> run.result().jobs.finish_s.tolist()
        [60.0, nan, nan]
        """
        with self._call(looks=True):
            schedule, is_partial = self._schedule()
            report = None
            if self._online is not None and not is_partial:
                report = self._online.report(schedule, self._wall_s)
            result = self._ready.result(schedule, report, self._wall_s, is_partial=is_partial)
            is_first = not is_partial and not self._is_warned
            self._is_warned |= is_first
        if is_first:
            warn([*unserved(result), *result.warnings], stacklevel=2)
        return result

    def _advance(self, limit_us: int, most: int) -> int:
        """Process at most so many instants before the limit; return how many there were."""
        begin = time.perf_counter()
        after = self._tell if self._listeners else None
        try:
            num_instants = proceed(self._run, self._online, limit_us, most, after)
        finally:
            self._wall_s += time.perf_counter() - begin
        if num_instants:
            self._clock_us = self._run.now_us
        return num_instants

    def _tell(self) -> None:
        """Call the callbacks for the events of an instant, and then for the instant."""
        self._clock_us = self._run.now_us
        events = [SimulationEvent(what, self.now, job) for what, job in self._run.take_events()]
        events.append(SimulationEvent("instant", self.now, None))
        self._tells = True
        try:
            for event in events:
                for what, callback in self._listeners:
                    if what == event.what:
                        callback(event)
        finally:
            self._tells = False

    def _schedule(self) -> tuple[Any, bool]:
        if self._run.is_stopped:
            self._ended = self._run.so_far(f"the run ended with an error at {self.now:g} s")
        if self._ended is not None:
            return self._ended, True
        is_partial = not self.done
        schedule = self._run.glimpse()
        if not (is_partial or self._course.changes):
            return schedule, False
        told = list(self._course.notes())
        if is_partial:
            told.append(f"the run is at {self.now:g} s, before its end")
        else:
            told += schedule.warnings
        return replace(StoredSchedule.of(schedule), warnings=tuple(told)), is_partial

    def fork(self) -> Simulation:
        """Return an independent copy of the run at the same time.

        Trace and cluster are shared, all else is copied (Python policies and placements by
        :func:`copy.deepcopy`). Callbacks stay with this run.

        Returns
        -------
        Simulation
            Another run, at the same time.

        Raises
        ------
        ValueError
            If the predictor learns during the run, as it writes its predictions into columns that
            both would read; or as for :meth:`step`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> other = run.fork()
        >>> other.run()
        >>> run.now, other.now
        (1.0, 69.0)
        """
        self._check_replayed("it cannot be forked; use a predictor trained before")
        with self._call(looks=True):
            made = copy.copy(self)
            made._belong_to_nobody()
            made._ready = ready = self._ready.with_seams(
                copied(self._ready.policy), copied(self._ready.placement)
            )
            made._run = self._run.fork(ready.jobs, ready.servers, ready.description())
        return made

    def submit(self, jobs: Trace) -> None:
        """Submit more jobs, at their own submit times on the clock of the run.

        They are added to :attr:`trace` sorted by submit time, after jobs of the same time; rows of
        jobs that have arrived do not change, later ones may. The run continues as if the jobs had
        been there from the start: when it next advances, it is re-run from the start to the current
        time, once for all jobs submitted in between, which takes as long as the run so far.
        Callbacks are not called for the re-run; Python policies and placements are copied in their
        initial state, by :func:`copy.deepcopy`.

        Returns
        -------
        None
            The time of the run does not change.

        Raises
        ------
        ValueError
            If a job is submitted before the current time, an id is taken, the trace has profiles or
            graphs, the predictor learns during the run, or past decisions change with the new
            jobs: the policy is not causal, or jobs that have arrived depend on them.
        TypeError
            If ``jobs`` is not a :class:`Trace`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.submit(gs.Trace.from_columns([7], [1], [1], id=[9]))
        >>> len(run.trace)
        4
        """
        if not isinstance(jobs, Trace):
            raise TypeError(f"jobs: expected a Trace, not {jobs!r}")
        self._check_replayed("jobs cannot be submitted")
        with self._call():
            self._submit(jobs)

    def _submit(self, jobs: Trace) -> None:
        first_us = self._next_tick()
        early = np.flatnonzero(jobs.submit_us < first_us)
        if len(early):
            raise ValueError(
                f"jobs: row {early[0]} is submitted at {jobs.submit_us[early[0]] / US_PER_S:g} s, "
                f"but the run is already at {self.now:g} s"
            )
        self._begin_as(self._course.first.joined(jobs), "the new jobs")

    def _begin_as(self, first: Ready, what: str) -> None:
        """Go on as if the run had begun so: it is done again up to the present time."""
        course = replace(self._course, first=first)
        ready, run, _ = course.replayed(self._run.num_instants)
        before, after = self._run.state(), run.state()
        places = ("held", "waiting", "running")
        if ready.waits and not all(np.array_equal(before[name], after[name]) for name in places):
            raise ValueError(
                f"jobs: the past changes with {what}: a dependency of a job that has arrived "
                f"names a new one, or {ready.spec.policy} is not causal"
            )
        if run.glimpse().digest != self._run.glimpse().digest:
            raise ValueError(
                f"policy: {self._ready.spec.policy} is not causal: its past decisions "
                f"change with {what}"
            )
        run.listen(bool(self._listeners))
        self._course, self._ready, self._run = course, ready, run

    def cancel(self, job: int) -> None:
        """Cancel a job: a waiting one never starts, a running one ends now and frees its GPUs.

        The policy decides again at the first instant not yet processed: now, or a microsecond after
        the last instant. The status of the job is ``"cancelled"``.

        Returns
        -------
        None
            The time of the run does not change; the next step applies it.

        Raises
        ------
        ValueError
            If the job is not held, waiting or running, or it waits and a scheduler written in
            Python lacks ``withdraw`` or refuses.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.cancel(0)
        >>> run.run()
        >>> run.result().jobs.finish_s.tolist()
        [nan, 10.0, 14.0]
        """
        with self._call():
            self._change(job=operator.index(job))

    def fail(self, server: int) -> None:
        """Let a server fail at the first instant not yet processed, until :meth:`repair`.

        Its jobs end their runs and wait again, as in a run with ``outages``, whose rules hold: the
        server is added to the outages of the run, which is done again up to the present time, as by
        :meth:`submit`.

        Returns
        -------
        None
            The time of the run does not change; the next step applies it.

        Raises
        ------
        ValueError
            If there is no such server, the placement or a policy of the run so far does not
            support outages, or the predictor learns during the run.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0], [60], [4])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy="fifo")
        >>> run.run_until(10)
        >>> run.fail(0)
        >>> run.run()
        >>> run.result().jobs.finish_s.tolist()
        [70.0]
        """
        self._change_server(server, "fail", begins=True)

    def repair(self, server: int) -> None:
        """End the failure of a server at the first instant not yet processed.

        Returns
        -------
        None
            As for :meth:`fail`.

        Raises
        ------
        ValueError
            If it has not failed, or as for :meth:`fail`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0], [60], [4])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.fail(0)
        >>> run.run_until(30)
        >>> run.repair(0)
        >>> run.run()
        >>> run.result().jobs.start_s.tolist()
        [30.0]
        """
        self._change_server(server, "fail", begins=False)

    def drain(self, server: int) -> None:
        """Let no job start on a server from the first instant not yet processed on.

        Running jobs go on.

        Returns
        -------
        None
            As for :meth:`fail`.

        Raises
        ------
        ValueError
            As for :meth:`fail`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 60], [4, 4])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.drain(1)
        >>> run.run()
        >>> run.result().jobs.start_s.tolist()
        [0.0, 60.0]
        """
        self._change_server(server, "drain", begins=True)

    def undrain(self, server: int) -> None:
        """Let jobs start on a drained server again.

        Returns
        -------
        None
            As for :meth:`fail`.

        Raises
        ------
        ValueError
            If it is not drained, or as for :meth:`fail`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 60], [4, 4])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy="fifo")
        >>> run.drain(1)
        >>> run.run_until(20)
        >>> run.undrain(1)
        >>> run.run()
        >>> run.result().jobs.start_s.tolist()
        [0.0, 20.0]
        """
        self._change_server(server, "drain", begins=False)

    def hold(self, job: int) -> None:
        """Hold a job that does not run, until :meth:`release`.

        One that waits leaves the queue at the first instant not yet processed; the time that it is
        held then counts as waiting.

        Returns
        -------
        None
            The time of the run does not change. For a job that is not in the queue yet, the run is
            done again up to it, as by :meth:`submit`.

        Raises
        ------
        ValueError
            If the job runs or is over; if it waits and a scheduler written in Python lacks
            ``withdraw`` or refuses; if it has not joined the queue and the predictor learns during
            the run.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 60], [4, 4])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.hold(1)
        >>> run.run_until(20)
        >>> run.release(1)
        >>> run.run()
        >>> run.result().jobs.start_s.tolist()
        [0.0, 20.0]
        """
        self._change_hold(operator.index(job), HELD)

    def release(self, job: int) -> None:
        """Make a job that is not in the queue eligible at the first instant not yet processed.

        That ends a :meth:`hold`, and an ``eligible_s`` that is later. Its dependencies and the
        limit of its array still count. A job that left the queue returns to its place, by its
        submit time, as a policy places a job that arrives.

        Returns
        -------
        None
            As for :meth:`hold`.

        Raises
        ------
        ValueError
            If the job is neither held nor still to arrive, or as for :meth:`hold`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0], [60], [4], eligible_s=[float("inf")])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(20)
        >>> run.release(0)
        >>> run.run()
        >>> run.result().jobs.start_s.tolist()
        [20.0]
        """
        self._change_hold(operator.index(job), self._next_tick())

    def set(self, *, policy: str | Policy | _core.Order | _core.Scheduler) -> None:
        """Replace the policy from the first instant not yet processed.

        The new policy starts without history: every running job is preempted, and all waiting jobs
        arrive again; it may start them at once. A job that starts again pays its restart cost. Jobs
        that the new policy can never start are rejected. The state of the old policy (queues,
        admissions, its own clock) is lost, with its warnings.

        Returns
        -------
        None
            The time of the run does not change; the next step uses the new policy.

        Raises
        ------
        ValueError, TypeError
            As for :func:`simulate`, and if only one of the two policies reads the trace's
            estimates. Errors of a scheduler written in Python at the start of the next step are
            raised there and end the run.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.set(policy="sjf")
        >>> run.run()
        >>> run.result().jobs.finish_s.tolist()
        [73.0, 10.0, 14.0]
        """
        chosen = policy_seam(policy)
        has_estimates = self.trace.estimate_us is not None
        with self._call():
            if has_estimates and chosen.has("estimate") != self._ready.policy.has("estimate"):
                raise ValueError(
                    f"policy: of {chosen.label} and {self._ready.policy.label} only one reads "
                    "estimates; replace a policy by one that also does, or also does not"
                )
            self._change(policy=chosen)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the run to a file for :func:`resume`, also in another process.

        The file holds the start of the run (jobs, cluster, all arguments), the changes made since,
        and a digest of its state, but no callbacks. Python policies, placements and predictors are
        pickled in their initial state; their classes must be importable where the run is resumed.
        Names are resolved again there. Users, groups and run times in the file are readable by
        anyone who has it.

        Parameters
        ----------
        path
            The file to write; replaced only once the new file is complete.

        Returns
        -------
        None
            The run does not change, and can continue.

        Raises
        ------
        TypeError
            If a Python object cannot be copied or pickled; the message names it.
        OSError
            If the file cannot be written.
        ValueError
            As for :meth:`step`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(1)
        >>> run.save("run.saved")
        >>> gs.resume("run.saved").now
        1.0
        """
        with self._call(looks=True):
            store(path, self._course, self._run, self._online, self._clock_us, self._wall_s)

    def _change_server(self, server: int, kind: str, *, begins: bool) -> None:
        self._check_replayed("its servers cannot be changed")
        server, count = operator.index(server), self.cluster.num_servers
        if not 0 <= server < count:
            raise ValueError(f"server: {server} is not one of the {count}")
        with self._call():
            first = self._course.first
            rows = changed(
                first.outages, server, self._next_tick(), KINDS.index(kind), begins=begins
            )
            self._begin_as(first.with_outages(rows), "an outage")

    def _change_hold(self, job: int, eligible_us: int) -> None:
        holds = eligible_us == HELD
        with self._call():
            state = self._run.state()
            is_left = job in state["held"] and self._course.has_held(job)
            if is_left or (holds and job in state["waiting"]):
                return self._change(job=job, what="hold" if holds else "release")
            self._check_replayed("its jobs cannot be held")
            if not (state["num_arrived"] <= job < len(self.trace) or job in state["held"]):
                neither = "neither waiting, held" if holds else "neither held"
                raise ValueError(f"job: {job} is {neither} nor still to arrive")
            at_us = max(eligible_us, int(self.trace.submit_us[job]))
            self._begin_as(self._course.first.with_eligible(job, at_us), "a hold")

    def _change(
        self, *, job: int | None = None, policy: Chosen | None = None, what: What = "cancel"
    ) -> None:
        change = Change(self._run.num_instants, self._next_tick(), job, policy, what)
        course = replace(self._course, changes=(*self._course.changes, change.untouched()))
        self._ready = change.apply(self._run, self._ready)
        self._course = course

    def _next_tick(self) -> int:
        """The first tick not yet processed."""
        has_begun = self._run.num_instants > 0
        return self._clock_us + (has_begun and self._clock_us == self._run.now_us)


def _tick(time_s: float) -> int:
    seconds = np.asarray(time_s)
    if seconds.dtype.kind not in "iuf" or seconds.shape != () or not np.isfinite(seconds):
        raise ValueError(f"time_s: expected a finite number of seconds, not {time_s!r}")
    if not 0 <= float(seconds) <= MAX_HORIZON_US / US_PER_S:
        raise ValueError(f"time_s: {time_s} must be between 0 and {MAX_HORIZON_US / US_PER_S:g}")
    return int(seconds_to_us(seconds))


def snapshot(run: Simulation) -> tuple[Trace, dict[str, Any]]:
    """Return the waiting and running jobs with their policy's run times, and columns; none held.

    The columns are those of ``_core.Snapshot`` at the time of the run, and ``jobs``, their rows in
    the run.
    """
    if run.spec.outages:
        raise ValueError("run: it has outages of servers, which a cluster state does not hold")
    columns: dict[str, Any] = _core.snapshot_of(run._run)
    rows: Int64 = columns["jobs"]
    start_us, cost_us = columns["start_us"], columns["cost_us"]
    # The core's are from the last instant, and the run may have stopped later.
    now_us, last_us = run._clock_us, run._run.now_us
    paid_us = start_us + cost_us
    since_us = np.maximum(now_us, paid_us) - np.maximum(last_us, paid_us)
    columns["attained_us"] = columns["attained_us"] + np.where(start_us >= 0, since_us, 0)
    columns["now_us"] = now_us
    return dataclasses.replace(
        run.trace._take(rows), service_us=read_only(known_us(run)[rows]),
        eligible_us=None, dependency=None, array_limit=None,  # nothing holds them any more
    ), columns  # fmt: skip


def known_us(run: Simulation) -> Int64:
    """Return the service of each job as its policy sees it, microseconds."""
    if run._online is not None:
        return run._online.predicted_us
    return run._ready.predicted.values(run.trace)


def resume(
    path: str | os.PathLike[str], *, trust_python: bool = False, max_bytes: int | None = None
) -> Simulation:
    """Restore a run saved by :meth:`Simulation.save`.

    The run is replayed up to the saved time, which takes as long as it took before, and compared
    with the saved state: it either continues to the digest of the saved run or an error is raised.
    No callbacks are called during the replay.

    Parameters
    ----------
    trust_python
        Whether to load Python objects from the file. *Loading them can run any code that the
        writer of the file put in*: set it only for files from a source you trust.
    max_bytes
        Size limit of the file, checked before reading; default: 4 GiB.

    Returns
    -------
    Simulation
        At the saved time, with its jobs and its changes.

    Raises
    ------
    ValueError
        If the file is not a saved run, is truncated or changed, is from another version of
        gpusched, holds Python objects that are not trusted or have other code here, or if the
        replay diverges from the saved state; the message names the file.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> run = gs.Simulation(trace, cluster, policy="srtf")
    >>> run.run_until(3600)
    >>> run.save("monday.run")
    >>> later = gs.resume("monday.run")
    >>> later.run()
    >>> later.result().digest == gs.simulate(trace, cluster, policy="srtf").digest
    True
    """
    header, course = restored(path, trust_python=trust_python, max_bytes=max_bytes)
    with naming(path):
        ready, run, online = course.replayed(header.num_instants)
        check_reached(header, run, online)
    made = Simulation.__new__(Simulation)
    made._stand(course, ready, run, online)
    made._clock_us, made._wall_s = header.clock_us, header.wall_s
    return made
