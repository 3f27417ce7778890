"""The gang policies in the plainest Python: sjf-bco, ff, ls and rand, planned and simulated.

Written from the paper's algorithms and the policies' documentation, over single GPUs, with nothing
kept in order. Times are whole microseconds and ``u`` a power of two, so that all sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from gpusched.reference import rng

Gpu = tuple[int, int]  # server, index
NO_CAP = math.inf


@dataclass(frozen=True)
class Job:
    """A gang; ``servers`` are those it may use."""

    submit_us: int
    service_us: int
    gpus: int
    servers: frozenset[int]


@dataclass(frozen=True)
class Options:
    """A policy and its parameters."""

    policy: str
    order: str
    kappa: int = 0
    inflation: float = 1.0
    u: float = 1.0
    tie: str = "servers-first"
    seed: int = 0

    def packing(self, gpus: int) -> str:
        """The packer of a gang."""
        if self.policy != "sjf-bco":
            return self.policy
        if gpus > self.kappa:
            return "lbsgf"
        return "ls" if self.tie == "least-u" else "fa-ffp"


@dataclass
class Packer:
    """Busy time of every GPU, and who hosts whom."""

    sizes: list[int]
    options: Options
    busy: dict[Gpu, float] = field(default_factory=dict)
    hosted: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.busy = {(s, g): 0.0 for s, size in enumerate(self.sizes) for g in range(size)}
        self.hosted = [0] * len(self.sizes)

    def load(self, job: Job) -> float:
        """In whole ticks."""
        return float(max(1, round(job.service_us / self.options.u)))

    def place(self, number: int, job: Job, cap: float, visible: set[Gpu]) -> list[Gpu] | None:
        """Bind the job, or return None."""
        load = self.load(job)
        mine = {gpu for gpu in visible if gpu[0] in job.servers}
        under = {gpu for gpu in mine if self.busy[gpu] + load <= cap}
        packing = self.options.packing(job.gpus)
        if packing == "lbsgf":
            under &= self.pool(job, mine)
        if len(under) < job.gpus:
            return None
        chosen = getattr(self, packing.replace("-", "_"))(number, job, under)
        assert len(set(chosen)) == job.gpus
        for gpu in chosen:
            self.busy[gpu] += load
        for server in {gpu[0] for gpu in chosen}:
            self.hosted[server] += 1
        return sorted(chosen)

    def least_cap(self, job: Job, visible: set[Gpu]) -> float:
        """The least cap, in whole microseconds, under which the job can be bound."""
        mine = {gpu for gpu in visible if gpu[0] in job.servers}
        if self.options.packing(job.gpus) == "lbsgf":
            mine = self.pool(job, mine)
        return math.ceil(sorted(self.busy[gpu] for gpu in mine)[job.gpus - 1] + self.load(job))

    def pool(self, job: Job, mine: set[Gpu]) -> set[Gpu]:
        """GPUs of the servers with the least mean busy time: just enough of them."""

        def mean(server: int) -> float:
            of_server = [self.busy[server, g] for g in range(self.sizes[server])]
            return sum(of_server) / len(of_server)

        pool: set[Gpu] = set()
        for server in sorted({gpu[0] for gpu in mine}, key=lambda s: (mean(s), s)):
            if len(pool) >= Fraction(str(self.options.inflation)) * job.gpus:
                break
            pool |= {gpu for gpu in mine if gpu[0] == server}
        return pool

    def by_busy(self, gpus: Iterable[Gpu]) -> list[Gpu]:
        return sorted(gpus, key=lambda gpu: (self.busy[gpu], gpu))

    def lbsgf(self, _number: int, job: Job, under: set[Gpu]) -> list[Gpu]:
        return self.by_busy(under)[: job.gpus]

    ls = lbsgf

    def ff(self, _number: int, job: Job, under: set[Gpu]) -> list[Gpu]:
        return sorted(under)[: job.gpus]

    def rand(self, number: int, job: Job, under: set[Gpu]) -> list[Gpu]:
        left = sorted(under)
        bits = (rng.draw(self.options.seed, "placement", number, draw) for draw in range(job.gpus))
        return [left.pop(rng.below(drawn, len(left))) for drawn in bits]

    def fa_ffp(self, _number: int, job: Job, under: set[Gpu]) -> list[Gpu]:
        chosen: list[Gpu] = []
        left = {s: [gpu for gpu in self.by_busy(under) if gpu[0] == s] for s in job.servers}
        while len(chosen) < job.gpus:
            rest = job.gpus - len(chosen)
            fitting = [s for s in left if len(left[s]) >= rest]
            if fitting:
                server = min(fitting, key=lambda s: (self.hosted[s] == 0, len(left[s]), s))
            else:
                server = min(left, key=lambda s: (-len(left[s]), self.hosted[s] == 0, s))
            chosen += left.pop(server)[:rest]
        return chosen


def rank(options: Options, job: Job, number: int) -> tuple[int, int]:
    """Which job is looked at first."""
    return (job.gpus if options.order == "width" else 0, number)


def bind_all(
    sizes: list[int], jobs: list[Job], options: Options, cap: float, *, may_raise: bool
) -> tuple[float, dict[int, list[Gpu]]] | None:
    """Bind a batch; None if the cap admits it not and may not be raised."""
    packer = Packer(sizes, options)
    everywhere = set(packer.busy)
    bound: dict[int, list[Gpu]] = {}
    for number in sorted(range(len(jobs)), key=lambda n: rank(options, jobs[n], n)):
        chosen = packer.place(number, jobs[number], cap, everywhere)
        if chosen is None:
            if not may_raise:
                return None
            cap = packer.least_cap(jobs[number], everywhere)
            chosen = packer.place(number, jobs[number], cap, everywhere)
        assert chosen is not None
        bound[number] = chosen
    return cap, bound


@dataclass
class Run:
    """A simulation in which every job takes its service. ``mode``: idle, ready or in-order."""

    sizes: list[int]
    jobs: list[Job]
    options: Options
    cap: float
    mode: str

    def replay(self) -> dict[int, tuple[int, list[Gpu]]]:
        """Start and GPUs of every job."""
        self.packer = Packer(self.sizes, self.options)
        self.idle = set(self.packer.busy)
        self.running: dict[int, list[Gpu]] = {}
        self.started: dict[int, tuple[int, list[Gpu]]] = {}
        self.waiting: list[int] = []  # idle: arrived; else: in order of binding
        self.bound: dict[int, list[Gpu]] = {}
        instants = {job.submit_us for job in self.jobs}
        while instants:
            self.now = min(instants)
            instants.remove(self.now)
            self.finish()
            arrived = [n for n, job in enumerate(self.jobs) if job.submit_us == self.now]
            arrived.sort(key=lambda n: rank(self.options, self.jobs[n], n))
            if self.mode == "idle":
                self.waiting += arrived
                self.start_idle()
                if not self.running and self.waiting:
                    first = self.in_order()[0]
                    self.cap = self.packer.least_cap(self.jobs[first], self.idle)
                    self.start_idle()
            else:
                self.bind(arrived)
                self.start_bound()
            instants |= {self.end(number) for number in self.running}
        assert len(self.started) == len(self.jobs)
        return self.started

    def end(self, number: int) -> int:
        return self.started[number][0] + self.jobs[number].service_us

    def finish(self) -> None:
        for number in [n for n in self.running if self.end(n) == self.now]:
            gpus = self.running.pop(number)
            self.idle |= set(gpus)
            for server in {gpu[0] for gpu in gpus}:
                self.packer.hosted[server] -= 1

    def start(self, number: int, gpus: list[Gpu]) -> None:
        self.idle -= set(gpus)
        self.running[number] = gpus
        self.started[number] = self.now, gpus
        self.waiting.remove(number)

    def in_order(self) -> list[int]:
        return sorted(self.waiting, key=lambda n: rank(self.options, self.jobs[n], n))

    def start_idle(self) -> None:
        for number in self.in_order():
            job = self.jobs[number]
            if len([gpu for gpu in self.idle if gpu[0] in job.servers]) < job.gpus:
                continue
            gpus = self.packer.place(number, job, self.cap, self.idle)
            if gpus is None:
                # Too few GPUs of the whole cluster, busy ones as well, are under the cap.
                busy = [self.packer.busy[gpu] for gpu in self.packer.busy if gpu[0] in job.servers]
                needed = sorted(busy)[job.gpus - 1] + self.packer.load(job)
                if needed <= self.cap:
                    continue
                self.cap = math.ceil(needed)
                gpus = self.packer.place(number, job, self.cap, self.idle)
            if gpus is not None:
                self.start(number, gpus)

    def bind(self, arrived: list[int]) -> None:
        everywhere = set(self.packer.busy)
        for number in arrived:
            job = self.jobs[number]
            gpus = self.packer.place(number, job, self.cap, everywhere)
            if gpus is None:
                self.cap = self.packer.least_cap(job, everywhere)
                gpus = self.packer.place(number, job, self.cap, everywhere)
            assert gpus is not None
            self.bound[number] = gpus
            self.waiting.append(number)

    def start_bound(self) -> None:
        kept: set[Gpu] = set()  # for those before
        for number in list(self.waiting):
            gpus = set(self.bound[number])
            if gpus <= self.idle and not gpus & kept:
                self.start(number, self.bound[number])
            elif self.mode == "in-order":
                kept |= gpus
