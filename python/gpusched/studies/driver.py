"""Tasks on a backend: some at a time, whatever becomes of the workers, until all are done."""

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

# How often the driver looks up while it waits, and tells how far it is.
_POLL_SECONDS: Final = 0.1
# How many tasks wait at the backend beside two for each of its slots, so that none is idle.
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
    """Run tasks on a backend; yield each with what it made as they are done, in any order.

    Tasks are taken from ``tasks`` as there is room for them, so that there may be any number. A
    worker that dies costs the task that ends it, which fails, and no other: what it may have ended
    is run again, one at a time.

    Parameters
    ----------
    run
        A function of a module, where the backend has other processes: it, its arguments and what
        it makes then travel.
    arguments
        What ``run`` is called with for a task, in which may be what ``backend.share`` returned;
        called when it is due. None: the task alone.
    name
        What a task is called in errors.
    kept
        What is kept there is not run, and what was run is kept there.
    on_failure
        Called with a task that failed and its error. None: errors are raised once all others are
        done, see :func:`~gpusched.base.failures.raise_named`.
    on_spent
        Called with the processor time of each task that is done, in seconds; of a task that was
        kept it is what it took when it was run.
    progress
        As for :func:`gpusched.simulate`, in tasks; their number is 0 where ``tasks`` has no length.
    stop
        Ends it.

    Raises
    ------
    Cancelled
        If ``stop`` was set; at once, after what was done has been yielded.
    KeyboardInterrupt
        On Ctrl-C, in the same way.
    BackendLost
        If the backend cannot run anything any more.
    """
    failures = Failures()
    left, total, num_done, told = iter(tasks), operator.length_hint(tasks), 0, 0.0
    pending: dict[Future[Outcome], tuple[Task, tuple[Any, ...], bool]] = {}
    suspects: deque[tuple[Task, tuple[Any, ...]]] = deque()  # they run alone

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
        except Exception as error:  # it cannot travel
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
            died = WorkerDied("its worker ended without a word, and so did one that ran it alone")
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
                # Beside one that runs alone nothing is begun: it would be blamed for the other.
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
    """Return the error of a future that is done, also where others have cancelled it."""
    return CancelledError() if future.cancelled() else future.exception()


class _HeldInterrupt:
    """A Ctrl-C that has come and was not raised yet."""

    def __init__(self) -> None:
        self.has_come = False

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.has_come:  # who insists does not wait
            signal.default_int_handler(number, frame)
        self.has_come = True


@contextmanager
def _held_interrupts() -> Iterator[_HeldInterrupt]:
    """Hold back the first Ctrl-C, for who asks and raises it; a second one is raised at once.

    Where another handler than Python's own is in force, or in other threads than the main one,
    all stays as it is.
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
        with suppress(ValueError):  # a generator that was left is closed by whatever thread
            signal.signal(signal.SIGINT, signal.default_int_handler)
