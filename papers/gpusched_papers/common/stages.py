"""The stages of a study: what is run, where the caller wants it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from gpusched.base.failures import Failures
from gpusched.execution.choosing import opened
from gpusched.execution.driver import run_tasks
from gpusched.execution.kept_runs import KeptRuns
from gpusched_papers.common.reproduction import Progress
from gpusched_papers.common.spent import Spent

Given = TypeVar("Given", bound=tuple[Any, ...])
Made = TypeVar("Made")

_executor: ContextVar[Any] = ContextVar("executor", default=None)
_kept: ContextVar[KeptRuns | None] = ContextVar("kept", default=None)
_spent: ContextVar[Spent | None] = ContextVar("spent", default=None)


@contextmanager
def running(executor: Any = None, folder: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Have the stages run on an executor, and keep what they make in a folder.

    Parameters
    ----------
    executor
        As for :func:`~gpusched.execution.choosing.backend_for`; None: a process per CPU, as some
        of the policies are written in Python, and the time of a process is that of its run.
    folder
        What is kept there is not run again. None: nothing is kept.
    """
    kept = None if folder is None else KeptRuns(folder)
    with opened(executor or "processes") as backend:
        tokens = _executor.set(backend), _kept.set(kept)
        try:
            yield
        finally:
            _executor.reset(tokens[0])
            _kept.reset(tokens[1])


@contextmanager
def measured() -> Iterator[Spent]:
    """Count the processor time of all parts of the stages that are run here."""
    spent = Spent()
    token = _spent.set(spent)
    try:
        yield spent
    finally:
        _spent.reset(token)


def run_stage(
    stage: str,
    run: Callable[..., Made],
    tasks: Sequence[Given],
    progress: Progress,
    failures: Failures,
    *,
    name: Callable[[Given], str],
    is_timed: bool = False,
) -> Iterator[tuple[Given, Made]]:
    """Call ``run(*task)`` for every task; yield each with what it made, in any order.

    Parameters
    ----------
    run
        A function of a module that says what it returns; see
        :class:`~gpusched.execution.kept_runs.KeptRuns`.
    progress
        Called with the stage, and how many tasks are done, of how many.
    failures
        Takes the first error of each ``name``; the other tasks go on.
    is_timed
        How long it takes is what is asked: nothing else runs at the same time, and it runs here.
    """
    progress(stage, 0, len(tasks))
    if not tasks:
        return

    def fail(task: Given, error: Exception) -> None:
        failures.errors.setdefault(name(task), error)

    where, spent = _executor.get() or "processes", _spent.get()
    with opened("threads:1" if is_timed or (len(tasks) == 1) else where) as backend:
        yield from run_tasks(
            run,
            tasks,
            backend=backend,
            arguments=_spread,
            kept=_kept.get(),
            on_failure=fail,
            on_spent=None if spent is None else partial(spent.add, stage),
            progress=lambda told: progress(stage, told.done, len(tasks)),
        )


def _spread(task: Given) -> Given:
    return task
