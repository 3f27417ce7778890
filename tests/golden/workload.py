"""Workloads and clusters made of whole numbers alone, the same on every machine and for ever."""

from __future__ import annotations

from collections.abc import Iterator

import gpusched as gs

NUM_JOBS = 160
WIDTHS = (1, 1, 1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 20, 60)
TYPES = ("", "", "", "V100", "K80", "K80|V100", "V100|P100", "P100")
NUM_GPUS = 44


def lehmer(seed: int) -> Iterator[int]:
    """The minimal standard generator of Park and Miller: not good, but nobody's to change."""
    state = seed
    while True:
        state = state * 48271 % (2**31 - 1)
        yield state >> 8  # the low bits are the poorest


def trace(*, is_typed: bool) -> gs.Trace:
    """Jobs of seconds to an hour, with bursts, ties, deep queues and some that can never run."""
    draws = lehmer(20_240_501)

    def below(bound: int) -> int:
        return next(draws) % bound

    submit_s, service_s, gpus, estimate_s, weight, checkpoint_s, restart_s, types = (
        [] for _ in range(8)
    )
    clock = 0
    for _ in range(NUM_JOBS):
        clock += below(3) * below(90)  # a third of the jobs comes with the one before
        service = 1 + below(60) * below(60) // (1 + below(4))
        submit_s.append(clock)
        service_s.append(service)
        gpus.append(WIDTHS[below(len(WIDTHS))])
        estimate_s.append(max(1, service * (1 + below(12)) // 4))
        weight.append((1 + below(8)) / 4)
        checkpoint_s.append(below(4) / 2)
        restart_s.append(below(8) / 4)
        types.append(TYPES[below(len(TYPES))])
    return gs.Trace.from_columns(
        submit_s=submit_s,
        service_s=service_s,
        gpus=gpus,
        estimate_s=estimate_s,
        weight=weight,
        checkpoint_s=checkpoint_s,
        restart_s=restart_s,
        gpu_types=types if is_typed else None,
        name="golden",
    )


def cluster() -> gs.Cluster:
    """Servers of three sizes and two GPU types, the small ones in between."""
    groups = [(2, 8, "V100"), (3, 4, "K80"), (1, 8, "V100"), (2, 2, "V100"), (1, 4, "K80")]
    return gs.Cluster(tuple(gs.ServerGroup(*group) for group in groups))


def networked() -> gs.Trace:
    """The same jobs with profiles, from no to almost all communication, and with job graphs."""
    profiles = [
        gs.JobProfile(f"profile{i}", gradient_bytes=i * i * 300_000_000, batch=4,
                      forward_s=1 / 64, backward_s={"V100": 1 / 16, "K80": 1 / 4})
        for i in range(4)
    ]  # fmt: skip
    jobs = trace(is_typed=True)
    draws = lehmer(20_240_502)
    jobs = jobs.with_profiles(profiles, index=[next(draws) % 4 for _ in range(len(jobs))])
    widths = sorted(set(WIDTHS))
    return jobs.with_graphs(
        [graph(width) for width in widths], index=[widths.index(width) for width in jobs.gpus]
    )


def graph(width: int) -> gs.JobGraph:
    """Up to three stages, the first the narrowest, that exchange less the later they come."""
    num_stages = min(3, width)
    replicas = [width // num_stages] * (num_stages - 1)
    replicas.append(width - sum(replicas))
    return gs.JobGraph(
        f"width{width}",
        tuple(
            gs.Stage(
                replicas=count,
                compute_s={"V100": 1 / 16, "K80": 1 / 4},
                parameter_bytes=2.0**30 / (1 + stage),
                activation_bytes=0.0 if stage + 1 == num_stages else 2.0**28 / (1 + stage),
            )
            for stage, count in enumerate(replicas)
        ),
    )


def networked_cluster() -> gs.Cluster:
    """The same servers in two racks, with network cards of two speeds."""
    racks = ("a", "b", "a", "b", "b")
    nics = (40, 10, 40, 40, 10)
    groups = tuple(
        gs.ServerGroup(group.count, group.gpus, group.gpu_type,
                       nic_gbps=nic, intra_gbps=160, domain=rack)
        for group, nic, rack in zip(cluster().servers, nics, racks, strict=True)
    )  # fmt: skip
    domains = (
        gs.Domain("spine"),
        gs.Domain("a", parent="spine", oversubscription=4.0),
        gs.Domain("b", parent="spine", uplink_gbps=16),
    )
    return gs.Cluster(groups, domains=domains)
