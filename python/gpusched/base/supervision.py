"""Native runs that can be cancelled by Ctrl-C or a stop event.

A fully native run polls in the calling thread. A run that calls Python computes in another thread
while the caller waits, so that no plug-in can block Ctrl-C.
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

# Polling of the waiting main thread for Ctrl-C and progress, about 10 Hz.
_POLL_SECONDS = 0.1

_here = threading.local()  # .scope: that of this thread
_supervised = threading.local()  # .control: that of the run of this thread


class StopScope:
    """Cancels all calls made inside it, without an argument of theirs.

    Any number of threads may enter a scope; each cancellable call of the package ends with
    :class:`~gpusched.base.supervision.Cancelled` soon after :meth:`set`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[_core.RunControl] = []
        self._is_set = False

    def is_set(self) -> bool:
        """Whether cancellation was requested."""
        return self._is_set

    def set(self) -> None:
        """Cancel current and future calls inside."""
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
        """Also stop ``run`` within this context."""
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
    """A call ended because its ``stop`` was set.

    Attributes
    ----------
    num_finished, total
        Finished and total number of jobs; of arrivals for :func:`gpusched.online.fill`, of
        policies for :func:`gpusched.compare`.
    result
        For :func:`gpusched.simulate` the :class:`gpusched.Result` until then, with running jobs
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
    """Return whether this thread's stop scope or ``stop`` requests cancellation.

    TypeError if ``stop`` is not an event.
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
    """Run with handling of Ctrl-C, stop and progress.

    Raises Cancelled if ``stop`` was set before this returns.

    Raises KeyboardInterrupt on Ctrl-C, once the run has stopped.

    ``run``: native code that polls ``control`` often.
    ``progress``: called with a :class:`~gpusched.base.progress.Progress` about ten times a second,
        and once at the end.
    ``stop``: ends the run when set. If already set, nothing runs; if set near the end, or by the
        last call of ``progress``, the outcome is discarded.
    ``total``, ``unit``: amount of work, and its unit.
    ``is_native``: whether ``run`` neither calls Python nor holds the GIL, and polls in the calling
        thread; it then needs no other thread.
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
    """Let the run poll in this thread."""
    control.watch(look)
    try:
        return run()
    finally:
        control.watch(None)  # it would keep the frame alive, and the frame it


def _apart(
    run: Callable[[], _Outcome], control: _core.RunControl, look: Callable[[], None]
) -> _Outcome:
    """Run in another thread while this one waits."""
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
    """Run in this thread; the caller that entered the scope handles Ctrl-C."""
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
    """Check for cancellation during a long decision of a policy.

    Raises gpusched._core.Stopped if the run was cancelled.
    """
    control = getattr(_supervised, "control", None)
    if control is not None:
        control.check()


def attended(run: Callable[[], _Outcome]) -> _Outcome:
    """Run an uninterruptible call, such as a library's solver, with prompt cancellation.

    Raises KeyboardInterrupt on Ctrl-C, at once, in the main thread.

    Raises gpusched._core.Stopped in a policy of a cancelled run, within a tenth of a second.

    ``run``: call that releases the GIL and ends in finite time; after a stop its result is
        discarded.
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
    """Call ``run`` in a daemon thread.

    An idle thread is reused, because a solver sets up its memory and threads again in a new one,
    which takes as long as a small program.
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
            _free.append(self)  # before the result, whose receiver may call again at once
            future.set_result(found)


_free: list[_Attendant] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free.clear)  # its threads belong to the parent
