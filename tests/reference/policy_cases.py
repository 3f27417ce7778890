"""Parameters of policies and placements for random cases; times in units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusched.reference import PREEMPTIVE, orders
from tests.reference.drawing import Source, distinct, flag, some_of
from tests.reference.scales import SECOND

Pools = Mapping[str, Sequence[Any]]

MOST = 10**9  # of most parameters in seconds
MOST_COST = 10**5
SCANS = ("strict", "skip")
EASY: Pools = {
    "extra": (True, False),
    "depth": (1, 2, 3, 1_000),
    "backfill": ("submit", "shortest"),
    "touch": ("allowed", "strict"),
}
ADA_SRSF: Pools = {
    "sharers": (1, 2, 3, 4, 2**31 - 1),
    "rule": ("adadual", "count"),
    "degradation": (0.0, 0.3, 1.0, 1e6),
}
A_SRPT: Pools = {
    "scan": SCANS,
    "tau": (0.0, 0.3, 1.0, 10.0, 1e6),
    "queue": ("fifo", "work"),
    "wait": ("work", "loss"),
    "heavy": (1.0, 1.5, 3.0, 1e9),
    "near": (1.0, 1.1, 2.0, 1e9),
    "idle": (False, True),
    "fill": ("fewest", "most-free"),
    "work": ("min", "low"),
}
PREEMPTION: Pools = {
    "restart": ("time", "work"),
    "quota": ("free", "hold"),
    "displace": (False, True),
    "epoch": ("event", "period"),
    "narrow_gpus": (1, 2, 4, 8, 0, MOST),
}
DISCRETISED: Pools = {
    "inside": ("submit", "entry", "running"),
    "crossing": ("exact", "floored"),
    "sink": ("reached", "passed"),
    "preset": ("tiresias", "lucid", "tiresias-artefact"),
    "promote": (0.0, 0.5, 1.0, 2.5, 1e9),
}
PLACEMENT_PARAMETERS: Mapping[str, Pools] = {
    "consolidated-relaxed": {"kappa": (1.0, 1.5, 2.0, 3.0, 1e9)},
    "lwf": {"kappa": (1, 2, 3, 5, 2**31 - 1)},
    "heavy-edge": {"fill": ("fewest", "most-free"), "swaps": (False, True)},
}
TAKING_TURNS = ("las", "llf")


def policy_parameters(source: Source, policy: str, scale: str = "small") -> dict[str, Any]:
    """Draw some of the parameters of a policy."""
    if policy in orders.NON_PREEMPTIVE:
        guards = {"patience_s": costs_and_periods(scale)[0], "defrag": ("never", "blocked")}
        return some_of(source, {"scan": SCANS, **guards})
    if policy == "easy":
        return some_of(source, EASY)
    if policy == "ada-srsf":
        return some_of(source, ADA_SRSF)
    if policy == "a-srpt":
        return some_of(source, A_SRPT)
    if policy not in PREEMPTIVE:
        return {}
    costs, periods = costs_and_periods(scale)
    pools: dict[str, Sequence[Any]] = {
        **PREEMPTION,
        "cost_s": costs,
        "wide_cost_s": costs,
        "overrun_s": costs,
        "least_s": costs,
        **({"scan": SCANS} if policy != "serverfilling-srpt" else {}),
        **(DISCRETISED if policy == "2d-las" else {}),
    }
    params = some_of(source, pools)
    needs_period = policy in (*TAKING_TURNS, "2d-las") or params.get("epoch") == "period"
    if needs_period or flag(source):
        params["period_s"] = source.one_of(periods)
    if policy == "2d-las":
        params["limits"] = limits(source, scale)
        if params.get("preset") == "lucid":  # its own seconds would dwarf the units
            params["period_s"] = source.one_of(periods)
            params["cost_s"] = source.one_of(costs)
            params["wide_cost_s"] = source.one_of(costs)
            params["overrun_s"] = source.one_of(costs)
        if scale == "ages":
            params.pop("promote", None)  # centuries would be served by the minute
        if params.get("promote", 0) > 0:
            params["restart"] = "time"  # with "work" a promotion may cost more than it serves
    if policy in TAKING_TURNS and params.get("restart") == "work":
        if scale in ("costly", "ages"):
            params["restart"] = "time"
        else:
            params["period_s"] += 7  # more than any cost, or work grows faster than it is done
    return params


def costs_and_periods(scale: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return what the costs and the periods of a policy are drawn from."""
    if scale == "ages":  # a period counts as many instants as fit into centuries
        return (0, 1, SECOND, MOST_COST * SECOND), (2 * 10**8 * SECOND, MOST * SECOND)
    return (range(41) if scale == "costly" else range(4)), range(1, 11)


def limits(source: Source, scale: str) -> list[int]:
    """Draw the limits of 2d-las; wide gangs reach hundreds of them in a few ticks."""
    if scale == "ages":
        return distinct(source, 1, 9_000 * MOST, 3)
    if scale == "fine":
        return list(range(1, source.one_of([514, 700, 1100])))
    return distinct(source, 1, 30, 3)
