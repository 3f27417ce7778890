"""Hypothesis strategies: small replays full of ties, simultaneous events and full clusters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from . import BY_DEADLINE, PREEMPTIVE, Job, Network, Outcome, orders, replay

SECOND = 1_000_000
TYPES = ("K80", "V100")
TIMES = ("period_s", "cost_s", "wide_cost_s")
JOB_TIMES = (
    "submit_us", "service_us", "estimate_us", "predicted_us", "checkpoint_us", "restart_us",
    "deadline_us",
)  # fmt: skip


def scaled(job: Job, unit: int) -> Job:
    """Return the job with all its times in units of ``unit`` microseconds."""
    times = {name: time * unit for name in JOB_TIMES if (time := getattr(job, name)) is not None}
    return replace(job, **times)


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

    def at(self, unit: int) -> Case:
        """Return the case with a time unit of ``unit`` microseconds."""
        params = dict(self.policy_params)
        for name in TIMES:
            if name in params:
                params[name] = params[name] * unit / SECOND
        if "limits" in params:
            params["limits"] = [limit * unit / SECOND for limit in params["limits"]]
        return replace(self, jobs=[scaled(job, unit) for job in self.jobs], policy_params=params)

    def arguments(self) -> tuple[Any, ...]:
        """Return jobs, servers, policy, placement, their parameters and the seed."""
        names = ("policy", "placement", "policy_params", "placement_params", "seed")
        return (self.jobs, self.servers, *(getattr(self, name) for name in names))

    def speeds(self) -> dict[str, Any]:
        """Return what decides how fast the jobs are, and what servers have, by name."""
        names = ("speed", "contention", "speed_params", "contention_params", "network", "room")
        return {name: getattr(self, name) for name in names}

    def replay(self) -> Outcome:
        """Run the reference engine."""
        return replay(
            self.jobs,
            self.servers,
            self.policy,
            self.placement,
            policy_params=self.policy_params,
            placement_params=self.placement_params,
            seed=self.seed,
            **self.speeds(),
        )


@st.composite
def clusters(draw: st.DrawFn) -> list[tuple[int, str]]:
    """Draw up to four servers, of one size or several, of one GPU type or two."""
    types = draw(st.sampled_from([TYPES[:1], TYPES]))
    sizes = draw(st.sampled_from([(4,), (1, 2, 3, 4)]))
    server = st.tuples(st.sampled_from(sizes), st.sampled_from(types))
    return draw(st.lists(server, min_size=1, max_size=4))


@st.composite
def job_lists(
    draw: st.DrawFn,
    num_gpus: int,
    is_typed: bool,
    estimates: str,
    has_costs: bool,
    has_deadlines: bool = False,
) -> list[Job]:
    """Draw up to twelve jobs; ``estimates`` is none, some, all, high or predicted."""
    is_wide = draw(st.booleans())  # else no job is wider than half of the cluster
    widest = num_gpus + 1 if is_wide else max(1, num_gpus // 2)
    is_weighted = draw(st.booleans())
    patience = draw(st.sampled_from([12, 60])) if has_deadlines else None  # 12: some are missed
    longest_estimate = draw(st.sampled_from([12, 3]))  # short ones are overdue most of the time
    last_submit = draw(st.sampled_from([20, 8, 3]))
    fewest = draw(st.sampled_from([1, 6, 12]))  # few jobs are readable, many meet in a queue
    some_types = [None, frozenset(TYPES[:1]), frozenset(TYPES[1:]), frozenset(TYPES)]

    def job() -> st.SearchStrategy[Job]:
        @st.composite
        def one(draw: st.DrawFn) -> Job:
            service = draw(st.integers(1, 10))
            estimate = None
            if estimates == "high":
                estimate = service + draw(st.integers(0, 5))
            elif estimates in ("all", "predicted") or (estimates == "some" and draw(st.booleans())):
                estimate = draw(st.integers(1, longest_estimate))
            submit = draw(st.integers(0, last_submit))
            deadline = None
            if patience is not None and draw(st.integers(0, 3)):
                deadline = submit + draw(st.integers(1, patience))
            return Job(
                submit_us=submit,
                service_us=service,
                gpus=draw(st.integers(1, widest)),
                estimate_us=estimate,
                predicted_us=estimate if estimates == "predicted" else None,
                weight=draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])) if is_weighted else 1.0,
                checkpoint_us=draw(st.integers(0, 2)) if has_costs else 0,
                restart_us=draw(st.integers(0, 2)) if has_costs else 0,
                allowed=draw(st.sampled_from(some_types)) if is_typed else None,
                deadline_us=deadline,
            )

        return one()

    return draw(st.lists(job(), min_size=fewest, max_size=12))


@st.composite
def policy_parameters(draw: st.DrawFn, policy: str) -> dict[str, Any]:
    """Draw some of the parameters of a policy, times in units."""
    if policy in orders.NON_PREEMPTIVE:
        return draw(st.fixed_dictionaries({}, optional={"scan": scans}))
    if policy == "ada-srsf":
        return draw(st.fixed_dictionaries({}, optional=ADA_SRSF))
    if policy == "a-srpt":
        return draw(st.fixed_dictionaries({}, optional=A_SRPT))
    if policy not in PREEMPTIVE:
        return {}
    own: dict[str, st.SearchStrategy[Any]] = {
        "restart": st.sampled_from(["time", "work"]),
        "cost_s": st.integers(0, 3),
        "wide_cost_s": st.integers(0, 3),
        "narrow_gpus": st.integers(1, 8),
        "quota": st.sampled_from(["free", "hold"]),
        "displace": st.booleans(),
        "epoch": st.sampled_from(["event", "period"]),
    }
    if policy != "serverfilling-srpt":
        own["scan"] = scans
    if policy == "2d-las":
        own["inside"] = st.sampled_from(["submit", "entry"])
        own["preset"] = st.sampled_from(["tiresias", "lucid"])
        own["promote"] = st.sampled_from([0.0, 0.5, 1.0, 2.5])
    params = draw(st.fixed_dictionaries({}, optional=own) | st.fixed_dictionaries(own))
    if policy in ("las", "llf", "2d-las") or params.get("epoch") == "period" or draw(st.booleans()):
        params["period_s"] = draw(st.integers(1, 10))
    if policy == "2d-las":
        limits = draw(st.sets(st.integers(1, 30), min_size=1, max_size=3))
        params["limits"] = sorted(limits)
        if params.get("preset") == "lucid":  # its own seconds would dwarf the units
            params["cost_s"] = draw(st.integers(0, 3))
            params["wide_cost_s"] = draw(st.integers(0, 3))
        if params.get("promote", 0) > 0:
            params["restart"] = "time"  # with "work" a promotion may cost more than it serves
    if policy in ("las", "llf") and params.get("restart") == "work":
        params["period_s"] += 7  # more than any cost, or work grows faster than it is done
    return params


ADA_SRSF: dict[str, st.SearchStrategy[Any]] = {
    "sharers": st.integers(1, 4),
    "rule": st.sampled_from(["adadual", "count"]),
    "degradation": st.sampled_from([0.0, 0.3, 1.0]),
}
PLACEMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "consolidated-relaxed": {"kappa": st.sampled_from([1.0, 1.5, 2.0, 3.0])},
    "lwf": {"kappa": st.sampled_from([1, 2, 3, 5])},
    "heavy-edge": {"fill": st.sampled_from(["fewest", "most-free"]), "swaps": st.booleans()},
}
scans = st.sampled_from(["strict", "skip"])
A_SRPT: dict[str, st.SearchStrategy[Any]] = {
    "scan": scans,
    "tau": st.sampled_from([0.0, 0.3, 1.0, 10.0]),
    "queue": st.sampled_from(["fifo", "work"]),
    "wait": st.sampled_from(["work", "loss"]),
    "heavy": st.sampled_from([1.0, 1.5, 3.0]),
    "near": st.sampled_from([1.0, 1.1, 2.0]),
    "idle": st.booleans(),
    "fill": st.sampled_from(["fewest", "most-free"]),
    "work": st.sampled_from(["min", "low"]),
}


@st.composite
def cases(draw: st.DrawFn, policy: str, placement: str, estimates: str | None = None) -> Case:
    """Draw a replay of ``policy`` with ``placement``."""
    servers = draw(clusters())
    kinds = ["none", "some", "predicted", "all", "predicted"]
    jobs = draw(
        job_lists(
            num_gpus=sum(gpus for gpus, _ in servers),
            is_typed=placement != "count" and draw(st.booleans()),
            estimates=estimates or draw(st.sampled_from(kinds)),
            has_costs=draw(st.booleans()),
            has_deadlines=policy in BY_DEADLINE,
        )
    )
    return Case(
        jobs=jobs,
        servers=servers,
        policy=policy,
        placement=placement,
        policy_params=draw(policy_parameters(policy)),
        placement_params=draw(st.fixed_dictionaries({}, optional=PLACEMENTS.get(placement, {}))),
        seed=draw(st.integers(0, 2**32)),
    )
