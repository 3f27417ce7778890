"""The bound on A-SRPT's total completion time, on random instances: what holds, and how closely.

``python -m tests.campaigns.theorems a-srpt-fixed a-srpt-stages`` prints the figures.
"""

import heapq
import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpusched as gs

PLACEMENTS = ("heavy-edge", "heavy-edge", "best-fit", "spread", "random")


@dataclass(frozen=True)
class Instance:
    """Jobs on a cluster of equal servers, and how A-SRPT is to run them."""

    trace: gs.Trace
    cluster: gs.Cluster
    tau: float
    heavy: float
    near: float
    fill: str
    placement: str
    speed: str

    def simulate(self) -> gs.Result:
        """Run it in the form that the bound is of."""
        return gs.simulate(
            self.trace,
            self.cluster,
            policy=gs.Policy(
                "a-srpt", scan="strict", idle=False, work="low", tau=self.tau, heavy=self.heavy,
                near=self.near, fill=self.fill,
            ),
            placement=self.placement,
            predictor="estimate",
            speed=self.speed,
            contention="none" if self.speed == "fixed" else "reserved",
        )  # fmt: skip


@dataclass(frozen=True)
class Check:
    """Sums of completion times, in ticks."""

    total: float
    bound: float
    lower: float  # no schedule is below
    slack: float  # what rounding to ticks can add


def draw_graph(rng: random.Random, name: str, gpus: int) -> gs.model.JobGraph:
    """Return a pipeline of one to three stages with ``gpus`` replicas in all."""
    num_stages = min(gpus, rng.choice([1, 1, 2, 3]))
    cuts = [0, *sorted(rng.sample(range(1, gpus), num_stages - 1)), gpus]
    stages = [
        gs.model.Stage(
            replicas=cuts[i + 1] - cuts[i],
            compute_s=rng.choice([0.02, 0.1, 0.5]),
            parameter_bytes=rng.choice([0.0, 1e8, 6e8, 6e9]),
            activation_bytes=rng.choice([0.0, 1e7, 1e9]) if i + 1 < num_stages else 0.0,
        )
        for i in range(num_stages)
    ]
    return gs.model.JobGraph(name, tuple(stages))


def draw_instance(seed: int, speed: str = "stages") -> Instance:
    """Return an instance: idle clusters to all jobs at once, exact to wild predictions."""
    rng = random.Random(f"{speed}/{seed}")
    servers, gpus = rng.choice([(1, 8), (2, 4), (4, 4), (3, 8), (6, 2), (12, 1)])
    cluster = gs.Cluster.uniform(
        servers=servers,
        gpus=gpus,
        nic_gbps=rng.choice([10, 25, 100]),
        intra_gbps=rng.choice([96, 2400]),
    )
    num_gpus = servers * gpus
    widest = rng.choice([1, max(1, num_gpus // 2), num_gpus])
    num_jobs = rng.choice([1, 2, 3, 8, 20, 40])
    widths = [rng.randint(1, widest) for _ in range(num_jobs)]
    spread = rng.choice([0.0, 1.0, 2.0])
    service = [math.ceil(30e6 * math.exp(rng.gauss(0, spread))) for _ in range(num_jobs)]
    sigma = rng.choice([0.0, 0.3, 1.0])
    guess = [max(1, round(ticks * math.exp(rng.gauss(0, sigma)))) for ticks in service]
    pace = rng.choice([0.0, 0.3, 1.0, 3.0])
    gap = pace * sum(w * s for w, s in zip(widths, service, strict=True)) / num_gpus / num_jobs
    submit = [0]
    while len(submit) < num_jobs:
        submit.append(submit[-1] + round(rng.expovariate(1.0) * gap))
    graphs: dict[str, Any] = {}
    if speed != "fixed":
        models = [draw_graph(rng, f"graph {i}", width) for i, width in enumerate(widths)]
        graphs = {"graphs": models, "graph": list(range(num_jobs))}
    trace = gs.Trace.from_columns(
        submit_s=np.array(submit) / 1e6, service_s=np.array(service) / 1e6,
        estimate_s=np.array(guess) / 1e6, gpus=widths, **graphs,
    )  # fmt: skip
    return Instance(
        trace=trace, cluster=cluster, tau=rng.choice([0.0, 0.5, 1.0, 3.0]),
        heavy=rng.choice([1.0, 1.5]), near=rng.choice([1.0, 1.1]),
        fill=rng.choice(["fewest", "most-free"]), placement=rng.choice(PLACEMENTS), speed=speed,
    )  # fmt: skip


def srpt_completion(submit: list[float], work: list[float]) -> float:
    """Sum the completion times of shortest remaining work first on one machine of unit speed."""
    waiting: list[tuple[float, int]] = []
    arrivals = sorted(range(len(submit)), key=lambda job: submit[job])
    now = total = 0.0
    while arrivals or waiting:
        if not waiting:
            now = max(now, submit[arrivals[0]])
        while arrivals and submit[arrivals[0]] <= now:
            job = arrivals.pop(0)
            heapq.heappush(waiting, (work[job], job))
        left, job = heapq.heappop(waiting)
        until = submit[arrivals[0]] if arrivals else math.inf
        if now + left <= until:
            now += left
            total += now
        else:
            heapq.heappush(waiting, (left - (until - now), job))
            now = until
    return total


def check(instance: Instance) -> Check:
    """Run the instance and compare: Luo et al. 2025, in the form of docs/studies/a-srpt.md."""
    result = instance.simulate()
    trace, num_gpus = instance.trace, instance.cluster.num_gpus
    service = trace.service_us.astype(float)
    guess = np.array(trace.estimate_us, dtype=float)
    widths = trace.gpus.astype(float)
    rho = 1.0
    if instance.speed != "fixed":
        limits = gs.bounds.iteration_limits(trace, instance.cluster, speed=instance.speed)
        rho = float((limits["max"] / limits["low"]).max())
    over = max(1.0, float((guess / service).max()))
    under = max(1.0, float((service / guess).max()))
    virtual = srpt_completion(
        trace.submit_us.astype(float).tolist(), (widths / num_gpus * service).tolist()
    )
    width_factor = num_gpus / (num_gpus - int(widths.max()) + 1)
    factor = over * (1 + instance.tau) + rho * under * over * width_factor
    finish = result.schedule.finish_us.astype(float)
    assert (result.schedule.status == 0).all()
    ends_alone = float((trace.submit_us + service).sum())
    return Check(
        total=float(finish.sum()),
        bound=factor * virtual + rho * float(service.sum()),
        lower=max(virtual, ends_alone),
        slack=4.0 * len(trace) ** 2,
    )
