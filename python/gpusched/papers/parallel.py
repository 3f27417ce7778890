"""Tasks of a study in parallel processes, and what they make, by seed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar

Task = TypeVar("Task")
Part = TypeVar("Part")
Made = TypeVar("Made")


def run_all(run: Callable[[Task], Made], tasks: Sequence[Task]) -> Iterator[tuple[Task, Made]]:
    """Run tasks in as many processes as there are processors; yield them as they are done.

    ``run`` is a function of a module: it, the tasks and what it makes travel between processes.
    Ctrl-C reaches the caller alone, and ends the processes.
    """
    processes = min(os.cpu_count() or 1, len(tasks))
    if processes <= 1:
        for task in tasks:
            yield task, run(task)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_leave_interrupts) as pool:
        yield from pool.imap_unordered(partial(_with_task, run), tasks)


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


def _with_task(run: Callable[[Task], Made], task: Task) -> tuple[Task, Made]:
    return task, run(task)


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that waits; it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
