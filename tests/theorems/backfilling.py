"""EASY delays no head: it starts by its first reservation if no job runs longer than estimated."""

from typing import Final

import numpy as np

import gpusched as gs
from gpusched.engine.simulation import simulate_quietly
from gpusched.reference import Job, make_engine
from gpusched.reference.backfilling import Easy, HeadReservation
from gpusched.reference.engine import Engine
from gpusched.reference.model import Active
from tests.theorems.theorem import Theorem

PLACEMENTS: Final = ("count", "first-fit", "best-fit", "worst-fit", "spread", "consolidated")


class Promising(Easy):
    """Keeps the first instant that each head is promised, in ticks, and since when."""

    def __init__(self) -> None:
        super().__init__({})
        self.first: dict[int, tuple[int, int]] = {}

    def reserve(self, engine: Engine, head: Active) -> HeadReservation:
        """Return what it is promised now."""
        promise = super().reserve(engine, head)
        self.first.setdefault(head.id, (engine.now, promise.shadow))
        return promise


def drawn(seed: int) -> tuple[list[Job], list[int], str]:
    """Draw jobs that meet in a queue, GPUs of each server, and a placement."""
    rng = np.random.default_rng([19, seed])
    servers = rng.choice([1, 2, 4, 8], int(rng.integers(1, 5))).tolist()
    placement = str(rng.choice(PLACEMENTS))
    widest = sum(servers)
    num_jobs = int(rng.integers(2, 25))
    is_true = rng.random() < 0.3
    jobs = []
    for submit in np.sort(rng.integers(0, int(rng.choice([1, 10, 30])), num_jobs)).tolist():
        service = int(rng.integers(1, 12))
        over = 0 if is_true else int(rng.integers(0, 8))
        gpus = int(rng.integers(1, 1 + (widest if rng.random() < 0.3 else max(1, widest // 3))))
        jobs.append(Job(submit, service, gpus, estimate_us=service + over))
    return jobs, servers, placement


def share(seed: int) -> float:
    """Return the greatest part of a promised wait that a head of the core waited.

    Raises
    ------
    AssertionError
        If one starts later than it was first promised.
    """
    jobs, servers, placement = drawn(seed)
    scheduler = Promising()
    make_engine(jobs, [(gpus, "gpu") for gpus in servers], scheduler, placement).run()
    started_us = _started_us(jobs, servers, placement)
    used = [0.0]
    for head, (since, promised) in scheduler.first.items():
        started = int(started_us[head])
        assert started <= promised, (
            f"seed {seed}: job {head} starts at {started}, and was promised {promised} at {since}"
        )
        used.append((started - since) / (promised - since))
    return max(used)


def _started_us(jobs: list[Job], servers: list[int], placement: str) -> np.ndarray:
    """Return when the core starts each job."""
    trace = gs.Trace.from_columns(
        submit_s=np.array([job.submit_us for job in jobs]) / 1e6,
        service_s=np.array([job.service_us for job in jobs]) / 1e6,
        gpus=[job.gpus for job in jobs],
        estimate_s=np.array([job.estimate_us for job in jobs]) / 1e6,
    )
    cluster = gs.Cluster(tuple(gs.ServerGroup(1, gpus, "gpu") for gpus in servers))
    result = simulate_quietly(
        trace, cluster, policy="easy", placement=placement, predictor="estimate"
    )
    return result.schedule.start_us


THEOREM: Final = Theorem(
    name="easy",
    says="no head starts later than its first reservation, estimates true or too long, six "
    "placements",
    constant="1",
    against="the reservations of the readable engine",
    check=share,
)
