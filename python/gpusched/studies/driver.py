"""Run tasks on a backend, a few at a time, and survive the loss of workers."""

from __future__ import annotations

import operator
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from gpusched.base.failures import Failures
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.studies.calls import Outcome
from gpusched.studies.executors import Backend, BackendLost, WorkerDied

if TYPE_CHECKING:
    from gpusched.studies.kept_runs import KeptRuns

Task = TypeVar("Task")
Made = TypeVar("Made")

# How often the driver wakes while it waits, and reports progress.
_POLL_SECONDS: Final = 0.1
# Tasks queued at the backend besides two per slot, so that no slot is idle.
_AHEAD: Final = 8


def run_tasks(
    run: Callable[..., Made],
    tasks: Iterable[Task],
    *,
    backend: Backend,
    arguments: Callable[[Task], tuple[Any, ...]] | None = None,
    name: Callable[[Task], str] = str,
    kept: KeptRuns | None = None,
    on_failure: Callable[[Task, Exception], None] | None = None,
    on_spent: Callable[[float], None] | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Generator[tuple[Task, Made], None, None]:
    """Run tasks on a backend; yield each with its result as it ends, in any order.

    Tasks are drawn from ``tasks`` as slots become free, so there may be any number. When a worker
    dies, only the task that killed it fails; the others that it may have hit run again, one at a
    time.

    ``run``: a function of a module if the backend has other processes: it, its arguments and its
        result are pickled.
    ``arguments``: returns the arguments of ``run`` for a task, among them results of
        ``backend.share``; called when the task is due. None: the task alone.
    ``name``: returns the name of a task in errors.
    ``kept``: store of results: tasks found there do not run, and new results are added.
    ``on_failure``: called with a task that failed and its error. None: errors are raised once all
        others are done, see :func:`~gpusched.base.failures.raise_named`.
    ``on_spent``: called with the processor time of each finished task, in seconds; for a stored
        result, the time of its original run.
    ``progress``: as for :func:`gpusched.simulate`, in tasks; their number is 0 where ``tasks`` has
        no length.
    ``stop``: stops the tasks when it is set.
    """
    failures = Failures()
    left, total, num_done, told = iter(tasks), operator.length_hint(tasks), 0, 0.0
    pending: dict[Future[Outcome], tuple[Task, tuple[Any, ...], bool]] = {}
    suspects: deque[tuple[Task, tuple[Any, ...]]] = deque()  # each runs alone

    def fail(task: Task, error: BaseException) -> None:
        nonlocal num_done
        num_done += 1
        if not isinstance(error, Exception):
            error = RuntimeError(f"{type(error).__name__}: {error}")
        if on_failure is None:
            failures.errors[name(task)] = error
        else:
            on_failure(task, error)

    def submit(task: Task, args: tuple[Any, ...], is_alone: bool) -> None:
        try:
            pending[backend.submit(run, *args)] = task, args, is_alone
        except BackendLost:
            raise
        except Exception as error:  # cannot be pickled
            fail(task, error)

    def begin(task: Task) -> None:
        try:
            args = (task,) if arguments is None else arguments(task)
        except Exception as error:
            fail(task, error)
        else:
            submit(task, args, False)

    def lose(task: Task, args: tuple[Any, ...], was_alone: bool, error: BaseException) -> None:
        if not backend.is_lost(error):
            fail(task, error)
        elif not was_alone:
            suspects.append((task, args))
        else:
            backend.check()
            died = WorkerDied("its worker died, and died again when the task was retried alone")
            died.__cause__ = error
            fail(task, died)

    def made_of(outcome: Outcome) -> Made:
        nonlocal num_done
        num_done += 1
        if on_spent is not None:
            on_spent(outcome.processor_s)
        return cast(Made, outcome.made)

    def keep_what_is_done() -> None:
        for future, (task, _, _) in pending.items():
            if future.done() and _error_of(future) is None:
                outcome = future.result()
                if kept is not None and outcome.error is None:
                    kept.keep(run, task, outcome)

    try:
        with _held_interrupts() as interrupt:
            while True:
                is_ending = interrupt.has_come or is_asked(stop)
                window = 2 * backend.num_slots + _AHEAD
                is_over = False
                # Nothing starts next to a suspect: it would share the blame.
                is_closed = bool(suspects) or any(is_alone for _, _, is_alone in pending.values())
                while not (is_ending or is_closed or is_over) and len(pending) < window:
                    for task in left:
                        known = None if kept is None else kept.find(run, task)
                        if known is None:
                            begin(task)
                        else:
                            yield task, made_of(known)
                            is_ending = interrupt.has_come or is_asked(stop)
                        break
                    else:
                        is_over = True
                if suspects and not pending and not is_ending:
                    submit(*suspects.popleft(), True)
                elif not pending and is_over:
                    break
                wait(pending, 0 if is_ending else _POLL_SECONDS, FIRST_COMPLETED)
                done = [future for future in pending if future.done()]
                for future in done:
                    own = pending.pop(future)
                    error = _error_of(future)
                    if error is not None:
                        lose(*own, error)
                        continue
                    outcome = future.result()
                    if outcome.error is not None:
                        fail(own[0], outcome.error)
                        continue
                    if kept is not None:
                        kept.keep(run, own[0], outcome)
                    yield own[0], made_of(outcome)
                if is_ending and not done:
                    if interrupt.has_come:
                        raise KeyboardInterrupt
                    raise Cancelled(num_done, max(total, num_done), "runs")
                if progress is not None and time.monotonic() - told >= _POLL_SECONDS:
                    told = time.monotonic()
                    progress(Progress(num_done, max(total, num_done)))
            if progress is not None:
                progress(Progress(num_done, num_done))
    except BaseException:
        try:
            keep_what_is_done()
        finally:
            backend.interrupt()  # an executor that ends its calls must not find them cancelled
            for future in pending:
                future.cancel()
        raise
    failures.raise_if_any()


def _error_of(future: Future[Any]) -> BaseException | None:
    """Return the error of a future that is done, also if another thread cancelled it."""
    return CancelledError() if future.cancelled() else future.exception()


class _HeldInterrupt:
    """A Ctrl-C that came and was not raised yet."""

    def __init__(self) -> None:
        self.has_come = False

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.has_come:  # a second Ctrl-C is raised at once
            signal.default_int_handler(number, frame)
        self.has_come = True


@contextmanager
def _held_interrupts() -> Iterator[_HeldInterrupt]:
    """Hold back the first Ctrl-C for the caller to raise; raise a second one at once.

    With a handler other than Python's own, or outside the main thread, nothing changes.
    """
    held = _HeldInterrupt()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield held
        return
    signal.signal(signal.SIGINT, held.note)
    try:
        yield held
    finally:
        with suppress(ValueError):  # an abandoned generator may be closed by any thread
            signal.signal(signal.SIGINT, signal.default_int_handler)
