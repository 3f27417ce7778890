"""The semantics of gpusched as a readable engine: slow, obvious, and independent of the core.

It is the oracle of the parity tests and imports nothing from gpusched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import orders
from .a_srpt import ASrpt
from .a_srpt_p import ASrptP
from .ada_srsf import AdaSrsf
from .conservative import Conservative
from .discretised_las import DiscretisedLas
from .easy import Easy
from .engine import Engine, Scheduler
from .make_speed import make_speed
from .model import (
    FINISHED,
    REJECT_REASONS,
    REJECTED,
    UNFINISHED,
    Graph,
    GraphStage,
    Job,
    Outcome,
    Profile,
)
from .network import Network
from .non_preemptive import ListScheduler
from .placements import NAMES as PLACEMENTS
from .preemptive import Preemptive
from .serverfilling import ServerFilling
from .speeds import CONTENTIONS

PREEMPTIVE = ("srtf", "srsf", "las", "2d-las", "serverfilling-srpt", "a-srpt-p")
POLICIES = (*orders.NON_PREEMPTIVE, "easy", "conservative", "ada-srsf", "a-srpt", *PREEMPTIVE)

__all__ = [
    "CONTENTIONS",
    "FINISHED",
    "PLACEMENTS",
    "POLICIES",
    "PREEMPTIVE",
    "REJECTED",
    "REJECT_REASONS",
    "UNFINISHED",
    "Graph",
    "GraphStage",
    "Job",
    "Network",
    "Outcome",
    "Profile",
    "replay",
]


def make_scheduler(policy: str, params: Mapping[str, Any]) -> Scheduler:
    """Return the scheduler of a policy's name."""
    if policy in orders.NON_PREEMPTIVE:
        scan = params.get("scan", "strict" if policy in orders.STRICT else "skip")
        return ListScheduler(orders.NON_PREEMPTIVE[policy], scan == "strict")
    if policy == "easy":
        return Easy()
    if policy == "conservative":
        return Conservative()
    if policy == "ada-srsf":
        return AdaSrsf(params)
    if policy == "srtf":
        return Preemptive(orders.srtf, params)
    if policy == "srsf":
        return Preemptive(orders.srsf, params)
    if policy == "las":
        return Preemptive(orders.las, {"period_s": 60.0} | dict(params))
    if policy == "2d-las":
        return DiscretisedLas(params)
    if policy == "a-srpt":
        return ASrpt(params)
    if policy == "a-srpt-p":
        return ASrptP(params)
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
    speed: str = "fixed",
    contention: str = "none",
    speed_params: Mapping[str, Any] | None = None,
    contention_params: Mapping[str, Any] | None = None,
    network: Network | None = None,
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
    speed, contention, speed_params, contention_params
        ``fixed``, ``ring`` or ``stages``, and one of :data:`CONTENTIONS`; parameters as in
        ``gpusched``.
    network
        What ``ring`` needs, beside a profile of every job, and ``stages``, beside a graph.
    max_instants
        Guard against rules that never end (work added faster than it is done).

    Returns
    -------
    Outcome
        Columns in JobId order, the interval rows and the digest.

    Raises
    ------
    ValueError
        If a name is unknown, ``count`` meets a job restricted to some of several GPU types, or a
        speed misses what it needs.
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
        lambda cluster: make_speed(
            cluster, network, speed, speed_params or {}, contention, contention_params or {}
        ),
        seed=seed,
        restart=restart,
        max_instants=max_instants,
    )
    return engine.run()
