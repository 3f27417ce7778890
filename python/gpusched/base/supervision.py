"""Native runs that listen for Ctrl-C and a stop.

What is all native looks up itself, now and then, in the thread that calls. Where a run calls Python
another thread computes, and the calling one waits: no plug-in can keep Ctrl-C to itself then.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from gpusched import _core
from gpusched.base.progress import OnProgress, Progress, checked

_Outcome = TypeVar("_Outcome")

# How often the waiting main thread looks up: Ctrl-C is heard and progress shown at about 10 Hz.
_POLL_SECONDS = 0.1

_here = threading.local()  # .scope: that of this thread
_supervised = threading.local()  # .control: that of the run of this thread


class StopScope:
    """A stop for what is called inside of it, of which the calls themselves know nothing.

    Any number of threads may enter a scope; each call of the package that can be stopped then ends
    with :class:`~gpusched.base.supervision.Cancelled` soon after :meth:`set`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[_core.RunControl] = []
        self._is_set = False

    def is_set(self) -> bool:
        """Whether the end was asked for."""
        return self._is_set

    def set(self) -> None:
        """End what runs inside, and what will."""
        with self._lock:
            self._is_set = True
            for run in self._running:
                run.stop()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make it the scope of this thread."""
        before = scope_here()
        _here.scope = self
        try:
            yield
        finally:
            _here.scope = before

    @contextmanager
    def reaching(self, run: _core.RunControl) -> Iterator[None]:
        """Stop ``run``, too, as long as this lasts."""
        with self._lock:
            self._running.append(run)
            if self._is_set:
                run.stop()
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(run)


def scope_here() -> StopScope | None:
    """Return the scope that this thread is in."""
    scope: StopScope | None = getattr(_here, "scope", None)
    return scope


class Cancelled(Exception):
    """A call ended because the ``stop`` that it was given was set.

    Attributes
    ----------
    num_finished, total
        How much was done, of how much: jobs, for :func:`gpusched.online.fill` arrivals, for
        :func:`gpusched.compare` policies.
    result
        For :func:`gpusched.simulate` the :class:`gpusched.Result` until then: what ran then is
        unfinished. None if nothing ran, and for other calls.
    comparison
        For :func:`gpusched.compare` the :class:`gpusched.Comparison` of the policies that had
        finished, else None.
    """

    def __init__(
        self,
        num_finished: int,
        total: int,
        unit: str = "jobs",
        comparison: Any = None,
        result: Any = None,
    ) -> None:
        super().__init__(f"stopped after {num_finished:,} of {total:,} {unit}")
        self.num_finished = num_finished
        self.total = total
        self.comparison = comparison
        self.result = result
        self._unit = unit

    def __reduce__(self) -> tuple[Any, ...]:
        left = (self.num_finished, self.total, self._unit, self.comparison, self.result)
        return type(self), left


def is_asked(stop: threading.Event | None) -> bool:
    """Whether the end was asked for, by the stop scope of this thread or by ``stop``.

    TypeError if ``stop`` is no event.
    """
    scope = scope_here()
    if scope is not None and scope.is_set():
        return True
    if stop is None:
        return False
    if not callable(getattr(stop, "is_set", None)):
        raise TypeError(f"stop: expected a threading.Event, not {stop!r}")
    return bool(stop.is_set())


def supervised(
    run: Callable[[], _Outcome],
    control: _core.RunControl,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
    total: int = 0,
    unit: str = "jobs",
    *,
    is_native: bool = False,
) -> _Outcome:
    """Run, listen for Ctrl-C and show progress.

    Parameters
    ----------
    run
        Native code that asks ``control`` often whether to stop.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` about ten times a second, and once
        at the end.
    stop
        Ends the run when it is set. Where it is set already, nothing runs; where it is set while
        the last instants run, or by the last call of ``progress``, the outcome is dropped.
    total, unit
        How much there is to do, and of what.
    is_native
        Whether ``run`` neither calls Python nor keeps the GIL, and asks in the calling thread: then
        it needs no other.

    Raises
    ------
    Cancelled
        If ``stop`` was set before this returns.
    KeyboardInterrupt
        On Ctrl-C, once the run has stopped.
    """
    progress = checked(progress)
    if is_asked(stop):
        raise Cancelled(0, total, unit)
    scope = scope_here()
    is_main = threading.current_thread() is threading.main_thread()

    def look() -> None:
        if is_asked(stop):
            control.stop()
        if progress is not None:
            progress(Progress(control.num_finished, total))

    try:
        if progress is None and stop is None and (scope is not None or not is_main):
            return run() if scope is None else _within(scope, run, control)
        if is_native:
            outcome = _watching(run, control, None if stop is None and progress is None else look)
        else:
            outcome = _apart(run, control, look)
    except _core.Stopped:
        raise Cancelled(control.num_finished, total, unit) from None
    if progress is not None:
        progress(Progress(total, total))
    if is_asked(stop):
        raise Cancelled(total, total, unit)
    return outcome


def _watching(
    run: Callable[[], _Outcome], control: _core.RunControl, look: Callable[[], None] | None
) -> _Outcome:
    """Have the run itself look up in this thread."""
    control.watch(look)
    try:
        return run()
    finally:
        control.watch(None)  # which would hold the frame of the call, and the frame it


def _apart(
    run: Callable[[], _Outcome], control: _core.RunControl, look: Callable[[], None]
) -> _Outcome:
    """Run in a thread of its own while this one waits."""
    with ThreadPoolExecutor(1, thread_name_prefix="gpusched-run") as pool:
        future = pool.submit(_listening, run, control)
        try:
            while not wait([future], timeout=_POLL_SECONDS).done:
                look()
            return future.result()
        except BaseException:
            control.stop()
            raise


def _within(scope: StopScope, run: Callable[[], _Outcome], control: _core.RunControl) -> _Outcome:
    """Run in this thread; who entered the scope listens for Ctrl-C."""
    before = getattr(_supervised, "control", None)
    try:
        with scope.reaching(control):
            return _listening(run, control)
    finally:
        _supervised.control = before


def _listening(run: Callable[[], _Outcome], control: _core.RunControl) -> _Outcome:
    _supervised.control = control
    return run()


def listen() -> None:
    """Hear in a policy, where a decision takes long, whether its run shall stop.

    Raises
    ------
    gpusched._core.Stopped
        If it shall.
    """
    control = getattr(_supervised, "control", None)
    if control is not None:
        control.check()


def attended(run: Callable[[], _Outcome]) -> _Outcome:
    """Run what cannot be asked to stop, a library's solver, so that a stop is heard all the same.

    Parameters
    ----------
    run
        Lets other threads go on, and ends by itself in some time: after a stop it does so unheard.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, at once, in the main thread.
    gpusched._core.Stopped
        In a policy of a run that shall stop, within a tenth of a second.
    """
    control = getattr(_supervised, "control", None)
    if control is None and threading.current_thread() is not threading.main_thread():
        return run()
    future = apart(run)
    while True:
        if wait([future], timeout=_POLL_SECONDS).done:
            return future.result()
        if control is not None:
            control.check()


def apart(run: Callable[[], _Outcome]) -> Future[_Outcome]:
    """Call ``run`` in another thread, which does not keep the process from ending.

    A thread that is free is taken before a new one: in a new one a solver sets up its memory and
    its own threads again, which takes as long as a small program.
    """
    future: Future[_Outcome] = Future()
    try:
        attendant = _free.pop()
    except IndexError:
        attendant = _Attendant()
    attendant.work.put((run, future))
    return future


class _Attendant:
    def __init__(self) -> None:
        self.work: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._attend, name="gpusched-solver", daemon=True).start()

    def _attend(self) -> None:
        while True:
            self._attend_to(*self.work.get())

    def _attend_to(self, run: Callable[[], Any], future: Future[Any]) -> None:
        try:
            found = run()
        except BaseException as error:
            _free.append(self)
            future.set_exception(error)
        else:
            _free.append(self)  # before: who waits for the result may call again at once
            future.set_result(found)


_free: list[_Attendant] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free.clear)  # its threads are the parent's
