"""Tasks of a study in parallel processes, and what they make, by seed."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar, cast

from gpusched.base.failures import Failures
from gpusched.papers.common.kept_runs import find, keep

Task = TypeVar("Task")
Part = TypeVar("Part")
Made = TypeVar("Made")


def run_all(
    run: Callable[[Task], Made],
    tasks: Sequence[Task],
    failures: Failures | None = None,
    name: Callable[[Task], str] = str,
) -> Iterator[tuple[Task, Made]]:
    """Run tasks in as many processes as there are processors; yield them as they are done.

    A task that fails is not yielded, and the others go on: its error is then in ``failures`` by its
    ``name``, or without such raised at the end. ``run`` is a function of a module: it, the tasks
    and what it makes travel between processes. Ctrl-C reaches the caller alone, and ends the
    processes. What is kept by :mod:`~gpusched.papers.common.kept_runs` comes first.
    """
    if failures is None:
        failures = Failures()
        yield from run_all(run, tasks, failures, name)
        failures.raise_if_any()
        return
    left = []
    for task in tasks:
        known, made = find(run, (task,))
        if known:
            yield task, cast(Made, made)
        else:
            left.append(task)
    for task, made in _run_left(run, left, failures, name):
        keep(run, (task,), made)
        yield task, made


def _run_left(
    run: Callable[[Task], Made],
    tasks: Sequence[Task],
    failures: Failures,
    name: Callable[[Task], str],
) -> Iterator[tuple[Task, Made]]:
    processes = min(os.cpu_count() or 1, len(tasks))
    done = partial(_with_task, run)
    if processes <= 1:
        yield from _finished(map(done, tasks), failures, name)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_leave_interrupts) as pool:
        yield from _finished(pool.imap_unordered(done, tasks), failures, name)


class BySeed(Generic[Part, Made]):
    """What is made of every part of a study with every seed, in whatever order it comes."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._made: dict[Part, dict[int, Made]] = {part: {} for part in parts}

    def add(self, part: Part, seed: int, made: Made) -> None:
        """Keep what a part made with a seed."""
        self._made[part][seed] = made

    def seeds(self) -> list[int]:
        """Return those that every part was run with, the least first."""
        return sorted(set.intersection(*map(set, self._made.values())))

    def of(self, part: Part) -> list[Made]:
        """Return what a part made with each of :meth:`seeds`."""
        return [self._made[part][seed] for seed in self.seeds()]


def _finished(
    done: Iterable[tuple[Task, Made | None, Exception | None]],
    failures: Failures,
    name: Callable[[Task], str],
) -> Iterator[tuple[Task, Made]]:
    for task, made, error in done:
        if error is not None:
            failures.errors[name(task)] = error
        else:
            yield task, cast(Made, made)


def _with_task(
    run: Callable[[Task], Made], task: Task
) -> tuple[Task, Made | None, Exception | None]:
    try:
        return task, run(task), None
    except Exception as error:
        return task, None, _portable(error)


def _portable(error: Exception) -> Exception:
    """Return an error that survives the way to another process, with where it was raised."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    error.__traceback__ = error.__cause__ = error.__context__ = None
    error.add_note(trace)
    return error


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that waits; it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
