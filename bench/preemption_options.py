"""Preemptive policies under options, and where speeds vary, on few servers and on many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import gpusched as gs
from bench.measure import interleave, processor_s
from bench.table import Section
from bench.workloads import GPUS_PER_SERVER, SEED, philly

SERVERS = (64, 512)
POLICIES = ("sjf", "srtf", "srsf", "edf", "2d-las", "a-srpt-p", "serverfilling-srpt", "las")
OPTIONS = (
    "srtf:displace=true",
    "edf:displace=true",
    "2d-las",
    "2d-las:displace=true",
    "2d-las:inside=entry",
    "2d-las:inside=running",
    "2d-las:crossing=floored",
    "2d-las:preset=tiresias-artefact",
    "2d-las:preset=lucid",
    "2d-las:promote=8",
)
TYPES = ("V100", "P100", "T4")
# Speeds of six models relative to the first type: on one server, and on several.
TOGETHER = tuple((1.0, 0.5 + 0.06 * model, 0.3 + 0.07 * model) for model in range(6))
SPREAD = tuple((0.7, 0.3 + 0.06 * model, 0.2 + 0.05 * model) for model in range(6))
WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512)
# Loads at which jobs wait, as GPUs of the fastest type or without contention.
LOADS = {("types", 64): 0.55, ("types", 512): 1.3, ("links", 64): 0.9, ("links", 512): 1.6}
METHOD = (
    "{jobs:,} Philly-like jobs at load 0.9, `consolidated`, servers of 8 GPUs; thousand jobs/s of "
    "processor time, medians, policies in turn."
)
SPEEDS_METHOD = (
    "{jobs:,} Philly-like jobs, `consolidated`; thousand jobs/s of processor time, medians, "
    "policies in turn. `types`: half of the servers are of V100, the others of P100 and T4, six "
    "models with tables, load 0.55 of the V100 on 64 servers and 1.3 on 512. `links`: rings on "
    "shared links of 25 Gb/s, load 0.9 and 1.6."
)
Case = tuple[gs.Trace, gs.Cluster, Mapping[str, Any]]


def sections(jobs: int, repeats: int) -> Iterator[Section]:
    """Measure the options at fixed speeds, then the policies where speeds vary."""
    names = [f"{servers} servers" for servers in SERVERS]
    cases = [_fixed(jobs, servers) for servers in SERVERS]
    yield _measured(
        "Options of preemption", METHOD.format(jobs=jobs), names, cases, OPTIONS, repeats
    )
    names, cases = [], []
    for kind, make in (("types", _on_types), ("links", _on_links)):
        names += [f"{kind}, {servers} servers" for servers in SERVERS]
        cases += [make(jobs, servers) for servers in SERVERS]
    method = SPEEDS_METHOD.format(jobs=jobs)
    yield _measured("Preemption where speeds vary", method, names, cases, POLICIES, repeats)


def _measured(
    title: str, method: str, names: list[str], cases: list[Case], policies: tuple[str, ...],
    repeats: int,
) -> Section:  # fmt: skip
    """A row for each policy, a column for each case."""
    out = Section(title, method, ("policy", *names))
    rates = [_rates(case, policies, repeats) for case in cases]
    out.rows += [(policy, *(found[policy] for found in rates)) for policy in policies]
    return out


def _rates(case: Case, policies: tuple[str, ...], repeats: int) -> dict[str, str]:
    trace, cluster, speed = case
    calls: list[Callable[[], object]] = [
        partial(gs.simulate, trace, cluster, policy=policy, placement="consolidated", **speed)
        for policy in policies
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)  # some jobs lack deadlines
        found = interleave([partial(processor_s, call) for call in calls], repeats)
    return {
        policy: f"{len(trace) / timing.median / 1e3:,.0f}"
        for policy, timing in zip(policies, found, strict=True)
    }


def _fixed(jobs: int, servers: int) -> Case:
    made = philly(jobs, servers)
    return made.trace.with_deadlines(seed=SEED), made.cluster, {}


def _on_types(jobs: int, servers: int) -> Case:
    """Return jobs whose speed depends on the type, and on whether they are on one server."""
    profiles = [
        gs.model.JobProfile(
            f"model{model}",
            throughput=_table(TOGETHER[model]),
            spread_throughput=_table(SPREAD[model]),
        )
        for model in range(len(TOGETHER))
    ]
    fourth = servers // 4
    counts = (2 * fourth, servers - 3 * fourth, fourth)
    groups = zip(counts, TYPES, strict=True)
    cluster = gs.Cluster(tuple(gs.ServerGroup(n, GPUS_PER_SERVER, name) for n, name in groups))
    trace = philly(jobs, servers, LOADS["types", servers]).trace
    trace = trace.with_profiles(profiles, seed=SEED).with_deadlines(seed=SEED)
    return trace, cluster, {"speed": "table"}


def _table(speeds: tuple[float, ...]) -> dict[str, dict[int, float]]:
    """Iterations a second by type and GPUs."""
    return {
        name: {gpus: 10.0 * speed * gpus**0.85 for gpus in WIDTHS}
        for name, speed in zip(TYPES, speeds, strict=True)
    }


def _on_links(jobs: int, servers: int) -> Case:
    """Return jobs that slow each other down on the links between servers."""
    cluster = gs.Cluster.uniform(servers, GPUS_PER_SERVER, nic_gbps=25.0, intra_gbps=1000.0)
    trace = philly(jobs, servers, LOADS["links", servers]).trace
    trace = trace.with_profiles(gs.model.zoo(), seed=SEED).with_deadlines(seed=SEED)
    return trace, cluster, {"speed": "ring", "contention": "shared"}
