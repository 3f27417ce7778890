"""A scheduler that asks for something impossible is told when, which job and what: never obeyed."""

import re
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._core import Allocation
from tests.boundary.workloads import CLUSTER, Strict, trace
from tests.each import each

TWO_GPUS = [(0, 0b11)]
NEVER = 2**62


class Wrong(Strict):
    """First come, first served until the decision at ``at_s``, then one wrong deed.

    Job 0 (2 GPUs) runs from 0 to 10 s and job 1 (12 GPUs, all there are) waits from 1 to 10 s.
    """

    jobs = gs.Trace.from_columns([0, 1, 2, 30], [10, 5, 20, 1], [2, 12, 12, 1])

    def __init__(self, deed: Any, at_s: int = 1) -> None:
        super().__init__()
        self.deed, self.at_us = deed, at_s * 10**6

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        super().decide(state, finished, arrived, actions)
        if state.now_us == self.at_us:
            self.deed(state, actions)


def start(job: int, gpus: int, pieces: Any = TWO_GPUS) -> Any:
    return lambda state, actions: actions.start(job, Allocation(gpus, pieces))


def call(name: str, *arguments: Any) -> Any:
    return lambda state, actions: getattr(actions, name)(*arguments)


def in_turn(*deeds: Any) -> Any:
    def all_of_them(state: Any, actions: Any) -> None:
        for deed in deeds:
            deed(state, actions)

    return all_of_them


HALF = 0b1100
ALL = [(0, 0b1111), (1, 0b1111), (2, 0b1111)]

DEEDS = {
    "start a running job": (start(0, 2, [(1, 3)]), 0, "only a waiting job can start"),
    "start a job that has not arrived": (start(3, 1, [(1, 1)]), 3, "only a waiting job can start"),
    "start a job that is not there": (start(4, 1, [(1, 1)]), 4, "only a waiting job can start"),
    "start a part of a gang": (start(1, 2, [(1, 3)]), 1, "must have all GPUs"),
    "start a gang on too few GPUs": (start(1, 12, [(1, 15), (2, 15)]), 1, "must have all GPUs"),
    "start a gang without GPUs": (start(1, 12, []), 1, "must have all GPUs"),
    "start on GPUs in use": (start(1, 12, ALL), 1, "a GPU is not free"),
    "start on a server below the first": (start(1, 12, [(-1, 15)]), 1, "unknown server"),
    "start on a server beyond the last": (start(1, 12, [(3, 15)]), 1, "unknown server"),
    "start on GPUs a server does not have": (start(1, 12, [(1, 31)]), 1, "a GPU is not free"),
    "start on a server named twice": (start(1, 12, [(1, 15), (1, 15), (2, 15)]), 1,
                                      "must be named once each, in order"),
    "start on servers out of order": (start(1, 12, [(2, 15), (1, 15), (0, HALF)]), 1,
                                      "must have all GPUs"),
    "preempt a waiting job": (call("preempt", 1), 1, "only a running job can be preempted"),
    "preempt a job that is not there": (call("preempt", 99), 99, "only a running job can be"),
    "preempt twice": (in_turn(*2 * [call("preempt", 0)]), 0, "only a running job can be preempted"),
    "suspend a waiting job": (call("suspend", 1), 1, "only a running job can be suspended"),
    "suspend twice": (in_turn(*2 * [call("suspend", 0)]), 0, "is already suspended"),
    "restore a waiting job": (call("restore", 1), 1, "only a running job can be restored"),
    "restore a job that runs": (call("restore", 0), 0, "only a suspended job can be restored"),
    "start a suspended job": (in_turn(call("suspend", 0), start(0, 2, [(1, 3)])), 0,
                              "only a waiting job can start"),
    "resize a waiting job": (call("resize", 1, Allocation(1, [(1, 1)])), 1,
                             "only a running job can be resized"),
}  # fmt: skip


@each("wrong", DEEDS)
def test_a_wrong_deed_is_refused_with_time_job_and_digest(wrong):
    deed, job, message = DEEDS[wrong]
    with pytest.raises(gs.InvariantError) as caught:
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(deed))
    text = str(caught.value)
    assert text.startswith(f"at 1000000 us, job {job}: ")
    assert message in text
    assert re.search(r"; digest of the schedule so far: [0-9a-f]{64}$", text)


@each("at_us", [1_000_000, 999_999, 0, -1, -(2**63)])
def test_a_wake_up_must_lie_ahead(at_us):
    with pytest.raises(gs.InvariantError, match="at 1000000 us: a wake-up must be in the future"):
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(call("wake", at_us)))


def test_an_error_in_a_later_decision_tells_its_time_and_what_was_done_before():
    def error_of(deed: Any) -> str:
        with pytest.raises(gs.InvariantError) as caught:
            gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(deed, at_s=10))
        return str(caught.value)

    first, second = error_of(call("preempt", 0)), error_of(call("restore", 1))
    assert first.startswith("at 10000000 us, job 0: only a running job")  # it has just ended
    assert second.startswith("at 10000000 us, job 1: only a suspended job")  # it has just begun
    assert first[-64:] == second[-64:]  # one history, one digest


@pytest.mark.parametrize("pieces", [[(0, 0), (1, 0b11)], [(1, 0b11), (2, 0)]])
def test_a_server_without_a_gpu_is_no_part_of_an_allocation(pieces):
    jobs = gs.Trace.from_columns([0], [5], [2])
    with pytest.raises(gs.InvariantError, match="at 0 us, job 0: "):
        gs.simulate(jobs, CLUSTER, policy=Wrong(start(0, 2, pieces), at_s=0), placement=Refusing())


class Refusing(gs.Placement):
    """Takes part in nothing but the question whether a job can ever fit."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked_first = True

    def place(self, free: Any, request: Any) -> Any:
        is_first, self.is_asked_first = self.is_asked_first, False
        return [(0, free.lowest_free(0, request.gpus))] if is_first else None


@pytest.mark.parametrize(
    "deed",
    [
        in_turn(call("preempt", 0), start(0, 2)),
        in_turn(call("preempt", 0), start(0, 2), call("preempt", 0)),
    ],
    ids=["back on its GPUs", "and forth"],
)
def test_a_job_changes_its_state_once_in_a_decision(deed):
    with pytest.raises(gs.InvariantError, match="at 1000000 us, job 0: "):
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(deed))


def test_a_job_that_has_just_started_cannot_be_preempted_at_once():
    with pytest.raises(gs.InvariantError, match="at 0 us, job 0: "):
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(call("preempt", 0), at_s=0))


def test_a_resize_is_a_value_error():
    deed = call("resize", 0, Allocation(1, [(1, 1)]))
    with pytest.raises(
        ValueError, match="resize: job 0 cannot change its width: the speed is not elastic"
    ):
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(deed))


@pytest.mark.parametrize(
    ("gpus", "pieces", "message"),
    [(1, [(0, 1)], "must not name servers"), (13, [], "all GPUs of"), (0, [], "all GPUs of")],
)
def test_a_pool_is_checked_as_well(gpus, pieces, message):
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [12, 1])
    deed = start(1, gpus, pieces)
    with pytest.raises(gs.InvariantError, match=f"at 1000000 us, job 1: .*{message}"):
        gs.simulate(jobs, CLUSTER, policy=Wrong(deed), placement="count")
    with pytest.raises(gs.InvariantError, match="more GPUs than are free"):
        gs.simulate(jobs, CLUSTER, policy=Wrong(start(1, 1, [])), placement="count")


@each("arguments", [(-1, Allocation(1)), (2**32, Allocation(1)), (0.5, Allocation(1)), (0, None)])
def test_a_wrong_kind_of_argument_is_a_type_error(arguments):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(call("start", *arguments)))


@each(
    "arguments",
    [(1, None), ("1",), (1, [(0,)]), (1, [(0, -1)]), (1, [(0, 2**64)]), (2**31, []), (1, [0, 1])],
)
def test_a_malformed_allocation_is_a_type_error(arguments):
    with pytest.raises(TypeError):
        Allocation(*arguments)


def test_numbers_of_numpy_are_numbers():
    allocation = Allocation(np.int32(2), [(np.int64(1), np.uint64(3))])
    assert (allocation.gpus, allocation.pieces) == (2, [(1, 3)])
    jobs = gs.Trace.from_columns([0], [5], [2])
    deed = call("start", np.int64(0), allocation)
    result = gs.simulate(jobs, CLUSTER, policy=Wrong(deed, at_s=0), placement=Refusing())
    assert result.audit().ok
    assert result.intervals["server"].tolist() == [1]


def test_a_refused_action_leaves_the_state_as_it_was():
    class Stubborn(Strict):
        """Tries everything wrong at every decision, and carries on."""

        num_refused = 0

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            for deed, _, _ in DEEDS.values():
                before = state.waiting.tolist(), state.running.tolist(), state.num_free
                try:
                    deed(state, actions)
                except gs.InvariantError:
                    self.num_refused += 1
                    assert before == (
                        state.waiting.tolist(),
                        state.running.tolist(),
                        state.num_free,
                    )
            super().decide(state, finished, arrived, actions)

    # Every deed names jobs 0 to 4 or 99; here they were rejected, so that nothing is legal.
    jobs = gs.Trace.from_columns([0] * 5 + list(range(1, 60)), [5] * 64, [50] * 5 + [3] * 59)
    scheduler = Stubborn()
    result = gs.simulate(jobs, CLUSTER, policy=scheduler)
    assert scheduler.num_refused >= 59 * len(DEEDS)
    assert result.audit().ok
    assert result.digest == gs.simulate(jobs, CLUSTER, policy="fifo").digest


def test_a_rejected_job_cannot_be_started():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [50, 1])
    with pytest.raises(gs.InvariantError, match="at 0 us, job 0: only a waiting job can start"):
        gs.simulate(jobs, CLUSTER, policy=Wrong(start(0, 50), at_s=0))


def test_a_scheduler_that_does_nothing_leaves_jobs_unfinished_and_says_so():
    class Idle(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            pass

    result = gs.simulate(trace(), CLUSTER, policy=Idle())
    assert (result.schedule.status == 2).all()
    assert (result.schedule.start_us == -1).all()
    assert result.summary()["num_unfinished"] == 60
    assert any("60 jobs wait forever" in warning for warning in result.warnings)
    assert not result.audit().ok


def test_jobs_that_still_hold_gpus_at_the_end_hold_them_until_then():
    def stop_all(state: Any, actions: Any) -> None:
        for job in state.running.tolist():
            actions.preempt(job)

    class OnlyOnce(Wrong):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            if state.now_us <= self.at_us:
                super().decide(state, finished, arrived, actions)

    schedule = gs.simulate(Wrong.jobs, CLUSTER, policy=OnlyOnce(stop_all)).schedule
    assert schedule.status.tolist() == [2, 2, 2, 2]
    assert schedule.held_us.tolist() == [10**6, 0, 0, 0]
    assert schedule.start_us.tolist() == [0, -1, -1, -1]
    assert schedule.finish_us.tolist() == [-1, -1, -1, -1]
    assert schedule.preemptions.tolist() == [1, 0, 0, 0]


def test_the_earliest_wake_up_of_a_decision_counts_and_only_until_the_next():
    seen = []

    class Sleeper(Strict):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            super().decide(state, finished, arrived, actions)
            seen.append(state.now_us)
            if state.now_us == 0:
                for at in (9, 4, 7):
                    actions.wake(at)

    gs.simulate(gs.Trace.from_columns([0], [1e-5], [1]), CLUSTER, policy=Sleeper())
    assert seen == [0, 4, 10]


@pytest.mark.parametrize("at_us", [NEVER, 2**63 - 2])
def test_a_wake_up_beyond_time_is_an_error_and_not_a_hang(at_us):
    with pytest.raises(ValueError, match=r"passes 2\^62 microseconds"):
        gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(call("wake", at_us), at_s=36))


def test_a_suspended_job_that_is_not_restored_is_preempted():
    result = gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(call("suspend", 0)))
    assert result.schedule.preemptions.tolist() == [1, 0, 0, 0]
    assert result.audit().ok


def test_a_suspended_job_that_is_restored_never_stopped():
    deed = in_turn(call("suspend", 0), call("restore", 0))
    result = gs.simulate(Wrong.jobs, CLUSTER, policy=Wrong(deed))
    assert result.digest == gs.simulate(Wrong.jobs, CLUSTER, policy="fifo").digest
