"""Gavel: time fractions per GPU type from a linear program, followed in rounds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar, Final, Protocol

import numpy as np

from gpusched import _core
from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended, listen
from gpusched.plugins.registry import built_in
from gpusched.plugins.schedulers.gavel_programs import (
    PROGRAMS,
    Array,
    Jobs,
    isolated_share,
    iterations,
    solved,
    unaware,
)
from gpusched.plugins.schedulers.type_parts import (
    Parts,
    best_parts,
    rates_by_type,
    start_first,
    want,
)


class Held:
    """Allocations by job and the free GPUs of each type, updated incrementally."""

    def __init__(self, capacity: Iterable[int]) -> None:
        self.parts: dict[int, Parts] = {}
        self.since_us: dict[int, int] = {}
        self.free = list(capacity)  # negative if several jobs share a GPU
        self._restarting: dict[int, int] = {}  # when a job's restart ends
        self._started: set[int] = set()

    def hold(self, parts: Mapping[int, Parts], state: Any) -> None:
        """Allocate GPUs to jobs that hold none; those that ran before pay a restart."""
        now_us = state.now_us
        self.parts.update(parts)
        self.since_us.update(dict.fromkeys(parts, now_us))
        for held in parts.values():
            for kind, gpus in held:
                self.free[kind] -= gpus
        again = [job for job in parts if job in self._started]
        if again:
            costs = state.restart_us(np.array(again, dtype=np.int64)).tolist()
            self._restarting.update(
                {job: now_us + cost for job, cost in zip(again, costs, strict=True) if cost}
            )
        self._started.update(parts)

    def release(self, job: int) -> None:
        """Release what a job holds, if anything."""
        for kind, gpus in self.parts.pop(job, ()):
            self.free[kind] += gpus
        self.since_us.pop(job, None)
        self._restarting.pop(job, None)

    def forget(self, job: int) -> None:
        """Drop a job that has ended or was cancelled."""
        self.release(job)
        self._started.discard(job)

    def kind(self, job: int) -> int:
        """Return the single type of a job, or -1 if it holds none or several."""
        parts: Sequence[tuple[int, int]] = self.parts.get(job, ())
        return parts[0][0] if len(parts) == 1 else -1

    def restarting(self, now_us: int) -> list[tuple[int, Parts]]:
        """Return the jobs that are restarting, and their allocations, by JobId."""
        jobs = sorted(job for job, until_us in self._restarting.items() if now_us <= until_us)
        return [(job, self.parts[job]) for job in jobs]

    def changes_to(self, wanted: Mapping[int, Parts]) -> tuple[dict[int, Parts], list[int]]:
        """Return the jobs with a new target allocation, and those that stop."""
        changed = {job: parts for job, parts in wanted.items() if self.parts.get(job) != parts}
        return changed, [job for job in self.parts if job not in wanted]


Kind = tuple[int, tuple[float, ...], bool]
"""Number of GPUs, speed on each GPU type, and whether some type holds the whole job."""


class Waiting:
    """Waiting jobs of each kind, by JobId, with lazy deletion."""

    def __init__(self) -> None:
        self.kinds: dict[int, Kind] = {}  # of all active jobs
        self.waiting: set[int] = set()
        self.lines: dict[Kind, list[int]] = {}  # heaps

    def meet(self, jobs: Iterable[int], kinds: Iterable[Kind]) -> None:
        """Add jobs that have just arrived."""
        self.kinds.update(zip(jobs, kinds, strict=True))
        self.put_back(jobs)

    def forget(self, job: int) -> None:
        """Remove a job that has ended or was cancelled."""
        self.kinds.pop(job, None)
        self.waiting.discard(job)

    def put_back(self, jobs: Iterable[int]) -> None:
        """Add the active jobs that are not in the queue."""
        for job in jobs:
            if job in self.kinds and job not in self.waiting:
                self.waiting.add(job)
                heappush(self.lines.setdefault(self.kinds[job], []), job)

    def start(self, job: int) -> None:
        """Remove a job that now holds GPUs, lazily."""
        self.waiting.discard(job)

    def fill(self, wanted: dict[int, Parts], free: list[int]) -> None:
        """Give free GPUs to the waiting jobs that gain the most from them, by JobId."""
        self.waiting.difference_update(wanted)
        if not any(free):
            return
        heads = [(line[0], kind) for kind in list(self.lines) if (line := self._line(kind))]
        heapify(heads)
        while heads and any(free):
            job, kind = heappop(heads)
            width, rates, is_whole = kind
            if parts := best_parts(rates, width, free, is_whole=is_whole):
                want(wanted, free, job, parts)
                self.waiting.remove(job)
                if line := self._line(kind):
                    heappush(heads, (line[0], kind))

    def _line(self, kind: Kind) -> list[int]:
        """Return the queue after removing deleted jobs at its head; drop it if it is empty."""
        line = self.lines[kind]
        while line and line[0] not in self.waiting:
            heappop(line)
        if not line:
            del self.lines[kind]
        return line


_NOWHERE: Final = -1  # instead of a type: a job without fractions
_SEVERAL: Final = -2

_BLOCK: Final = 1 << 16  # pairs processed between checks for a stop


class Fractions:
    """The solution of the last program, by type, and the time that jobs have received since."""

    def __init__(self, num_types: int, now_us: int) -> None:
        self.given: dict[int, Array] = {}
        self.solved_us = now_us
        self._types = np.arange(num_types)
        self._only: dict[int, int] = {}  # type of the jobs with a fraction of only one
        self._row: dict[int, int] = {}
        self._received: Array  # microseconds on each type since then, without present intervals

    def clear(self, now_us: int) -> None:
        """Discard the last solution before a new one."""
        self.given, self._only, self._row = {}, {}, {}
        self.solved_us = now_us

    def take(self, ids: list[int], fractions: Array) -> None:
        """Follow these fractions from now on, one row per job."""
        self.given = dict(zip(ids, fractions, strict=True))
        many = np.count_nonzero(fractions > 0, axis=1)
        only = np.select([many == 0, many == 1], [_NOWHERE, fractions.argmax(axis=1)], _SEVERAL)
        self._only = dict(zip(ids, only.tolist(), strict=True))
        self._row = dict(zip(ids, range(len(ids)), strict=True))
        self._received = np.zeros(fractions.shape)

    def forget(self, job: int) -> None:
        """Drop a job that has ended or was cancelled."""
        for known in (self.given, self._only, self._row):
            known.pop(job, None)

    def count(self, job: int, kind: int, since_us: int, now_us: int) -> None:
        """Charge a job for its time on a type."""
        if job in self._row:
            self._received[self._row[job], kind] += now_us - max(since_us, self.solved_us)

    def are_held(self, held: Mapping[int, Parts], widths: Mapping[int, int]) -> bool:
        """Whether each of these jobs is on the only type of its fractions, if any."""
        for job, parts in held.items():
            kind = self._only.get(job, _NOWHERE)
            if kind != _NOWHERE and parts != [(kind, widths[job])]:
                return False
        return True

    def by_priority(self, ids: list[int], held: Held, now_us: int) -> Iterator[tuple[int, int]]:
        """Yield pairs of a job and a type by the fraction over the time received."""
        fractions = np.array([self.given[job] for job in ids])
        elapsed = max(1, now_us - self.solved_us)
        on = np.array([held.kind(job) for job in ids])
        since_us = np.array([held.since_us.get(job, now_us) for job in ids])
        received = self._received[[self._row[job] for job in ids]]
        runs = on >= 0
        received[runs, on[runs]] += now_us - np.maximum(since_us[runs], self.solved_us)
        had = received / elapsed
        priority = np.where(had > 0, fractions / np.maximum(had, 1e-12), fractions * 1e9)
        is_new = on[:, None] != self._types
        rows, kinds = np.nonzero(fractions > 0)
        order = np.lexsort((kinds, rows, is_new[rows, kinds], -priority[rows, kinds]))
        for begin in range(0, len(order), _BLOCK):
            listen()
            block = order[begin : begin + _BLOCK]
            for row, kind in zip(rows[block].tolist(), kinds[block].tolist(), strict=True):
                yield ids[row], kind


_SHUFFLER = 5  # among the random streams of the authors' simulator


class SimulatorRounds:
    """Rounds as in the simulator of Gavel's authors.

    A round begins when the last one ends, and ends with the last of its running jobs; later
    arrivals wait. Each GPU type in turn goes to jobs by their fraction over their part of that
    type's time, and finally to those without a fraction.

    ``round_us``, ``reset_us``: the longest round, and the minimum time between two solutions.
    ``shuffles``: whether the types are ordered randomly, by ``seed``, instead of as in the cluster.
    ``idles``: whether GPUs stay free instead of going to jobs without a fraction.
    """

    def __init__(
        self,
        num_types: int,
        round_us: int,
        reset_us: int,
        *,
        shuffles: bool,
        idles: bool,
        seed: int,
    ) -> None:
        self.num_types, self.round_us, self.reset_us = num_types, round_us, reset_us
        self.shuffler = random.Random(seed + _SHUFFLER) if shuffles else None
        self.idles = idles
        self.ends_us = -1
        self.counted_us = 0
        self.last_reset_us = 0
        self.had: dict[int, Array] = {}  # by job: time on each type since the last solution
        self.deficit: dict[int, Array] = {}
        self.all_had = np.zeros(num_types)
        self.isolated: dict[int, tuple[float, float, float]] = {}

    def meet(self, job: int) -> None:
        """Add a job, which counts as if it had had half a round on each type."""
        self.had[job] = np.full(self.num_types, self.round_us / 2)
        self.deficit[job] = np.zeros(self.num_types)

    def forget(self, job: int) -> None:
        """Remove a job; its time still counts for the types."""
        del self.had[job], self.deficit[job]
        self.isolated.pop(job, None)

    def count(self, job: int, kind: int, time_us: int) -> None:
        """Add a job's time on a type."""
        if job in self.had:
            self.had[job][kind] += time_us
        self.all_had[kind] += time_us

    def count_all(self, held: Mapping[int, Parts], now_us: int) -> None:
        """Add the time since the last call for these jobs."""
        for job, parts in held.items():
            if len(parts) == 1:
                self.count(job, parts[0][0], now_us - self.counted_us)
        self.counted_us = now_us

    def is_due(self, now_us: int, *, is_idle: bool) -> bool:
        """Whether a round begins: the last one is over, or none of its jobs runs any more."""
        return is_idle or now_us >= self.ends_us

    def may_reset(self, now_us: int, *, is_idle: bool) -> bool:
        """Whether a new solution may be followed from now on."""
        return is_idle or self.last_reset_us == 0 or now_us - self.last_reset_us >= self.reset_us

    def reset(self, now_us: int, fractions: Mapping[int, Array]) -> None:
        """Record what each job lacks of the old fractions, and restart the count."""
        elapsed = now_us - self.last_reset_us
        self.all_had[:] = 0.0
        for job, had in self.had.items():
            due = fractions[job] * elapsed if job in fractions else 0.0
            self.deficit[job] += due - (had - self.round_us / 2)
            had[:] = self.round_us / 2
            self.all_had += had
        self.last_reset_us = now_us

    def begin(self, now_us: int) -> None:
        """Begin a round."""
        self.ends_us = now_us + self.round_us

    def pairs(self, fractions: Mapping[int, Array]) -> Iterator[tuple[int, int]]:
        """Jobs and types in the order in which they are tried."""
        kinds = list(range(self.num_types))
        if self.shuffler is not None:
            self.shuffler.shuffle(kinds)
        none = np.zeros(self.num_types)
        for kind in kinds:
            keyed = []
            for job, had in self.had.items():
                fraction = float(fractions.get(job, none)[kind])
                priority = fraction * 1e9
                if self.all_had[kind] > 0 and had[kind] > 0:
                    priority = fraction / (had[kind] / self.all_had[kind])
                keyed.append((priority, self.deficit[job][kind], fraction, job))
            keyed.sort(key=lambda entry: entry[:3], reverse=True)  # stable: ties by arrival
            for _, _, fraction, job in keyed:
                if fraction > 0 or not self.idles:
                    yield job, kind

    def fill(
        self,
        wanted: dict[int, Parts],
        free: list[int],
        fractions: Mapping[int, Array],
        rates: Mapping[int, tuple[float, ...]],
        widths: Mapping[int, int],
    ) -> None:
        """Give the free GPUs of each type to jobs that have none yet."""
        taken = set(wanted)
        for job, kind in self.pairs(fractions):
            width = widths[job]
            if job in taken or rates[job][kind] <= 0 or free[kind] < width:
                continue
            taken.add(job)
            free[kind] -= width
            # Jobs that arrived after the solution take a place but do not run.
            if job in fractions:
                wanted[job] = [(kind, width)]

    def isolated_time(self, ids: list[int], alone: Array, left: Array) -> Array:
        """Return the time that the work so far would have taken with past equal shares.

        ``alone``, ``left``: the rate with the present equal share, and the work left, for each of
            ``ids``.
        """
        for job, rate, work in zip(ids, alone.tolist(), left.tolist(), strict=True):
            time, before, rate_before = self.isolated.get(job, (0.0, work, rate))
            self.isolated[job] = (time + (before - work) / rate_before, work, rate)
        return np.array([self.isolated[job][0] for job in ids])


class Matching:
    """AlloX as in the simulator of Gavel's authors: a job keeps its GPU once it has one.

    Le, Sun, Chowdhury, Liu, "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020. Jobs are
    matched to GPUs and to places in their queues.

    There jobs have one GPU. A larger one is matched to one, and keeps as many as it needs.
    """

    def __init__(self) -> None:
        self.kept: dict[int, tuple[int, int]] = {}  # type and GPUs, by job

    def solve(
        self, ids: list[int], rates: Array, gpus: Array, remaining: Array, capacity: Array
    ) -> Array:
        """Return 1 for the type that a job uses all the time.

        The jobs without a GPU, by arrival, at most as many as there are GPUs or such jobs, are
        matched to free GPUs and positions counted from the last, for the smallest sum of
        completion times; the first of each GPU gets it.
        """
        need_library("scipy", "a policy with matchings", "scipy")
        from scipy.optimize import linear_sum_assignment

        known = set(ids)
        self.kept = {job: held for job, held in self.kept.items() if job in known}
        left = capacity.astype(int)
        for kind, width in self.kept.values():
            left[kind] -= width
        rows = [row for row, job in enumerate(ids) if job not in self.kept]
        kinds = np.repeat(np.arange(len(left)), np.maximum(left, 0))
        if rows and len(kinds):
            times = remaining[rows, None] / np.maximum(rates[rows][:, kinds], 1e-10)
            cost = np.hstack([times * place for place in range(1, len(rows) + 1)])
            found = attended(lambda: linear_sum_assignment(cost))
            first: dict[int, tuple[int, int]] = {}  # by GPU: the largest position, and its row
            for row, column in zip(*(side.tolist() for side in found), strict=True):
                place, gpu = divmod(column, len(kinds))
                first[gpu] = max(first.get(gpu, (-1, -1)), (place, rows[row]))
            self.kept.update(
                {
                    ids[row]: (int(kinds[gpu]), int(gpus[row]))
                    for gpu, (_, row) in first.items()
                    if rates[row, kinds[gpu]] > 0
                }
            )
        fractions = np.zeros_like(rates)
        for row, job in enumerate(ids):
            if job in self.kept:
                fractions[row, self.kept[job][0]] = 1.0
        return fractions


class InOrder:
    """By arrival, one type per job, until one does not fit, as in the authors' simulator.

    ``is_aware``: whether each job gets the type on which it is fastest, chosen each time. Otherwise
        it keeps one: that of an ended job, or a random one.
    ``seed``: seed of the random types.
    """

    def __init__(self, *, is_aware: bool, seed: int) -> None:
        self.is_aware = is_aware
        self.random = random.Random(seed)
        self.kept: dict[int, int] = {}  # type, by job

    def solve(
        self, ids: list[int], rates: Array, gpus: Array, remaining: Array, capacity: Array
    ) -> Array:
        """Return 1 for the type that a job uses all the time."""
        del remaining  # the length of jobs is ignored
        row_of = {job: row for row, job in enumerate(ids)}
        width = dict(zip(ids, gpus.astype(int).tolist(), strict=True))
        left = capacity.astype(int).tolist()
        before = {} if self.is_aware else self.kept
        self.kept = {job: kind for job, kind in before.items() if job in row_of}
        for job, kind in self.kept.items():
            left[kind] -= width[job]
        vacant = [kind for job, kind in sorted(before.items()) if job not in row_of]
        for job in sorted(row_of.keys() - self.kept.keys()):
            speed = rates[row_of[job]]
            room = [kind for kind, free in enumerate(left) if free >= width[job]]
            if not room:
                break
            kind = self._chosen(room, vacant, speed)
            if speed[kind] > 0:
                self.kept[job] = kind
                left[kind] -= width[job]
        fractions = np.zeros_like(rates)
        for job, kind in self.kept.items():
            fractions[row_of[job], kind] = 1.0
        return fractions

    def _chosen(self, room: list[int], vacant: list[int], speed: Array) -> int:
        if self.is_aware:
            return max(room, key=lambda kind: (speed[kind], -kind))
        while vacant:
            kind = vacant.pop(0)
            if kind in room and speed[kind] > 0:
                return kind
        return room[self.random.randrange(len(room))]


class Keeper(Protocol):
    """Chooses the type that each job uses all the time."""

    def solve(
        self, ids: list[int], rates: Array, gpus: Array, remaining: Array, capacity: Array
    ) -> Array:
        """Return 1 for that type, float64[n, types].

        ``ids``: the n active jobs.
        ``rates``: service per second on each type, float64[n, types].
        ``gpus``, ``remaining``: number of GPUs, and seconds of service left.
        ``capacity``: GPUs of each type.
        """
        ...


KEEPERS: Final[Mapping[str, Callable[[bool, int], Keeper]]] = {
    "allox": lambda is_aware, seed: Matching(),
    "fifo": lambda is_aware, seed: InOrder(is_aware=is_aware, seed=seed),
}
"""By objective: a factory of rules, from type awareness and the seed of the run."""


def keeper(objective: str, *, is_aware: bool, seed: int) -> Keeper | None:
    """Make the rule of an objective; None if it is a linear program."""
    return KEEPERS[objective](is_aware, seed) if objective in KEEPERS else None


PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "objective": {
        "choices": [*PROGRAMS, *KEEPERS],
        "help": "max-min: the smallest share of throughput; water-filling: then the next smallest, "
        "and so on; ftf: the worst finish-time fairness; makespan; throughput; cost: throughput "
        "per price of GPUs; deadlines: the same once deadlines have what they need; isolated: an "
        "equal share of each type; allox: 1-GPU jobs, by matching, each keeps its GPU; fifo: one "
        "type per job, by arrival, until one does not fit",
        "flags": {
            "ftf": ("clairvoyant",),
            "makespan": ("clairvoyant",),
            "deadlines": ("clairvoyant", "deadlines"),
            "allox": ("clairvoyant",),
        },
    },
    "round_s": {"minimum": 1.0, "maximum": 1e9, "help": "length of a round in seconds"},
    "rounds": {
        "choices": ["clock", "artefact"],
        "help": "clock: at multiples of round_s, with idle GPUs filled in between; artefact: as in "
        "the authors' simulator, one after the other, types in turn, no starts in between",
    },
    "reset_s": {
        "minimum": 0.0,
        "maximum": 1e9,
        "help": "minimum time in seconds for which a solution is followed, though jobs come and "
        "leave (the authors' simulator: 1920)",
    },
    "counts": {
        "choices": ["service", "iterations"],
        "help": "unit of throughput and cost: service, 1 per second for each job on its best type, "
        "or iterations, as in the authors' simulator",
    },
    "aware": {
        "help": "false: treat all types as equally fast, as the first of the cluster",
    },
    "ties": {
        "choices": ["throughput", "any"],
        "help": "among optimal solutions use the one with the most throughput, or any (as in the "
        "authors' simulator)",
    },
    "prices": {
        "minimum": 1e-6,
        "maximum": 1e9,
        "help": "for cost and deadlines: price of a GPU of each type of the cluster, in its order; "
        "the last one applies to all further types",
    },
}

PREEMPTION: Final[Mapping[str, str]] = {
    "period": "round_s",
    "reason": "Rounds begin at multiples of their length with rounds=clock; within one, idle GPUs "
    "are given out.",
}


@built_in("gavel")
class Gavel(_core.Scheduler):
    """Time on each GPU type by a linear program, followed in rounds.

    At each multiple of ``round_s``, pairs of a job and a type are ordered by the fraction of time
    from the program over the time received since it was solved; a job runs at its own number of
    GPUs on one type. The program is solved at a round if jobs arrived or left: until then the time
    left shrinks as planned, and its solution stays optimal. Within a round GPUs that become idle go
    to waiting jobs, and running jobs continue.

    Jobs that ``max-min``, ``water-filling``, ``throughput`` and ``cost`` treat alike share a row of
    the program, so it stays small however many wait; the other objectives have one row per job.

    With ``rounds="artefact"`` rounds are those of the authors' simulator: see
    :class:`~gpusched.plugins.schedulers.gavel.SimulatorRounds`.
    """

    source: ClassVar[str] = "Narayanan et al., Gavel, OSDI 2020."
    differs: ClassVar[str] = (
        "GPUs that become idle within a round go to waiting jobs, while the paper leaves them idle "
        "(rounds=artefact), and among optimal solutions the one with the most throughput is used."
    )
    flags: ClassVar[tuple[str, ...]] = ("preemptive",)
    preemption: ClassVar[Mapping[str, str]] = PREEMPTION
    parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = PARAMETERS

    def __init__(
        self,
        objective: str = "max-min",
        round_s: float = 360.0,
        rounds: str = "clock",
        reset_s: float = 0.0,
        counts: str = "service",
        aware: bool = True,
        ties: str = "throughput",
        prices: Sequence[float] = [1.0],
    ) -> None:
        super().__init__()
        self.objective = objective
        self.looks_at_work = objective in ("ftf", "makespan", "deadlines", "allox")
        self.round_us = round(round_s * 1e6)
        self.is_artefact = rounds == "artefact"
        self.reset_us = round(reset_s * 1e6)
        self.counts_iterations = counts == "iterations"
        self.aware = aware
        self.breaks_ties = ties == "throughput"
        self.prices = list(prices)

    def begin(self, state: Any) -> None:
        """Discard the last run."""
        self.capacity = np.asarray(state.type_gpus, dtype=np.int64)
        self.rates: dict[int, tuple[float, ...]] = {}  # of the active jobs, on each type
        self.widths: dict[int, int] = {}
        self.is_whole: dict[int, bool] = {}  # whether some type holds the whole job
        self.held = Held(self.capacity.tolist())
        self.waiting = Waiting()
        self.fractions = Fractions(len(self.capacity), state.now_us)
        last = len(self.prices) - 1  # applies to all further types
        self.price = np.array([self.prices[min(kind, last)] for kind in range(len(self.capacity))])
        self.rounds = None
        if self.is_artefact:
            self.rounds = SimulatorRounds(
                len(self.capacity), self.round_us, self.reset_us,
                shuffles=not self.aware or self.objective == "isolated",
                idles=self.objective == "fifo", seed=state.seed,
            )  # fmt: skip
        self.keeper = keeper(self.objective, is_aware=self.aware, seed=state.seed)
        self.num_solved, self.is_stale = 0, True
        self.is_told = len(self.capacity) == 1 or state.is_elastic  # speeds on types are known
        self.unsolved: Counter[str] = Counter()  # by the substitute

    def warnings(self) -> list[str]:
        """Report how often the program had no solution, and missing throughputs."""
        lines = [
            f"gavel: {count} of {self.num_solved} programs for objective={self.objective} had no "
            f"solution; {instead} followed instead"
            for instead, count in sorted(self.unsolved.items())
        ]
        if not self.is_told:
            lines.append(
                "gavel decides by throughputs, and the speed of the run has none: every GPU type "
                "is taken for equally fast"
            )
        return lines

    def decide(self, state: Any, finished: Array, arrived: Array, actions: Any) -> None:
        """Follow the round, or fill idle GPUs until the next one."""
        if self.rounds is not None:
            self.rounds.count_all(self.held.parts, state.now_us)
        for job in finished.tolist():
            self._forget(job)
        self._meet(state, arrived)
        self.is_stale |= bool(len(finished) or len(arrived))
        if not self.rates:
            return
        if self.rounds is not None:
            self._decide_as_simulator(state, self.rounds, actions)
            return
        is_due = state.now_us % self.round_us == 0
        if is_due and self._is_at_rest():
            actions.wake(state.now_us + self.round_us)
            return
        if not is_due and self._may_go_on():
            wanted: dict[int, Parts] = {}
            self.waiting.fill(wanted, self.held.free.copy())
            self._apply(state, actions, wanted, [])
        else:
            self._give_out(state, actions, is_due=is_due)
        actions.wake((state.now_us // self.round_us + 1) * self.round_us)

    def _may_go_on(self) -> bool:
        """Whether all running jobs fit as counted here, so that no check of each is needed."""
        return min(self.held.free) >= 0

    def _give_out(self, state: Any, actions: Any, *, is_due: bool) -> None:
        """Process all jobs: at a round by the program, else running ones first."""
        free: list[int] = self.capacity.tolist()
        wanted: dict[int, Parts] = {}
        if is_due:
            for job, parts in self.held.restarting(state.now_us):
                want(wanted, free, job, parts)
            past_us = state.now_us - self.fractions.solved_us
            if self.is_stale and (not self.num_solved or past_us >= self.reset_us):
                self._solve(state)
            self._follow(state.now_us, wanted, free)
        self._fill(wanted, free)
        self._apply(state, actions, *self.held.changes_to(wanted))

    def _is_at_rest(self) -> bool:
        """Whether all jobs run, each on the only type of its fractions, if any."""
        if self.is_stale or len(self.held.parts) < len(self.rates):
            return False
        return self.fractions.are_held(self.held.parts, self.widths)

    def withdraw(self, job: int) -> bool:
        """Drop a cancelled waiting job: the next reset solves the program without it."""
        self._forget(job)
        self.is_stale = True
        return True

    def _forget(self, job: int) -> None:
        for known in (self.rates, self.widths, self.is_whole):
            known.pop(job, None)
        self.held.forget(job)
        self.fractions.forget(job)
        self.waiting.forget(job)
        if self.rounds is not None:
            self.rounds.forget(job)

    def _decide_as_simulator(self, state: Any, rounds: SimulatorRounds, actions: Any) -> None:
        """Begin a round if the last one is over."""
        now_us, is_idle = state.now_us, not self.held.parts
        if not rounds.is_due(now_us, is_idle=is_idle):
            actions.wake(rounds.ends_us)
            return
        if self.is_stale and rounds.may_reset(now_us, is_idle=is_idle):
            rounds.reset(now_us, self.fractions.given)
            self._solve(state)
        free: list[int] = self.capacity.tolist()
        wanted: dict[int, Parts] = {}
        for job, parts in self.held.restarting(now_us):
            want(wanted, free, job, parts)
        rounds.fill(wanted, free, self.fractions.given, self.rates, self.widths)
        for job, is_whole in self.is_whole.items():
            if not is_whole and job not in wanted and (parts := self._parts(job, free)):
                want(wanted, free, job, parts)
        rounds.begin(now_us)
        self._apply(state, actions, *self.held.changes_to(wanted))
        actions.wake(rounds.ends_us)

    def _meet(self, state: Any, arrived: Array) -> None:
        """Compute the speed on each type of jobs that have just arrived."""
        listen()
        if not len(arrived):
            return
        widths, rates = state.gpus[arrived], rates_by_type(state, arrived)
        if self.rounds is not None:
            for job in arrived.tolist():
                self.rounds.meet(job)
        self.is_told |= bool(((rates > 0) & (rates != 1)).any())
        whole = ((rates > 0) & (self.capacity >= widths[:, None])).any(axis=1)
        listen()
        ids = arrived.tolist()
        kinds = list(zip(widths.tolist(), map(tuple, rates.tolist()), whole.tolist(), strict=True))
        self.waiting.meet(ids, kinds)
        listen()
        for job, (width, rate, is_whole) in zip(ids, kinds, strict=True):
            self.widths[job], self.rates[job], self.is_whole[job] = width, rate, is_whole
        listen()

    def _solve(self, state: Any) -> None:
        ids = [job for job, is_whole in self.is_whole.items() if is_whole]
        self.fractions.clear(state.now_us)
        self.is_stale = False
        if not ids:
            return
        jobs, now_us = np.array(ids, dtype=np.int64), state.now_us
        gpus, deadline = state.gpus[jobs].astype(float), state.deadline_us[jobs]
        rates = np.array([self.rates[job] for job in ids])
        rates[gpus[:, None] > self.capacity[None, :]] = 0.0
        truth = rates
        if not self.aware:
            rates = unaware(rates, is_of_first=self.objective in ("ftf", "makespan"))
        time_left = np.where(deadline < 0, np.inf, (deadline - now_us) / 1e6)
        if self.looks_at_work:
            remaining = state.remaining_us(jobs) / 1e6
        else:
            remaining = np.ones(len(ids))
        if self.keeper is not None:
            self.fractions.take(ids, self.keeper.solve(ids, rates, gpus, remaining, self.capacity))
            return
        fractions, instead = solved(
            self.objective,
            Jobs(
                rates=rates,
                gpus=gpus,
                weight=state.weight[jobs],
                remaining=remaining,
                elapsed=(now_us - state.submit_us[jobs]) / 1e6,
                served=state.attained_us(jobs) / 1e6,
                time_left=time_left,
                value=state.value[jobs],
                capacity=self.capacity.astype(float),
                iterations=iterations(state, jobs) if self.counts_iterations else None,
                breaks_ties=self.breaks_ties,
                price=self.price,
                isolated=self._isolated(ids, rates, gpus, remaining),
            ),
        )
        self.num_solved += 1
        if instead:
            self.unsolved[instead] += 1
        fractions[truth <= 0] = 0.0
        self.fractions.take(ids, fractions)

    def _isolated(self, ids: list[int], rates: Array, gpus: Array, left: Array) -> Array | None:
        """Time that the work so far would have taken with 1/n of each type, for past n."""
        if self.rounds is None or self.objective != "ftf":
            return None
        share = isolated_share(gpus, self.capacity.astype(float))
        return self.rounds.isolated_time(ids, (rates * share).sum(axis=1), left)

    def _follow(self, now_us: int, wanted: dict[int, Parts], free: list[int]) -> None:
        """Take pairs of a job and a type by their fraction over the time received."""
        ids = [job for job in self.fractions.given if job not in wanted]
        if not ids:
            return
        for job, kind in self.fractions.by_priority(ids, self.held, now_us):
            if job not in wanted:
                want(wanted, free, job, [(kind, self.widths[job])])
                if not any(free):
                    return

    def _fill(self, wanted: dict[int, Parts], free: list[int]) -> None:
        """Give the rest to its present holders, then to the jobs that gain the most."""
        for job, parts in sorted(self.held.parts.items()):
            if job not in wanted:
                want(wanted, free, job, parts)
        listen()
        self.waiting.put_back(job for job in self.held.parts if job not in wanted)
        self.waiting.fill(wanted, free)

    def _parts(self, job: int, free: list[int]) -> Parts:
        return best_parts(self.rates[job], self.widths[job], free, is_whole=self.is_whole[job])

    def _apply(
        self, state: Any, actions: Any, changed: dict[int, Parts], stopped: list[int]
    ) -> None:
        """Change the allocations of some jobs, stop others, and keep the rest."""
        listen()
        for job in sorted(stopped):
            actions.preempt(job)
        refused = actions.reallocate(changed.items(), keep_others=True)
        listen()
        for job in refused:
            del changed[job]
            if job in self.held.parts and not state.parts_of(job):
                stopped.append(job)
        for job in (*stopped, *changed):
            self._release(job, state.now_us)
        self.held.hold(changed, state)
        listen()
        if not self.held.parts:
            self._start_any(state, actions)
        self.waiting.put_back(job for job in (*stopped, *refused) if job not in self.held.parts)

    def _release(self, job: int, now_us: int) -> None:
        kind = self.held.kind(job)
        if kind >= 0:
            self.fractions.count(job, kind, self.held.since_us[job], now_us)
        self.held.release(job)

    def _start_any(self, state: Any, actions: Any) -> None:
        """Start the first job that can be placed: a target may not fit."""
        job = start_first(state, actions, self.rates)
        if job is None:
            actions.wake(state.now_us + 1)
        else:
            self.held.hold({job: state.parts_of(job)}, state)
            self.waiting.start(job)
