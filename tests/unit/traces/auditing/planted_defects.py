"""Clean generated traces, and one defect after the other planted into them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import gpusched as gs

KINDS: Final = ("philly", "helios", "itp", "acme", "pai")
CLUSTER: Final = gs.Cluster.uniform(64, 8)

Columns = dict[str, Any]


@dataclass(frozen=True)
class Planted:
    """A trace with a defect.

    Attributes
    ----------
    columns
        Those of ``Trace.from_columns``.
    verdict
        What the check must say.
    rows
        Positions that it must name, all of them or their first ten; None where it may choose.
    also
        Checks that may speak up as well, for the same reason.
    cluster
        What the trace is audited for.
    """

    columns: Columns
    verdict: str
    rows: Any = None
    also: tuple[str, ...] = ()
    cluster: gs.Cluster | None = None

    @property
    def trace(self) -> gs.Trace:
        """The trace, without the rows that are no jobs."""
        return gs.Trace.from_columns(**self.columns, on_bad="reject")


def columns_of(trace: gs.Trace) -> Columns:
    """Return the columns of a generated trace as they would be handed in."""
    columns = {
        "submit_s": trace.submit_s,
        "service_s": trace.service_s.copy(),
        "gpus": trace.gpus.astype(np.float64),
        "user": trace.user.values(),
        "queue": trace.queue.values(),
        "id": np.array([f"j{job}" for job in range(len(trace))]),
    }
    return {name: np.array(values) for name, values in columns.items()}


def taken(columns: Columns, jobs: Any) -> Columns:
    """Return some rows."""
    return {name: values[jobs] for name, values in columns.items()}


Plant = Callable[[Columns, np.random.Generator], Planted]
PLANTS: Final[dict[str, Plant]] = {}


def plants(check: str) -> Callable[[Plant], Plant]:
    """Register what plants the defect that ``check`` looks for."""

    def register(plant: Plant) -> Plant:
        PLANTS[check] = plant
        return plant

    return register


@plants("duplicate-ids")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["id"][[5, 50, 500]] = columns["id"][4]
    return Planted(columns, "wrong", [5, 50, 500])


@plants("duplicate-rows")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    size = len(columns["id"])
    again = random.choice(size, size // 20, replace=False)
    twice = taken(columns, np.concatenate((np.arange(size), np.sort(again))))
    del twice["id"]
    return Planted(twice, "wrong", np.arange(size, size + len(again)), ("clock-folds",))


@plants("submit-gaps")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    at = int(random.integers(len(columns["id"]) // 4, 3 * len(columns["id"]) // 4))
    span = columns["submit_s"][-1]
    columns["submit_s"][at:] += max(span / 2, 5 * 86_400.0)
    return Planted(columns, "any", [at], ("thin-end", "missing-long-runs"))


@plants("clock-folds")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    submit_s = columns["submit_s"]
    middle = np.arange(len(submit_s) // 2, 3 * len(submit_s) // 4)
    at = int(middle[np.argmin(np.diff(submit_s)[middle - 1])])
    columns["submit_s"] = np.where(np.arange(len(submit_s)) < at, submit_s, submit_s - 3600.0)
    return Planted(columns, "wrong", [at])


@plants("submit-order")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    return Planted(taken(columns, random.permutation(len(columns["id"]))), "odd")


@plants("one-instant")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    size = len(columns["id"])
    begin = size // 3
    some = np.arange(begin, begin + size // 20)
    columns["submit_s"][some] = columns["submit_s"][begin]
    return Planted(columns, "odd", some, ("duplicate-rows", "submit-gaps"))


@plants("thin-end")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    submit_s = columns["submit_s"]
    kept = (submit_s < 0.9 * submit_s[-1]) | (random.random(len(submit_s)) < 0.03)
    kept[-1] = True
    also = ("missing-long-runs", "submit-gaps")
    return Planted(taken(columns, kept), "odd", also=also)


@plants("running-at-end")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    submit_s = columns["submit_s"]
    end_s = submit_s[-1] + 60.0
    running = submit_s + columns["service_s"] > end_s
    columns["service_s"] = np.where(running, end_s - submit_s, columns["service_s"])
    ends_then = submit_s + columns["service_s"] >= end_s - 1  # one may do so by itself
    return Planted(columns, "any", np.flatnonzero(ends_then))


@plants("missing-long-runs")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    submit_s = columns["submit_s"]
    ended = submit_s + columns["service_s"] <= submit_s[-1]
    ended[-1] = True
    return Planted(taken(columns, ended), "wrong", also=("thin-end",))


@plants("service-limit")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    service_s = columns["service_s"]
    limit_s = max(600.0, 600.0 * np.floor(np.quantile(service_s, 0.9) / 600))
    columns["service_s"] = np.minimum(service_s, limit_s)
    return Planted(columns, "wrong", np.flatnonzero(columns["service_s"] == limit_s))


@plants("short-jobs-filtered")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    service_s = columns["service_s"]
    floor_s = 300.0 if service_s.min() < 300 else 3600.0
    return Planted(taken(columns, service_s >= floor_s), "odd")


@plants("times-not-positive")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["service_s"][10:15] = 0
    columns["service_s"][20:25] = -columns["service_s"][20:25]
    return Planted(columns, "any", [*range(10, 15), *range(20, 25)])


@plants("waits-below-zero")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["source_wait_s"] = random.exponential(60.0, len(columns["id"]))
    columns["source_wait_s"][30:33] = -5.0
    return Planted(columns, "odd", [30, 31, 32])


@plants("rows-unreadable")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["gpus"][7] = 1.5
    columns["service_s"][9] = np.nan
    return Planted(columns, "odd", [7, 9])


@plants("rows-without-gpus")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["gpus"][40:44] = 0
    return Planted(columns, "fine", [40, 41, 42, 43])


@plants("wider-than-cluster")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["gpus"][[3, 33]] = 1024
    return Planted(columns, "wrong", [3, 33], ("overload",), CLUSTER)


@plants("more-gpus-in-use")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["source_wait_s"] = np.zeros(len(columns["id"]))
    instants = columns["submit_s"]
    ends = instants + columns["service_s"]
    most = max(
        float(columns["gpus"][(instants <= t) & (ends > t)].sum())
        for t in instants[:: 1 + len(ends) // 200]
    )
    servers = int(max(most / 2, columns["gpus"].max()) // 8) + 1
    return Planted(columns, "any", None, ("overload",), gs.Cluster.uniform(servers, 8))


@plants("overload")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["submit_s"] = columns["submit_s"] / 3
    return Planted(columns, "odd", cluster=CLUSTER)


@plants("odd-widths")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    some = np.sort(random.choice(len(columns["id"]), len(columns["id"]) // 10, replace=False))
    columns["gpus"][some] = random.choice([3, 5, 6], len(some))
    odd = np.isin(columns["gpus"], [3, 5, 6, 12])  # of the last a few jobs are there already
    return Planted(columns, "odd", np.flatnonzero(odd))


@plants("dominant-user")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["user"][random.random(len(columns["id"])) < 0.6] = "everyone"
    return Planted(columns, "odd", np.flatnonzero(columns["user"] == "everyone"))


@plants("dominant-queue")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    columns["queue"][random.random(len(columns["id"])) < 0.95] = "all"
    return Planted(columns, "odd", np.flatnonzero(columns["queue"] == "all"))


@plants("estimates-below-services")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    estimates_s = columns["service_s"] * random.uniform(1.1, 5.0, len(columns["id"])) + 3.0
    longest = np.argsort(-columns["service_s"])[: len(estimates_s) // 20]
    estimates_s[longest] = columns["service_s"][longest] / 2
    return Planted({**columns, "estimate_s": estimates_s}, "odd", np.sort(longest))


@plants("estimates-equal-services")
def _(columns: Columns, random: np.random.Generator) -> Planted:
    estimates_s = columns["service_s"] * random.uniform(1.1, 5.0, len(columns["id"])) + 3.0
    equal = random.random(len(estimates_s)) < 0.7
    estimates_s = np.where(equal, columns["service_s"], estimates_s)
    return Planted({**columns, "estimate_s": estimates_s}, "wrong", np.flatnonzero(equal))
