"""Random open runs: how they begin and what is done to them; ranges are tiny, so that all meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusched.reference import BY_DEADLINE, POLICIES, orders
from gpusched.reference import PLACEMENTS as READABLE_PLACEMENTS
from tests.reference.cases import TIMES
from tests.reference.drawing import Generator, Source, flag, is_rare
from tests.reference.policy_cases import policy_parameters
from tests.reference.scales import SECOND, TYPES

PYTHON = {"python-sjf": "sjf"}
"""Orders written in Python, and what they are equal to."""

READABLE = (*POLICIES, *BY_DEADLINE)
LISTS = (*orders.NON_PREEMPTIVE, "easy", "conservative")
BINDING = ("ff", "ls", "rand", "sjf-bco")
"""Policies that choose GPUs themselves."""

BY_SLOT = ("chronus", "chronus-leases", "dancer", "edf-fastest", "edf-greatest", "elasticflow")
MEASURED = (
    "afs", "allox", "gandiva", "gavel", "matching", "optimus", "themis", "themis-greedy",
)  # fmt: skip
POOLS: Mapping[str, Sequence[str]] = {
    "readable": (*READABLE, *PYTHON, "wspt", "sgf"),
    "lists": (*LISTS, *PYTHON),
    "binding": (*BINDING, *BINDING, *LISTS, "las", "srtf"),
    "measured": (*MEASURED, *MEASURED, *BY_SLOT, *BY_SLOT, "fifo", "srtf", "easy", "ff"),
}
"""Policies that follow each other in one run."""

LEAST_PERIOD_S = 0.001
MILLISECOND = SECOND // 1000
SLOT = 20 * SECOND
"""The unit of time where policies think in slots: in one, a job of a few ticks would be lost."""

PLACEMENTS = (*READABLE_PLACEMENTS, "consolidated", "consolidated", "count", "first-fit")
LEARNERS = ("last-value", "group-mean", "quantile")
MODES = ("idle", "queue")
REFUSED = (
    ("las", (("epoch", "period"), ("period_s", 0.0))),
    ("ff", ()),  # where the placement is a pool
    ("easy", ()),  # where estimates are stated, and were not read
)
"""Policies that no run, or not this one, can go on with."""


@dataclass(frozen=True)
class Choice:
    """A policy with its parameters; times are in seconds."""

    name: str
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def is_readable(self) -> bool:
        """Whether the readable engine has it."""
        return self.twin.name in READABLE

    @property
    def twin(self) -> Choice:
        """The registered policy that it is equal to."""
        return replace(self, name=PYTHON.get(self.name, self.name))


@dataclass(frozen=True)
class Row:
    """A job; times in ticks."""

    id: int
    submit_us: int
    service_us: int
    gpus: int
    estimate_us: int | None = None
    deadline_us: int | None = None
    types: tuple[str, ...] | None = None
    user: str = "u"
    priority: int | None = None


@dataclass(frozen=True)
class Start:
    """How a run begins."""

    jobs: tuple[Row, ...]
    servers: tuple[tuple[int, str], ...]
    policy: Choice
    pool: str = "lists"
    placement: str = "consolidated"
    predictor: str = "oracle"
    seed: int = 0
    unit: int = 1


@dataclass(frozen=True)
class Move:
    """Something done to a run.

    ``what`` is ``step``, ``run_until``, ``submit``, ``cancel``, ``hold``, ``release``, ``set``,
    ``fork``, ``save``, ``look`` or ``ask``; ``number`` says how many, how far or which; ``asks``
    has the core asked at the same instant, which changes nothing where it decides in any case.
    """

    what: str
    number: int = 0
    jobs: tuple[Row, ...] = ()
    policy: Choice | None = None
    asks: bool = False


@dataclass(frozen=True)
class Course:
    """A run from its beginning to its end."""

    start: Start
    moves: tuple[Move, ...] = ()


def choice(source: Source, pool: str, unit: int) -> Choice:
    """Draw a policy of a pool, one in three with parameters."""
    name = source.one_of(POOLS[pool])
    if name in BINDING and flag(source):
        return Choice(name, (("mode", source.one_of(MODES)),))
    if name in ("las", "llf", "2d-las") or (name in READABLE and is_rare(source, 3)):
        params = policy_parameters(source, name)
        for key in TIMES:
            if key in params:
                params[key] = params[key] * unit / SECOND
        if "period_s" in params:
            params["period_s"] = max(params["period_s"], LEAST_PERIOD_S)
        if "limits" in params:
            params["limits"] = tuple(limit * unit / SECOND for limit in params["limits"])
        return Choice(name, tuple(params.items()))
    return Choice(name)


def row(source: Source, start: Start, number: int, submit_us: int) -> Row:
    """Draw a job that is like those of the start: the same columns."""
    unit = start.unit
    service = source.between(1, 5)
    num_gpus = sum(gpus for gpus, _ in start.servers)
    like = start.jobs[0] if start.jobs else None
    estimate = deadline = None
    if start.predictor == "estimate" or (like and like.estimate_us is not None):
        estimate = source.between(1, 6) * unit
    if like is None or like.deadline_us is not None:
        deadline = submit_us + source.between(max(1, service // 2), 3 * service) * unit
    types = None
    if start.placement != "count" and is_rare(source, 4):
        types = (source.one_of(TYPES),)
    has_rank = like is not None and like.priority is not None
    return Row(
        number, submit_us, service * unit, source.between(1, max(1, num_gpus)), estimate, deadline,
        types, source.one_of("uv"), source.between(-2, 2) if has_rank else None,
    )  # fmt: skip


@Generator
def starts(source: Source) -> Start:
    """A run of up to six jobs on up to three servers."""
    pool = source.one_of(("readable", "lists", "readable", "binding", "measured"))
    unit = SLOT if pool == "measured" else source.one_of((1, MILLISECOND, SECOND, 7))
    types = source.one_of((TYPES[:1], TYPES))
    sizes = source.one_of(((4,), (1, 2, 3, 4)))
    servers = tuple((source.one_of(sizes), source.one_of(types))
                    for _ in range(source.between(1, 3)))  # fmt: skip
    placement = source.one_of(PLACEMENTS)
    if placement == "count" and (pool in ("binding", "measured") or len(set(servers)) > 1):
        placement = "consolidated"
    predictor = "oracle"
    if is_rare(source, 5):
        predictor = source.one_of(("estimate", *LEARNERS))
    has_estimates = predictor == "estimate" or is_rare(source, 4)
    last = source.one_of((0, 3, 6))
    pattern = Row(0, 0, 1, 1, 1 if has_estimates else None,
                  1 if pool in ("readable", "measured") else None,
                  priority=0 if is_rare(source, 3) else None)  # fmt: skip
    start = Start(
        (pattern,), servers, choice(source, pool, unit), pool, placement, predictor,
        source.between(0, 3), unit,
    )  # fmt: skip
    jobs = [
        row(source, start, number, source.between(0, last) * unit)
        for number in range(source.between(1, 6))
    ]
    return replace(start, jobs=tuple(jobs))


WEIGHTS = {
    "step": 4, "run_until": 3, "submit": 1, "cancel": 3, "hold": 2, "release": 2, "set": 3,
    "fork": 1, "look": 1, "ask": 1,
}  # fmt: skip
KINDS = tuple(what for what, weight in WEIGHTS.items() for _ in range(weight))


@Generator
def moves(source: Source, start: Start) -> Move:
    """One move; a run is saved once in a while, as that writes a file."""
    what = source.one_of(KINDS)
    if what == "look" and is_rare(source, 3):
        what = "save"
    number = source.between(0, 5)
    asks = what in ("cancel", "hold", "release", "set") and flag(source)
    if what == "submit":
        new = tuple(
            row(source, start, 100, source.between(0, 3) * start.unit + source.between(0, 1))
            for _ in range(source.between(1, 2))
        )
        return Move(what, number, jobs=new)
    if what == "set":
        if is_rare(source, 8):
            name, params = source.one_of(REFUSED)
            return Move(what, policy=Choice(name, params), asks=asks)
        return Move(what, policy=choice(source, start.pool, start.unit), asks=asks)
    return Move(what, number, asks=asks)


def sequence(source: Source) -> Course:
    """A whole run."""
    start = starts.draw(source)
    return Course(start, tuple(moves.draw(source, start) for _ in range(source.between(1, 8))))
