"""An open run does what it is told, or raises and goes on as if it had not been told."""

import gc
import itertools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched.base.run_warning import unwarned
from tests.each import each

CLUSTER = gs.Cluster.uniform(2, 4)
RNG = np.random.default_rng(7)
JOBS = gs.Trace.from_columns(
    np.sort(RNG.integers(0, 60, 40)), RNG.integers(3, 40, 40), RNG.integers(1, 9, 40),
    restart_s=RNG.integers(0, 3, 40),
)  # fmt: skip


def opened(policy: Any = "las", until_s: float = 30, **options: Any) -> gs.Simulation:
    with unwarned():
        run = gs.Simulation(JOBS, CLUSTER, policy=policy, **options)
    run.run_until(until_s)
    return run


def digest(run: gs.Simulation) -> str:
    with unwarned():
        run.run()
        return run.result().digest


class Served(gs.Order):
    """First come, first served."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.submit_us[jobs]


class Line(gs.Scheduler):
    """The same as a scheduler that remembers who waits."""

    def begin(self, state: Any) -> None:
        self.line: list[int] = []

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.line += arrived.tolist()
        while self.line and (found := state.place(self.line[0])) is not None:
            actions.start(self.line.pop(0), found)

    def withdraw(self, job: int) -> bool:
        self.line.remove(job)
        return True

    def warnings(self) -> list[str]:
        return [f"{len(self.line)} wait"]


FIRST = {"a name": lambda: "las", "an order": Served, "a scheduler": Line}
"""What decides at first."""


# What a run refers to that is gone is found under a sanitizer, and often without.
@each("first", FIRST)
@each("second", FIRST)
def test_of_two_changes_of_policy_the_last_counts_and_the_others_leave_nothing(first, second):
    run, other = opened(FIRST[first]()), opened(FIRST[first]())
    gone = int(run.state.waiting[0])
    run.set(policy=FIRST[second]())
    run.set(policy="sjf")
    run.set(policy="srtf")
    run.cancel(gone)
    with unwarned():
        assert run.result().is_partial
    fork = run.fork()
    with unwarned():
        assert fork.result().digest == run.result().digest
    other.cancel(gone)
    other.set(policy="srtf")
    expected = digest(other)
    assert digest(run) == expected
    del run, other
    gc.collect()
    assert digest(fork) == expected


def test_a_fork_amid_a_change_outlives_the_run_and_its_policies():
    run = opened(Line())
    run.set(policy=Line())
    fork = run.fork()
    expected = digest(run)
    del run
    gc.collect()
    with unwarned():
        assert fork.result().is_partial
    assert digest(fork) == expected


def refuse_submit(run: gs.Simulation) -> None:
    run.submit(gs.Trace.from_columns([0], [1], [1], id=[1_000]))


def refuse_cancel(run: gs.Simulation) -> None:
    done = np.setdiff1d(np.arange(10), [*run.state.waiting, *run.state.running])
    run.cancel(int(done[0]))


REFUSED: dict[str, tuple[Callable[[gs.Simulation], object], str]] = {
    "another policy's name": (lambda run: run.set(policy="fifoo"), "unknown policy"),
    "a policy that chooses GPUs, in a pool": (
        lambda run: run.set(policy="ff"), "GPUs of servers, but a single pool has no servers",
    ),
    "a parameter": (
        lambda run: run.set(policy=gs.Policy("las", epoch="period", period_s=0)),
        "period_s: epoch=period needs a period above 0",
    ),
    "what a policy finds when it begins": (
        lambda run: run.set(policy=gs.Policy("las", restart="work", period_s=0.5)), "restart=work",
    ),
    "a job submitted too late": (refuse_submit, "the run is already at"),
    "the cancellation of a job that is done": (refuse_cancel, "must be held, waiting or running"),
    "a time that is over": (lambda run: run.run_until(3), "is before the time of the run"),
    "an event that there is none of": (lambda run: run.on("sleep", print), "unknown 'sleep'"),
    "a file that cannot be": (lambda run: run.save(Path("nowhere") / "at" / "all"), "nowhere"),
}  # fmt: skip


@each("is_changed", [False, True])
@each("what", REFUSED)
def test_what_is_refused_leaves_the_run_as_it_was(what, is_changed):
    call, message = REFUSED[what]
    run, other = opened(placement="count"), opened(placement="count")
    if is_changed:
        for each in (run, other):
            each.set(policy="sjf")
            each.cancel(int(each.state.waiting[0]))
    before = run.state
    with pytest.raises((ValueError, OSError), match=message):
        call(run)
    assert run.now == other.now
    assert run.state.waiting.tolist() == before.waiting.tolist()
    with unwarned():
        assert run.result().digest == other.result().digest
    assert run.spec == other.spec
    with unwarned():
        assert run.fork().result().warnings == other.result().warnings
    assert digest(run) == digest(other)


class Refusing(Line):
    """Fails where it is asked for anything but a decision."""

    def withdraw(self, job: int) -> bool:
        raise LookupError(f"job {job}")


def test_an_error_of_a_policy_that_is_to_forget_a_job_leaves_the_run_as_it_was():
    run, other = opened(Refusing()), opened(Refusing())
    with pytest.raises(LookupError, match="job"):
        run.cancel(int(run.state.waiting[0]))
    assert digest(run) == digest(other)


class Meddling(Line):
    """Brings its own run further in the midst of a call."""

    run: gs.Simulation

    def withdraw(self, job: int) -> bool:
        self.heard: list[str] = []
        for call in (self.run.step, self.run.run, lambda: self.run.cancel(job), self.run.fork):
            with pytest.raises(ValueError, match="the run is busy") as caught:
                call()
            self.heard.append(str(caught.value))
        return super().withdraw(job)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def test_a_policy_that_is_asked_to_forget_a_job_cannot_bring_the_run_further():
    policy = Meddling()
    run, other = opened(policy), opened(Line())
    policy.run = run
    job = int(run.state.waiting[0])
    run.cancel(job)
    assert len(policy.heard) == 4
    other.cancel(job)
    assert digest(run) == digest(other)


# `consolidated` has no place for a gang of 6 here, which `ff` puts on all three servers.
UNEVEN = gs.Cluster(
    (gs.ServerGroup(1, 1, "A"), gs.ServerGroup(1, 1, "A"), gs.ServerGroup(1, 4, "A"))
)
WIDE = gs.Trace.from_columns([0, 5, 6, 7], [3, 10, 10, 10], [1, 6, 1, 1])
LISTS: list[Any] = [
    "fifo", "easy", gs.Policy("easy", depth=2), "las", "conservative", "sjf", "gavel",
]  # fmt: skip
REJECTED = 1


def result_of(trace: gs.Trace, first: Any, then: Any, at_s: float) -> gs.Result:
    with unwarned():
        run = gs.Simulation(trace, UNEVEN, policy=first, placement="consolidated")
        run.run_until(at_s)
        run.set(policy=then)
        run.run()
        return run.result()


def alone(policy: Any) -> gs.Result:
    with unwarned():
        return gs.simulate(WIDE, UNEVEN, policy=policy, placement="consolidated")


@each("then", LISTS)
def test_jobs_that_come_after_a_change_are_judged_by_the_policy_that_decides(then):
    assert alone("ff").schedule.status.tolist() == [0, 0, 0, 0]
    assert alone(then).schedule.status.tolist() == [0, REJECTED, 0, 0]
    assert result_of(WIDE, "ff", then, 4).digest == alone(then).digest
    assert result_of(WIDE, then, "ff", 4).digest == alone("ff").digest


@each("then", LISTS)
@each("at_s", [5.5, 9])
def test_who_waits_or_runs_and_could_not_start_under_the_next_policy_is_rejected(then, at_s):
    # At 5.5 s it runs; with one more job before it, it waits.
    trace = gs.Trace.from_columns([0, 5, 6, 7], [3 if at_s < 6 else 30, 10, 10, 10], [1, 6, 1, 1])
    result = result_of(trace, "ff", then, at_s)
    assert result.schedule.status.tolist() == [0, REJECTED, 0, 0]
    ends = result.intervals["end_us"][result.intervals["job"] == 1]
    assert (ends <= at_s * 1e6).all()
    assert len(ends) == (3 if at_s < 6 else 0)  # a row of each server


def test_a_rejection_is_final():
    result = result_of(WIDE, "fifo", "ff", 5.5)
    assert result.schedule.status.tolist() == [0, REJECTED, 0, 0]


def test_rejections_at_a_change_are_told_and_counted():
    run = gs.Simulation(WIDE, UNEVEN, policy="ff", placement="consolidated")
    heard: list[tuple[str, int | None]] = []
    for event in ("preempt", "reject"):
        run.on(event, lambda event: heard.append((event.what, event.job)))
    run.run_until(5.5)
    run.set(policy="sjf")
    assert run.state.num_rejected == 0
    run.step()
    assert heard == [("preempt", 1), ("reject", 1)]
    assert run.state.num_rejected == 1
    assert run.state.num_waiting == 0


@each("policy", sorted(gs.policies()))
def test_every_policy_takes_over_in_mid_run_and_gives_way_again(policy):
    rng = np.random.default_rng(3)
    submit, service = np.sort(rng.integers(0, 60, 30)), rng.integers(5, 90, 30)
    trace = gs.Trace.from_columns(
        submit, service, rng.integers(1, 9, 30), deadline_s=submit + 30.0 * service
    )
    with unwarned():
        run = gs.Simulation(trace, gs.Cluster.uniform(3, 4), policy="fifo")
        for time_s, other in ((31.5, policy), (55.5, "sjf")):
            run.run_until(time_s)
            run.set(policy=other)
        run.run()
        status = run.result().schedule.status
    assert set(status.tolist()) <= {0, REJECTED}
    assert (status == 0).sum() > 20


def core_run(policy: str, snapshot: _core.Snapshot | None = None, **columns: Any) -> _core.Run:
    kinds = {"gpus": np.int32}
    table = _core.JobTable(
        **{name: np.array(each, kinds.get(name, np.int64)) for name, each in columns.items()}
    )
    servers = _core.Cluster(np.array([4], np.int32), np.array([0], np.int32))
    return _core.Run(table, servers, described(policy), snapshot=snapshot)


def described(policy: str) -> _core.RunDescription:
    return _core.RunDescription(policy=policy, placement="consolidated")


QUEUE = {"submit_us": [0, 1, 2], "service_us": [100, 100, 100], "gpus": [3, 4, 1]}


@each("asks_first", [False, True])
@each("policy", ["fifo", "easy", "conservative", "srtf", "ff"])
def test_a_question_hides_no_cancellation_of_the_same_tick(policy, asks_first):
    def finishes(*, asks: bool) -> list[int]:
        run = core_run(policy, **QUEUE)
        run.proceed(10, 2**62)
        if asks and asks_first:
            run.ask(10)
        run.cancel(1, 10)
        if asks and not asks_first:
            run.ask(10)
        run.proceed(11, 2**62)
        return run.finish().finish_us.tolist()

    assert finishes(asks=True) == finishes(asks=False)
    if policy == "fifo":
        assert finishes(asks=True) == [100, -1, 110]


def snapshot(jobs: int) -> _core.Snapshot:
    nothing, none = np.zeros(jobs, np.int64), np.zeros(0, np.int64)
    return _core.Snapshot(
        50, attained_us=nothing, start_us=nothing - 1, cost_us=nothing,
        preemptions=np.zeros(jobs, np.int32), added_us=nothing, held_job=none, held_server=none,
        held_mask=np.zeros(0, np.uint64),
    )  # fmt: skip


def test_a_run_begun_in_its_midst_holds_jobs_but_knows_no_times_at_which_they_are_cancelled():
    held = core_run("fifo", snapshot(3), **QUEUE, eligible_us=[-1, 90, 60])
    assert held.finish().start_us.tolist() == [50, 160, 60]
    with pytest.raises(ValueError, match="cancel_at_us: supported only in runs that begin empty"):
        core_run("fifo", snapshot(3), **QUEUE, cancel_at_us=[60] * 3)


@each("then", ["fifo", "sjf", "srtf", "las", "easy"])
@each("is_cancelled", [False, True])
def test_a_policy_that_takes_over_a_run_begun_in_its_midst_sees_each_job_once(then, is_cancelled):
    def finishes(policy: str, *, changes: bool) -> list[int]:
        run = core_run(policy, snapshot(3), **QUEUE)
        if is_cancelled:
            run.cancel(1, 50)
        if changes:
            run.hand_over(described(then), 50)
        return run.finish().finish_us.tolist()

    assert finishes("fifo", changes=True) == finishes(then, changes=False)


@each("then", ["fifo", "sjf", "srtf", "las", "easy"])
@each("is_cancelled", [False, True])
def test_a_policy_may_take_over_in_the_second_in_which_a_job_of_the_state_started(
    then, is_cancelled
):
    nothing = np.zeros(3, np.int64)
    now = _core.Snapshot(
        50, attained_us=nothing, start_us=np.array([50, -1, -1]), cost_us=nothing,
        preemptions=np.zeros(3, np.int32), added_us=nothing, held_job=np.array([0]),
        held_server=np.array([0]), held_mask=np.array([7], np.uint64),
    )  # fmt: skip
    run = core_run("fifo", now, **QUEUE)
    run.hand_over(described("las"), 50)
    if is_cancelled:
        run.cancel(0, 50)
    run.hand_over(described(then), 50)
    schedule = run.finish()
    other = core_run(then, snapshot(3), **QUEUE)
    if is_cancelled:
        other.cancel(0, 50)
    assert schedule.finish_us.tolist() == other.finish().finish_us.tolist()
    assert schedule.preemptions.tolist() == [int(not is_cancelled), 0, 0]
    rows = schedule.intervals()
    assert (rows["start_us"] < rows["end_us"]).all()


def test_nobody_is_told_how_long_a_cancelled_job_would_have_run():
    jobs = gs.Trace.from_columns(
        [0, 0, 100, 101], [10_000, 20, 50, 60], [1, 1, 1, 1], user=["u", "v", "u", "v"]
    )
    told = []
    for cancels in (False, True):
        run = gs.Simulation(jobs, CLUSTER, policy="sjf", predictor="last-value")
        run.run_until(5)
        if cancels:
            run.cancel(0)
        run.run_until(200)
        assert run._online is not None
        told.append(run._online.predicted_us.tolist())
    assert told[0] == told[1]
    assert told[0][3] == 20_000_000


def test_a_job_that_finishes_as_the_policy_changes_is_told_to_a_predictor():
    jobs = gs.Trace.from_columns([0, 100], [20, 50], [1, 1], user=["u", "u"])
    run = gs.Simulation(jobs, CLUSTER, policy="sjf", predictor="last-value")
    run.run_until(20)
    run.set(policy="srtf")
    run.run_until(200)
    assert run._online is not None
    assert run._online.predicted_us[1] == 20_000_000


def test_a_job_that_keeps_its_gpus_through_a_change_of_policy_has_one_interval():
    run = gs.Simulation(gs.Trace.from_columns([0, 0], [4, 9], [3, 6]), CLUSTER, policy="sjf")
    run.run_until(1)
    run.set(policy="fifo")
    run.run()
    with unwarned():
        intervals = run.result().intervals
    assert intervals["job"].tolist() == [0, 1, 1]
    assert intervals["start_us"][0] == 0
    assert intervals["end_us"][0] == 4_000_000


def test_a_partial_result_has_no_intervals_of_no_length():
    run = gs.Simulation(gs.Trace.from_columns([0, 5], [10, 10], [1, 1]), CLUSTER, policy="fifo")
    run.step()
    with unwarned():
        assert len(run.result().intervals["job"]) == 0
        run.step()
        assert run.result().intervals["end_us"].tolist() == [5_000_000]
        limited = gs.Simulation(JOBS, CLUSTER, policy="fifo", max_intervals=2)
        with pytest.raises(_core.LogLimitError):
            limited.run()
        intervals = limited.result().intervals
    assert (intervals["start_us"] < intervals["end_us"]).all()


@pytest.mark.parametrize(
    "options",
    [{}, {"policy": "sjf", "predictor": "last-value"}, {"policy": "calls back"}],
    ids=["native", "learning", "callbacks"],
)
def test_a_second_thread_is_refused_and_changes_nothing(options):
    trace = gs.generate("philly", 100, load=0.9, cluster=CLUSTER, seed=1)
    calls_back = options.get("policy") == "calls back"
    options = {} if calls_back else options
    with unwarned():
        expected = gs.simulate(trace, CLUSTER, **options).digest
        run = gs.Simulation(trace, CLUSTER, **options)
        if calls_back:
            run.on("instant", lambda _: None)
        within = threading.Event()
        heard: list[str] = []

        def second() -> None:
            for call in (
                run.step, run.run, run.result, lambda: run.run_until(1e9),
                lambda: run.cancel(0), lambda: run.set(policy="sjf"), lambda: run.save("never.run"),
                lambda: run.submit(trace._take([0])), lambda: run.on("start", print),
                run.fork, lambda: run.state,
            ):  # fmt: skip
                try:
                    call()
                except ValueError as error:
                    heard.append(str(error))

        def look(_: Any) -> None:
            if within.is_set():
                return
            within.set()
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()

        run.on("start", look)
        run.run()
        told = "the run is busy, in another thread or in a call around this one"
        assert heard.count(told) >= (8 if "predictor" in options else 10)
        assert run.result().digest == expected


def test_threads_that_race_for_one_run_leave_it_sound():
    trace = gs.generate("philly", 150, load=0.9, cluster=CLUSTER, seed=1)
    with unwarned():
        expected = gs.simulate(trace, CLUSTER, policy="las").digest
        run = gs.Simulation(trace, CLUSTER, policy="las")
        heard: list[str] = []

        def race(*calls: Callable[[], object]) -> None:
            for call in itertools.cycle(calls):
                try:
                    if run.done:
                        return
                    call()
                except ValueError as error:
                    heard.append(str(error))

        threads = [
            threading.Thread(target=race, args=calls)
            for calls in ((run.step,), (run.step, run.step, run.fork), (lambda: run.state,))
        ]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
        assert set(heard) <= {"the run is busy, in another thread or in a call around this one"}
        assert run.result().digest == expected


@each("policy", ["sjf-bco", "ff", "ls", "rand"])
@each("mode", ["queue", "idle"])
def test_a_cap_that_was_raised_for_a_job_that_is_taken_back_falls_again(policy, mode):
    def told(*, changes: bool) -> tuple[list[int], tuple[str, ...]]:
        # The second raises the cap to 200 s or more, under which the third may share its GPU.
        jobs = [(0, 90, 4), (10, 200, 4), (30, 60, 2), (31, 60, 1)]
        if not changes:
            del jobs[1]
        run = gs.Simulation(
            gs.Trace.from_columns(*map(list, zip(*jobs, strict=True))),
            gs.Cluster.uniform(1, 4),
            policy=gs.Policy(policy, mode=mode, theta_s=100, u=1),
        )
        run.run_until(20)
        if changes:
            run.cancel(1)
        run.run()
        result = run.result()
        finish_us = result.schedule.finish_us.tolist()
        if changes:
            del finish_us[1]
        return finish_us, tuple(w for w in result.schedule.warnings if "theta_s was" in w)

    assert told(changes=True) == told(changes=False)
