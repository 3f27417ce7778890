"""Hypothesis strategies: small replays of rings that meet on the links of small networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from . import Network, Profile
from .cases import TYPES, Case, cases

SPEEDS = ("fixed", "ring")
# In Gbit/s; some are no whole number of bytes per second, so that everything is rounded.
NARROW = st.sampled_from([8.0, 10.0, 12.3])
ANY_BANDWIDTH = st.sampled_from([10 / 3, 8.0, 10.0, 12.3, 25.0, 100.0])


@st.composite
def networks(draw: st.DrawFn, num_servers: int) -> Network:
    """Draw bandwidths, and a tree of up to four domains or none."""
    is_uniform = draw(st.booleans())  # then equal links are the bottleneck, and rates tie
    nic, intra = draw(NARROW), draw(ANY_BANDWIDTH)
    per_server = {"min_size": num_servers, "max_size": num_servers}
    nics = [nic] * num_servers if is_uniform else draw(st.lists(ANY_BANDWIDTH, **per_server))
    intras = [intra] * num_servers if is_uniform else draw(st.lists(ANY_BANDWIDTH, **per_server))
    num_domains = draw(st.integers(0, 4))
    if num_domains == 0:
        return Network(nics, intras)
    above = [-1, *(draw(st.integers(0, domain - 1)) for domain in range(1, num_domains))]
    homes = draw(st.lists(st.integers(0, num_domains - 1), **per_server))
    kept = set(homes)  # a domain without servers is not allowed
    for domain in reversed(range(1, num_domains)):
        if domain in kept:
            kept.add(above[domain])
    order = draw(st.permutations(sorted(kept)))  # a child may precede its parent
    return Network(
        nics,
        intras,
        server_domain=[order.index(home) for home in homes],
        domain_parent=[order.index(above[domain]) if domain else None for domain in order],
        uplink_gbps=[draw(ANY_BANDWIDTH) if domain else None for domain in order],
    )


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Draw a model; some exchange nothing, some do little else."""
    slower = draw(st.sampled_from([1.0, 1.0, 3.7]))  # on the second GPU type
    forward_s = draw(st.sampled_from([0.0, 0.003, 0.1]))
    backward_s = draw(st.sampled_from([0.05, 0.2, 0.7]))
    return Profile(
        gradient_bytes=draw(st.sampled_from([0.0, 2e7, 1e8, 1e8, 2.34e8])),
        batch=draw(st.sampled_from([1.0, 4.0])),
        forward_s={TYPES[0]: forward_s, TYPES[1]: forward_s * slower},
        backward_s={TYPES[0]: backward_s, TYPES[1]: backward_s * slower},
    )


CONTENTION_PARAMETERS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "none": st.just({}),
    "reserved": st.just({}),
    "shared": st.fixed_dictionaries(
        {},
        optional={
            "degradation": st.sampled_from([0.0, 0.05, 1.0]),
            "scaling": st.sampled_from([0.15, 0.5, 0.7, 1.0]),
        },
    ),
}
RING_PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "overhead_s": st.sampled_from([0.0, 0.01]),
        "reduction_bytes_per_s": st.sampled_from([1e10, 3e11]),
    },
)


def crowded(case: Case) -> Case:
    """Return the case with gangs of two to four and longer services, on four servers."""
    types = [gpu_type for _, gpu_type in case.servers]
    jobs = [replace(job, gpus=2 + job.gpus % 3, service_us=job.service_us * 5) for job in case.jobs]
    servers = [(gpus, types[i % len(types)]) for i, gpus in enumerate((3, 4, 3, 5))]
    return replace(case, jobs=jobs, servers=servers)


@st.composite
def contended_cases(
    draw: st.DrawFn, policy: str, placement: str, speed: str, contention: str
) -> Case:
    """Draw a replay of ``policy`` with ``placement`` at a speed, under a contention."""
    case = draw(cases(policy, placement))
    if draw(st.integers(0, 3)):
        case = crowded(case)
    models = draw(st.lists(profiles(), min_size=1, max_size=3))
    params = dict(case.policy_params)
    if policy in ("las", "llf") or params.get("preset") == "lucid":
        # A slow job may do less in a turn than its preemption adds, and never end.
        params["restart"] = "time"
    if policy in ("las", "llf"):
        params["period_s"] += 10  # nor need thousands of turns
    return replace(
        case,
        jobs=[replace(job, profile=draw(st.sampled_from(models))) for job in case.jobs],
        policy_params=params,
        speed=speed,
        contention=contention,
        speed_params=draw(RING_PARAMETERS) if speed == "ring" else {},
        contention_params=draw(CONTENTION_PARAMETERS[contention]),
        network=draw(networks(len(case.servers))),
    )
