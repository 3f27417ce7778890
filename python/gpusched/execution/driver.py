"""Tasks on a backend: some at a time, whatever becomes of the workers, until all are done."""

from __future__ import annotations

import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar, cast

from gpusched.base.failures import Failures
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.execution.backend import Backend, BackendLost, Fate, WorkerDied
from gpusched.execution.calls import Outcome, outcome_of, portable_outcome_of
from gpusched.execution.interrupts import HeldInterrupt, held_interrupts
from gpusched.execution.kept_runs import KeptRuns
from gpusched.execution.threads import Threads

Task = TypeVar("Task")
Made = TypeVar("Made")
OnFailure = Callable[[Task, Exception], None]
OnSpent = Callable[[float], None]

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
    on_failure: OnFailure[Task] | None = None,
    on_spent: OnSpent | None = None,
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
        What ``run`` is called with for a task, in which handles of ``backend.share`` may be;
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

    def collect(task: Task, error: Exception) -> None:
        failures.errors[name(task)] = error

    driver = _Driver(
        run, tasks, backend, arguments or _alone, kept,
        on_failure or collect, on_spent or _dropped, stop,
    )  # fmt: skip
    try:
        with held_interrupts() as interrupt:
            yield from driver.results(interrupt, progress)
    except BaseException:
        driver.leave()
        raise
    failures.raise_if_any()


def _alone(task: Any) -> tuple[Any, ...]:
    return (task,)


def _dropped(_: float) -> None:
    pass


@dataclass(slots=True)
class _Attempt(Generic[Task]):
    """A task with what it is run on, and how often it was lost with its worker."""

    task: Task
    args: tuple[Any, ...]
    num_lost: int = 0
    is_alone: bool = False


class _Driver(Generic[Task, Made]):
    def __init__(
        self,
        run: Callable[..., Made],
        tasks: Iterable[Task],
        backend: Backend,
        arguments: Callable[[Task], tuple[Any, ...]],
        kept: KeptRuns | None,
        on_failure: OnFailure[Task],
        on_spent: OnSpent,
        stop: threading.Event | None,
    ) -> None:
        self._run = run
        self._total = operator.length_hint(tasks)
        self._left = iter(tasks)
        self._backend = backend
        self._arguments = arguments
        self._kept = kept
        self._on_failure = on_failure
        self._on_spent = on_spent
        self._stop = stop
        self._call = outcome_of if isinstance(backend, Threads) else portable_outcome_of
        self._pending: dict[Future[Outcome], _Attempt[Task]] = {}
        self._done: SimpleQueue[Future[Outcome]] = SimpleQueue()
        self._again: deque[_Attempt[Task]] = deque()
        self._suspects: deque[_Attempt[Task]] = deque()
        self._num_done = 0

    def results(
        self, interrupt: HeldInterrupt, progress: OnProgress | None
    ) -> Iterator[tuple[Task, Made]]:
        told = 0.0
        while True:
            is_ending = interrupt.has_come or is_asked(self._stop)
            if not is_ending:
                for task, made in self._fill():
                    yield task, made
                    if interrupt.has_come or is_asked(self._stop):
                        break
                else:
                    if not self._pending:
                        break
            future = self._next(0.0 if is_ending else _POLL_SECONDS)
            if future is not None:
                yield from self._settled(future)
            elif is_ending:
                if interrupt.has_come:
                    raise KeyboardInterrupt
                raise Cancelled(self._num_done, max(self._total, self._num_done), "runs")
            if progress is not None and time.monotonic() - told >= _POLL_SECONDS:
                told = time.monotonic()
                progress(Progress(self._num_done, max(self._total, self._num_done)))
        if progress is not None:
            progress(Progress(self._num_done, self._num_done))

    def leave(self) -> None:
        """End what is under way; keep what is done, though nobody takes it."""
        done = [future for future in self._pending if future.done() and not future.cancelled()]
        try:
            for future in done if self._kept is not None else ():
                outcome = None if future.exception() else future.result()
                if outcome is not None and outcome.error is None:
                    self._keep(self._pending[future].task, outcome)
        finally:
            for future in self._pending:
                future.cancel()
            self._backend.interrupt()

    def _fill(self) -> Iterator[tuple[Task, Made]]:
        """Submit as much as there is room for; yield what is kept on the way."""
        window = 2 * self._backend.num_slots + _AHEAD
        while len(self._pending) < window:
            if self._suspects:
                if not self._pending:
                    attempt = self._suspects.popleft()
                    attempt.is_alone = True
                    self._submit(attempt)
                return
            if self._again:
                self._submit(self._again.popleft())
                continue
            try:
                task = next(self._left)
            except StopIteration:
                return
            known = None if self._kept is None else self._kept.find(self._run, task)
            if known is not None:
                yield task, self._done_with(known)
                continue
            try:
                args = self._arguments(task)
            except Exception as error:
                self._fail(task, error)
            else:
                self._submit(_Attempt(task, args))

    def _submit(self, attempt: _Attempt[Task]) -> None:
        submit = self._backend.submit_alone if attempt.is_alone else self._backend.submit
        try:
            future = submit(self._call, self._run, *attempt.args)
        except BackendLost:
            raise
        except Exception as error:  # it cannot travel
            self._fail(attempt.task, error)
            return
        self._pending[future] = attempt
        future.add_done_callback(self._done.put)

    def _next(self, timeout: float) -> Future[Outcome] | None:
        try:
            return self._done.get(timeout=timeout) if timeout else self._done.get_nowait()
        except Empty:
            return None

    def _settled(self, future: Future[Outcome]) -> Iterator[tuple[Task, Made]]:
        """Yield what a task made, or see to it that it is run again, or has failed."""
        attempt = self._pending.pop(future)
        error = future.exception()
        if error is not None:
            self._lost(attempt, self._backend.fate(future), error)
            return
        outcome = future.result()
        if outcome.error is not None:
            self._fail(attempt.task, outcome.error)
            return
        self._keep(attempt.task, outcome)
        yield attempt.task, self._done_with(outcome)

    def _keep(self, task: Task, outcome: Outcome) -> None:
        if self._kept is not None:
            self._kept.keep(self._run, task, outcome)

    def _done_with(self, outcome: Outcome) -> Made:
        self._num_done += 1
        self._on_spent(outcome.processor_s)
        return cast(Made, outcome.made)

    def _lost(self, attempt: _Attempt[Task], fate: Fate, error: BaseException) -> None:
        attempt.num_lost += 1
        if fate is Fate.FAILED:
            self._fail(attempt.task, error if isinstance(error, Exception) else _named(error))
        elif attempt.is_alone:
            died = WorkerDied("its worker ended without a word, and so did one that ran it alone")
            died.__cause__ = error
            self._fail(attempt.task, died)
        elif fate is Fate.UNTOUCHED and attempt.num_lost == 1:
            self._again.append(attempt)
        else:
            self._suspects.append(attempt)

    def _fail(self, task: Task, error: Exception) -> None:
        self._num_done += 1
        self._on_failure(task, error)


def _named(error: BaseException) -> Exception:
    named = RuntimeError(f"{type(error).__name__}: {error}")
    named.__cause__ = error
    return named
