"""Workloads and clusters made of whole numbers alone, the same on every machine and for ever."""

from collections.abc import Iterator
from typing import Any

import msgspec

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


def trace(*, is_typed: bool, **more: Any) -> gs.Trace:
    """Jobs of seconds to an hour, with bursts, ties, deep queues and some that can never run.

    ``more`` are further columns, in order of submission.
    """
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
        submit_s=submit_s, service_s=service_s, gpus=gpus, estimate_s=estimate_s, weight=weight,
        checkpoint_s=checkpoint_s, restart_s=restart_s, gpu_types=types if is_typed else None,
        name="golden", **more,
    )  # fmt: skip


def urgent(*, is_typed: bool) -> gs.Trace:
    """The same jobs with profiles, widths between limits, deadlines and values.

    A sixth of them has no deadline, and some cannot meet theirs on the GPUs that they ask for.
    """
    jobs = trace(is_typed=is_typed)
    draws = lehmer(20_240_503)

    def below(bound: int) -> int:
        return next(draws) % bound

    more: dict[str, list[float]] = {
        name: [] for name in ("deadline_s", "value", "min_gpus", "max_gpus", "profile")
    }
    for submit, service, gpus in zip(
        jobs.submit_s.tolist(), jobs.service_s.tolist(), jobs.gpus.tolist(), strict=True
    ):
        patience = service * (2 + below(14)) // 4 + below(600)
        more["deadline_s"].append(submit + 1 + patience if below(6) else float("nan"))
        more["value"].append((1 + below(4)) / 2)
        more["min_gpus"].append(1 + below(gpus))
        more["max_gpus"].append(gpus * (1 + below(4)))
        more["profile"].append(below(4))
    return trace(is_typed=is_typed, profiles=profiles(), **more)


def demanding() -> gs.Trace:
    """The same jobs with CPU and memory, and every third of one GPU with a share of it."""
    draws = lehmer(20_240_504)
    more: dict[str, list[float]] = {name: [] for name in ("gpu_share", "cpu", "memory_gib")}
    for gpus in trace(is_typed=True).gpus.tolist():
        lot = next(draws)
        more["gpu_share"].append((1 + lot % 7) / 8 if gpus == 1 and lot % 3 else 1.0)
        more["cpu"].append(lot // 7 % 5 / 2)
        more["memory_gib"].append(float(lot // 35 % 4))
    return trace(is_typed=True, **more)


def fitting(policy: str) -> tuple[str, str]:
    """The workload whose jobs have what a policy has a flag for, ``plain`` or ``urgent``.

    And the speed that lets the policy use it, on servers that are known.
    """
    flags = gs.policies()[policy].flags
    if not {"deadlines", "elastic"} & set(flags):
        return "plain", "fixed"
    return "urgent", "table" if "elastic" in flags else "fixed"


def roomy_cluster() -> gs.Cluster:
    """The same servers with CPU and memory, which here and there run out before the GPUs."""
    half_cores, gibs = (4, 3, 2, 4, 3), (3, 2, 4, 2, 1)  # for each GPU
    groups = tuple(
        gs.ServerGroup(group.count, group.gpus, group.gpu_type,
                       cpu=group.gpus * half / 2, memory_gib=group.gpus * gib)
        for group, half, gib in zip(cluster().servers, half_cores, gibs, strict=True)
    )  # fmt: skip
    return gs.Cluster(groups)


def cluster() -> gs.Cluster:
    """Servers of three sizes and two GPU types, the small ones in between."""
    groups = [(2, 8, "V100"), (3, 4, "K80"), (1, 8, "V100"), (2, 2, "V100"), (1, 4, "K80")]
    return gs.Cluster(tuple(gs.ServerGroup(*group) for group in groups))


def profiles() -> list[gs.model.JobProfile]:
    """Models from no to almost all communication, with figures for every speed that reads them.

    The third fills the memory of a GPU, and the last was measured on few GPUs only.
    """
    widest = (64, 64, 64, 8)
    return [
        gs.model.JobProfile(
            f"profile{i}",
            gradient_bytes=i * i * 300_000_000,
            batch=4,
            forward_s=1 / 64,
            backward_s={"V100": 1 / 16, "K80": 1 / 4},
            throughput={
                "V100": curve(8 - i, 1 + 4 * i, widest[i]),
                "K80": curve(4 - i, 2 + i, widest[i]),
            },
            spread_throughput={"V100": curve(6 - i, 2 + 4 * i, widest[i])} if i else {},
            samples_per_s={"V100": 1500 - 200 * i, "K80": 300 + 50 * i},
            global_batch=600 + i,
            max_samples={"K80": 40} if i == 2 else {},
            **further_numbers((1 + i) / 8),
        )
        for i in range(4)
    ]


OF_KNOWN_SPEEDS = {
    "name", "gradient_bytes", "batch", "forward_s", "backward_s", "source", "throughput",
    "spread_throughput", "samples_per_s", "global_batch", "max_samples",
}  # fmt: skip


def further_numbers(number: float) -> dict[str, float]:
    """The same figure for each number of a profile that none of the speeds here has read."""
    fields = msgspec.structs.fields(gs.model.JobProfile)
    return {
        field.name: number
        for field in fields
        if field.name not in OF_KNOWN_SPEEDS and isinstance(field.default, float)
    }


def curve(pace: int, drag: int, widest: int) -> dict[int, float]:
    """Iterations per second that rise ever more slowly with the number of GPUs."""
    widths = [width for width in (1, 2, 4, 8, 16, 32, 64) if width <= widest]
    return {width: pace * width * 64 / (64 + drag * width) for width in widths}


def networked() -> gs.Trace:
    """The same jobs with profiles and with job graphs."""
    jobs = trace(is_typed=True)
    draws = lehmer(20_240_502)
    jobs = jobs.with_profiles(profiles(), index=[next(draws) % 4 for _ in range(len(jobs))])
    widths = sorted(set(WIDTHS))
    return jobs.with_graphs(
        [graph(width) for width in widths], index=[widths.index(width) for width in jobs.gpus]
    )


def graph(width: int) -> gs.model.JobGraph:
    """Up to three stages, the first the narrowest, that exchange less the later they come."""
    num_stages = min(3, width)
    replicas = [width // num_stages] * (num_stages - 1)
    replicas.append(width - sum(replicas))
    return gs.model.JobGraph(
        f"width{width}",
        tuple(
            gs.model.Stage(
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
