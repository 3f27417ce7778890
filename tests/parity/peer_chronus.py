"""Chronus as its authors' program has it where its solver fails, with its habits or without.

The program stands in ElasticFlow's repository. Each lease it asks an integer program for the
leases of all admitted jobs. If that raises, the plans stand, and new jobs take the last leases with
room for them. The log that the repository keeps is of such a run. Its habits: who waited is paid
for the lease before as well; each resume adds work; and of the jobs of a slot those that were
turned down are planned for like the others, with the deadline that would have done.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

PER_RESTART_S = 0.5
"""Work that each resume adds, for each doubling of the GPUs and once more."""


@dataclass(eq=False)
class Task:
    """A job; leases are counted from the next one."""

    submit: int
    duration: int
    deadline: int
    gpus: int
    number: int
    is_guaranteed: bool = False
    is_late: bool = False
    has_outrun: bool = False
    """It ran for as long as was estimated."""
    estimate: int = 0
    progress: int = 0
    since: int = 0
    """Up to when its progress is counted."""
    plan: list[int] = field(default_factory=list)
    charge: float = 0.0
    """Work that its resumes added."""
    end: float = math.nan

    def urgency(self, now: int) -> tuple[bool, bool, float, int, int]:
        """Return its place among those that have no lease, the greatest first."""
        left = self.estimate - self.progress
        area = (self.deadline - now - left if self.is_late else left) * self.gpus
        return self.has_outrun, not self.is_late, -area, -self.submit, -self.number

    def run_to(self, now: int) -> None:
        """Count what was done."""
        self.progress += now - self.since
        self.since = now


@dataclass(frozen=True)
class Line:
    """What the program writes down after a decision."""

    time: int
    free: int
    pending: int
    running: int
    submitted: int


class Program:
    """A run of the program; the times of jobs and the lease are in one unit."""

    def __init__(
        self, tasks: list[Task], gpus: int, lease: int, *, has_habits: bool = True
    ) -> None:
        self.gpus, self.lease, self.has_habits = gpus, lease, has_habits
        self.coming = sorted(tasks, key=lambda task: task.submit)
        self.pending, self.running = list[Task](), list[Task]()
        self.num_leases = 0
        for task in tasks:
            task.estimate = int(task.duration * (1 + self.charge(task) / lease) * 1.1)

    def charge(self, task: Task) -> float:
        """Return what a resume adds to the work."""
        return (1 + math.log2(task.gpus)) * PER_RESTART_S if self.has_habits else 0.0

    def run(self) -> Iterable[Line]:
        """Yield what it writes down, until all jobs have ended."""
        now = 0
        while self.coming or self.pending or self.running:
            self.finish(now)
            self.begin_lease(now)
            arrived = self.admit(now)
            self.fill(now)
            held = sum(task.gpus for task in self.running)
            yield Line(now, self.gpus - held, len(self.pending), len(self.running), arrived)
            now += self.lease

    def finish(self, now: int) -> None:
        """End jobs, and let those that outran their estimates go on as best effort."""
        for task in list(self.running):
            done, work = now - task.since + task.progress, task.duration + task.charge
            if done >= work:
                task.end = task.since + work - task.progress
                self.running.remove(task)
                continue
            if done >= task.estimate:
                task.is_guaranteed, task.is_late, task.has_outrun = False, False, True
            task.run_to(now)

    def begin_lease(self, now: int) -> None:
        """Take all GPUs back, plan those that are new and run those whose lease this is."""
        ran = list(self.running)
        for task in self.running:
            if task.is_guaranteed:
                for _ in range(sum(task.plan) - self.leases(task)):
                    task.plan[task.plan.index(1)] = 0
        self.pending += self.running
        self.running.clear()
        free = self.free_leases()
        fresh = [task for task in self.pending if task.is_guaranteed and not task.plan]
        for task in sorted(fresh, key=lambda task: self.order(task, self.until(task))):
            plan = self.latest(task, self.until(task), free)
            assert plan is not None
            task.plan = plan
        for task in list(self.pending):
            if task.is_guaranteed and task.plan.pop(0):
                if not self.has_habits:
                    task.since = now
                self.start(task, is_resumed=task not in ran)
        self.num_leases += 1

    def start(self, task: Task, *, is_resumed: bool) -> None:
        """Let it run."""
        self.pending.remove(task)
        self.running.append(task)
        task.charge += is_resumed * self.charge(task)

    def admit(self, now: int) -> int:
        """Judge who came since; return how many."""
        arrived = [task for task in self.coming if task.submit <= now]
        del self.coming[: len(arrived)]
        line: list[tuple[Task, int]] = []
        for task in arrived:
            self.pending.append(task)
            until = self.until(task)
            task.is_guaranteed = self.leases(task) <= until and self.fits([*line, (task, until)])
            if task.is_guaranteed:
                task.deadline = self.lease * (until + self.num_leases)
            elif self.has_habits:
                until = max(until, self.leases(task))
                while not self.fits([*line, (task, until)]):
                    until += 1
            else:
                continue
            line.append((task, until))
        return len(arrived)

    def fill(self, now: int) -> None:
        """Give what is left to those without a guarantee, those with the least GPU time first."""
        for task in self.pending:
            task.since = now
            if not task.is_late and task.deadline < now + task.duration - task.progress:
                task.is_guaranteed, task.is_late = False, True
        left = self.gpus - sum(task.gpus for task in self.running)
        self.pending.sort(key=lambda task: task.urgency(now), reverse=True)
        for task in list(self.pending):
            if not task.is_guaranteed and task.gpus <= left:
                left -= task.gpus
                self.start(task, is_resumed=True)

    def leases(self, task: Task) -> int:
        """Return how many leases it still needs by its estimate."""
        return math.ceil((task.estimate - task.progress) / self.lease)

    def until(self, task: Task) -> int:
        """Return how many leases end by the deadline, from the next one on."""
        return task.deadline // self.lease - self.num_leases

    def order(self, task: Task, until: int) -> tuple[int, int, int]:
        """Return its place when several are planned: wide, then tight, then late first."""
        return -task.gpus, until - self.leases(task), -until

    def fits(self, line: list[tuple[Task, int]]) -> bool:
        """Say whether all of them have leases beside the plans that stand."""
        free = self.free_leases()
        ordered = sorted(line, key=lambda entry: self.order(*entry))
        return all(self.latest(task, until, free) is not None for task, until in ordered)

    def latest(self, task: Task, until: int, free: list[int]) -> list[int] | None:
        """Take the last leases that have room; None if there are too few."""
        free += [self.gpus] * (until - len(free))
        room = [lease for lease in range(until) if free[lease] >= task.gpus]
        needed = self.leases(task)
        if len(room) < needed:
            return None
        plan = [0] * until
        for lease in room[-needed:]:
            plan[lease] = 1
            free[lease] -= task.gpus
        return plan

    def free_leases(self) -> list[int]:
        """Return the GPUs that no plan has, by lease; in all further ones it has all."""
        known = [task for task in self.pending + self.running if task.is_guaranteed]
        free = [self.gpus] * max((len(task.plan) for task in known), default=0)
        for task in known:
            for lease, is_mine in enumerate(task.plan):
                free[lease] -= is_mine * task.gpus
        return free
