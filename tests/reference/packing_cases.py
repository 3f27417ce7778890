"""Generators of small replays of jobs that ask for CPU, memory and shares of GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched.reference.cluster import Network
from gpusched.reference.model import WHOLE, Job
from tests.reference.contention_cases import networks
from tests.reference.drawing import Generator, Seeded, Source, flag
from tests.reference.scales import ALL_TYPES, TYPES

ROOMS = (None, 2000, 4000, 6000)  # thousandths of cores, and MiB


@dataclass(frozen=True)
class PackingCase:
    """One replay."""

    jobs: list[Job]
    servers: list[tuple[int, str]]
    room: list[tuple[int | None, int | None]]
    network: Network
    seed: int


@Generator
def packed_jobs(source: Source, num_gpus: int, is_typed: bool, has_demands: bool) -> list[Job]:
    """Up to fourteen jobs with few kinds of demands, so that some ask for the same."""
    shares = source.one_of(
        [(WHOLE,), (250, 500, WHOLE), (100, 300, 700, WHOLE), (130, 270, 310, 1, 999, WHOLE)]
    )
    amounts = source.one_of([(0,), (0, 500, 1000), (500, 700, 2000), (0, 1, 2**39)])
    widest = source.one_of([1, 4, num_gpus + 1])
    submits = source.one_of([3, 12, 0])
    longest = source.one_of([9, 1])
    some_types = [None, frozenset(TYPES[:1]), frozenset(TYPES), frozenset(ALL_TYPES[1:])]

    def job() -> Job:
        gpus = source.between(1, widest)
        return Job(
            submit_us=source.between(0, submits),
            service_us=source.between(1, longest),
            gpus=gpus,
            allowed=source.one_of(some_types) if is_typed else None,
            share_milli=source.one_of(shares) if gpus == 1 and has_demands else WHOLE,
            cpu_milli=source.one_of(amounts) if has_demands else 0,
            memory_mib=source.one_of(amounts) if has_demands else 0,
        )

    return [job() for _ in range(source.one_of([3, 8, 14, 1]))]


@Generator
def cases_of_many_kinds(source: Source) -> PackingCase:
    """A replay in which almost every job asks for something else, and most have to wait."""
    seed = source.between(0, 2**32)
    dice = Seeded(seed)
    num_servers = dice.one_of([1, 3, 5])
    types = dice.one_of([TYPES[:1], TYPES, ALL_TYPES])
    span = dice.one_of([0, 10, 200, 2000])

    def job() -> Job:
        gpus = dice.one_of([1, 1, 1, 2, 3, 4, 5, 9])
        return Job(
            submit_us=dice.between(0, span),
            service_us=dice.between(1, 99),
            gpus=gpus,
            allowed=dice.one_of([None, frozenset(TYPES[:1]), frozenset(TYPES)]),
            share_milli=dice.one_of([150, 400, 600, WHOLE, WHOLE]) if gpus == 1 else WHOLE,
            cpu_milli=dice.between(1, 1500),
            memory_mib=dice.between(1, 1500),
        )

    return PackingCase(
        jobs=[job() for _ in range(dice.one_of([90, 120]))],
        servers=[(dice.one_of([4, 8]), dice.one_of(types)) for _ in range(num_servers)],
        room=[(dice.one_of(ROOMS), dice.one_of(ROOMS)) for _ in range(num_servers)],
        network=networks.draw(source, num_servers),
        seed=seed,
    )


@Generator
def packing_cases(source: Source) -> PackingCase:
    """A replay; a third of them has jobs that ask for GPUs alone."""
    sizes = source.one_of([(4,), (1, 2, 3, 4), (2, 8), (6, 4), (64, 1)])
    types = source.one_of([TYPES[:1], TYPES, ALL_TYPES])
    servers = [(source.one_of(sizes), source.one_of(types)) for _ in range(source.between(1, 5))]
    return PackingCase(
        jobs=packed_jobs.draw(
            source,
            num_gpus=sum(gpus for gpus, _ in servers),
            is_typed=flag(source),
            has_demands=source.one_of([True, True, False]),
        ),
        servers=servers,
        room=[(source.one_of(ROOMS), source.one_of(ROOMS)) for _ in servers],
        network=networks.draw(source, len(servers)),
        seed=source.between(0, 2**32),
    )
