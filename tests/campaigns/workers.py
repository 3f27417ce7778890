"""Processes that work through the cases of a campaign, each with a watchdog."""

import collections
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

Work = Callable[[int], tuple[tuple[str, ...], str]]
"""From the number of a case to the names it counts under and a verdict."""

REPORT_S = 0.5


@dataclass
class Tally:
    """What became of the cases."""

    verdicts: dict[str, int] = field(default_factory=collections.Counter)
    names: list[dict[str, int]] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)

    def add(self, index: int, names: Sequence[str], verdict: str, seconds: float) -> None:
        """Count one case; a verdict of several words is a failure and what it consists in."""
        kind, _, message = verdict.partition(": ")
        self.verdicts[kind] += 1
        if message:
            self.failures.append((index, verdict))
        while len(self.names) < len(names):
            self.names.append(collections.Counter())
        for counter, name in zip(self.names, names, strict=False):
            counter[name] += 1
        self.slowest = max(self.slowest, (seconds, index))

    @property
    def num_cases(self) -> int:
        """How many there were."""
        return sum(self.verdicts.values())


def campaign(
    work: Work, indices: range, num_processes: int, limit_s: float, show: Callable[[Tally], None]
) -> Tally:
    """Run every case; one that raises, takes too long or ends its process has failed."""
    tally = Tally()
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[Any, Any, range]] = {}
    num_heard: dict[Connection, int] = {}

    def begin(part: range) -> None:
        if not part:
            return
        mine, theirs = context.Pipe(duplex=False)
        at = context.Value("q", part.start)
        process = context.Process(target=worker, args=(theirs, work, part, limit_s, at))
        process.start()
        theirs.close()
        running[mine] = process, at, part
        num_heard[mine] = 0

    for first in range(num_processes):
        begin(indices[first::num_processes])
    while running:
        for pipe in wait(list(running), timeout=REPORT_S):
            assert isinstance(pipe, Connection)
            process, at, part = running[pipe]
            try:
                for entry in pipe.recv():
                    tally.add(*entry)
                    num_heard[pipe] += 1
            except EOFError:
                process.join()
                del running[pipe]
                if process.exitcode:
                    index = at.value
                    how = "hung" if process.exitcode == HUNG else "crashed"
                    tally.add(index, (), f"{how}: exit code {process.exitcode}", limit_s)
                    lost = range(part[num_heard[pipe]], index, part.step)
                    begin(lost)  # done, but not told before the process ended
                    begin(range(index + part.step, part.stop, part.step))
        show(tally)
    return tally


HUNG = 17


def worker(pipe: Connection, work: Work, part: range, limit_s: float, at: Any) -> None:
    """Work through some cases in a thread, while this one looks at the clock."""
    done: list[tuple[int, tuple[str, ...], str, float]] = []
    lock = threading.Lock()
    begin = [time.monotonic()]

    def send() -> None:
        with lock:
            entries, done[:] = list(done), []
        if entries:
            pipe.send(entries)

    def run() -> None:
        for index in part:
            at.value = index
            begin[0] = time.monotonic()
            try:
                names, verdict = work(index)
            except BaseException as error:  # a case that is not counted would be a silent success
                names, verdict = (), f"raised: {type(error).__name__}: {error}"
            with lock:
                done.append((index, names, verdict, time.monotonic() - begin[0]))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(REPORT_S)
        send()
        if thread.is_alive() and time.monotonic() - begin[0] > limit_s:
            os._exit(HUNG)  # the thread may be in native code, which nothing interrupts
    send()
    pipe.close()
