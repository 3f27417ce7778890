"""A run from which a waiting job is taken back goes on as one in whose queue it does not stand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.run_warning import unwarned
from gpusched.schedules.schedule import CANCELLED
from tests.each import each

pytestmark = pytest.mark.long

REMEMBERING = [
    "2d-las:inside=entry", "2d-las:inside=running", "2d-las:promote=3", "chronus:lease_s=20",
    "dancer:slot_s=10", "dancer:preset=theory", "elasticflow:slot_s=10",
    "elasticflow:admission=batch,slot_s=10", "elasticflow:types=pinned", "ff:mode=queue",
    "gavel:objective=ftf", "gavel:rounds=artefact", "ls:mode=queue,start=in-order",
    "matching:widths=own", "rand:mode=queue", "sjf-bco:mode=queue",
]  # fmt: skip
BOUND = [
    f"{name}:mode=queue,u=1,start={start}"
    for name in ("ff", "ls", "sjf-bco")
    for start in ("ready", "in-order")
]


def jobs_with_deadlines() -> gs.Trace:
    rng = np.random.default_rng(4)
    submit, service = rng.integers(0, 60, 60), rng.integers(5, 200, 60)
    gpus, slack, is_due = rng.integers(1, 9, 60), rng.integers(2, 9, 60), rng.random(60) < 0.7
    deadline = np.where(is_due, submit + service * slack, np.nan)
    return gs.Trace.from_columns(submit, service, gpus, deadline_s=deadline)


@each("policy", REMEMBERING)
def test_those_that_remember_forget_the_job_alone(policy):
    with unwarned():
        run = gs.Simulation(jobs_with_deadlines(), gs.Cluster.uniform(3, 4), policy=policy)
        run.run_until(61)
        gone = {}
        while len(gone) < 8 and len(run.state.waiting):
            job = int(run.state.waiting[3 * len(gone) % len(run.state.waiting)])
            run.cancel(job)
            gone[job] = run.now
            assert job not in run.state.waiting
            run.run_until(run.now + 17.25)
        run.run()
        result = run.result()
    assert len(gone) > 3
    ends_us = result.intervals["end_us"]
    for job, at_s in gone.items():
        assert (ends_us[result.intervals["job"] == job] <= at_s * 1e6).all()
    assert (result.schedule.status[list(gone)] == CANCELLED).all()
    assert (np.delete(result.schedule.status, list(gone)) == 0).all()
    result.audit()


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30), st.integers(1, 6)), min_size=4),
    st.sampled_from(BOUND),
    st.integers(0, 30),
)
def test_whoever_is_bound_on_arrival_and_leaves_at_once_was_never_there(jobs, policy, pick):
    after, service, gpus = np.array(jobs).T
    submit = np.cumsum(after)
    trace = gs.Trace.from_columns(submit, service, gpus)
    cluster = gs.Cluster.uniform(2, 4)
    gone = pick % len(jobs)
    with unwarned():
        run = gs.Simulation(trace, cluster, policy=policy)
        run.run_until(submit[gone] + 0.25)
        if gone not in run.state.waiting:
            return
        run.cancel(gone)
        run.run()
        others = np.arange(len(jobs)) != gone
        without = gs.simulate(trace._take(others), cluster, policy=policy).schedule
    assert run.result().schedule.finish_us[others].tolist() == without.finish_us.tolist()


@pytest.mark.parametrize("policy", ["chronus", "dancer", "elasticflow", "elasticflow:types=pinned"])
def test_slots_that_were_promised_to_a_cancelled_job_are_promised_to_the_next(policy):
    # One after the other; the third can be in time only in the slots of the second.
    trace = gs.Trace.from_columns(
        [0, 600, 1_800], [12_000, 6_000, 6_000], [4, 4, 4], deadline_s=[12_600, 19_800, 20_400]
    )
    with unwarned():
        run = gs.Simulation(trace, gs.Cluster.uniform(1, 4), policy=policy)
        run.run_until(1_000)
        kept = run.fork()
        run.cancel(1)
        for one in (kept, run):
            one.run()
    finish_s = kept.result().jobs.finish_s
    assert finish_s[1] <= 19_800 < 20_400 < finish_s[2]
    assert run.result().jobs.finish_s[2] <= 20_400
    assert run.result().schedule.decisions()["admitted"].tolist()[-1]


class Withdrawing(gs.Scheduler):
    """First come, first served; remembers who waits, and forgets on request, or not."""

    def __init__(self, answer: Any = True) -> None:
        super().__init__()
        self.answer = answer

    def begin(self, state: Any) -> None:
        self.line: list[int] = []

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.line += arrived.tolist()
        assert set(state.waiting.tolist()) == set(self.line)
        while self.line and (found := state.place(self.line[0])) is not None:
            actions.start(self.line.pop(0), found)

    def withdraw(self, job: int) -> Any:
        if self.answer is True:
            self.line.remove(job)
        return self.answer


def test_a_scheduler_in_python_forgets_what_it_is_told_to_forget():
    run = gs.Simulation(jobs_with_deadlines(), gs.Cluster.uniform(3, 4), policy=Withdrawing())
    assert (
        check_python(run).digest
        == check_python(
            gs.Simulation(jobs_with_deadlines(), gs.Cluster.uniform(3, 4), policy="fifo")
        ).digest
    )


def check_python(run: gs.Simulation) -> gs.Result:
    run.run_until(61)
    run.cancel(int(run.state.waiting[0]))
    run.cancel(int(run.state.waiting[4]))
    run.run()
    return run.result()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (False, ValueError, "cannot remove a waiting job"),
        (None, TypeError, "withdraw must return a bool \\(whether it removed the job\\), not None"),
    ],
)
def test_a_scheduler_in_python_may_refuse(answer, error, message):
    run = gs.Simulation(jobs_with_deadlines(), gs.Cluster.uniform(3, 4), policy=Withdrawing(answer))
    run.run_until(61)
    with pytest.raises(error, match=message):
        run.cancel(int(run.state.waiting[0]))
    run.run()
    assert (run.result().schedule.status == 0).all()


@pytest.mark.parametrize("policy", ["ls:mode=queue", "ff:mode=queue", "sjf-bco:mode=queue"])
def test_a_cancelled_job_leaves_no_trace_in_the_busy_times_of_gpus(policy):
    """10 s over 1.15, with 22 s over 1.15 added and taken back, is another number in doubles."""
    held = []
    for cancelled_s in ([], [22], [22, 3, 7]):
        num = len(cancelled_s)
        submit_s, service_s = [0, 0, *[1] * num, 3], [10, 10, *cancelled_s, 5]
        trace = gs.Trace.from_columns(submit_s, service_s, [1] * (num + 3))
        run = gs.Simulation(trace, gs.Cluster.uniform(1, 2), policy=policy)
        run.run_until(2)
        for job in range(2, 2 + num):
            run.cancel(job)
        with unwarned():
            run.run()
            rows = run.result().intervals
        last = rows["job"] == len(trace) - 1
        held.append(rows["mask"][last].tolist())
    assert held[0] == held[1] == held[2]
