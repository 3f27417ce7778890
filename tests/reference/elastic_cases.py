"""Hypothesis strategies: small replays of jobs that change their width and their GPU types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from . import Job, Network, Outcome, Samples, Throughputs, make_engine
from .cases import TYPES, clusters, scaled
from .cluster_state import Cluster
from .contention_cases import networks, profiles
from .make_speed import make_speed
from .model import Active
from .proportional import Proportional
from .reallocation import Part
from .tables import Table, between, tables_of
from .whims import Choices, Dealt, Hands, Replanned, Whim, choices_of

ELASTIC = ("table", "proportional")
COUNTS = st.sampled_from([(1, 2, 4, 8), (1, 3, 6), (2, 4), (1,)])
# Few values, so that rates tie; some are not exact, some rise too fast, some fall, some are 0.
THROUGHPUTS = st.sampled_from([0.0, 0.5, 0.7, 1.0, 1.0, 1.3, 1.7, 2.0, 2.0, 2.5, 3.3, 4.0])
# All but consolidated take whatever is free: under it alone gangs are in the way of others.
PLACEMENTS = ("consolidated", "first-fit", "consolidated", "spread", "random")


EIGHTS = [(8, TYPES[0]), (4, TYPES[1]), (8, TYPES[0])]


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
        active = [Active(i, job, 0) for i, job in enumerate(in_order)]
        return choices_of(active, self.cluster, can_run, speed.is_elastic)

    def whim(self, kind: str) -> Whim:
        """Return who decides: ``replanned`` or ``dealt``."""
        if kind == "replanned":
            return Replanned(self.seed, self.unit, self.choices)
        return Dealt(self.seed, self.unit, Hands(self.cluster, self.choices))

    def replay(self, kind: str) -> tuple[Outcome, list[Any]]:
        """Run the reference engine; return also what the whim has seen."""
        whim = self.whim(kind)
        return make_engine(self.jobs, self.servers, whim, **self.options()).run(), whim.seen


@st.composite
def throughputs(draw: st.DrawFn, counts: tuple[int, ...]) -> Throughputs:
    """Draw tables of both GPU types."""

    def tables() -> dict[str, Mapping[int, float]]:
        return {name: {count: draw(THROUGHPUTS) for count in counts} for name in TYPES}

    return Throughputs(tables(), tables() if draw(st.booleans()) else None)


@st.composite
def samples(draw: st.DrawFn, is_on_links: bool) -> Samples:
    """Draw what workers of both GPU types do."""
    per_s = {name: draw(st.sampled_from([0.0, 1.0, 2.0, 2.0, 3.0, 3.1, 7.0])) for name in TYPES}
    most = {name: draw(st.sampled_from([0, 0, 3, 10, 12])) for name in TYPES}
    return Samples(
        per_s,
        batch=draw(st.sampled_from([1, 7, 12, 30])),
        most=most if draw(st.booleans()) else {},
        gradient_bytes=draw(st.sampled_from([0.0, 1e8, 2.3e9])) if is_on_links else 0.0,
    )


@st.composite
def elastic_jobs(draw: st.DrawFn, num_gpus: int, models: list[Any], kind: str) -> list[Job]:
    """Draw up to ten jobs, each of one of the models."""
    some_types = [None, None, frozenset(TYPES[:1]), frozenset(TYPES)]
    jobs = []
    for _ in range(draw(st.sampled_from([1, 4, 8, 12]))):
        gpus = draw(st.sampled_from([1, 1, 2, 2, 3, 4, 6]).filter(lambda gpus: gpus <= num_gpus))
        job = Job(
            submit_us=draw(st.integers(0, 12)),
            service_us=draw(st.integers(1, 20)),
            gpus=gpus,
            checkpoint_us=draw(st.integers(0, 1)),
            restart_us=draw(st.integers(0, 2)),
            allowed=draw(st.sampled_from(some_types)),
            min_gpus=draw(st.integers(1, gpus)),
            max_gpus=draw(st.sampled_from([None, gpus, gpus + 1, gpus + 4])),
        )
        jobs.append(replace(job, **{kind: draw(st.sampled_from(models))}))
    return jobs


@st.composite
def elastic_cases(draw: st.DrawFn, speed: str) -> ElasticCase:
    """Draw a replay at a speed; one that is not elastic makes a resize a migration."""
    servers = draw(clusters() | st.sampled_from([[(4, TYPES[0])] * 3, EIGHTS]))
    params: dict[str, Any] = {}
    network, contention = None, "none"
    if speed == "table":
        counts = draw(COUNTS)
        models: list[Any] = draw(st.lists(throughputs(counts), min_size=1, max_size=3))
        kind = "throughputs"
    elif speed == "proportional":
        is_on_links = draw(st.booleans())
        models = draw(st.lists(samples(is_on_links), min_size=1, max_size=3))
        kind = "samples"
        params = {
            "split": draw(st.sampled_from(["proportional", "equal"])),
            "batches": draw(st.sampled_from(["real", "integer"])),
        }
        if is_on_links:
            network = draw(networks(len(servers)))
            contention = draw(st.sampled_from(["none", "reserved", "shared"]))
    else:
        models, kind = [None], "profile"
        if speed == "ring":
            models = draw(st.lists(profiles(), min_size=1, max_size=3))
            network = draw(networks(len(servers)))
            contention = draw(st.sampled_from(["none", "reserved", "shared"]))
    unit = draw(st.sampled_from([1, 7, 1_000_000]))
    jobs = draw(elastic_jobs(sum(gpus for gpus, _ in servers), models, kind))
    return ElasticCase(
        jobs=[scaled(job, unit) for job in jobs],
        servers=servers,
        placement=draw(st.sampled_from(PLACEMENTS)),
        seed=draw(st.integers(0, 2**32)),
        unit=unit,
        speed=speed,
        contention=contention,
        speed_params=params,
        network=network,
    )
