"""Open runs: halting, looking, forking, being told, and what is refused."""

import copy
import dataclasses
import gc
import itertools
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.engine.prepare import check_object, check_same
from gpusched.schedules.schedule import CANCELLED
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace
from tests.each import each
from tests.examples import examples

JOBS = trace(80)
PYTHON: dict[str, Any] = {
    "order": {"policy": ShortestFirst()},
    "scheduler": {"policy": Strict()},
    "placement": {"policy": "fifo", "placement": FirstFit()},
}


def opened(**options: Any) -> gs.Simulation:
    return gs.Simulation(JOBS, CLUSTER, **options)


def test_a_run_halts_before_what_happens_at_the_time():
    two = gs.Trace.from_columns([0, 5], [10, 10], [1, 1])
    run = gs.Simulation(two, CLUSTER)
    assert (run.now, run.next_time, run.done) == (0.0, 0.0, False)
    run.run_until(5)
    assert (run.now, run.next_time) == (5.0, 5.0)
    assert run.state.running.tolist() == [0]
    assert run.step()
    assert run.state.running.tolist() == [0, 1]
    run.run_until(10)
    assert run.state.num_finished == 0
    run.run()
    assert (run.now, run.next_time, run.done) == (15.0, None, True)
    assert not run.step()
    run.run()
    run.run_until(100)
    assert run.now == 100.0


def test_the_state_is_what_the_jobs_hold():
    run = opened(policy="fifo", placement="first-fit")
    while run.step():
        state = run.state
        held = np.bitwise_count(state.held_mask).astype(int)
        free = np.full(CLUSTER.num_servers, 4) - np.bincount(
            state.held_server, weights=held, minlength=CLUSTER.num_servers
        )
        assert (state.free_gpus == free).all()
        assert state.num_free == free.sum()
        by_job = np.bincount(state.held_job, weights=held, minlength=len(JOBS))[state.running]
        assert (by_job == state.gpus).all()
        assert (state.gpus == JOBS.gpus[state.running]).all()
        assert (state.expected_finish_s > state.now_s).all()
        assert state.num_waiting + state.num_running == (
            state.num_arrived - state.num_finished - state.num_rejected
        )
    schedule = run.result().schedule
    assert run.state.num_finished == int((schedule.status == 0).sum())


def test_the_columns_of_a_state_are_read_only_and_stay():
    run = opened()
    run.run_until(60)
    state = run.state
    before = copy.deepcopy(state.running.tolist())
    run.run()
    assert state.running.tolist() == before
    with pytest.raises(ValueError, match="read-only"):
        state.running[0] = 1


def test_expected_finishes_come_true_under_a_policy_that_does_not_preempt():
    run = opened(policy="fifo")
    run.run_until(50)
    state = run.state
    run.run()
    assert (run.result().schedule.finish_us[state.running] == state.expected_finish_s * 1e6).all()


@pytest.mark.parametrize("kind", PYTHON)
def test_python_objects_step_and_fork_as_they_run(kind):
    digest = gs.simulate(JOBS, CLUSTER, **PYTHON[kind]).digest
    run = opened(**PYTHON[kind])
    run.run_until(70)
    fork = run.fork()
    late = fork.fork()
    run.run()
    fork.run()
    while late.step():
        pass
    assert {each.result().digest for each in (run, fork, late)} == {digest}


def test_a_python_scheduler_with_a_memory_forks_with_it():
    class Alternating(gs.Scheduler):
        def __init__(self) -> None:
            super().__init__()
            self.decisions = 0

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            self.decisions += 1
            jobs = state.waiting.tolist()
            for job in jobs if self.decisions % 2 else reversed(jobs):
                allocation = state.place(job)
                if allocation is not None:
                    actions.start(job, allocation)

    digest = gs.simulate(JOBS, CLUSTER, policy=Alternating()).digest
    policy = Alternating()
    run = opened(policy=policy)
    for _ in range(31):
        run.step()
    fork = run.fork()
    fork.run()
    assert policy.decisions == 31
    assert fork.result().digest == digest
    run.run()
    assert run.result().digest == digest


def test_forks_go_their_own_ways():
    run = opened(policy="fifo")
    run.run_until(100)
    digest = gs.simulate(JOBS, CLUSTER, policy="fifo").digest
    other = run.fork()
    other.set(policy="srtf")
    other.run()
    again = run.fork()
    again.cancel(int(again.state.running[0]))
    again.run()
    run.run()
    assert run.result().digest == digest
    assert len({digest, other.result().digest, again.result().digest}) == 3


def test_a_chain_of_forks_frees_its_ancestors():
    run = opened(policy=Strict())
    run.run_until(40)
    first = weakref.ref(run)
    for _ in range(3):
        run = run.fork()
    gc.collect()
    assert first() is None
    run.run()
    assert run.done


def test_callbacks_hear_what_the_events_of_the_result_say():
    run = opened(policy="srtf")
    heard: list[tuple[str, float, int | None]] = []
    for what in ("start", "preempt", "finish", "reject"):
        run.on(what, lambda event: heard.append((event.what, event.time_s, event.job)))
    instants: list[float] = []
    run.on("instant", lambda event: instants.append(event.time_s))
    run.run()
    result = run.result()
    assert result.digest == gs.simulate(JOBS, CLUSTER, policy="srtf").digest
    assert len(instants) == result.schedule.counters["instants"]
    assert sum(what == "preempt" for what, _, _ in heard) == result.schedule.preemptions.sum() > 0
    finished = {job: time_s for what, time_s, job in heard if what == "finish"}
    assert finished == {
        job: finish / 1e6
        for job, finish in enumerate(result.schedule.finish_us.tolist())
        if finish >= 0
    }


def test_a_callback_may_look_and_fork_but_not_bring_the_run_further():
    run = opened()
    ends: list[bool] = []

    def look(event: gs.engine.SimulationEvent) -> None:
        fork = run.fork()
        fork.run()
        ends.append(fork.done and run.result().is_partial)

    def push(event: gs.engine.SimulationEvent) -> None:
        run.step()

    run.on("start", look)
    run.step()
    assert ends
    run.on("instant", push)
    with pytest.raises(ValueError, match="callback"):
        run.step()


def test_a_callback_that_fails_leaves_the_run_after_the_instant():
    run = opened()
    count = itertools.count()

    def fail(event: gs.engine.SimulationEvent) -> None:
        if next(count) == 5:
            raise RuntimeError("enough")

    run.on("instant", fail)
    with pytest.raises(RuntimeError, match="enough"):
        run.run()
    assert not run.done
    run.run()
    assert run.result().digest == gs.simulate(JOBS, CLUSTER).digest


def test_the_result_before_the_end_is_of_what_was_done():
    run = opened()
    run.run_until(100)
    result = run.result()
    assert result.is_partial
    assert any("before its end" in warning for warning in result.schedule.warnings)
    assert int((result.schedule.status == 0).sum()) == run.state.num_finished > 0
    assert (result.schedule.finish_us[run.state.running] == -1).all()
    assert result.intervals["end_us"].max() <= 100e6
    with pytest.raises(ValueError, match="audited"):
        result.audit()
    run.run()
    run.result().audit().raise_if_bad()


def test_learning_predictors_step_as_they_run_and_do_not_fork():
    jobs = gs.generate("philly", 300, load=1.0, cluster=CLUSTER, seed=1)
    whole = gs.simulate(jobs, CLUSTER, policy="sjf", predictor="group-mean")
    run = gs.Simulation(jobs, CLUSTER, policy="sjf", predictor="group-mean")
    for _ in range(100):
        run.step()
    with pytest.raises(ValueError, match="learns during the run"):
        run.fork()
    run.run_until(run.now + 7200)
    run.run()
    result = run.result()
    assert result.digest == whole.digest
    assert result.prediction.num_batches == whole.prediction.num_batches


@each("time_s", [float("nan"), -1, "5", 1e300, [1.0, 2.0]])
def test_a_time_must_be_one(time_s):
    with pytest.raises(ValueError, match="time_s"):
        opened().run_until(time_s)


def test_times_that_are_past_and_unknown_events_are_refused():
    run = opened()
    run.run_until(50)
    run.run_until(50)
    with pytest.raises(ValueError, match="before the time of the run"):
        run.run_until(49)
    with pytest.raises(ValueError, match="unknown 'starts'"):
        run.on("starts", print)


def test_cancelled_jobs_are_told_of():
    run = opened(policy="fifo")
    told: list[int | None] = []
    run.on("cancel", lambda event: told.append(event.job))
    run.run_until(80)
    waiting, running = int(run.state.waiting[-1]), int(run.state.running[0])
    run.cancel(waiting)
    run.cancel(running)
    assert waiting not in run.state.waiting
    run.run()
    result = run.result()
    assert (result.schedule.status[[waiting, running]] == CANCELLED).all()
    assert result.schedule.start_us[waiting] == -1
    assert result.intervals["end_us"][result.intervals["job"] == running].max() == 80_000_000
    assert sorted(told) == sorted([waiting, running])
    assert sum("was cancelled at 80 s" in text for text in result.schedule.warnings) == 2


def test_failures_and_kills_are_told_of():
    none = float("nan")
    jobs = gs.Trace.from_columns(
        [0, 0, 0], [100, 50, 30], [4, 1, 1],
        max_requeues=[0, none, none], time_limit_s=[none, none, 20],
    )  # fmt: skip
    outages = gs.Outages.from_columns([0, 1], [10, 15], [12, 16])
    run = gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy="fifo", outages=outages)
    told: list[tuple[str, int | None, float]] = []
    for what in ("start", "preempt", "finish", "interrupt", "fail", "kill"):
        run.on(what, lambda event: told.append((event.what, event.job, event.time_s)))
    run.run()
    assert told[3:] == [
        ("fail", 0, 10), ("interrupt", 1, 15), ("interrupt", 2, 15), ("start", 1, 15),
        ("start", 2, 15), ("kill", 2, 35), ("finish", 1, 65),
    ]  # fmt: skip


@pytest.mark.parametrize("job", [-1, 10**6])
def test_only_jobs_that_wait_or_run_are_cancelled(job):
    run = opened()
    run.run_until(80)
    with pytest.raises((ValueError, TypeError)):
        run.cancel(job)
    run.cancel(int(run.state.waiting[0]))
    finished = next(job for job in range(80) if job not in {*run.state.waiting, *run.state.running})
    with pytest.raises(ValueError, match="must be held, waiting or running"):
        run.cancel(finished)


def test_a_policy_that_cannot_do_without_a_waiting_job_says_so():
    run = opened(policy=Strict())
    run.run_until(80)
    with pytest.raises(ValueError, match="cannot remove a waiting job"):
        run.cancel(int(run.state.waiting[0]))
    run.run()
    assert run.result().digest == gs.simulate(JOBS, CLUSTER, policy=Strict()).digest


def test_jobs_are_not_submitted_into_the_past():
    run = opened()
    run.run_until(80)
    with pytest.raises(ValueError, match="row 0 is submitted at 10 s"):
        run.submit(gs.Trace.from_columns([10], [5], [1], id=["late"]))
    with pytest.raises(TypeError, match="expected a Trace"):
        run.submit([1, 2])


def test_a_policy_that_looks_ahead_is_told_of_no_new_jobs():
    class Prophet(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            if len(state.submit_us) > len(JOBS):
                return
            for job in state.waiting.tolist():
                allocation = state.place(job)
                if allocation is not None:
                    actions.start(job, allocation)

    run = opened(policy=Prophet())
    run.run_until(80)
    with pytest.raises(ValueError, match="is not causal"):
        run.submit(gs.Trace.from_columns([90.0], [1.0], [1]))
    run.run()
    assert run.result().digest == gs.simulate(JOBS, CLUSTER, policy=Prophet()).digest


@pytest.mark.parametrize("policy", [ShortestFirst(), Strict()], ids=["order", "scheduler"])
def test_a_policy_of_python_takes_over_from_a_native_one(policy):
    run = opened(policy="fifo")
    run.run_until(60)
    run.set(policy=policy)
    run.run()
    assert (run.result().schedule.finish_us > 0).all()


def test_submissions_after_other_changes_keep_these():
    run = opened(policy="fifo")
    run.run_until(60)
    run.set(policy="sjf")
    run.run_until(90)
    gone = int(run.state.waiting[0])
    run.cancel(gone)
    before = run.fork()
    run.submit(gs.Trace.from_columns([95.0], [5], [1]))
    assert run.now == 90
    assert gone not in run.state.waiting
    assert run.state.running.tolist() == before.state.running.tolist()
    run.run()
    assert len(run.trace) == len(JOBS) + 1
    assert run.result().schedule.start_us[gone] == -1


def test_an_error_of_a_policy_ends_the_run_and_leaves_what_was_done():
    class Failing(Strict):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            if state.now_us > 60_000_000:
                raise KeyError("no more")
            super().decide(state, finished, arrived, actions)

    run = opened(policy=Failing())
    with pytest.raises(KeyError, match="no more"):
        run.run()
    for use in (run.step, run.fork, lambda: run.state):
        with pytest.raises(ValueError, match="the run is over"):
            use()
    result = run.result()
    assert result.is_partial
    assert result.digest == run.result().digest
    assert int((result.schedule.status == 0).sum()) > 0


def test_the_specification_is_that_of_the_policy_that_decides():
    run = opened()
    assert run.spec == gs.simulate(JOBS, CLUSTER).spec
    run.set(policy="srtf")
    assert run.spec.policy == "srtf"
    assert run.result().spec == run.spec


def test_a_policy_that_chooses_gpus_takes_over_where_jobs_ask_for_gpus_alone():
    def begun(**columns: Any) -> gs.Simulation:
        jobs = gs.Trace.from_columns([0, 0, 9], [50, 50, 50], [4, 4, 8], **columns)
        run = gs.Simulation(jobs, CLUSTER, policy="fifo", placement="best-fit")
        run.run_until(5)
        return run

    for policy, columns in (("rand", {}), ("srtf", {"cpu": [1.0] * 3})):
        run = begun(**columns)
        run.set(policy=policy)
        run.run()
        assert (run.result().schedule.status == 0).all()
    with pytest.raises(ValueError, match="gpu_share: not supported by this policy, which chooses"):
        begun(cpu=[1.0] * 3).set(policy="rand")


FOUR_GPUS = gs.Cluster.uniform(1, 4)
THREE = {"submit_s": [0, 0, 5], "service_s": [60, 9, 9], "gpus": [4, 1, 1]}


def test_policies_change_between_those_that_read_estimates_or_those_that_do_not():
    jobs = gs.Trace.from_columns(**THREE, estimate_s=[60, 9, 9])
    run = gs.Simulation(jobs, FOUR_GPUS, policy="easy")
    with pytest.raises(ValueError, match="policy: of fifo and easy only one reads estimates"):
        run.set(policy="fifo")


class Locked(gs.Order):
    """Holds what cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs]


class Plain(gs.Order):
    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs]


def test_what_cannot_be_pickled_cannot_be_saved(tmp_path):
    class Local(Plain):
        """No other process finds it."""

    run = gs.Simulation(gs.Trace.from_columns(**THREE), FOUR_GPUS, policy=Local())
    with pytest.raises(TypeError, match=r"policy: .*Local cannot be saved: .*local"):
        run.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def spec_of(policy: Any) -> Any:
    return gs.simulate(gs.Trace.from_columns(**THREE), FOUR_GPUS, policy=policy).spec


def test_another_run_is_told_from_one_by_what_differs():
    fifo, plain = spec_of("fifo"), spec_of(Plain())
    check_same(plain, plain)
    with pytest.raises(ValueError, match="policy: is sjf, but fifo in the specification"):
        check_same(fifo, spec_of("sjf"))
    (thing,) = plain.python
    with pytest.raises(ValueError, match=r"policy: missing; the specification has .*Plain"):
        check_object(thing, None)
    (locked,) = spec_of(Locked()).python
    with pytest.raises(ValueError, match=r"policy: .*Locked has no stable digest"):
        check_object(locked, locked)
    check_object(locked, locked, takes_unreadable=True)
    with pytest.raises(ValueError, match=r"differs from the specification's .*Plain in name"):
        check_object(thing, locked)


class Listening(gs.Scheduler):
    """First come, first served, and a note of what each instant shows."""

    takes_outages = True

    def begin(self, state: Any) -> None:
        self.begun = getattr(self, "begun", 0) + 1
        self.seen: list[tuple[list[int], list[int]]] = []
        self.line: list[int] = []

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.seen.append((finished.tolist(), arrived.tolist()))
        self.line = sorted([*self.line, *arrived.tolist()])
        while self.line and (gpus := state.place(self.line[0])) is not None:
            actions.start(self.line.pop(0), gpus)


class Deaf(Listening):
    takes_outages = False


def outage_run(policy: Any, **outages: Any) -> gs.Simulation:
    jobs = gs.Trace.from_columns([0, 0, 0], [50, 50, 50], [4, 4, 4])
    given = gs.Outages.from_columns(**outages)
    return gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy=policy, outages=given)


def test_a_scheduler_in_python_is_shown_a_hit_job_as_finished_and_arrived():
    policy = Listening()
    run = outage_run(policy, server=[0], start_s=[10], end_s=[20])
    run.run()
    assert policy.begun == 1
    assert policy.seen[:3] == [([], [0, 1, 2]), ([0], [0]), ([], [])]
    assert run.result().schedule.failures.tolist() == [1, 0, 0]
    assert run.result().schedule.start_us.tolist() == [0, 0, 50_000_000]


def test_a_policy_that_cannot_follow_outages_is_refused_before_it_decides():
    with pytest.raises(ValueError, match="does not support outages"):
        outage_run(Deaf(), server=[0], start_s=[10])
    run = outage_run("fifo", server=[0], start_s=[10], end_s=[20])
    run.run_until(15)
    with pytest.raises(ValueError, match="does not support outages"):
        run.set(policy="conservative")
    run.run()
    assert run.result().summary()["num_finished"] == 3


def test_a_job_that_was_hit_as_the_policy_changed_is_not_shown_twice():
    run = outage_run("fifo", server=[0, 1, 1], start_s=[10, 12, 70], kind=["fail", "drain", "fail"])
    run.run_until(10)
    policy = Listening()
    run.set(policy=policy)  # at the instant of the failure
    run.run()
    assert [job for finished, _ in policy.seen for job in finished].count(0) <= 1
    assert not run.result().audit().problems


def test_a_run_with_outages_has_no_cluster_state():
    run = outage_run("fifo", server=[0], start_s=[10])
    with pytest.raises(ValueError, match="it has outages of servers"):
        gs.online.ClusterState.of(run)


def three_jobs() -> gs.Trace:
    return gs.Trace.from_columns([0, 0, 10], [50, 50, 50], [4, 4, 4])


step = st.tuples(
    st.sampled_from(["fail", "repair", "drain", "undrain", "wait"]), st.integers(0, 2),
)  # fmt: skip
KIND = {"fail": "fail", "repair": "fail", "drain": "drain", "undrain": "drain"}


@given(st.lists(step, max_size=8), st.sampled_from(["fifo", "srtf", "easy"]), st.integers(0, 99))
@examples(60)
def test_servers_that_are_changed_are_outages_of_the_run(steps, policy, seed):
    cluster = gs.Cluster.uniform(3, 4)
    jobs = gs.generate("philly", 30, load=1.2, cluster=cluster, seed=seed)
    hour = float(jobs.submit_us[-1]) / 1e6 / 6
    run = gs.Simulation(jobs, cluster, policy=policy, predictor="oracle")
    rows: list[list[Any]] = []
    for second, (what, server) in enumerate(steps, start=1):
        if what == "wait":
            run.run_until(second * hour)
            continue
        now = run._next_tick() / 1e6
        is_open = [
            row for row in rows if row[:1] == [server] and row[3] == KIND[what] and row[2] is None
        ]
        if what in ("fail", "drain"):
            rows.append([server, now, None, KIND[what]])
        elif not is_open:
            with pytest.raises(ValueError, match=r"server: . is not (failed|drained)"):
                getattr(run, what)(server)
            continue
        for row in is_open if what in ("repair", "undrain") else ():
            row[2] = now
        getattr(run, what)(server)
    run.run()
    begun = [row for row in rows if row[1] != row[2]]
    outages = gs.Outages.from_columns(*map(list, zip(*begun, strict=True))) if begun else None
    result = run.result()
    direct = gs.simulate(jobs, cluster, policy=policy, predictor="oracle", outages=outages)
    assert result.digest == direct.digest
    assert result.audit().ok


def test_a_change_of_servers_that_cannot_be_is_refused():
    run = gs.Simulation(three_jobs(), gs.Cluster.uniform(2, 4), policy="fifo")
    with pytest.raises(ValueError, match="server: 2 is not one of the 2"):
        run.fail(2)
    with pytest.raises(ValueError, match="server: 1 is not drained"):
        run.undrain(1)
    deaf = gs.Simulation(three_jobs(), gs.Cluster.uniform(2, 4), policy="conservative")
    with pytest.raises(ValueError, match="does not support outages"):
        deaf.drain(0)
    deaf.run()  # as before
    assert deaf.result().outages is None


def test_a_job_that_is_held_and_released_is_eligible_then():
    run = gs.Simulation(three_jobs(), gs.Cluster.uniform(2, 4), policy="fifo")
    run.run_until(1)
    run.hold(2)
    run.run_until(20)
    assert run.state.held.tolist() == [2]
    saved = run.fork()
    run.release(2)
    run.run()
    jobs = dataclasses.replace(three_jobs(), eligible_us=np.array([-1, -1, 20_000_000]))
    direct = gs.simulate(jobs, gs.Cluster.uniform(2, 4), policy="fifo")
    assert run.result().digest == direct.digest
    assert run.result().audit().ok
    saved.run()
    assert saved.result().jobs.status.tolist()[2] == "unfinished"
    with pytest.raises(ValueError, match="job: 0 is neither waiting, held nor still to arrive"):
        run.hold(0)
    with pytest.raises(ValueError, match="job: 0 is neither held nor still to arrive"):
        run.release(0)


def four_in_line(policy: Any = "fifo") -> gs.Simulation:
    """The second to fourth wait for the first, in this order."""
    jobs = gs.Trace.from_columns([0, 1, 2, 3], [50, 10, 10, 10], [4, 4, 4, 4])
    run = gs.Simulation(jobs, FOUR_GPUS, policy=policy)
    run.run_until(20)
    return run


def test_a_job_that_waits_leaves_the_queue_and_returns_to_its_place(tmp_path):
    told: list[tuple[int | None, float]] = []
    run = four_in_line()
    run.on("release", lambda event: told.append((event.job, event.time_s)))
    run.hold(1)
    assert (run.state.held.tolist(), run.state.waiting.tolist()) == ([1], [2, 3])
    run.run_until(55)
    run.save(tmp_path / "run.saved")
    never = run.fork()
    for each_run in (run, gs.resume(tmp_path / "run.saved")):
        each_run.release(1)
        each_run.run()
        result = each_run.result()
        assert result.jobs.start_s.tolist() == [0, 60, 50, 70]
        assert list(result.warnings) == ["job 1 was held at 20 s", "job 1 was released at 55 s"]
        assert result.audit(level="decisions").ok
    assert told == [(1, 55)]
    never.run()
    assert list(never.result().warnings) == [
        "job 1 was held at 20 s", "1 job stays held, the first is job 1: it is held for good"
    ]  # fmt: skip
    assert never.result().audit(level="decisions").ok


def test_of_holds_and_releases_at_one_time_the_last_counts():
    run = four_in_line()
    for job in (1, 2, 3):
        run.hold(job)
        run.release(job)
    run.hold(2)
    run.cancel(3)
    run.run_until(30)
    assert run.state.held.tolist() == [2]
    assert run.state.waiting.tolist() == [1]
    run.release(2)
    run.set(policy="sjf")
    run.run()
    assert run.result().jobs.status.tolist() == ["finished"] * 3 + ["cancelled"]
    assert run.result().audit().ok


def test_a_policy_that_cannot_do_without_a_waiting_job_holds_none():
    run = four_in_line(Strict())
    with pytest.raises(ValueError, match="hold: job 1 is waiting, and the policy cannot remove"):
        run.hold(1)
    assert run.state.waiting.tolist() == [1, 2, 3]


def test_a_release_ends_a_later_eligible_time_but_no_dependency():
    jobs = gs.Trace.from_columns(
        [0, 0, 0], [50, 50, 50], [1, 1, 1], eligible_s=[np.nan, 900, 900],
        dependency=["", "", "afterany:0"],
    )  # fmt: skip
    run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
    run.run_until(20)
    run.release(1)
    run.release(2)
    run.run()
    assert run.result().jobs.start_s.tolist() == [0, 20, 50]
    assert run.result().audit().ok


def test_changes_of_servers_and_holds_are_saved(tmp_path):
    run = gs.Simulation(three_jobs(), gs.Cluster.uniform(2, 4), policy="fifo")
    run.hold(2)
    run.run_until(2)
    run.fail(0)
    run.save(tmp_path / "run.saved")
    run.release(2)
    run.run()
    again = gs.resume(tmp_path / "run.saved")
    again.release(2)
    again.run()
    assert again.result().digest == run.result().digest


@each("policy", ["fifo", "srtf", "easy"])
def test_a_run_that_was_over_goes_on_with_the_servers_of_that_time(policy):
    jobs = gs.Trace.from_columns([0], [10], [8])  # needs both servers
    outages = gs.Outages.from_columns([0, 1, 1], [20, 20, 50], [30, None, None], ["fail"] * 3)
    run = gs.Simulation(jobs, gs.Cluster.uniform(2, 4), policy=policy, outages=outages)
    run.run_until(40)
    assert run.done
    run.set(policy="sjf")
    run.set(policy="fifo")  # no instant lies before
    run.run()
    assert run.now == 40
    assert run.state.free_gpus.tolist() == [4, 0]
    assert run.result().audit().ok
