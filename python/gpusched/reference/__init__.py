"""The semantics of gpusched as a reference engine: slow, obvious, independent of the core.

It is the oracle of the parity tests and of the second level of an audit; it imports nothing
else of gpusched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gpusched.reference.a_srpt import ASrpt
from gpusched.reference.ada_srsf import AdaSrsf
from gpusched.reference.backfilling import Conservative, Easy
from gpusched.reference.cluster import Network
from gpusched.reference.engine import Engine, Scheduler
from gpusched.reference.lists import (
    ASrptP,
    DiscretisedLas,
    ListScheduler,
    Preemptive,
    ServerFilling,
)
from gpusched.reference.model import (
    CANCELLED,
    FAILED,
    FINISHED,
    HELD,
    KILLED,
    REJECT_REASONS,
    REJECTED,
    UNFINISHED,
    Dependency,
    Graph,
    GraphStage,
    Job,
    Outage,
    Outcome,
    Profile,
    Samples,
    Throughputs,
)
from gpusched.reference.orders import NON_PREEMPTIVE, STRICT, edf, las, llf, srsf, srtf
from gpusched.reference.placements import NAMES as PLACEMENTS
from gpusched.reference.speeds import CONTENTIONS

BY_DEADLINE = ("edf", "llf")
PREEMPTIVE = ("srtf", "srsf", "las", "2d-las", "serverfilling-srpt", "a-srpt-p", *BY_DEADLINE)
POLICIES = (
    *NON_PREEMPTIVE,
    "easy",
    "conservative",
    "ada-srsf",
    "a-srpt",
    *(name for name in PREEMPTIVE if name not in BY_DEADLINE),
)
"""All except those with deadlines."""

__all__ = [
    "BY_DEADLINE",
    "CANCELLED",
    "CONTENTIONS",
    "FAILED",
    "FINISHED",
    "HELD",
    "KILLED",
    "PLACEMENTS",
    "POLICIES",
    "PREEMPTIVE",
    "REJECTED",
    "REJECT_REASONS",
    "UNFINISHED",
    "Dependency",
    "Graph",
    "GraphStage",
    "Job",
    "Network",
    "Outage",
    "Outcome",
    "Profile",
    "Samples",
    "Throughputs",
    "make_engine",
    "replay",
]


_BY_NAME: dict[str, Callable[[Mapping[str, Any]], Scheduler]] = {
    "easy": Easy,
    "conservative": Conservative,
    "ada-srsf": AdaSrsf,
    "srtf": partial(Preemptive, srtf),
    "srsf": partial(Preemptive, srsf),
    "las": lambda params: Preemptive(las, {"period_s": 60.0} | dict(params)),
    "edf": partial(Preemptive, edf),
    "llf": lambda params: Preemptive(llf, {"period_s": 60.0} | dict(params)),
    "2d-las": DiscretisedLas,
    "a-srpt": ASrpt,
    "a-srpt-p": ASrptP,
    "serverfilling-srpt": ServerFilling,
}


def make_scheduler(policy: str, params: Mapping[str, Any]) -> Scheduler:
    """Return the scheduler of a policy."""
    if policy in NON_PREEMPTIVE:
        scan = params.get("scan", "strict" if policy in STRICT else "skip")
        guards = {name: params[name] for name in ("patience_s", "defrag") if name in params}
        return ListScheduler(NON_PREEMPTIVE[policy], scan == "strict", **guards)
    if policy not in _BY_NAME:
        raise ValueError(f"unknown policy {policy!r}")
    return _BY_NAME[policy](params)


make_engine = Engine


def replay(
    jobs: Sequence[Job],
    servers: Sequence[tuple[int, str]],
    policy: str,
    placement: str = "count",
    *,
    policy_params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Outcome:
    """Replay ``jobs`` on ``servers`` under ``policy``.

    Parameters
    ----------
    jobs
        In any order; a job's id is its position after a stable sort by submit time.
    servers
        (GPUs, GPU type) of each server, in id order.
    policy, placement
        Names from :data:`POLICIES` or :data:`BY_DEADLINE`, and :data:`PLACEMENTS`.
    policy_params
        As in ``gpusched.Policy``; names that end in ``_s`` are seconds.
    options
        ``placement_params`` as ``policy_params``. ``seed`` of the random order and placement.
        ``speed`` (``fixed``, ``ring``, ``stages`` or ``table``) and ``contention`` (one of
        :data:`CONTENTIONS`), ``speed_params`` and ``contention_params`` as in ``gpusched``.
        ``network``: required by ``ring``, with a profile of every job, and ``stages``, with a
        graph. ``room``: CPU (thousandths of a core) and memory (MiB) of each server; None is
        unlimited. ``changes``: changes made during the replay. ``outages`` of servers.
        ``array_limits``: the most tasks of each array in the queue or running (None: any).
        ``kill_invalid_depend``: cancel jobs whose dependencies can never be met.
        ``max_instants``: a guard against endless replays (work added faster than it is done).

    Returns
    -------
    Outcome
        Columns in JobId order, the interval rows and the digest.

    Raises
    ------
    ValueError
        If a name is unknown, ``count`` meets a job restricted to some of several GPU types or an
        outage, a speed lacks its data, times exceed the limits, or what holds or cancels a job is
        out of range.
    RuntimeError
        If the replay has not ended after ``max_instants``.
    """
    scheduler = make_scheduler(policy, policy_params or {})
    return make_engine(jobs, servers, scheduler, placement, **options).run()
