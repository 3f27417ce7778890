"""Generators of small replays full of ties, simultaneous events and full clusters.

Each case keeps to one scale, so that what a failure needs stays visible: see :data:`SCALES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpusched.reference import BY_DEADLINE, HELD, Job, Network, Outage, Outcome, replay
from tests.reference.drawing import Generator, Source, flag, is_rare, some_of
from tests.reference.policy_cases import PLACEMENT_PARAMETERS, policy_parameters
from tests.reference.scales import (
    ALL_TYPES,
    IN_TICKS,
    SECOND,
    SHAPES,
    TYPES,
    WIDE,
    times_of,
    widths_of,
)

__all__ = ["ALL_TYPES", "SECOND", "TYPES", "Case", "cases", "clusters", "scaled"]

LEAST_PERIOD = 1_000
TIMES = ("period_s", "cost_s", "wide_cost_s", "overrun_s", "least_s", "patience_s")
JOB_TIMES = (
    "submit_us", "service_us", "estimate_us", "predicted_us", "checkpoint_us", "restart_us",
    "deadline_us", "checkpoint_every_us", "checkpoint_write_us", "time_limit_us", "eligible_us",
    "cancel_at_us",
)  # fmt: skip


def scaled(job: Job, unit: int) -> Job:
    """Return the job with all its times in units of ``unit`` microseconds."""
    times: dict[str, Any] = {
        name: min(time * unit, HELD)
        for name in JOB_TIMES
        if (time := getattr(job, name)) is not None
    }
    waits = (replace(one, delay_us=one.delay_us * unit) for one in job.dependencies)
    return replace(job, **times, dependencies=tuple(waits))


@dataclass(frozen=True)
class Case:
    """One replay. All times count an unnamed unit until :meth:`at` names it."""

    jobs: list[Job]
    servers: list[tuple[int, str]]
    policy: str
    placement: str
    policy_params: dict[str, Any]
    placement_params: dict[str, Any]
    seed: int
    speed: str = "fixed"
    contention: str = "none"
    speed_params: dict[str, Any] = field(default_factory=dict)
    contention_params: dict[str, Any] = field(default_factory=dict)
    network: Network | None = None
    room: list[tuple[int | None, int | None]] = field(default_factory=list)
    scale: str = "small"
    part_of: list[int] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    array_limits: list[int | None] = field(default_factory=list)
    kill_invalid_depend: bool = False

    def at(self, unit: int) -> Case:
        """Return the case with a time unit of ``unit`` microseconds, unless it is in ticks.

        A period that would be shorter than a millisecond is one more: with a unit of one more, or
        in ticks by itself.
        """
        params = dict(self.policy_params)
        unit = 1 if self.scale in IN_TICKS else unit
        if 0 < params.get("period_s", 0) * unit < LEAST_PERIOD:
            if self.scale in IN_TICKS:
                params["period_s"] += LEAST_PERIOD
            else:
                unit += LEAST_PERIOD
        for name in TIMES:
            if name in params:
                params[name] = params[name] * unit / SECOND
        if "limits" in params:
            params["limits"] = [limit * unit / SECOND for limit in params["limits"]]
        jobs = [scaled(job, unit) for job in self.jobs]
        outages = [
            replace(
                out,
                start_us=out.start_us * unit,
                end_us=out.end_us and out.end_us * unit,
                known_us=out.known_us and out.known_us * unit,
            )
            for out in self.outages
        ]
        return replace(self, jobs=jobs, policy_params=params, outages=outages)

    def arguments(self) -> tuple[Any, ...]:
        """Return jobs, servers, policy, placement, their parameters and the seed."""
        names = ("policy", "placement", "policy_params", "placement_params", "seed")
        return (self.jobs, self.servers, *(getattr(self, name) for name in names))

    def speeds(self) -> dict[str, Any]:
        """Return what decides how fast the jobs are, and what servers have, by name."""
        names = ("speed", "contention", "speed_params", "contention_params", "network", "room",
                 "part_of")  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def holds(self) -> dict[str, Any]:
        """Return what beside the jobs decides how long they are held, by name."""
        names = ("array_limits", "kill_invalid_depend")
        return {name: getattr(self, name) for name in names}

    def replay(self, **options: Any) -> Outcome:
        """Run the reference engine."""
        return replay(
            self.jobs,
            self.servers,
            self.policy,
            self.placement,
            policy_params=self.policy_params,
            placement_params=self.placement_params,
            seed=self.seed,
            outages=self.outages,
            **self.speeds(),
            **self.holds(),
            **options,
        )


@Generator
def clusters(source: Source, scale: str = "small") -> list[tuple[int, str]]:
    """Up to four servers, of one size or several, of up to four GPU types."""
    types = source.one_of([TYPES[:1], TYPES, ALL_TYPES])
    pools = [(64,), (1, 8, 33, 64)] if scale in WIDE else [(4,), (1, 2, 3, 4)]
    sizes = source.one_of(pools)
    most = 1 if scale == "lone" else 4
    return [(source.one_of(sizes), source.one_of(types)) for _ in range(source.between(1, most))]


@Generator
def job_lists(
    source: Source,
    num_gpus: int,
    is_typed: bool,
    estimates: str,
    has_costs: bool,
    has_deadlines: bool = False,
    scale: str = "small",
) -> list[Job]:
    """Up to twelve jobs; ``estimates`` is none, some, all, high or predicted."""
    times = times_of(source, scale)
    widths = widths_of(source, num_gpus, scale)
    is_weighted = flag(source)
    patience = source.one_of([12, 60, 1])  # the less, the more are missed
    weights = [0.5, 1.0, 2.0, 3.0, 1e-9, 1e9]
    some_types = [
        None, frozenset(ALL_TYPES[:1]), frozenset(ALL_TYPES[1:2]), frozenset(TYPES),
        frozenset(ALL_TYPES[1:]),
    ]  # fmt: skip

    def job() -> Job:
        service = times.service(source)
        submit = times.submit(source)
        estimate = None
        if estimates == "high":
            estimate = service + source.between(0, 5)
        elif estimates in ("all", "predicted") or (estimates == "some" and flag(source)):
            estimate = times.estimate(source)
        is_due = has_deadlines and source.between(0, 3) > 0
        return Job(
            submit_us=submit,
            service_us=service,
            gpus=source.one_of(widths),
            estimate_us=estimate,
            predicted_us=estimate if estimates == "predicted" else None,
            weight=source.one_of(weights) if is_weighted else 1.0,
            checkpoint_us=times.cost(source) if has_costs else 0,
            restart_us=times.cost(source) if has_costs else 0,
            allowed=source.one_of(some_types) if is_typed else None,
            deadline_us=times.deadline(source, submit, patience) if is_due else None,
        )

    if scale == "lone" and flag(source):
        return [job()]
    fewest = source.one_of([1, 6, 12])  # few jobs are readable, many meet in a queue
    jobs = [job() for _ in range(source.between(fewest, 12))]
    if scale == "tied" and is_rare(source, 3):  # then nothing but GPU types tells them apart
        jobs = [replace(jobs[0], allowed=job.allowed) for job in jobs]
    return jobs


@Generator
def cases(
    source: Source,
    policy: str,
    placement: str,
    estimates: str | None = None,
    scales: Sequence[str] = SHAPES,
) -> Case:
    """A replay of ``policy`` with ``placement`` at one of some scales."""
    scale = source.one_of(scales)
    if scale == "wide" and policy == "2d-las" and flag(source):
        scale = "fine"
    servers = clusters.draw(source, scale)
    kinds = ["none", "some", "predicted", "all", "predicted"]
    jobs = job_lists.draw(
        source,
        num_gpus=sum(gpus for gpus, _ in servers),
        is_typed=placement != "count" and flag(source),
        estimates=estimates or source.one_of(kinds),
        has_costs=scale == "costly" or flag(source),
        has_deadlines=policy in BY_DEADLINE,
        scale=scale,
    )
    return Case(
        jobs=jobs,
        servers=servers,
        policy=policy,
        placement=placement,
        policy_params=policy_parameters(source, policy, scale),
        placement_params=some_of(source, PLACEMENT_PARAMETERS.get(placement, {})),
        seed=source.one_of([0, 2**64 - 1, source.between(0, 2**32)]),
        scale=scale,
    )
