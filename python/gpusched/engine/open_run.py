"""A run that is open: stepped, looked at, forked, changed in its course."""

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
from typing import TYPE_CHECKING, Any, Final

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
    check_reached,
    opened,
    proceed,
    restored,
    store,
)
from gpusched.engine.seams import Chosen, copied, policy_seam
from gpusched.model.cluster import Cluster
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.results.run_remarks import unserved
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import Predictor
    from gpusched.prediction.online import OnlineRun


EVENTS: Final = ("start", "preempt", "resize", "finish", "reject", "cancel", "instant")


@dataclass(frozen=True)
class SimulationEvent:
    """What has happened in an open run.

    Attributes
    ----------
    what
        ``"start"`` (or resume), ``"preempt"``, ``"resize"``, ``"finish"``, ``"reject"``,
        ``"cancel"``, or ``"instant"`` once all of an instant is done.
    time_s
        When, seconds.
    job
        The row of the job in the trace; None of an instant.
    """

    what: str
    time_s: float
    job: int | None


@dataclass(frozen=True, eq=False)
class SimulationState:
    """A run between two instants. Arrays are copies, read-only; jobs are rows of the trace.

    Attributes
    ----------
    now_s
        The time of the run, seconds.
    waiting
        int64: jobs that have arrived and hold no GPUs, by id; rejected ones are not among them.
    running
        int64: jobs that hold GPUs, by id.
    start_s, expected_finish_s, gpus
        float64 seconds, float64 seconds and int32, one per running job: when its present run began,
        when it ends if it keeps its GPUs and its speed (the truth, not a prediction), and its
        width.
    held_job, held_server, held_mask
        int64, int64 and uint64: a row per running job and server, with the GPUs that it holds
        there; bit i is GPU i. Empty under a placement without servers.
    free_gpus
        int32: wholly free GPUs of each server; empty under a placement without servers.
    num_free
        Wholly free GPUs of the cluster.
    num_arrived, num_finished, num_rejected
        Jobs so far.
    """

    now_s: float
    waiting: Int64
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
        """Jobs that wait."""
        return len(self.waiting)

    @property
    def num_running(self) -> int:
        """Jobs that hold GPUs."""
        return len(self.running)


def state_of(columns: dict[str, Any], now_us: int) -> SimulationState:
    """Return what the core says of an open run, times in seconds."""
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
_IN_A_CALLBACK: Final = "a callback cannot bring its run further; it may fork it"


class Simulation:
    """A run that one goes through oneself: :func:`simulate` is this, run to its end.

    A run is a sequence of *instants*: all that happens at one time, and one decision. Between two
    of them it stands still, and can be looked at, forked and changed. However it is brought to its
    end, by steps, in parts or as a fork, its digest is that of :func:`simulate`.

    One thread at a time uses it, and a second one is refused with a ValueError; Python policies and
    callbacks are called in the thread of the call. A method does what it says, or raises and leaves
    the run as it was. Those that bring it further leave it where they came to: Ctrl-C ends a call
    within a second; as that may be amid a decision the run cannot go on then, and :meth:`result`
    still tells what was done. So it is after an error of a policy.

    Parameters
    ----------
    trace, cluster, policy, placement, predictor, speed, contention, seed, verify, max_intervals
        As of :func:`simulate`. ``auto`` looks at the jobs of ``trace``: if all of them have
        estimates, so must those that are submitted later; name ``oracle`` if they have not.

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
        verify: bool = False,
        max_intervals: int | None = None,
    ) -> None:
        ready = Ready(
            trace, cluster, policy=policy, placement=placement, predictor=predictor, speed=speed,
            contention=contention, seed=seed, verify=verify, max_intervals=max_intervals,
        )  # fmt: skip
        warn(ready.remarks, stacklevel=2)
        self._stand(Course(ready.untouched()), ready, *opened(ready))

    def _stand(
        self, course: Course, ready: Ready, run: _core.Run, online: OnlineRun | None
    ) -> None:
        """Be the run that has come as far as ``run``."""
        self._course, self._ready = course, ready
        self._run, self._online = run, online
        self.cluster = ready.spec.cluster
        self._clock_us = 0
        self._ended: Schedule | None = None
        self._wall_s = 0.0
        self._is_warned = False
        self._belong_to_nobody()

    def _belong_to_nobody(self) -> None:
        """Have neither callbacks nor a caller."""
        self._listeners: list[tuple[str, Callable[[SimulationEvent], object]]] = []
        self._tells = False
        self._thread = threading.RLock()  # held by the one that is within a call
        self._is_called = False

    @contextmanager
    def _call(self, *, looks: bool = False) -> Iterator[None]:
        """Let in one thread, and within a call of its own only what looks at the run.

        A call may be many of the core, and between two of these is no place to go on from.
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
        """The jobs, with those that were submitted; a job is a row of it."""
        return self._ready.trace

    @property
    def spec(self) -> RunSpec:
        """The specification of the run as it is now, with the policy that decides."""
        return self._ready.spec

    @property
    def now(self) -> float:
        """The time of the run, seconds: of the last instant, or where :meth:`run_until` halted."""
        return self._clock_us / US_PER_S

    @property
    def done(self) -> bool:
        """Whether no instant is left: the run is at its end."""
        return self._run.next_us is None

    @property
    def next_time(self) -> float | None:
        """When the next instant is, seconds; None at the end of the run."""
        next_us = self._run.next_us
        return None if next_us is None else next_us / US_PER_S

    @property
    def state(self) -> SimulationState:
        """What waits, what runs where, and what is free: read-only copies."""
        return state_of(self._run.state(), self._clock_us)

    def step(self) -> bool:
        """Handle the next instant; False if there is none.

        Returns
        -------
        bool
            Whether there was one.

        Raises
        ------
        ValueError
            If a callback of this run calls it, or the run has ended with an error.
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
        """Handle all instants before ``time_s``, which then is the time of the run.

        What happens at ``time_s`` itself is still to come.

        Returns
        -------
        None
            The run stands at ``time_s``.

        Raises
        ------
        ValueError
            If the time is not finite or lies before :attr:`now`, or as :meth:`step`.

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
                raise ValueError(f"time_s: {time_s} lies before the time of the run, {self.now}")
            self._advance(limit_us, _ALL)
            self._clock_us = limit_us

    def run(self) -> None:
        """Handle all instants that are left; errors as of :meth:`step`.

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
        """Have ``callback(event)`` called whenever such a thing happens.

        Callbacks are called once all of an instant is done, in the order of what happened, and for
        each in the order of these calls. They may look at the run and fork it, and not bring it
        further. What one raises ends the call that was under way; the run stands after that instant
        and can go on, but the rest of the instant is not told.

        Parameters
        ----------
        event
            One of ``"start"``, ``"preempt"``, ``"resize"``, ``"finish"``, ``"reject"``,
            ``"cancel"`` and ``"instant"``.

        Returns
        -------
        None
            Callbacks stay for the rest of the run.

        Raises
        ------
        ValueError
            If there is no such event.

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
            raise ValueError(f"event: unknown {event!r}; there are {', '.join(EVENTS)}")
        with self._call(looks=True):
            self._run.listen(True)
            self._listeners.append((event, callback))

    def _check_replayed(self, what: str) -> None:
        if self._online is not None:
            raise ValueError(
                f"predictor: {self._ready.spec.predictor} learns in the course of the run: {what}"
            )

    def result(self) -> Result:
        """Return the result of the run, or if it is not at its end of what was done so far.

        Of a run that is not at its end ``result.is_partial`` holds, and a warning says so: what has
        finished counts as finished, what runs has held its GPUs until the last instant and is
        unfinished, and so is what waits or is still to come.

        Returns
        -------
        Result
            As of :func:`simulate`.

        Warns
        -----
        RunWarning
            At the end of the run, once, as :func:`simulate`.

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
        """Handle so many instants before the limit; return how many there were."""
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
        """Call the callbacks for what happened at an instant, and then for the instant."""
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
            told.append(f"the run is at {self.now:g} s and not at its end")
        else:
            told += schedule.warnings
        return replace(StoredSchedule.of(schedule), warnings=tuple(told)), is_partial

    def fork(self) -> Simulation:
        """Return a run that has come as far, and goes on by itself: what the one does, the other
        does not see.

        Trace and cluster are shared, all else is copied; Python policies and placements by
        :func:`copy.deepcopy`. Callbacks stay with this run.

        Returns
        -------
        Simulation
            Another run, at the same time.

        Raises
        ------
        ValueError
            If the predictor learns in the course of the run, as it writes what it predicts into
            columns that both would read; or as :meth:`step`.

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
        self._check_replayed("it cannot be forked; take one that was trained before")
        with self._call(looks=True):
            made = copy.copy(self)
            made._belong_to_nobody()
            made._ready = ready = self._ready.with_seams(
                copied(self._ready.policy), copied(self._ready.placement)
            )
            made._run = self._run.fork(ready.jobs, ready.servers, ready.description())
        return made

    def submit(self, jobs: Trace) -> None:
        """Submit more jobs, at the times that they state on the clock of the run.

        They come into :attr:`trace` at their places by submit time, behind jobs of the same time;
        rows of jobs that have arrived stay what they are, later ones move. The run goes on as if
        they had been there from the beginning. That is made so by doing the run again up to now
        when it next goes on: it takes as long as the run has, once for all jobs submitted in
        between. Callbacks hear nothing of it, and Python policies and placements are copies, by
        :func:`copy.deepcopy`, as they were when they were given.

        Returns
        -------
        None
            The run stands where it stood, with more to come.

        Raises
        ------
        ValueError
            If a job is submitted at an instant that is over, an id is taken, the trace has profiles
            or graphs, the predictor learns in the course of the run, or the policy decided
            otherwise if it had known of the jobs (it looks ahead).
        TypeError
            If ``jobs`` is no :class:`Trace`.

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
                f"and the run is at {self.now:g} s"
            )
        course = replace(self._course, first=self._course.first.joined(jobs))
        ready, run, _ = course.replayed(self._run.num_instants)
        if run.glimpse().digest != self._run.glimpse().digest:
            raise ValueError(
                f"policy: {self._ready.spec.policy} looks ahead: it would have "
                "decided otherwise had it known of the jobs"
            )
        run.listen(bool(self._listeners))
        self._course, self._ready, self._run = course, ready, run

    def cancel(self, job: int) -> None:
        """Take back a job: if it waits it never starts, if it runs it ends now and frees its GPUs.

        The policy decides anew at the first instant that is not over: now, or a microsecond after
        the instant that was just handled. Its status is ``"cancelled"``.

        Returns
        -------
        None
            The run stands where it stood; the next step knows of it.

        Raises
        ------
        ValueError
            If the job neither waits nor runs, or it waits and the policy is a scheduler written in
            Python that has no ``withdraw`` or refuses.

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

    def set(self, *, policy: str | Policy | _core.Order | _core.Scheduler) -> None:
        """Have another policy decide from the first instant that is not over.

        It knows nothing of what was before: every job that runs is preempted then, and all jobs
        that wait arrive anew; it may start them at once. A job that starts again pays its restart
        cost. Jobs that the new policy can never start are rejected then. What the policy before
        remembered (queues, promises, its own clock) is lost, with its warnings.

        Returns
        -------
        None
            The run stands where it stood; the next step has the new policy.

        Raises
        ------
        ValueError, TypeError
            As of :func:`simulate`, and where the one policy reads the trace's estimates and the
            other does not. What a scheduler written in Python raises as it begins the next step
            raises, which ends the run.

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
                    f"policy: {chosen.label} and {self._ready.policy.label} do not both read "
                    "estimates; change between policies that do, or that do not"
                )
            self._change(policy=chosen)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file, with which :func:`resume` goes on, in another process as well.

        The file holds how the run began (jobs, cluster, all that was chosen), what was done to it
        since, and a digest of what it has come to; not callbacks. A policy, a placement or a
        predictor that was given as an object of Python is pickled as it was then; its class must
        be importable where the run is resumed. What was given by name is found by its name there.
        The file tells users, groups and run times to anyone who reads it.

        Parameters
        ----------
        path
            Replaced only once the new file is complete.

        Returns
        -------
        None
            The run stands where it stood, and can go on.

        Raises
        ------
        TypeError
            If an object of Python cannot be copied or pickled; the message names it.
        OSError
            If the file cannot be written.
        ValueError
            As :meth:`step`.

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

    def _change(self, *, job: int | None = None, policy: Chosen | None = None) -> None:
        change = Change(self._run.num_instants, self._next_tick(), job, policy)
        course = replace(self._course, changes=(*self._course.changes, change.untouched()))
        self._ready = change.apply(self._run, self._ready)
        self._course = course

    def _next_tick(self) -> int:
        """The first tick that is not over."""
        has_begun = self._run.num_instants > 0
        return self._clock_us + (has_begun and self._clock_us == self._run.now_us)


def _tick(time_s: float) -> int:
    seconds = np.asarray(time_s)
    if seconds.dtype.kind not in "iuf" or seconds.shape != () or not np.isfinite(seconds):
        raise ValueError(f"time_s: expected a finite number of seconds, not {time_s!r}")
    if not 0 <= float(seconds) <= MAX_HORIZON_US / US_PER_S:
        raise ValueError(f"time_s: {time_s} is not between 0 and {MAX_HORIZON_US / US_PER_S:g}")
    return int(seconds_to_us(seconds))


def snapshot(run: Simulation) -> tuple[Trace, dict[str, Any]]:
    """Return the jobs that wait or run, with what their policy knows of run times, and columns.

    The columns are those of ``_core.Snapshot`` at the time of the run, and ``jobs``, their rows in
    the run.
    """
    columns: dict[str, Any] = _core.snapshot_of(run._run)
    rows: Int64 = columns["jobs"]
    start_us, cost_us = columns["start_us"], columns["cost_us"]
    # The core's are of the last instant, and the run may have halted later.
    now_us, last_us = run._clock_us, run._run.now_us
    paid_us = start_us + cost_us
    since_us = np.maximum(now_us, paid_us) - np.maximum(last_us, paid_us)
    columns["attained_us"] = columns["attained_us"] + np.where(start_us >= 0, since_us, 0)
    columns["now_us"] = now_us
    return dataclasses.replace(
        run.trace._take(rows), service_us=read_only(known_us(run)[rows])
    ), columns


def known_us(run: Simulation) -> Int64:
    """Return what the policy is told of the service of each job, microseconds."""
    if run._online is not None:
        return run._online.predicted_us
    return run._ready.predicted.values(run.trace)


def resume(
    path: str | os.PathLike[str], *, trust_python: bool = False, max_bytes: int | None = None
) -> Simulation:
    """Return the run that :meth:`Simulation.save` wrote, as far as it had come.

    The run is done again up to there, which takes as long as it had taken, and is compared with
    what was saved: it goes on to the same digest as the run that was saved, or an error says that
    it cannot. No callbacks are called for what is done again.

    Parameters
    ----------
    trust_python
        Whether to load objects of Python that the file holds. *To load them can run any code that
        whoever wrote the file put in*: ask for it only for files whose writer you trust.
    max_bytes
        A longer file is refused before it is read; default: 4 GiB.

    Returns
    -------
    Simulation
        At the time of the one that was saved, with its jobs and its changes.

    Raises
    ------
    ValueError
        If the file is no saved run, was cut short or changed, is of another version of gpusched,
        holds objects of Python that are not trusted or have other code here, or if the run comes to
        something else than what was saved; the message names the file.
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
