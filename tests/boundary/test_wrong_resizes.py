"""Resizes, reallocations and demands that make no sense: refused by name, and nothing changes."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._core import Allocation
from tests.boundary.test_wrong_schedulers import DEEDS, Wrong, call, in_turn
from tests.boundary.workloads import CLUSTER, FirstFit, Strict
from tests.each import each

TYPED = gs.Cluster((gs.ServerGroup(2, 4, "K80"), gs.ServerGroup(1, 4, "V100")))
TABLE = gs.model.JobProfile(
    "model", throughput={"K80": {1: 1.0, 2: 2.0, 4: 3.0}, "V100": {1: 2.0, 2: 4.0, 4: 0.0}}
)


def resize(job: int, gpus: int, *pieces: tuple[int, int]) -> Any:
    return call("resize", job, Allocation(gpus, list(pieces)))


def reallocate(*targets: Any) -> Any:
    return call("reallocate", list(targets))


def elastic(jobs: int = 3, **columns: Any) -> gs.Trace:
    """Jobs of 2 GPUs that may have 1 to 4, a second apart, each of 10 s."""
    return gs.Trace.from_columns(
        list(range(jobs)), [10] * jobs, [2] * jobs, profiles=TABLE, max_gpus=[4] * jobs, **columns
    )


def run(deed: Any, at_s: int = 1, trace: gs.Trace | None = None, **options: Any) -> gs.Result:
    """Job 0 runs on the first two GPUs of server 0 since 0 s, job 1 arrives at 1 s."""
    jobs = elastic() if trace is None else trace
    options = {"speed": "table", "placement": "first-fit"} | options
    return gs.simulate(jobs, TYPED, policy=Wrong(deed, at_s), **options)


WRONG = {
    "wider than its limit": (resize(0, 5, (1, 15), (2, 1)), "a width of 5 GPUs is outside"),
    "no GPUs at all": (resize(0, 0), "a width of 0 GPUs is outside"),
    "a waiting job": (in_turn(call("preempt", 0), resize(0, 1, (1, 1))),
                      "only a running job can be resized"),
    "a job that has not arrived": (resize(2, 1, (1, 1)), "only a running job can be resized"),
    "a job that is not there": (resize(99, 1, (1, 1)), "only a running job can be resized"),
    "onto GPUs in use": (resize(0, 3, (0, 0b1110)), "a GPU is not free"),
    "onto GPUs that a server does not have": (resize(0, 1, (1, 16)), "a GPU is not free"),
    "onto a server that is not there": (resize(0, 1, (3, 1)), "unknown server"),
    "onto fewer GPUs than it says": (resize(0, 3, (1, 0b11)), "must have all GPUs of the job"),
    "onto servers out of order": (resize(0, 2, (1, 1), (0, 1)), "once each, in order"),
    "onto the GPUs it has": (resize(0, 2, (0, 0b11)), "must change its GPUs"),
    "onto a type that cannot run so many": (resize(0, 4, (2, 15)),
                                            "cannot run it on this allocation"),
    "at the instant of its start": (resize(1, 1, (1, 1)), "started in this decision"),
    "twice at an instant": (in_turn(resize(0, 1, (1, 1)), resize(0, 2, (2, 3))),
                            "started in this decision"),
    "and then preempt": (in_turn(resize(0, 1, (1, 1)), call("preempt", 0)),
                         "started in this decision"),
    "and then suspend": (in_turn(resize(0, 1, (1, 1)), call("suspend", 0)),
                         "started in this decision"),
}  # fmt: skip


@each("wrong", WRONG)
def test_a_wrong_resize_is_refused_with_time_and_job(wrong):
    deed, message = WRONG[wrong]
    with pytest.raises(gs.InvariantError, match=r"at 1000000 us, job \d+: .*" + message):
        run(deed)


def test_a_refused_resize_leaves_the_state_as_it_was():
    class Stubborn(Strict):
        """Tries everything wrong, and carries on."""

        num_refused = 0

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            for deed, _ in [*WRONG.values(), *((deed, "") for deed, _, _ in DEEDS.values())]:
                if "in_turn" in deed.__qualname__:  # its first half is in order
                    continue
                before = state.running.tolist(), state.num_free, parts(state)
                try:
                    deed(state, actions)
                except gs.InvariantError:
                    self.num_refused += 1
                    assert before == (state.running.tolist(), state.num_free, parts(state))
            super().decide(state, finished, arrived, actions)

    def parts(state: Any) -> Any:
        return [state.parts_of(job) for job in state.running.tolist()]

    # Jobs 0 to 4 are rejected, so that most deeds are wrong; job 5 is resized in earnest.
    trace = elastic(jobs=30, gpu_types=["T4"] * 5 + [""] * 25)
    scheduler = Stubborn()
    result = gs.simulate(trace, TYPED, policy=scheduler, speed="table", placement="first-fit")
    assert scheduler.num_refused > 500
    assert result.audit().ok
    assert result.digest == gs.simulate(
        trace, TYPED, policy="fifo", speed="table", placement="first-fit"
    ).digest  # fmt: skip


@pytest.mark.parametrize("speed", ["fixed", "table"])
def test_a_migration_is_allowed_under_every_speed(speed):
    jobs = elastic(2, restart_s=[3, 0])
    result = run(resize(0, 2, (1, 0b1100)), trace=jobs, speed=speed)
    assert result.schedule.resizes.tolist() == [1, 0]
    assert result.schedule.preemptions.tolist() == [0, 0]
    assert result.schedule.paid_us[0] == 3_000_000
    assert result.audit().ok


TARGETS = {
    "a job that has not arrived": ([(2, [(0, 1)])], IndexError, "job 2 has not arrived"),
    "a type that is not there": ([(0, [(2, 1)])], ValueError, "GPU type 2 does not exist"),
    "a negative type": ([(0, [(-1, 1)])], ValueError, "GPU type -1 does not exist"),
    "no parts": ([(0, [])], gs.InvariantError, "job 0: no parts"),
    "a part without GPUs": ([(0, [(0, 0)])], gs.InvariantError, "parts need GPUs"),
    "types out of order": ([(0, [(1, 1), (0, 1)])], gs.InvariantError, "by ascending type"),
    "a type twice": ([(0, [(0, 1), (0, 1)])], gs.InvariantError, "each type once"),
    "a job twice": ([(0, [(0, 2)]), (0, [(0, 1)])], gs.InvariantError, "reallocated twice"),
    "too narrow": ([(0, [(0, 1)]), (1, [(0, 2)])], gs.InvariantError, "a width of 1 GPUs"),
    "something else": ([(0, 1)], TypeError, r"expected \(job, parts\), not \(0, 1\)"),
}


@each("wrong", TARGETS)
def test_a_wrong_reallocation_is_refused_by_name(wrong):
    targets, error, message = TARGETS[wrong]
    deed = reallocate(*targets)

    class Waits(Wrong):
        """Starts job 0 alone, so that a second one waits."""

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            if state.now_us < self.at_us:
                Strict.decide(self, state, finished, arrived, actions)
            elif state.now_us == self.at_us:
                self.deed(state, actions)

    jobs = elastic(min_gpus=[2] * 3)
    with pytest.raises(error, match=message):
        gs.simulate(jobs, TYPED, policy=Waits(deed), speed="table", placement="first-fit")


def test_a_refused_reallocation_does_not_haunt_the_next_one():
    class Retries(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            active = sorted([*state.waiting.tolist(), *state.running.tolist()])
            for wrong, _, _ in list(TARGETS.values())[:8]:
                with pytest.raises((IndexError, ValueError, gs.InvariantError)):
                    actions.reallocate([*((job, [(0, 1)]) for job in active if job > 1), *wrong])
            assert actions.reallocate([(job, [(0, 2)]) for job in active]) == []

    result = gs.simulate(elastic(2), TYPED, policy=Retries(), speed="table", placement="first-fit")
    assert result.schedule.resizes.tolist() == [0, 0]
    assert result.schedule.status.tolist() == [0, 0]


@pytest.mark.parametrize("parts", [[(1, 4)], [(0, 4), (1, 1)], [(0, 3), (1, 1)]])
def test_a_job_that_cannot_run_on_its_parts_is_told_of(parts):
    seen = []

    class Tries(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            if len(arrived):
                seen.append(actions.reallocate([(0, parts)]))
                seen.append(actions.reallocate([(0, [(0, 2)])]))

    result = gs.simulate(elastic(1), TYPED, policy=Tries(), speed="table", placement="first-fit")
    assert seen == [[0], []]  # there is no figure for these
    assert result.audit().ok


def test_a_job_without_a_place_is_told_of_and_goes_on():
    seen = []

    class TooMuch(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            active = sorted([*state.waiting.tolist(), *state.running.tolist()])
            seen.append(actions.reallocate([(job, [(1, 2)]) for job in active]))

    result = gs.simulate(elastic(), TYPED, policy=TooMuch(), speed="table")
    assert seen[:3] == [[], [], [2]]  # there are four GPUs of that type
    assert result.audit().ok


def shared(*shares: float, **columns: Any) -> gs.Trace:
    count = len(shares)
    return gs.Trace.from_columns([0] * count, [5] * count, [1] * count, gpu_share=shares, **columns)


def place(*hands: list[tuple[int, int]]) -> gs.Scheduler:
    """Start each job on the GPU that it is dealt."""

    class Dealt(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            for job in arrived.tolist():
                gpus = sum(mask.bit_count() for _, mask in hands[job])
                actions.start(job, Allocation(gpus, hands[job]))

    return Dealt()


def test_shares_of_a_gpu_that_are_more_than_it_are_refused():
    jobs = shared(0.5, 0.3, 0.3)
    with pytest.raises(gs.InvariantError, match="at 0 us, job 2: the GPU share is not free"):
        gs.simulate(jobs, CLUSTER, policy=place(*[[(0, 1)]] * 3), placement="first-fit")
    result = gs.simulate(
        jobs, CLUSTER, policy=place([(0, 1)], [(0, 1)], [(0, 2)]), placement="first-fit"
    )
    assert result.audit().ok


@each(
    ("pieces", "message"),
    [
        ([(0, 0b11)], "GPU share is not free|width|all GPUs of the job"),
        ([(0, 1), (1, 1)], "all GPUs of|width"),
        ([(0, 16)], "the GPU share is not free"),
        ([(3, 1)], "unknown server"),
        ([(0, 0)], "has no GPU|width|all GPUs of"),
    ],
)
def test_a_share_is_of_one_gpu_that_exists(pieces, message):
    with pytest.raises(gs.InvariantError, match=f"at 0 us, job 0: .*({message})"):
        gs.simulate(shared(0.5), CLUSTER, policy=place(pieces), placement="first-fit")


def test_a_whole_gpu_is_not_one_of_which_a_share_is_taken():
    with pytest.raises(gs.InvariantError, match="at 0 us, job 1: a GPU is not free"):
        gs.simulate(
            shared(0.1, 1.0), CLUSTER, policy=place([(0, 1)], [(0, 1)]), placement="first-fit"
        )


@pytest.mark.parametrize("column", ["cpu", "memory_gib"])
def test_cpu_and_memory_that_a_server_does_not_have_are_refused(column):
    cluster = gs.Cluster.uniform(servers=2, gpus=4, cpu=8, memory_gib=8)
    jobs = shared(1.0, 1.0, **{column: [5.0, 4.0]})
    with pytest.raises(gs.InvariantError, match="at 0 us, job 1: the server lacks CPU or memory"):
        gs.simulate(jobs, cluster, policy=place([(0, 1)], [(0, 2)]), placement="first-fit")
    result = gs.simulate(jobs, cluster, policy=place([(0, 1)], [(1, 2)]), placement="first-fit")
    assert result.audit().ok


def test_demands_need_somebody_who_knows_of_them():
    jobs = shared(0.5, 1.0)
    with pytest.raises(ValueError, match="not supported by this policy, which chooses GPUs itself"):
        gs.simulate(jobs, CLUSTER, policy="sjf-bco", placement="first-fit")
    with pytest.raises(ValueError, match="the placement supports whole GPUs only"):
        gs.simulate(jobs, CLUSTER, policy="fifo", placement="lwf")
    with pytest.raises(ValueError, match="the placement supports whole GPUs only"):
        gs.simulate(jobs, CLUSTER, policy="fifo", placement=FirstFit())
    tables = gs.Trace.from_columns([0], [5], [1], gpu_share=[0.5], profiles=TABLE)
    with pytest.raises(ValueError, match="the speed does not support jobs that share a GPU"):
        gs.simulate(tables, TYPED, policy="fifo", placement="first-fit", speed="table")


def test_a_job_that_asks_for_more_than_any_server_has_is_rejected():
    cluster = gs.Cluster.uniform(servers=2, gpus=4, cpu=8, memory_gib=8)
    jobs = gs.Trace.from_columns([0] * 4, [5] * 4, [1, 4, 4, 8], cpu=[9, 2, 3, 2])
    result = gs.simulate(jobs, cluster, policy="fifo", placement="best-fit")
    assert result.schedule.reason.tolist() == [3, 0, 3, 0]
    assert result.audit().ok


def test_a_job_for_whose_width_there_is_no_figure_is_rejected():
    jobs = gs.Trace.from_columns([0] * 4, [5] * 4, [2, 3, 5, 4], profiles=TABLE)
    result = gs.simulate(jobs, TYPED, policy="fifo", placement="first-fit", speed="table")
    assert result.schedule.reason.tolist() == [0, 0, 4, 0]
    assert result.audit().ok
    assert np.array_equal(result.schedule.status, [0, 0, 1, 0])
