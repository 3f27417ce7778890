"""What a policy remembers is passed along, and refused where it does not belong."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.online.decision import Memory
from tests.each import each

CLUSTER = gs.Cluster.uniform(2, 4)
SUBMIT, SERVICE, GPUS = (0, 0, 5, 6), (100, 50, 30, 30), (4, 4, 8, 4)


def state(
    now_s: float, rows: list[int], held: dict[int, int] | None = None, **changes: Any
) -> gs.online.ClusterState:
    """The jobs of these rows; those in ``held`` run on a whole server since 0."""
    held = held or {}
    jobs = gs.Trace.from_columns(
        [SUBMIT[row] for row in rows],
        [SERVICE[row] for row in rows],
        [GPUS[row] for row in rows],
        id=[f"job {row}" for row in rows],
    )
    return gs.online.ClusterState(
        changes.pop("cluster", CLUSTER), jobs, now_s,
        start_s=[0.0 if row in held else np.nan for row in rows],
        held_job=[rows.index(row) for row in held],
        held_server=list(held.values()),
        held_mask=[0b1111] * len(held),
        **changes,
    )  # fmt: skip


def first(policy: str = "conservative") -> gs.online.ClusterDecision:
    """Jobs 0 and 1 start, one on each server."""
    found = gs.decide(state(0, [0, 1]), policy=policy, memory=b"")
    assert found.job.tolist() == [0, 1]
    assert found.held_server.tolist() == [0, 1]
    return found


RUNNING = {0: 0, 1: 1}


def test_a_policy_goes_on_where_it_was():
    decision = first()
    decision = gs.decide(
        state(6, [0, 1, 2, 3], RUNNING), policy="conservative", memory=decision.memory
    )
    assert not decision.job.size
    assert decision.why(0) == "goes on"
    # Job 1 has ended; job 3 may run there until job 2 has both servers, when job 0 ends.
    decision = gs.decide(
        state(50, [0, 2, 3], {0: 0}), policy="conservative", memory=decision.memory
    )
    assert (decision.job.tolist(), decision.held_server.tolist()) == ([2], [1])
    assert decision.why(1) == "waits: it needs 8 GPUs, and 0 are free"


def test_a_decision_without_a_memory_gives_none():
    assert gs.decide(state(0, [0, 1])).memory is None
    with pytest.raises(ValueError, match=r"conservative.*keeps more than the state"):
        gs.decide(state(0, [0, 1]), policy="conservative")


def _asked_us(memory: bytes) -> list[int]:
    asked: list[int] = Memory.from_bytes(memory).columns["asked_us"].tolist()
    return asked


def test_nothing_happens_where_nothing_happened():
    decision = first()
    for now_s in (1, 2.5, 7):
        decision = gs.decide(
            state(now_s, [0, 1], RUNNING), policy="conservative", memory=decision.memory
        )
        assert not decision.job.size
    assert _asked_us(decision.memory) == [1_000_000, 2_500_000, 7_000_000]


def test_a_job_that_waits_may_be_taken_back_where_the_policy_allows_it():
    decision = gs.decide(state(6, [0, 1, 2, 3]), policy="fifo", memory=b"")
    assert decision.job.tolist() == [0, 1]
    held = {"start_s": [6, 6, np.nan]}
    later = dataclasses.replace(state(8, [0, 1, 3], RUNNING), **held)
    decision = gs.decide(later, policy="fifo", memory=decision.memory)
    assert not decision.job.size
    # Without job 2 before it, job 3 gets the GPUs of the first that ends.
    later = dataclasses.replace(state(20, [1, 3], {1: 1}), start_s=[6, np.nan])
    assert gs.decide(later, policy="fifo", memory=decision.memory).job.tolist() == [1]


def test_a_job_that_can_never_run_may_stay_or_go():
    small = gs.Cluster.uniform(1, 4)
    decision = gs.decide(state(6, [0, 2], cluster=small), policy="conservative", memory=b"")
    assert (decision.job.tolist(), decision.rejected.tolist()) == ([0], [1])
    there = dataclasses.replace(state(9, [0, 2], {0: 0}, cluster=small), start_s=[6, np.nan])
    decision = gs.decide(there, policy="conservative", memory=decision.memory)
    assert decision.rejected.tolist() == [1]
    gone = dataclasses.replace(state(12, [0], {0: 0}, cluster=small), start_s=[6])
    decision = gs.decide(gone, policy="conservative", memory=decision.memory)
    assert not decision.job.size


@each(
    ("given", "options", "message"),
    [
        (state(0, [0, 1], RUNNING), {}, "now_s: must lie after the decision"),
        (state(9, [0, 1], RUNNING), {"policy": "easy"}, "is of policy conservative, not of easy"),
        (state(9, [0, 1], RUNNING), {"placement": "best-fit"}, "is of placement consolidated"),
        (state(9, [0, 1], RUNNING), {"seed": 1}, "is of seed 0, not of 1"),
        (state(9, [0, 1], RUNNING, cluster=gs.Cluster.uniform(3, 4)), {}, "another cluster"),
        (state(9, [0, 1], {0: 1, 1: 0}), {}, "does not hold what its decisions gave it"),
        (state(9, [0, 1], {0: 0}), {}, "'job 1' does not hold what"),
        (state(9, [0, 1]), {}, "'job 0' does not hold what"),
        (state(9, [3], {3: 0}), {}, "'job 3' runs, and no decision that the memory knows of"),
    ],
)
def test_a_state_that_is_elsewhere_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        gs.decide(given, memory=first().memory, **{"policy": "conservative", **options})


def test_a_job_that_was_gone_does_not_come_back():
    decision = gs.decide(state(9, [0], {0: 0}), policy="conservative", memory=first().memory)
    with pytest.raises(ValueError, match="'job 1' was gone, and is there again"):
        gs.decide(state(10, [0, 1], {0: 0}), policy="conservative", memory=decision.memory)


def test_what_is_no_memory_is_refused():
    memory = first().memory
    for number in range(0, len(memory), max(1, len(memory) // 60)):
        damaged = bytearray(memory)
        damaged[number] ^= 1
        for wrong in (bytes(damaged), memory[:number] or b"x"):
            with pytest.raises(ValueError, match="not what an earlier decision gave"):
                gs.decide(state(9, [0, 1], RUNNING), policy="conservative", memory=wrong)
    with pytest.raises(TypeError, match="memory: expected bytes"):
        gs.decide(state(0, [0]), memory="")


def test_bytes_are_the_whole_of_it():
    memory = first().memory
    assert Memory.from_bytes(memory).to_bytes() == memory


def test_a_memory_of_another_version_is_refused(monkeypatch):
    memory = first().memory
    monkeypatch.setattr("gpusched._core.__version__", "99.0")
    with pytest.raises(ValueError, match=r"it is of gpusched .*, and this is 99\.0"):
        Memory.from_bytes(memory)


def test_objects_of_python_remember_by_themselves():
    class Own(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return -view.submit_us[jobs].astype(float)

    with pytest.raises(ValueError, match="is an object of Python, which remembers by itself"):
        gs.decide(state(0, [0, 1]), policy=Own(), memory=b"")


OVERRUNS = ("srtf:overrun_s=5", "srtf:restart=work,cost_s=4", "2d-las:preset=lucid,inside=entry")


@pytest.mark.parametrize("policy", OVERRUNS)
def test_a_job_that_is_gone_is_gone_where_work_was_added(policy):
    jobs = gs.Trace.from_columns([0, 10], [100, 30], [4, 4], id=["a", "b"])
    cluster = gs.Cluster.uniform(1, 4)

    def asked(now_s: float, rows: list[int], running: int | None, start_s: float, memory: bytes):
        held = [] if running is None else [rows.index(running)]
        there = gs.online.ClusterState(
            cluster, jobs._take(np.array(rows)), now_s,
            start_s=[start_s if row == running else np.nan for row in rows],
            held_job=held, held_server=[0] * len(held), held_mask=[0xF] * len(held),
        )  # fmt: skip
        return gs.decide(there, policy=policy, memory=memory)

    decision = asked(0, [0], None, 0, b"")
    assert decision.what.tolist() == ["start"]
    decision = asked(60, [0, 1], 0, 0, decision.memory)
    if decision.what.tolist() == ["preempt", "start"]:
        decision = asked(65, [0], None, 0, decision.memory)
    else:
        decision = asked(120, [1], None, 0, decision.memory)
    assert decision.what.tolist() == ["start"]


@each("policy", ["edf", "llf", "dancer", "elasticflow", "chronus", "edf-greatest"])
def test_a_job_may_be_told_of_after_its_deadline(policy):
    jobs = gs.Trace.from_columns([0, 5], [100, 10], [1, 1], id=["a", "late"], deadline_s=[900, 20])
    cluster = gs.Cluster.uniform(1, 4)
    decision = gs.decide(
        gs.online.ClusterState(cluster, jobs._take(np.array([0])), 0), policy=policy, memory=b""
    )
    assert decision.what.tolist() == ["start"]
    there = gs.online.ClusterState(
        cluster, jobs, 30, start_s=[0, np.nan], held_job=decision.held_job,
        held_server=decision.held_server, held_mask=decision.held_mask,
    )  # fmt: skip
    decision = gs.decide(there, policy=policy, memory=decision.memory)
    assert decision.why(0) in (
        "goes on",
        "is resized on 1 server",
        "gives way to jobs that come first",
    )


def test_the_first_decision_knows_for_how_long_jobs_have_waited():
    """Finish-time fairness: a short job that has waited is worse off than a long one."""
    jobs = gs.Trace.from_columns([0, 1], [1000, 10], [4, 4], id=["long", "short"])
    there = gs.online.ClusterState(gs.Cluster.uniform(1, 4), jobs, 100)
    assert gs.decide(there, policy="themis-greedy", memory=b"").job.tolist() == [1]


def test_a_drained_cluster_is_told_of():
    """The next slot of edf-greatest begins when a job comes to an empty cluster."""
    jobs = gs.Trace.from_columns([0, 0, 92], [10, 28, 10], [1, 1, 1], id=["a", "b", "d"])
    cluster = gs.Cluster.uniform(1, 8)
    held: dict[int, tuple[float, int]] = {}
    memory = b""
    for now_s, rows in ((0, [0, 1]), (10, [1]), (28, []), (92, [2])):
        running = [row for row in rows if row in held]
        there = gs.online.ClusterState(
            cluster, jobs._take(np.array(rows, np.int64)), now_s,
            start_s=[held[row][0] if row in held else np.nan for row in rows],
            held_job=[rows.index(row) for row in running], held_server=[0] * len(running),
            held_mask=np.array([held[row][1] for row in running], np.uint64),
        )  # fmt: skip
        decision = gs.decide(there, policy="edf-greatest", memory=memory)
        memory = decision.memory
        for row, mask in zip(decision.held_job, decision.held_mask, strict=True):
            held[rows[int(row)]] = (now_s, int(mask))
    assert held[2][0] == 92
