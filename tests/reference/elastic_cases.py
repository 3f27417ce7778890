"""Generators of small replays of jobs that change their width and their GPU types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpusched.reference import Job, Network, Outcome, Throughputs, make_engine
from gpusched.reference.cluster import Cluster
from gpusched.reference.model import Active
from gpusched.reference.speeds import Proportional, Table, between, make_speed, tables_of
from tests.reference.cases import clusters, scaled
from tests.reference.contention_cases import networks, profiles, samples
from tests.reference.drawing import Generator, Source, flag, is_rare
from tests.reference.reallocation import Part
from tests.reference.scales import ALL_TYPES, TYPES
from tests.reference.whims import Choices, Dealt, Hands, Replanned, Whim, choices_of

ELASTIC = ("table", "proportional")
COUNTS = ((1, 2, 4, 8), (1, 3, 6), (2, 4), (1,), (3, 4), (1, 16))
# Few values, so that rates tie; some are not exact, some rise too fast, some fall, some are 0.
THROUGHPUTS = (0.0, 0.5, 0.7, 1.0, 1.0, 1.3, 1.7, 2.0, 2.0, 2.5, 3.3, 4.0)
UNITS = (1, 7, 1_000_000, 2**48)
"""With the last one, services are close to the longest that are legal."""
# All but consolidated take whatever is free: under it alone gangs are in the way of others.
PLACEMENTS = ("consolidated", "first-fit", "consolidated", "spread", "random")


EIGHTS = [(8, TYPES[0]), (4, TYPES[1]), (8, TYPES[0])]


MOST_INSTANTS = 4_000


@dataclass(frozen=True)
class ElasticCase:
    """One replay under a whim; all times are in ticks."""

    jobs: list[Job]
    servers: list[tuple[int, str]]
    placement: str
    seed: int
    unit: int
    speed: str
    contention: str = "none"
    speed_params: dict[str, Any] = field(default_factory=dict)
    network: Network | None = None

    def options(self) -> dict[str, Any]:
        """Return everything but jobs, servers and who decides, by name."""
        names = ("placement", "seed", "speed", "contention", "speed_params", "network")
        return {name: getattr(self, name) for name in names}

    @property
    def cluster(self) -> Cluster:
        """The servers."""
        return Cluster(self.servers, pooled=False)

    @property
    def choices(self) -> Choices:
        """For each job the parts that it can run on."""
        speed = make_speed(
            self.cluster, self.network, self.speed, self.speed_params, self.contention, {}
        )

        def can_run(job: Active, parts: list[Part]) -> bool:
            width = sum(gpus for _, gpus in parts)
            names = [self.cluster.gpu_types[gpu_type] for gpu_type, _ in parts]
            if isinstance(speed, Table):
                return all(between(tables_of(job).packed[name], width) > 0 for name in names)
            if isinstance(speed, Proportional):
                workers = [self.cluster.gpu_types[t] for t, gpus in parts for _ in range(gpus)]
                return speed.round_s(job, workers, 1.0) < float("inf")
            return True

        in_order = sorted(self.jobs, key=lambda job: job.submit_us)
        active = [Active(i, job) for i, job in enumerate(in_order)]
        return choices_of(active, self.cluster, can_run, speed.is_elastic)

    def whim(self, kind: str) -> Whim:
        """Return who decides: ``replanned`` or ``dealt``."""
        if kind == "replanned":
            return Replanned(self.seed, self.unit, self.choices)
        return Dealt(self.seed, self.unit, Hands(self.cluster, self.choices))

    def replay(self, kind: str) -> tuple[Outcome, list[Any]]:
        """Run the reference engine; return also what the whim has seen.

        RuntimeError where restarts eat up all that jobs do between two whims: no small case.
        """
        whim = self.whim(kind)
        engine = make_engine(
            self.jobs, self.servers, whim, **self.options(), max_instants=MOST_INSTANTS
        )
        return engine.run(), whim.seen


@Generator
def throughputs(source: Source, counts: tuple[int, ...]) -> Throughputs:
    """Tables of all GPU types: any, or linear ones, in which GPU time costs the same at any width;
    in both there are widths that do not run.
    """

    def tables() -> dict[str, Mapping[int, float]]:
        return {name: {count: source.one_of(THROUGHPUTS) for count in counts} for name in ALL_TYPES}

    def linear() -> dict[str, Mapping[int, float]]:
        paces = {name: source.one_of([1.0, 1.0, 2.0, 0.3]) for name in ALL_TYPES}
        return {
            name: {count: 0.0 if is_rare(source, 5) else count * pace for count in counts}
            for name, pace in paces.items()
        }

    make = linear if is_rare(source, 3) else tables
    return Throughputs(make(), make() if flag(source) else None)


@Generator
def elastic_jobs(source: Source, num_gpus: int, models: list[Any], kind: str) -> list[Job]:
    """Up to twelve jobs, each of one of the models."""
    some_types = [None, None, frozenset(TYPES[:1]), frozenset(TYPES)]
    widths = source.one_of([(1, 1, 2, 2, 3, 4, 6), range(1, min(num_gpus, 16) + 2)])
    last, longest = source.one_of([(12, 20), (0, 20), (12, 1), (0, 1)])
    costs = source.one_of([2, 2, 30])  # longer than any service
    jobs = []
    for _ in range(source.one_of([1, 4, 8, 12])):
        gpus = min(source.one_of(widths), num_gpus + 1)
        job = Job(
            submit_us=source.between(0, last),
            service_us=source.between(1, longest),
            gpus=gpus,
            checkpoint_us=source.between(0, 1),
            restart_us=source.between(0, costs),
            allowed=source.one_of(some_types),
            min_gpus=source.between(1, gpus),
            max_gpus=source.one_of([None, gpus, gpus + 1, gpus + 4]),
        )
        jobs.append(replace(job, **{kind: source.one_of(models)}))
    return jobs


@Generator
def elastic_cases(source: Source, speed: str) -> ElasticCase:
    """A replay at a speed; one that is not elastic makes a resize a migration."""
    few = source.one_of([None, EIGHTS, [(4, TYPES[0])] * 3, [(5, TYPES[0])]])
    # Whims divide a gang over two types at most.
    many = [(gpus, TYPES[ALL_TYPES.index(name) % 2]) for gpus, name in clusters.draw(source)]
    servers = few or many
    params: dict[str, Any] = {}
    network, contention = None, "none"
    num_models = source.between(1, 3)
    models: list[Any] = [None]
    kind = "profile"
    is_on_links = speed == "ring" or (speed == "proportional" and flag(source))
    if speed == "table":
        counts = source.one_of(COUNTS)
        models = [throughputs.draw(source, counts) for _ in range(num_models)]
        kind = "throughputs"
    elif speed == "proportional":
        models = [samples.draw(source, is_on_links) for _ in range(num_models)]
        kind = "samples"
        params = {
            "split": source.one_of(["proportional", "equal"]),
            "batches": source.one_of(["real", "integer"]),
        }
    elif speed == "ring":
        models = [profiles.draw(source) for _ in range(num_models)]
    if is_on_links:
        network = networks.draw(source, len(servers))
        contention = source.one_of(["none", "reserved", "shared"])
    unit = source.one_of(UNITS)
    jobs = elastic_jobs.draw(source, sum(gpus for gpus, _ in servers), models, kind)
    return ElasticCase(
        jobs=[scaled(job, unit) for job in jobs],
        servers=servers,
        placement=source.one_of(PLACEMENTS),
        seed=source.between(0, 2**32),
        unit=unit,
        speed=speed,
        contention=contention,
        speed_params=params,
        network=network,
    )
