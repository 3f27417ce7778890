"""The state of a cluster, single decisions on it, and what a policy remembers between them."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.online.decision import Memory
from tests.boundary.workloads import Strict, trace
from tests.each import each

CLUSTER = gs.Cluster.uniform(servers=2, gpus=8)
NAN = float("nan")
JOBS = gs.Trace.from_columns(
    [0, 10, 20, 30], [3600, 60, 60, 5], [8, 16, 4, 20], id=["runs", "wide", "small", "never"]
)


def state(**changed: Any) -> gs.online.ClusterState:
    columns = {
        "start_s": [5, NAN, NAN, NAN], "held_job": [0], "held_server": [1], "held_mask": [0xFF],
    }  # fmt: skip
    return gs.online.ClusterState(CLUSTER, JOBS, **{"now_s": 40, **columns, **changed})


def test_what_is_left_out_follows():
    found = state()
    assert found.attained_s.tolist() == [35, 0, 0, 0]
    assert found.is_running.tolist() == [True, False, False, False]
    assert found.preemptions.tolist() == [0] * 4
    assert state(cost_s=[30, 0, 0, 0]).attained_s.tolist() == [5, 0, 0, 0]
    assert state(attained_s=[20, NAN, 7, NAN]).attained_s.tolist() == [20, 0, 7, 0]
    assert state(attained_s=[NAN, 0, 0, 0]).attained_s.tolist() == [35, 0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        found.start_s[0] = 1
    assert not gs.online.ClusterState(CLUSTER, JOBS, 40).is_running.any()


def test_a_job_that_came_back_just_now_with_work_behind_it_may_start():
    jobs = gs.Trace.from_columns([0, 40], [100, 100], [16, 8])
    found = gs.online.ClusterState(CLUSTER, jobs, 40, attained_s=[0, 30])
    decision = gs.decide(found, policy="srtf")
    assert list(zip(decision.what, decision.job.tolist(), strict=True)) == [("start", 1)]


def test_clusters_jobs_and_histories_of_other_types_are_refused_by_name():
    with pytest.raises(TypeError, match="cluster: expected a Cluster, not 'two servers'"):
        gs.online.ClusterState("two servers", JOBS, 40)
    with pytest.raises(TypeError, match=r"jobs: expected a Trace, not \[1, 2\]"):
        gs.online.ClusterState(CLUSTER, [1, 2], 40)
    with pytest.raises(TypeError, match="history: expected a Trace, not 3"):
        gs.when(0, gs.online.ClusterState(CLUSTER, JOBS, 40), history=3)


@each(
    ("changed", "error", "message"),
    [
        ({"start_s": [5, NAN, NAN]}, ValueError, "start_s: 3 values for 4 jobs"),
        ({"start_s": [41, NAN, NAN, NAN]}, ValueError, "start_s: row 0 is 41"),
        ({"start_s": "soon"}, TypeError, "start_s: expected numbers"),
        ({"start_s": [NAN] * 4}, ValueError, "held_mask: job 0 holds 8 GPUs, not 0"),
        ({"attained_s": [-1, 0, 0, 0]}, ValueError, "attained_s: row 0"),
        ({"cost_s": [float("inf"), 0, 0, 0]}, ValueError, "cost_s: row 0 is inf"),
        ({"preemptions": [0, -1, 0, 0]}, ValueError, "preemptions: row 1"),
        ({"preemptions": [0, 0.5, 0, 0]}, TypeError, "preemptions: expected whole numbers"),
        ({"now_s": 25}, ValueError, "jobs: row 3 is submitted at 30 s, after now_s"),
        ({"now_s": NAN}, ValueError, "now_s"),
        ({"held_job": [4]}, ValueError, "held_job: 4 is out of range; there are 4"),
        ({"held_server": [2]}, ValueError, "held_server: 2 is out of range; there are 2"),
        ({"held_server": [0, 1]}, ValueError, "must be equally long"),
        ({"held_mask": [0x7F]}, ValueError, "held_mask: job 0 holds 7 GPUs, not 8"),
        ({"held_mask": [0]}, ValueError, "holds no GPU"),
        ({"held_mask": [-1]}, ValueError, "held_mask: row 0 is negative"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(changed, error, message):
    with pytest.raises(error, match=message):
        state(**changed)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"held_mask": [0xFF00]}, "job 0: a GPU is not free"),
        ({"held_job": [0, 0], "held_server": [1, 1], "held_mask": [0xF, 0xF0]}, "job 0"),
        (
            {
                "start_s": [5, NAN, 30, NAN],
                "held_job": [0, 2],
                "held_server": [1, 1],
                "held_mask": [0xFF, 0x3C],
            },
            "job 2: a GPU is not free",
        ),
    ],
)
def test_gpus_that_are_not_there_are_refused_by_the_core(held, message):
    with pytest.raises(ValueError, match=message):
        gs.decide(state(**held))


@each("policy", ["fifo", "sjf", "qssf", "wspt", "srtf", "easy"])
def test_a_held_gpu_of_a_type_that_is_not_allowed_is_refused_under_every_policy(policy):
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    jobs = gs.Trace.from_columns([0, 5], [100, 10], [2, 2], gpu_types=["A", "B"])

    def held_on(server: int) -> Any:
        return gs.decide(
            gs.online.ClusterState(
                cluster, jobs, 10, start_s=[0, NAN], held_job=[0], held_server=[server],
                held_mask=[3],
            ),
            policy=policy,
        )  # fmt: skip

    assert held_on(0).what.tolist() == ["start"]
    with pytest.raises(ValueError, match="the GPU type is not allowed"):
        held_on(1)


def test_a_decision_says_what_and_why():
    found = gs.decide(state(), policy="fifo-skip")
    assert found.what.tolist() == ["start"]
    assert found.job.tolist() == [2]
    assert (found.held_server.tolist(), found.held_mask.tolist()) == ([0], [0xF])
    assert found.rejected.tolist() == [3]
    assert found.wake_s is None
    assert [found.why(job) for job in range(4)] == [
        "keeps running",
        "waits: it needs 16 GPUs, but 4 are free after this decision",
        "starts on 1 server",
        "can never run: needs more GPUs than the cluster has",
    ]
    assert found.to_polars().rows() == [
        ("start", "small", 0, 15), ("reject", "never", None, None),
    ]  # fmt: skip
    with pytest.raises(IndexError, match="4 is not one of the 4 rows"):
        found.why(4)


def test_a_strict_policy_keeps_a_job_behind_and_a_preemptive_one_makes_room():
    assert "holds it back for other jobs" in gs.decide(state(), policy="fifo").why(2)
    found = gs.decide(state(), policy="srtf")
    assert found.what.tolist()[0] == "preempt"
    assert found.why(0) == "is preempted: other jobs come first"
    assert "starts on 2 servers" in found.why(1)


def test_a_job_that_has_run_for_longer_than_was_known_is_about_to_end():
    late = state(attained_s=[5000, 0, 0, 0])
    assert gs.decide(late, policy="srtf").why(0) == "keeps running"


def test_a_scheduler_of_python_is_asked_as_it_is():
    class Counting(Strict):
        calls = 0

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            self.calls += 1
            assert state.running.tolist() == [0]
            assert arrived.tolist() == [1, 2]
            super().decide(state, finished, arrived, actions)

    policy = Counting()
    for _ in range(3):
        assert not len(gs.decide(state(), policy=policy).job)
    assert policy.calls == 3


def test_the_state_of_a_run_is_where_it_stands():
    jobs = trace(80, restart_s=np.arange(80) % 3)
    run = gs.Simulation(jobs, gs.Cluster.uniform(3, 4), policy="srtf")
    assert not len(gs.online.ClusterState.of(run).jobs)
    for _ in range(40):
        run.step()
    later = run.fork()
    later.run_until(run.now + 0.5 * (run.next_time - run.now))
    for one in (run, later):
        found, seen = gs.online.ClusterState.of(one), one.state
        assert found.now_s == one.now
        assert int(found.is_running.sum()) == seen.num_running
        assert len(found.jobs) == seen.num_running + seen.num_waiting
        assert (found.start_s[found.is_running] == seen.start_s).all()
        left = (found.jobs.service_s - found.attained_s)[found.is_running]
        paid = np.maximum(0, found.start_s + found.cost_s - one.now)[found.is_running]
        assert np.allclose(one.now + paid + left, seen.expected_finish_s, atol=1e-6)
    # Nothing has happened since, so that nothing is to be done.
    assert not len(gs.decide(gs.online.ClusterState.of(later), policy="srtf").job)


@each("policy", ["srtf", "las", "2d-las", "serverfilling-srpt"])
def test_a_job_that_started_in_the_second_of_the_state_can_be_preempted(policy):
    jobs = gs.Trace.from_columns([0, 5], [100, 10], [8, 8], id=["long", "short"])
    found = gs.online.ClusterState(
        gs.Cluster.uniform(1, 8), jobs, 5, start_s=[5, NAN], attained_s=[50, 0],
        held_job=[0], held_server=[0], held_mask=[0xFF],
    )  # fmt: skip
    if policy == "2d-las":
        policy += ":limits=10"
    assert gs.decide(found, policy=policy).what.tolist() == ["preempt", "start"]


def test_a_decision_does_not_end_what_it_has_begun():
    class Hasty(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            for job in state.waiting.tolist():
                actions.start(job, gs.plugins.Allocation(1, [(0, 1)]))
                actions.preempt(job)

    jobs = gs.Trace.from_columns([0], [10], [1])
    with pytest.raises(
        gs.InvariantError, match="started in this decision, so it cannot stop in it"
    ):
        gs.decide(gs.online.ClusterState(CLUSTER, jobs, 5), policy=Hasty())


WORK = "srtf:restart=work,cost_s=50"


def test_preemptions_have_added_work_where_the_policy_adds_it():
    jobs = gs.Trace.from_columns([0, 10], [100, 120], [1, 1], id=["a", "b"])
    found = gs.online.ClusterState(
        gs.Cluster.uniform(1, 1), jobs, 20, attained_s=[10, 0], preemptions=[1, 0]
    )
    assert gs.decide(found, policy=WORK).job.tolist() == [1]  # 120 s are left, and 90 + 50
    assert gs.decide(found, policy="srtf:cost_s=50").job.tolist() == [0]
    told = dataclasses.replace(found, added_s=np.array([20.0, NAN]))
    assert gs.decide(told, policy=WORK).job.tolist() == [0]


def test_what_is_still_to_be_done_again_may_be_more_than_was_known_of_the_job():
    jobs = gs.Trace.from_columns([0, 10], [100, 25], [1, 1])
    found = gs.online.ClusterState(
        gs.Cluster.uniform(1, 1), jobs, 500, attained_s=[120, 0], preemptions=[1, 0]
    )
    assert gs.decide(found, policy=WORK).job.tolist() == [1]  # 25 s are left, and 100 + 50 - 120


def test_more_added_work_than_time_holds_is_refused():
    jobs = gs.Trace.from_columns([0], [100], [1])
    found = gs.online.ClusterState(CLUSTER, jobs, 20, attained_s=[10], preemptions=[2**31 - 1])
    with pytest.raises(ValueError, match=r"restart=work: the work added to job 0 .*passes 2\^61"):
        gs.decide(found, policy="srtf:restart=work,cost_s=1e5")


def test_the_state_of_a_run_has_the_work_that_was_added():
    jobs = gs.Trace.from_columns([0, 10, 10], [100, 10, 120], [1, 1, 1])
    run = gs.Simulation(jobs, gs.Cluster.uniform(1, 1), policy=f"{WORK},overrun_s=3")
    run.run_until(15)
    assert gs.online.ClusterState.of(run).added_s.tolist() == [53, 3, 3]


@pytest.mark.parametrize("policy", ["fifo", "conservative", "srtf"])
def test_a_cluster_without_jobs_has_a_state(policy):
    found = gs.online.ClusterState(CLUSTER, None, 40)
    decision = gs.decide(found, policy=policy, memory=b"")
    assert not decision.what.size
    assert (decision.wake_s, decision.memory) == (None, b"")
    assert gs.decide(found, policy=policy).to_polars().is_empty()
    assert repr(found.jobs) == "Trace('state': no job)"
    with pytest.raises(ValueError, match="did you mean"):
        gs.decide(found, policy="fifi")


def test_a_state_knows_what_the_policy_of_its_run_is_told():
    jobs = trace(40, predicted_s=np.arange(1.0, 41.0))
    run = gs.Simulation(jobs, gs.Cluster.uniform(3, 4), policy="sjf", predictor="column")
    run.run_until(40)
    rows = np.sort(np.concatenate([run.state.waiting, run.state.running]))
    assert (gs.online.ClusterState.of(run).jobs.service_us == jobs.predicted_us[rows]).all()


def test_bad_arguments():
    with pytest.raises(TypeError, match="state: expected a ClusterState"):
        gs.decide(JOBS)
    with pytest.raises(ValueError, match="did you mean"):
        gs.decide(state(), policy="fifi")
    with pytest.raises(ValueError, match=r"policy conservative, placement consolidated: .*keeps"):
        gs.decide(state(), policy="conservative")
    assert gs.decide(state()).memory is None


WHOLE_SERVERS = gs.Cluster.uniform(2, 4)
SUBMIT, SERVICE, GPUS = (0, 0, 5, 6), (100, 50, 30, 30), (4, 4, 8, 4)


def state_of_three(
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
        changes.pop("cluster", WHOLE_SERVERS), jobs, now_s,
        start_s=[0.0 if row in held else np.nan for row in rows],
        held_job=[rows.index(row) for row in held],
        held_server=list(held.values()),
        held_mask=[0b1111] * len(held),
        **changes,
    )  # fmt: skip


def first(policy: str = "conservative") -> gs.online.ClusterDecision:
    """Jobs 0 and 1 start, one on each server."""
    found = gs.decide(state_of_three(0, [0, 1]), policy=policy, memory=b"")
    assert found.job.tolist() == [0, 1]
    assert found.held_server.tolist() == [0, 1]
    return found


RUNNING = {0: 0, 1: 1}


def test_a_policy_goes_on_where_it_was():
    decision = first()
    decision = gs.decide(
        state_of_three(6, [0, 1, 2, 3], RUNNING), policy="conservative", memory=decision.memory
    )
    assert not decision.job.size
    assert decision.why(0) == "keeps running"
    # Job 1 has ended; job 3 may run there until job 2 has both servers, when job 0 ends.
    decision = gs.decide(
        state_of_three(50, [0, 2, 3], {0: 0}), policy="conservative", memory=decision.memory
    )
    assert (decision.job.tolist(), decision.held_server.tolist()) == ([2], [1])
    assert decision.why(1) == "waits: it needs 8 GPUs, but 0 are free after this decision"


def _asked_us(memory: bytes) -> list[int]:
    asked: list[int] = Memory.from_bytes(memory).columns["asked_us"].tolist()
    return asked


def test_nothing_happens_where_nothing_happened():
    decision = first()
    for now_s in (1, 2.5, 7):
        decision = gs.decide(
            state_of_three(now_s, [0, 1], RUNNING), policy="conservative", memory=decision.memory
        )
        assert not decision.job.size
    assert _asked_us(decision.memory) == [1_000_000, 2_500_000, 7_000_000]


def test_a_job_that_waits_may_be_taken_back_where_the_policy_allows_it():
    decision = gs.decide(state_of_three(6, [0, 1, 2, 3]), policy="fifo", memory=b"")
    assert decision.job.tolist() == [0, 1]
    held = {"start_s": [6, 6, np.nan]}
    later = dataclasses.replace(state_of_three(8, [0, 1, 3], RUNNING), **held)
    decision = gs.decide(later, policy="fifo", memory=decision.memory)
    assert not decision.job.size
    # Without job 2 before it, job 3 gets the GPUs of the first that ends.
    later = dataclasses.replace(state_of_three(20, [1, 3], {1: 1}), start_s=[6, np.nan])
    assert gs.decide(later, policy="fifo", memory=decision.memory).job.tolist() == [1]


def test_a_job_that_can_never_run_may_stay_or_go():
    small = gs.Cluster.uniform(1, 4)
    decision = gs.decide(
        state_of_three(6, [0, 2], cluster=small), policy="conservative", memory=b""
    )
    assert (decision.job.tolist(), decision.rejected.tolist()) == ([0], [1])
    there = dataclasses.replace(
        state_of_three(9, [0, 2], {0: 0}, cluster=small), start_s=[6, np.nan]
    )
    decision = gs.decide(there, policy="conservative", memory=decision.memory)
    assert decision.rejected.tolist() == [1]
    gone = dataclasses.replace(state_of_three(12, [0], {0: 0}, cluster=small), start_s=[6])
    decision = gs.decide(gone, policy="conservative", memory=decision.memory)
    assert not decision.job.size


MORE_SERVERS = gs.Cluster.uniform(3, 4)


@each(
    ("now_s", "rows", "held", "options", "message"),
    [
        (0, [0, 1], RUNNING, {}, "now_s: must be later than the decision"),
        (9, [0, 1], RUNNING, {"policy": "easy"}, "belongs to policy conservative, not easy"),
        (9, [0, 1], RUNNING, {"placement": "best-fit"}, "belongs to placement consolidated"),
        (9, [0, 1], RUNNING, {"seed": 1}, "belongs to seed 0, not 1"),
        (9, [0, 1], RUNNING, {"cluster": MORE_SERVERS}, "another cluster"),
        (9, [0, 1], {0: 1, 1: 0}, {}, "does not hold the GPUs that it was given"),
        (9, [0, 1], {0: 0}, {}, "'job 1' does not hold the GPUs"),
        (9, [0, 1], {}, {}, "'job 0' does not hold the GPUs"),
        (9, [3], {3: 0}, {}, "'job 3' runs, but no decision in the memory started it"),
    ],
)
def test_a_state_that_is_elsewhere_is_refused(now_s, rows, held, options, message):
    cluster = options.get("cluster", WHOLE_SERVERS)
    there = state_of_three(now_s, rows, held, cluster=cluster)
    asked = {name: value for name, value in options.items() if name != "cluster"}
    with pytest.raises(ValueError, match=message):
        gs.decide(there, memory=first().memory, **{"policy": "conservative", **asked})


def test_a_job_that_ran_and_was_gone_does_not_come_back():
    decision = gs.decide(
        state_of_three(9, [0], {0: 0}), policy="conservative", memory=first().memory
    )
    with pytest.raises(ValueError, match="'job 1' ran, had gone and must not return"):
        gs.decide(state_of_three(10, [0, 1], {0: 0}), policy="conservative", memory=decision.memory)


def test_what_is_no_memory_is_refused():
    memory = first().memory
    for number in range(0, len(memory), max(1, len(memory) // 60)):
        damaged = bytearray(memory)
        damaged[number] ^= 1
        for wrong in (bytes(damaged), memory[:number] or b"x"):
            with pytest.raises(ValueError, match="not the memory of an earlier decision"):
                gs.decide(state_of_three(9, [0, 1], RUNNING), policy="conservative", memory=wrong)
    with pytest.raises(TypeError, match="memory: expected bytes"):
        gs.decide(state_of_three(0, [0]), memory="")


def test_bytes_are_the_whole_of_a_memory_and_those_of_another_version_refused(monkeypatch):
    memory = first().memory
    assert Memory.from_bytes(memory).to_bytes() == memory
    monkeypatch.setattr("gpusched._core.__version__", "99.0")
    with pytest.raises(ValueError, match=r"written by gpusched .*; this is 99\.0"):
        Memory.from_bytes(memory)


def test_objects_of_python_remember_by_themselves():
    class Own(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return -view.submit_us[jobs].astype(float)

    with pytest.raises(ValueError, match="is a Python object, which keeps its own state"):
        gs.decide(state_of_three(0, [0, 1]), policy=Own(), memory=b"")


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
        "keeps running",
        "is resized on 1 server",
        "is preempted: other jobs come first",
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


OUT_OF_USE = """{"now_s": 5, "cluster": {"servers": [{"count": 2, "gpus": 8}]},
 "unavailable": [{"server": 1, "gpus": [0, 1, 2, 3, 4, 5]}],
 "jobs": [{"id": "wide", "submit_s": 0, "gpus": 16, "service_s": 60},
          {"id": "small", "submit_s": 1, "gpus": 2, "service_s": 60},
          {"id": "never", "submit_s": 2, "gpus": 17, "service_s": 60}]}"""


def test_a_job_waits_for_gpus_that_are_out_of_use(tmp_path):
    (tmp_path / "state.json").write_text(OUT_OF_USE)
    state = gs.online.read_state(tmp_path / "state.json")
    assert state.num_withheld == 6
    decision = gs.decide(state, policy="fifo-skip")
    assert decision.job.tolist() == [1]
    assert decision.rejected.tolist() == [2]
    assert (
        decision.why(0)
        == "waits: it needs 16 GPUs, but 8 are free after this decision (6 out of use)"
    )
    assert gs.when(0, state, policy="easy").share_never == 1
    remembered = gs.decide(state, policy="conservative", memory=b"")
    assert (remembered.job.tolist(), remembered.rejected.tolist()) == ([1], [2])


def test_a_domain_of_servers_that_are_all_out_of_use_is_forgotten_with_them():
    racks = (gs.Domain(name, "hall", uplink_gbps=1) for name in ("a", "b"))
    domains = (gs.Domain("hall"), *racks)
    servers = tuple(gs.ServerGroup(1, 4, domain=name) for name in ("a", "b"))
    jobs = gs.Trace.from_columns([0], [60], [2])
    state = gs.online.ClusterState(
        gs.Cluster(servers, "c", domains), jobs, 0, held_job=[-1], held_server=[0],
        held_mask=np.array([0b1111], np.uint64),
    )  # fmt: skip
    decision = gs.decide(state, policy="conservative", memory=b"")
    assert decision.held_server.tolist() == [1]


def test_what_is_remembered_is_of_the_gpus_that_are_up():
    jobs = gs.Trace.from_columns([0, 0], [60, 60], [3, 2], id=["a", "b"])
    gone = {"held_job": [-1, -1], "held_server": [0, 2]}
    gone["held_mask"] = np.array([0b0011, 0b1111], np.uint64)
    cluster = gs.Cluster.uniform(3, 4)
    first = gs.decide(
        gs.online.ClusterState(cluster, jobs, 0, **gone), policy="conservative", memory=b""
    )
    held = zip(first.held_job, first.held_server, first.held_mask, strict=True)
    places = {(int(job), int(server)): int(mask) for job, server, mask in held}
    assert places == {(0, 1): 0b0111, (1, 0): 0b1100}
    rows = {"held_job": [-1, -1, 0, 1], "held_server": [0, 2, 1, 0]}
    rows["held_mask"] = np.array([0b0011, 0b1111, 0b0111, 0b1100], np.uint64)
    later = gs.online.ClusterState(cluster, jobs, 5, start_s=[0, 0], **rows)
    again = gs.decide(later, policy="conservative", memory=first.memory)
    assert not again.what.size


@pytest.mark.parametrize("policy", ["srtf", "serverfilling-srpt", "srsf"])
def test_a_preemptive_policy_has_the_gpus_that_are_up(policy):
    jobs = gs.Trace.from_columns([0, 1], [1000, 10], [8, 8], id=["long", "short"])
    up = {"start_s": [0, np.nan], "held_job": [0, -1], "held_server": [0, 1]}
    state = gs.online.ClusterState(
        gs.Cluster.uniform(2, 8), jobs, 5, held_mask=np.array([0xFF, 0xFF], np.uint64), **up
    )
    done = gs.decide(state, policy=policy)
    assert sorted(done.what.tolist()) == ["preempt", "start"]
