"""Generators of small replays of rings that meet on the links of small networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusched.reference import Network, Profile, Samples, Throughputs
from tests.reference.cases import Case, cases
from tests.reference.drawing import Generator, Source, flag, shuffled, some_of
from tests.reference.policy_cases import TAKING_TURNS, Pools
from tests.reference.scales import ALL_TYPES, SHAPES, WIDE

SPEEDS = ("fixed", "ring")
# In Gbit/s; some are no whole number of bytes per second, so that everything is rounded.
NARROW = (8.0, 10.0, 12.3)
ANY_BANDWIDTH = (10 / 3, 8.0, 10.0, 12.3, 25.0, 100.0)
SLOWER = ((1.0, 1.0, 1.0, 1.0), (1.0, 3.7, 1.0, 2.0))
"""How many times slower each of the GPU types is."""


@Generator
def networks(source: Source, num_servers: int) -> Network:
    """Bandwidths, and a tree of up to four domains or none."""
    is_uniform = flag(source)  # then equal links are the bottleneck, and rates tie
    nic, intra = source.one_of(NARROW), source.one_of(ANY_BANDWIDTH)
    servers = range(num_servers)
    nics = [nic if is_uniform else source.one_of(ANY_BANDWIDTH) for _ in servers]
    intras = [intra if is_uniform else source.one_of(ANY_BANDWIDTH) for _ in servers]
    num_domains = source.between(0, 4)
    if num_domains == 0:
        return Network(nics, intras)
    above = [-1, *(source.between(0, domain - 1) for domain in range(1, num_domains))]
    homes = [source.between(0, num_domains - 1) for _ in servers]
    kept = set(homes)  # a domain without servers is not allowed
    for domain in reversed(range(1, num_domains)):
        if domain in kept:
            kept.add(above[domain])
    order = shuffled(source, sorted(kept))  # a child may precede its parent
    return Network(
        nics,
        intras,
        server_domain=[order.index(home) for home in homes],
        domain_parent=[order.index(above[domain]) if domain else None for domain in order],
        uplink_gbps=[source.one_of(ANY_BANDWIDTH) if domain else None for domain in order],
    )


def by_type(seconds: float, slower: Sequence[float]) -> dict[str, float]:
    """Return the seconds on each GPU type."""
    return {name: seconds * factor for name, factor in zip(ALL_TYPES, slower, strict=True)}


@Generator
def profiles(source: Source) -> Profile:
    """A model; some exchange nothing, some do little else."""
    slower = source.one_of(SLOWER)
    forward_s = source.one_of([0.0, 0.003, 0.1])
    backward_s = source.one_of([0.05, 0.2, 0.7])
    return Profile(
        gradient_bytes=source.one_of([0.0, 2e7, 1e8, 1e8, 2.34e8]),
        batch=source.one_of([1.0, 4.0]),
        forward_s=by_type(forward_s, slower),
        backward_s=by_type(backward_s, slower),
    )


@Generator
def samples(source: Source, is_on_links: bool) -> Samples:
    """What workers of all GPU types do."""
    per_s = {name: source.one_of([0.0, 1.0, 2.0, 2.0, 3.0, 3.1, 7.0]) for name in ALL_TYPES}
    most = {name: source.one_of([0, 0, 3, 10, 12]) for name in ALL_TYPES}
    return Samples(
        per_s,
        batch=source.one_of([1, 7, 12, 30]),
        most=most if flag(source) else {},
        gradient_bytes=source.one_of([0.0, 1e8, 2.3e9]) if is_on_links else 0.0,
    )


@Generator
def useful_samples(source: Source) -> Samples:
    """What workers do where a job can run on each type, as most policies take for granted."""
    made = samples.draw(source, True)
    return replace(made, per_s={name: pace or 1.0 for name, pace in made.per_s.items()}, most={})


@Generator
def tables(source: Source) -> Throughputs:
    """Throughputs at every width on every type."""
    widths = (1, 2, 3, 4, 8, 16)

    def table() -> dict[str, Mapping[int, float]]:
        paces = {name: source.one_of([1.0, 1.0, 2.0, 2.1, 0.3]) for name in ALL_TYPES}
        return {name: {n: n * pace for n in widths} for name, pace in paces.items()}

    return Throughputs(table(), table() if flag(source) else None)


MODELS: Mapping[str, tuple[str, Generator[[], Any]]] = {
    "fixed": ("profile", profiles),
    "ring": ("profile", profiles),
    "proportional": ("samples", useful_samples),
    "table": ("throughputs", tables),
}
"""What a speed reads of a job."""

CONTENTION_PARAMETERS: Mapping[str, Pools] = {
    "none": {},
    "reserved": {},
    "shared": {"degradation": (0.0, 0.05, 1.0, 1e6), "scaling": (0.15, 0.5, 0.7, 1.0, 1e-9)},
}


@Generator
def contention_parameters(source: Source, contention: str) -> dict[str, Any]:
    """Some of the parameters of a contention."""
    return some_of(source, CONTENTION_PARAMETERS[contention])


RING_PARAMETERS: Pools = {
    "overhead_s": (0.0, 0.01, 1e6),
    "reduction_bytes_per_s": (1e10, 3e11, 1e18),
}


def crowded(case: Case) -> Case:
    """Return the case with gangs of two to four and longer services, on four servers."""
    types = [gpu_type for _, gpu_type in case.servers]
    longer = 1 if case.scale == "ages" else 5
    jobs = [
        replace(job, gpus=2 + job.gpus % 3, service_us=job.service_us * longer) for job in case.jobs
    ]
    servers = [(gpus, types[i % len(types)]) for i, gpus in enumerate((3, 4, 3, 5))]
    return replace(case, jobs=jobs, servers=servers)


@Generator
def contended_cases(
    source: Source,
    policy: str,
    placement: str,
    speed: str,
    contention: str,
    scales: Sequence[str] = SHAPES,
) -> Case:
    """A replay of ``policy`` with ``placement`` at a speed, under a contention."""
    case = cases.draw(source, policy, placement, scales=scales)
    if case.scale not in ("lone", *WIDE) and source.between(0, 3):
        case = crowded(case)
    kind, model = MODELS[speed]
    models = [model.draw(source) for _ in range(source.between(1, 3))]
    shared = contention_parameters.draw(source, contention)
    if "period_s" in case.policy_params and shared.get("degradation") == 1e6:
        del shared["degradation"]  # a job that hardly moves sees millions of periods
    return replace(
        case,
        jobs=[replace(job, **{kind: source.one_of(models)}) for job in case.jobs],
        policy_params=ending(policy, case),
        speed=speed,
        contention=contention,
        speed_params=some_of(source, RING_PARAMETERS) if speed == "ring" else {},
        contention_params=shared,
        network=networks.draw(source, len(case.servers)),
    )


def ending(policy: str, case: Case) -> dict[str, Any]:
    """Return the parameters with which the replay ends though jobs may be slow."""
    params = dict(case.policy_params)
    is_slow = params.get("preset") == "lucid" or "restart" in params
    if policy in TAKING_TURNS or is_slow:
        # A slow job may do less in a turn than its preemption adds, and never end.
        params["restart"] = "time"
    if policy in TAKING_TURNS and case.scale != "ages":
        params["period_s"] += 10  # nor need thousands of turns
    return params
