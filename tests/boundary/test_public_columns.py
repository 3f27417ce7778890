"""Plug-ins of Python see what a real scheduler knows of jobs: users, queues, priorities."""

import inspect
from typing import Any

import numpy as np
import pytest

import gpusched as gs

LABELS = ("user", "account", "queue", "group")


def jobs(**columns: Any) -> gs.Trace:
    return gs.Trace.from_columns([0, 0, 1, 2], [9, 8, 7, 6], [4, 4, 4, 4], **columns)


FULL = jobs(
    user=["eve", "bob", "eve", "al"], account=["x", "y", "x", "y"],
    queue=["night", "day", "day", "night"], group=["a", "b", "a", "c"],
    priority=[1.0, 5.0, 2.0, 9.0], estimate_s=[20, 16, None, 12], id=["j1", "j2", "j3", "j4"],
)  # fmt: skip


class SeesAll(gs.Order):
    """The greatest priority first."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {}

    def rank(self, view: Any, jobs: Any) -> Any:
        names = (*LABELS, "priority", "estimate_us", "id")
        self.seen = {name: getattr(view, name) for name in names}
        return -view.priority[jobs]


class SchedulerSeesAll(gs.Scheduler):
    """Starts what fits, the greatest priority first."""

    def begin(self, state: Any) -> None:
        self.begun_with = state.user.names

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        waiting = state.waiting
        for job in waiting[np.argsort(-state.priority[waiting])].tolist():
            if (allocation := state.place(job)) is not None:
                actions.start(job, allocation)


def test_an_order_is_shown_what_the_trace_says():
    order = SeesAll()
    gs.simulate(FULL, gs.Cluster.uniform(1, 4), policy=order)
    for name in LABELS:
        expected = getattr(FULL, name)
        assert order.seen[name].names == expected.names
        assert order.seen[name].codes.tolist() == expected.codes.tolist()
    assert order.seen["priority"].tolist() == [1, 5, 2, 9]
    assert order.seen["estimate_us"].tolist() == [20_000_000, 16_000_000, -1, 12_000_000]
    assert order.seen["id"].tolist() == ["j1", "j2", "j3", "j4"]


def test_columns_that_a_trace_lacks_say_nothing():
    order = SeesAll()
    gs.simulate(jobs(), gs.Cluster.uniform(1, 4), policy=order)
    for name in LABELS:
        assert order.seen[name].names == ("",)
        assert order.seen[name].codes.tolist() == [0] * 4
    assert order.seen["priority"].tolist() == [0] * 4
    assert order.seen["estimate_us"].tolist() == [-1] * 4
    assert order.seen["id"].tolist() == [0, 1, 2, 3]


def test_they_decide_a_schedule_and_cannot_be_written_to():
    order, scheduler = SeesAll(), SchedulerSeesAll()
    cluster = gs.Cluster.uniform(1, 4)
    for policy in (order, scheduler):
        result = gs.simulate(FULL, cluster, policy=policy)
        # j2 first, by its priority; then j4, j3 and j1.
        assert result.schedule.start_us.tolist() == [21_000_000, 0, 14_000_000, 8_000_000]
    assert scheduler.begun_with == FULL.user.names
    for name in ("priority", "estimate_us", "id"):
        with pytest.raises(ValueError, match="read-only"):
            order.seen[name][0] = 3


def test_a_decision_shows_the_jobs_that_it_is_about():
    """Those that run are left out where they do not matter, and so are their users."""
    order = SeesAll()
    state = gs.online.ClusterState(
        now_s=5.0, cluster=gs.Cluster.uniform(2, 4), jobs=FULL,
        start_s=[0, np.nan, np.nan, np.nan], held_job=[0], held_server=[0], held_mask=[15],
    )  # fmt: skip
    decision = gs.decide(state, policy=order)
    assert list(zip(decision.what, decision.job.tolist(), strict=True)) == [("start", 3)]
    shown = [order.seen["user"].names[code] for code in order.seen["user"].codes]
    assert shown[-3:] == ["bob", "eve", "al"]
    assert order.seen["priority"].tolist()[-3:] == [5, 2, 9]


def test_what_users_subclass_has_a_signature():
    class Mine(gs.Order):
        def __init__(self, bias: float = 1.0) -> None:
            super().__init__()

    for seam in (gs.Order, gs.Placement, gs.Scheduler, SchedulerSeesAll):
        assert str(inspect.signature(seam)) == "()"
    assert list(inspect.signature(Mine).parameters) == ["bias"]
