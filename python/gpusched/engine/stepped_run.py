"""A run that is brought further in steps, and looked at between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched import _core
from gpusched.base.run_warning import warn
from gpusched.base.ticks import MAX_HORIZON_US, US_PER_S, seconds_to_us
from gpusched.clusters.cluster import Cluster
from gpusched.engine.open_events import Listeners, SimulationEvent, check_event
from gpusched.engine.open_state import SimulationState, state_of
from gpusched.engine.ready_run import Ready
from gpusched.engine.run_course import Course, opened, proceed
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.results.run_remarks import unserved
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import Predictor
    from gpusched.prediction.online import OnlineRun

_ALL: Final = 2**63 - 1
_GOES_ON: Final = "the run is going on, in another thread or around this very call"
_IN_A_CALLBACK: Final = "a callback cannot bring its run further; it may fork it"


class SteppedRun:
    """What brings a run further and looks at it; see :class:`Simulation`."""

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        *,
        policy: str | Policy | _core.Order | _core.Scheduler = "fifo",
        placement: str | PlacementChoice | _core.Placement = "consolidated",
        predictor: str | Predictor = "oracle",
        speed: str | SpeedChoice | None = None,
        contention: str | ContentionChoice = "none",
        seed: int = 0,
        verify: bool = False,
        max_intervals: int | None = None,
    ) -> None:
        ready = Ready(
            trace, cluster, policy, placement, predictor, speed, contention,
            seed=seed, verify=verify, max_intervals=max_intervals,
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
        self._listeners = Listeners()
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
                raise ValueError(_IN_A_CALLBACK if self._listeners.are_told else _GOES_ON)
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
        check_event(event)
        with self._call(looks=True):
            self._run.listen(True)
            self._listeners.add(event, callback)

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
        self._clock_us = self._run.now_us
        self._listeners.tell(self.now, self._run.take_events())

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


def _tick(time_s: float) -> int:
    seconds = np.asarray(time_s)
    if seconds.dtype.kind not in "iuf" or seconds.shape != () or not np.isfinite(seconds):
        raise ValueError(f"time_s: expected a finite number of seconds, not {time_s!r}")
    if not 0 <= float(seconds) <= MAX_HORIZON_US / US_PER_S:
        raise ValueError(f"time_s: {time_s} is not between 0 and {MAX_HORIZON_US / US_PER_S:g}")
    return int(seconds_to_us(seconds))
