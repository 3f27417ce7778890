"""Hypothesis strategies: small replays of jobs that ask for CPU, memory and shares of GPUs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from .contention_cases import networks
from .model import WHOLE, Job
from .network import Network

TYPES = ("K80", "V100")
ROOMS = (None, 2000, 4000, 6000)  # thousandths of cores, and MiB


@dataclass(frozen=True)
class PackingCase:
    """One replay."""

    jobs: list[Job]
    servers: list[tuple[int, str]]
    room: list[tuple[int | None, int | None]]
    network: Network
    seed: int


@st.composite
def packed_jobs(draw: st.DrawFn, num_gpus: int, is_typed: bool, has_demands: bool) -> list[Job]:
    """Draw up to fourteen jobs with few kinds of demands, so that some ask for the same."""
    shares = draw(st.sampled_from([(WHOLE,), (250, 500, WHOLE), (100, 300, 700, WHOLE)]))
    amounts = draw(st.sampled_from([(0,), (0, 500, 1000), (500, 700, 2000)]))
    widest = draw(st.sampled_from([1, 4, num_gpus + 1]))
    submits = draw(st.sampled_from([3, 12]))
    some_types = [None, frozenset(TYPES[:1]), frozenset(TYPES)]

    def job() -> Job:
        gpus = draw(st.integers(1, widest))
        return Job(
            submit_us=draw(st.integers(0, submits)),
            service_us=draw(st.integers(1, 9)),
            gpus=gpus,
            allowed=draw(st.sampled_from(some_types)) if is_typed else None,
            share_milli=draw(st.sampled_from(shares)) if gpus == 1 and has_demands else WHOLE,
            cpu_milli=draw(st.sampled_from(amounts)) if has_demands else 0,
            memory_mib=draw(st.sampled_from(amounts)) if has_demands else 0,
        )

    return [job() for _ in range(draw(st.sampled_from([3, 8, 14])))]


@st.composite
def cases_of_many_kinds(draw: st.DrawFn) -> PackingCase:
    """Draw a replay in which almost every job asks for something else, and most have to wait."""
    seed = draw(st.integers(0, 2**32))
    random_of = random.Random(seed)
    num_servers = random_of.choice([1, 3, 5])
    types = random_of.choice([TYPES[:1], TYPES])
    span = random_of.choice([10, 200, 2000])

    def job() -> Job:
        gpus = random_of.choice([1, 1, 1, 2, 3, 4, 5, 9])
        return Job(
            submit_us=random_of.randint(0, span),
            service_us=random_of.randint(1, 99),
            gpus=gpus,
            allowed=random_of.choice([None, frozenset(TYPES[:1]), frozenset(TYPES)]),
            share_milli=random_of.choice([150, 400, 600, WHOLE, WHOLE]) if gpus == 1 else WHOLE,
            cpu_milli=random_of.randint(1, 1500),
            memory_mib=random_of.randint(1, 1500),
        )

    return PackingCase(
        jobs=[job() for _ in range(random_of.choice([90, 120]))],
        servers=[(random_of.choice([4, 8]), random_of.choice(types)) for _ in range(num_servers)],
        room=[(random_of.choice(ROOMS), random_of.choice(ROOMS)) for _ in range(num_servers)],
        network=draw(networks(num_servers)),
        seed=seed,
    )


@st.composite
def packing_cases(draw: st.DrawFn) -> PackingCase:
    """Draw a replay; a third of them has jobs that ask for GPUs alone."""
    sizes = draw(st.sampled_from([(4,), (1, 2, 3, 4), (2, 8), (6, 4)]))
    types = draw(st.sampled_from([TYPES[:1], TYPES]))
    servers = draw(
        st.lists(st.tuples(st.sampled_from(sizes), st.sampled_from(types)), min_size=1, max_size=5)
    )
    room = st.tuples(st.sampled_from(ROOMS), st.sampled_from(ROOMS))
    return PackingCase(
        jobs=draw(
            packed_jobs(
                num_gpus=sum(gpus for gpus, _ in servers),
                is_typed=draw(st.booleans()),
                has_demands=draw(st.sampled_from([True, True, False])),
            )
        ),
        servers=servers,
        room=[draw(room) for _ in servers],
        network=draw(networks(len(servers))),
        seed=draw(st.integers(0, 2**32)),
    )
