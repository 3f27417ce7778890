"""Seeded replays of a hundred jobs and more: deep queues, wide servers, many preemptions."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from gpusched.reference import BY_DEADLINE, PREEMPTIVE, Job
from gpusched.reference.model import WHOLE
from tests.reference.cases import Case
from tests.reference.drawing import Generator, Source
from tests.reference.scales import ALL_TYPES, SECOND, TYPES

SERVERS = [(8,) * 6, (2, 2, 8, 8, 4), (64, 8, 8), (1,) * 20, (4, 4, 4, 4, 64)]


def parameters(rng: random.Random, policy: str) -> dict[str, Any]:
    """Draw parameters of a preemptive policy, times in seconds."""
    if policy not in PREEMPTIVE:
        return {}
    params: dict[str, Any] = {
        "restart": rng.choice(["time", "work"]),
        "cost_s": rng.choice([0.0, 3.0]),
        "wide_cost_s": rng.choice([0.0, 5.5]),
        "narrow_gpus": rng.choice([1, 4, 8]),
        "quota": rng.choice(["free", "hold"]),
        "displace": rng.choice([False, True]),
        "epoch": rng.choice(["event", "period"]),
        "period_s": rng.choice([10.0, 60.0]),
    }
    if params["epoch"] == "event" and rng.random() < 0.5:
        del params["period_s"]  # las and 2d-las: 60 s, the others: none
    if policy != "serverfilling-srpt":
        params["scan"] = rng.choice(["strict", "skip"])
    if policy == "2d-las":
        params["limits"] = sorted(rng.sample(range(10, 800), k=rng.choice([1, 2, 4])))
        params["inside"] = rng.choice(["submit", "entry"])
        params["promote"] = 0.0 if params["restart"] == "work" else rng.choice([0.0, 2.0, 8.0])
    return params


def large_case(policy: str, placement: str, seed: int) -> Case:
    """Return a replay whose load is about 1, times in microseconds."""
    rng = random.Random(f"{policy}/{placement}/{seed}")
    types = TYPES[:1] if placement == "count" else rng.choice([TYPES[:1], TYPES, ALL_TYPES])
    servers = [(gpus, rng.choice(types)) for gpus in rng.choice(SERVERS)]
    num_gpus = sum(gpus for gpus, _ in servers)
    num_jobs = 100 if policy == "conservative" else 150
    widths = [width for width in (1, 1, 1, 2, 3, 4, 8, 12, 16, 70) if width <= num_gpus]
    grain = rng.choice([1, SECOND // 4, SECOND])  # coarse grains make ties
    has_estimates, has_costs, is_typed = (rng.random() < 0.5 for _ in range(3))
    is_predicted = has_estimates and rng.random() < 0.5
    patience = rng.choice([1.2, 4.0]) if policy in BY_DEADLINE else None
    submit, jobs = 0.0, []
    for _ in range(num_jobs):
        gpus = rng.choice(widths)
        service = min(rng.expovariate(1 / 30), 300.0)
        submit += rng.expovariate(1.0) * 30 * sum(widths) / len(widths) / num_gpus
        service_us = max(1, round(service * SECOND) // grain) * grain
        estimate = max(1, round(service_us * rng.choice([0.01, 0.3, 1.0, 2.0, 10.0])))
        submit_us = round(submit * SECOND) // grain * grain
        deadline = None
        if patience is not None and rng.random() < 0.8:
            deadline = submit_us + round(patience * service_us) // grain * grain + grain
        jobs.append(
            Job(
                submit_us=submit_us,
                service_us=service_us,
                gpus=gpus,
                estimate_us=estimate if has_estimates else None,
                predicted_us=estimate if is_predicted else None,
                weight=rng.choice([0.5, 1.0, 3.0]),
                checkpoint_us=rng.randrange(2 * SECOND) if has_costs else 0,
                restart_us=rng.randrange(2 * SECOND) if has_costs else 0,
                allowed=frozenset([rng.choice(types)]) if is_typed and rng.random() < 0.3 else None,
                deadline_us=deadline,
            )
        )
    kappas = {"consolidated-relaxed": [1.0, 1.5, 2.0], "lwf": [1, 3, 8]}
    kappa = {"kappa": rng.choice(kappas[placement])} if placement in kappas else {}
    params = parameters(rng, policy)
    return Case(jobs, servers, policy, placement, params, kappa, rng.randrange(2**63))


def large_demands(policy: str, placement: str, seed: int) -> Case:
    """Return a large replay in which almost every job is of a kind of its own: what its workers
    ask for, and where they may run.
    """
    case = large_case(policy, "first-fit", seed)
    rng = random.Random(f"demands/{policy}/{placement}/{seed}")
    rooms = (None, 16_000, 64_000, 2**39)
    types = sorted({name for _, name in case.servers} | {"P100"})
    sets = [frozenset(rng.sample(types, k=rng.randint(1, len(types)))) for _ in range(10)]
    jobs = []
    for job in case.jobs[: 40 if placement == "fgd" else None]:  # it looks at every GPU
        gpus = 1 if rng.random() < 0.5 else job.gpus
        jobs.append(
            replace(
                job,
                submit_us=job.submit_us // 3,
                gpus=gpus,
                share_milli=rng.choice([rng.randint(1, WHOLE), WHOLE]) if gpus == 1 else WHOLE,
                cpu_milli=rng.randint(0, 4_000),
                memory_mib=rng.randint(0, 4_000),
                allowed=rng.choice(sets) if rng.random() < 0.3 else None,
            )
        )
    room = [(rng.choice(rooms), rng.choice(rooms)) for _ in case.servers]
    return replace(case, jobs=jobs, placement=placement, placement_params={}, room=room)


def many_widths(policy: str, placement: str, seed: int, num_widths: int = 1_500) -> Case:
    """Return a replay in which every job has another width, on servers of 64 GPUs."""
    rng = random.Random(f"widths/{policy}/{placement}/{seed}")
    servers = [(64, name) for name in ("K80", "V100") for _ in range(16)]
    widths = rng.sample(range(1, num_widths + 1), k=num_widths)
    submit, jobs = 0, []
    for gpus in widths:
        jobs.append(Job(submit, rng.randint(1, 100), gpus))
        submit += round(rng.expovariate(1.0) * 70 * gpus / (64 * len(servers)))
    return Case(jobs, servers, policy, placement, {}, {}, seed)


@Generator
def deep_queues(source: Source, policy: str, placement: str) -> Case:
    """A replay of up to 450 jobs that come up to thirty times as fast as they can be served.

    Of ten widths and a few sets of GPU types, as fast paths ask for that keep a queue for each.
    """
    case = large_case(policy, placement, source.between(0, 2**32))
    haste, copies = source.one_of([1, 3, 10, 30]), source.one_of([1, 2, 3])
    jobs = [replace(job, submit_us=job.submit_us // haste) for job in case.jobs * copies]
    params = {name: value for name, value in case.policy_params.items() if name != "displace"}
    return replace(case, jobs=jobs, policy_params=params)
