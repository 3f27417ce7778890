"""Gandiva as ElasticFlow's program has it, by its clock and with its charges and slips.

A job is charged at each decision while it runs, moved or not; between the arrivals of two jobs
there is no decision; and a set of servers counts all jobs that it ever had.
"""

import math
from dataclasses import dataclass, field

WIDTHS = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64)
TURN_S = 60
"""Jobs take turns at decisions that happen to be at multiples of this."""


@dataclass(eq=False)
class Task:
    """A job; times in seconds."""

    id: str
    submit: int
    duration: int
    gpus: int
    done: float = 0.0
    charge: float = 0.0
    """Of the next time that it runs."""
    has_pended: bool = False
    end: float = math.nan


@dataclass(eq=False)
class NodeSet:
    """Whole servers, and the jobs that take turns there."""

    nodes: int
    capacity: int
    jobs: list[Task] = field(default_factory=list)
    ever: int = 0


class Program:
    """A run of the program; ``ends`` are found by job."""

    def __init__(self, tasks: list[Task], nodes: int, gpus: int, slot_s: int) -> None:
        self.free, self.gpus, self.slot_s = nodes, gpus, slot_s
        self.num_gpus = nodes * gpus
        arrivals: dict[int, list[Task]] = {}
        for task in tasks:
            arrivals.setdefault(task.submit, []).append(task)
        self.events = sorted(arrivals.items())
        self.sets: dict[int, list[NodeSet]] = {width: [] for width in WIDTHS}
        self.pending, self.running = list[Task](), list[Task]()

    def run(self) -> None:
        """Run all jobs."""
        now, passed, decisions = self.events[0][0], 0, 0
        while self.events or self.pending or self.running:
            self.share()
            has_released = self.execute(passed, takes_turns=now % TURN_S == 0, now=now)
            if self.events and self.events[0][0] == now:
                for task in self.events.pop(0)[1]:
                    task.has_pended = not self.place(task)
                    (self.pending if task.has_pended else self.running).append(task)
            if has_released:
                # What follows one that is taken out is not looked at.
                for task in self.pending:
                    if self.place(task):
                        self.pending.remove(task)
                        self.running.append(task)
            if not self.events:
                now, passed = now + self.slot_s, self.slot_s
                continue
            is_restart = decisions > 0 and decisions % self.slot_s == 0
            decisions += 1
            for task in self.running:
                task.charge = 2 + 27 * is_restart + 2 * (math.log2(task.gpus) + 1)
            now, passed = self.next_decision(now)

    def next_decision(self, now: int) -> tuple[int, int]:
        """Return when arrivals are looked at next: a slot or more later, but for the last one."""
        while self.events[0][0] - now <= self.slot_s and len(self.events) > 1:
            self.events[0] = (now + self.slot_s, self.events[0][1])
            if self.events[1][0] - now > self.slot_s:
                break
            self.events[0][1].extend(self.events.pop(1)[1])
        return self.events[0][0], self.events[0][0] - now

    def share(self) -> None:
        """Give widths servers by the GPUs that their jobs ask for."""
        wanted = {g: g * sum(len(known.jobs) for known in sets) for g, sets in self.sets.items()}
        for width, sets in self.sets.items():
            if not wanted[width]:
                continue
            part = math.floor(wanted[width] / sum(wanted.values()) * self.num_gpus)
            more = min(part, wanted[width]) - self.gpus * sum(known.nodes for known in sets)
            if more > 0:
                self.expand(width, math.ceil(more / width))
            elif more < 0:
                self.shrink(width, math.ceil(-more / width))

    def expand(self, width: int, number: int) -> None:
        """Add sets; jobs are dealt out anew unless the last one has a single server."""
        sets, nodes, has_last = self.sets[width], math.ceil(width / self.gpus), False
        for _ in range(number):
            has_last = nodes <= self.free
            if has_last:
                self.free -= nodes
                sets.append(NodeSet(nodes, nodes * self.gpus // width))
        if has_last and nodes == 1:
            return
        tasks = [task for known in sets for task in known.jobs]
        for known in sets:
            known.jobs, known.ever = [], 0
        for task in tasks:
            self.join(width, task)

    def shrink(self, width: int, number: int) -> None:
        """Take sets away, those that ever had the fewest jobs, but for the last one."""
        sets = self.sets[width]
        gone = sets[: min(number, len(sets) - 1)]
        del sets[: len(gone)]
        self.free += sum(known.nodes for known in gone)
        for task in [task for known in gone for task in known.jobs]:
            self.join(width, task)

    def join(self, width: int, task: Task) -> None:
        """Put the job into the first set."""
        sets = self.sets[width]
        sets[0].jobs.append(task)
        sets[0].ever += 1
        sets.sort(key=lambda known: known.ever)

    def place(self, task: Task) -> bool:
        """Put the job into a set that has room but for one gang, or into a new one, or any."""
        sets, nodes = self.sets[task.gpus], math.ceil(task.gpus / self.gpus)
        if sets:
            # It is tried and put back behind the others.
            first = sets.pop(0)
            has_room = first.ever + 1 < first.capacity
            sets.append(first)
            if has_room:
                self.add(first, task)
                return True
        if nodes <= self.free:
            self.free -= nodes
            sets.append(NodeSet(nodes, nodes * self.gpus // task.gpus))
            self.add(sets[-1], task)
        elif sets:
            sets.append(sets.pop(0))
            self.add(sets[-1], task)
        else:
            return False
        return True

    def add(self, known: NodeSet, task: Task) -> None:
        """Put the job there."""
        known.jobs.append(task)
        known.ever += 1
        self.sets[task.gpus].sort(key=lambda known: known.ever)

    def execute(self, passed: int, *, takes_turns: bool, now: int) -> bool:
        """Let the first of each set have run; return whether a server is free again."""
        has_released = False
        for sets in self.sets.values():
            for known in list(sets):
                front = known.jobs[: known.capacity]
                for task in front:
                    task.done += max(passed - task.charge, 0)
                    task.charge = 0.0
                    if task.done >= task.duration:
                        task.end = now - (task.done - task.duration)
                        self.running.remove(task)
                if takes_turns and len(known.jobs) > len(front):
                    known.jobs = known.jobs[len(front) :] + front
                known.jobs = [task for task in known.jobs if math.isnan(task.end)]
                if not known.jobs:
                    sets.remove(known)
                    self.free += known.nodes
                    has_released = True
        for task in self.running:
            if task.has_pended:
                task.charge = 0.0
        return has_released
