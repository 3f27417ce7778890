"""Open runs that are stepped, changed, forked, saved and asked in any order, at one instant too.

    python -m tests.campaigns.open_runs [--sequences 50000] [--seed 1] [--jobs 1] [--threads 1]
    python -m tests.campaigns.open_runs --seed S --only I

Each sequence draws a run of a few jobs and up to eight things done to it (``tests/reference/
open_run_cases.py``); it, and each fork, then has to equal a run that was told the same from its
start, by the plain rule of each scheduler, the readable engine where that has the policies, and,
where nobody knows run times, a run whose cancelled jobs had been longer. What a run shows on its
way is looked at, a change that is refused has changed nothing, and the audit finds no fault.
Sequence I of seed S is the same for ever. With ``--threads`` so many sequences of a process run at
a time.

Of the first that differ, crash or hang, the smallest that taking things away leads to is printed
as a program. Exit code 1 if there was one.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import select
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import gpusched as gs
from tests.campaigns.open_run_machine import PYTHON_SJF, Machine
from tests.campaigns.trials import Difference, shrunk
from tests.campaigns.workers import Tally, campaign
from tests.reference.drawing import Seeded
from tests.reference.open_run_cases import Choice, Course, sequence

NUM_SHOWN = 10
NUM_TRIES = 400
LIMIT_S = 30.0
ONCE = gs.decide, gs.resume, gs.online.ClusterState
"""Imported before processes are forked, and not by each of them."""
PLAIN = Choice("fifo")


def course_of(seed: int, index: int) -> Course:
    """Return a sequence of a campaign."""
    return sequence(Seeded(f"open-runs/{seed}/{index}"))


def play(course: Course) -> tuple[str, Machine | None]:
    """Return ``same`` or how a sequence fails, and what was done."""
    machine = None
    try:
        machine = Machine(course.start)
        for move in course.moves:
            machine.do(move)
        machine.end()
    except Difference as difference:
        return f"differs: {difference}", machine
    except Exception as error:
        return f"broken: {type(error).__name__}: {error}", machine
    return "same", machine


def check(seed: int, threads: int, index: int) -> tuple[tuple[str, ...], str]:
    """Return the names of a sequence and the verdict; with threads, of as many as there are."""
    warnings.simplefilter("ignore")
    numbers = range(index * threads, (index + 1) * threads)
    courses = [course_of(seed, number) for number in numbers]
    start = courses[0].start
    names = start.pool, start.policy.name, start.placement, start.predictor
    if threads == 1:
        return names, play(courses[0])[0]
    with ThreadPoolExecutor(threads) as pool:
        verdicts = [verdict for verdict, _ in pool.map(play, courses)]
    wrong = [f"{v} (--only {n})" for n, v in zip(numbers, verdicts, strict=True) if v != "same"]
    return names, wrong[0] if wrong else "same"


def kind_of(verdict: str) -> str:
    """Return a verdict without its numbers."""
    return re.sub(r"[\d\[\], -]+", "#", verdict)[:60]


def in_child(course: Course, limit_s: float) -> str:
    """Play a sequence in a process of its own; return the kind of the verdict."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            warnings.simplefilter("ignore")
            os.write(writes, kind_of(play(course)[0]).encode())
        finally:
            os._exit(0)
    os.close(writes)
    try:
        ready, _, _ = select.select([reads], [], [], limit_s)
        if not ready:
            os.kill(child, signal.SIGKILL)
            return "hung"
        return os.read(reads, 1000).decode() or "crashed"
    finally:
        os.waitpid(child, 0)
        os.close(reads)


@dataclass(frozen=True)
class Failing:
    """A sequence that fails in one way, to be made smaller."""

    course: Course
    kind: str
    limit_s: float = LIMIT_S

    @property
    def names(self) -> tuple[str, str, str]:
        """Policy, placement and pool."""
        start = self.course.start
        return start.policy.name, start.placement, start.pool

    def check(self) -> str:
        """Raise a Difference if it fails in that way."""
        if in_child(self.course, self.limit_s) == self.kind:
            raise Difference(self.kind)
        return "same"

    def save(self, path: object) -> None:
        """It is no case."""

    def smaller(self) -> Iterator[Failing]:
        """Return it with less in it."""
        for course in smaller(self.course):
            yield replace(self, course=course)


def smaller(course: Course) -> Iterator[Course]:
    """Return a sequence without some of its moves, jobs, servers and parameters."""
    start, moves = course.start, course.moves
    for number in range(len(moves)):
        yield replace(course, moves=moves[:number] + moves[number + 1 :])
    for number in range(len(start.jobs) if len(start.jobs) > 1 else 0):
        rest = tuple(
            replace(job, id=place)
            for place, job in enumerate(start.jobs[:number] + start.jobs[number + 1 :])
        )
        yield replace(course, start=replace(start, jobs=rest))
    if len(start.servers) > 1:
        for number in range(len(start.servers)):
            rest_ = start.servers[:number] + start.servers[number + 1 :]
            yield replace(course, start=replace(start, servers=rest_))
    if start.policy not in (PLAIN, replace(start.policy, params=())):
        yield replace(course, start=replace(start, policy=replace(start.policy, params=())))
    if start.policy != PLAIN:
        yield replace(course, start=replace(start, policy=PLAIN))
    for number, move in enumerate(moves):
        simpler = [replace(move, asks=False)] if move.asks else []
        if move.policy is not None and move.policy.params:
            simpler.append(replace(move, policy=replace(move.policy, params=())))
        if move.policy is not None and move.policy != PLAIN:
            simpler.append(replace(move, policy=PLAIN))
        if len(move.jobs) > 1:
            simpler.append(replace(move, jobs=move.jobs[:1]))
        for each in simpler:
            yield replace(course, moves=(*moves[:number], each, *moves[number + 1 :]))
    for number, job in enumerate(start.jobs):
        plain = replace(job, types=None, gpus=1, priority=job.priority and 0)
        for other in (plain, replace(job, types=None), replace(job, submit_us=0),
                      replace(job, service_us=start.unit)):  # fmt: skip
            if other != job:
                changed = (*start.jobs[:number], other, *start.jobs[number + 1 :])
                yield replace(course, start=replace(start, jobs=changed))


def describe(course: Course, verdict: str) -> None:
    """Print a failure, as small as it can be made, as a program."""
    failing = Failing(course, in_child(course, LIMIT_S))
    smallest = shrunk(failing, NUM_TRIES) if failing.kind != "same" else failing
    assert isinstance(smallest, Failing)
    print(f"{verdict[:1000]}\n{program(smallest)}", flush=True)


def program(failing: Failing) -> str:
    """Return what a sequence does, as Python."""
    course = failing.course
    if failing.kind in ("crashed", "hung"):
        return (
            "# " + failing.kind + "\n"
            "from tests.campaigns.open_runs import play\n"
            "from tests.reference.open_run_cases import Choice, Course, Move, Row, Start\n"
            f"play({course!r})"
        )
    verdict, machine = play(course)
    lines = [] if machine is None else machine.lines
    if any("PythonSjf" in line for line in lines):
        lines = [lines[0], PYTHON_SJF, *lines[1:]]
    return "\n".join([*lines, f"# {verdict}"])


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sequences", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one sequence, as it is and made smaller")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--seconds", type=float, default=60.0, help="that a sequence may take")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    given = parsed(arguments)
    warnings.simplefilter("ignore")
    if given.only is not None:
        course = course_of(given.seed, given.only)
        verdict = in_child(course, given.seconds)
        print(program(Failing(course, verdict)))
        if verdict != "same":
            describe(course, verdict)
        return 0 if verdict == "same" else 1
    begin = time.monotonic()
    indices = range(given.sequences // given.threads)
    work = functools.partial(check, given.seed, given.threads)
    tally = campaign(work, indices, given.jobs, given.seconds, show)
    seconds = time.monotonic() - begin
    for title, counts in zip(("pool", "policy", "placement", "predictor"), tally.names,
                             strict=False):  # fmt: skip
        print(f"{title}: {', '.join(f'{name} {n:,}' for name, n in sorted(counts.items()))}")
    print(
        f"{tally.num_cases * given.threads:,} sequences in {seconds:.0f} s: "
        f"{len(tally.failures):,} failed"
    )
    kinds = Counter(kind_of(verdict) for _, verdict in tally.failures)
    for kind, count in kinds.most_common():
        print(f"{count:,} {kind}", flush=True)
    shown: set[str] = set()
    for index, verdict in sorted(tally.failures):
        number = index * given.threads
        if (found := re.search(r"\(--only (\d+)\)$", verdict)) is not None:
            number = int(found[1])
        if kind_of(verdict) in shown or len(shown) == NUM_SHOWN:
            continue
        shown.add(kind_of(verdict))
        print(f"\n--seed {given.seed} --only {number}: ", end="")
        describe(course_of(given.seed, number), verdict)
    return 1 if tally.failures else 0


shown_thousands = [0]


def show(tally: Tally) -> None:
    """Show how far it is: as it goes to who looks, each thousand cases to a log."""
    so_far = f"{tally.num_cases:,}, {len(tally.failures):,} failed"
    if sys.stderr.isatty():
        print(f"\r{so_far}", end="", file=sys.stderr)
    elif tally.num_cases // 1000 > shown_thousands[-1]:
        shown_thousands.append(tally.num_cases // 1000)
        print(so_far, flush=True)


if __name__ == "__main__":
    sys.exit(main())
