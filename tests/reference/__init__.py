"""The semantics of gpusched as a readable engine: slow, obvious, and independent of the core.

It is the oracle of the parity tests and imports nothing from gpusched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import orders
from .conservative import Conservative
from .discretised_las import DiscretisedLas
from .easy import Easy
from .engine import Engine, Scheduler
from .model import FINISHED, REJECT_REASONS, REJECTED, UNFINISHED, Job, Outcome
from .non_preemptive import ListScheduler
from .placements import NAMES as PLACEMENTS
from .preemptive import Preemptive
from .serverfilling import ServerFilling

PREEMPTIVE = ("srtf", "srsf", "las", "2d-las", "serverfilling-srpt")
POLICIES = (*orders.NON_PREEMPTIVE, "easy", "conservative", *PREEMPTIVE)

__all__ = [
    "FINISHED",
    "PLACEMENTS",
    "POLICIES",
    "PREEMPTIVE",
    "REJECTED",
    "REJECT_REASONS",
    "UNFINISHED",
    "Job",
    "Outcome",
    "replay",
]


def make_scheduler(policy: str, params: Mapping[str, Any]) -> Scheduler:
    """Return the scheduler of a policy's name."""
    if policy in orders.NON_PREEMPTIVE:
        scan = params.get("scan", "strict" if policy == "fifo" else "skip")
        return ListScheduler(orders.NON_PREEMPTIVE[policy], scan == "strict")
    if policy == "easy":
        return Easy()
    if policy == "conservative":
        return Conservative()
    if policy == "srtf":
        return Preemptive(orders.srtf, params)
    if policy == "srsf":
        return Preemptive(orders.srsf, params)
    if policy == "las":
        return Preemptive(orders.las, {"period_s": 60.0} | dict(params))
    if policy == "2d-las":
        return DiscretisedLas(params)
    if policy == "serverfilling-srpt":
        return ServerFilling(params)
    raise ValueError(f"unknown policy {policy!r}")


def replay(
    jobs: Sequence[Job],
    servers: Sequence[tuple[int, str]],
    policy: str,
    placement: str = "count",
    *,
    policy_params: Mapping[str, Any] | None = None,
    placement_params: Mapping[str, Any] | None = None,
    seed: int = 0,
    max_instants: int = 200_000,
) -> Outcome:
    """Replay ``jobs`` on ``servers``, each (GPUs, GPU type), under ``policy``.

    Parameters
    ----------
    jobs
        In any order; a job's id is its position after a stable sort by submit.
    servers
        (GPUs, GPU type) of each server, in id order.
    policy, placement
        Names out of :data:`POLICIES` and :data:`PLACEMENTS`.
    policy_params, placement_params
        As in ``gpusched.Policy``: seconds where the name ends in ``_s``.
    seed
        Seed of the random order and the random placement.
    max_instants
        Guard against rules that never end (work added faster than it is done).

    Returns
    -------
    Outcome
        Columns in JobId order, the interval rows and the digest.

    Raises
    ------
    ValueError
        If a name is unknown, or ``count`` meets a job restricted to some of several GPU types.
    RuntimeError
        If the replay has not ended after ``max_instants``.
    """
    scheduler = make_scheduler(policy, policy_params or {})
    restart = scheduler.params["restart"] if isinstance(scheduler, Preemptive) else "time"
    engine = Engine(
        jobs,
        servers,
        scheduler,
        placement,
        placement_params or {},
        seed=seed,
        restart=restart,
        max_instants=max_instants,
    )
    return engine.run()
