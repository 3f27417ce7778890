"""What a Python plug-in is shown is valid during the call, and is of that run alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace
from tests.each import each


class Keeper:
    """Something to keep the arguments of a call in."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []


class KeepingOrder(Keeper, ShortestFirst):
    def rank(self, view: Any, jobs: Any) -> Any:
        self.kept = [view, jobs, view.predicted_us, view.remaining_us(jobs)]
        return super().rank(view, jobs)


class KeepingPlacement(Keeper, FirstFit):
    def place(self, free: Any, request: Any) -> Any:
        self.kept = [free, request, free.free_gpus, free.server_gpus]
        return super().place(free, request)


class KeepingScheduler(Keeper, Strict):
    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        super().decide(state, finished, arrived, actions)
        self.kept = [state, actions, finished, arrived, state.waiting, state.gpus]


@pytest.mark.parametrize("plug_in", [KeepingOrder, KeepingPlacement, KeepingScheduler])
def test_arrays_that_are_kept_stay_what_they_were(plug_in):
    keeper = plug_in()
    seam = "placement" if plug_in is KeepingPlacement else "policy"
    gs.simulate(trace(), CLUSTER, **{seam: keeper})
    arrays = [kept for kept in keeper.kept if isinstance(kept, np.ndarray)]
    assert len(arrays) >= 2
    before = [array.tolist() for array in arrays]
    gs.simulate(trace(seed=5), CLUSTER, **{seam: plug_in()})
    assert [array.tolist() for array in arrays] == before


def test_a_request_that_is_kept_names_its_job():
    keeper = KeepingPlacement()
    jobs = trace()
    gs.simulate(jobs, CLUSTER, placement=keeper)
    request = keeper.kept[1]
    assert request.gpus == jobs.gpus[request.job]
    assert (request.types, request.preemptions) == (1, 0)


def test_whole_columns_are_those_of_the_trace_and_read_only():
    jobs = trace(weight=np.linspace(0.5, 2, 60))
    seen: dict[str, Any] = {}

    class Looking(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            for name in ("submit_us", "gpus", "predicted_us", "weight"):
                seen[name] = getattr(view, name)
            return super().rank(view, jobs)

    gs.simulate(jobs, CLUSTER, policy=Looking())
    truth = {
        "submit_us": jobs.submit_us,
        "gpus": jobs.gpus,
        "predicted_us": jobs.service_us,
        "weight": jobs.weight,
    }
    for name, column in truth.items():
        assert np.array_equal(seen[name], column)
        with pytest.raises(ValueError, match="read-only"):
            seen[name][0] = 1
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
            seen[name].setflags(write=True)


def test_a_plug_in_that_writes_into_what_it_is_given_harms_nobody():
    class Vandal(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            keys = super().rank(view, jobs).copy()
            jobs[:] = -1
            view.remaining_us(np.array([0]))[:] = -1
            return keys

    class VandalPlacement(FirstFit):
        def place(self, free: Any, request: Any) -> Any:
            for array in (free.free_gpus, free.server_gpus, free.server_type):
                array[:] = 99
            return super().place(free, request)

    expected = gs.simulate(trace(), CLUSTER, policy="sjf", placement="first-fit").digest
    made = gs.simulate(trace(), CLUSTER, policy=Vandal(), placement=VandalPlacement())
    assert made.digest == expected


@each("num_jobs", [1, 30, 61, 90])
def test_an_instance_sees_the_columns_of_the_run_it_is_in(num_jobs):
    order, placement, scheduler = ShortestFirst(), FirstFit(), Strict()
    for seed in range(12):
        jobs = trace(num_jobs + seed % 3, seed=seed)
        made = gs.simulate(jobs, CLUSTER, policy=order, placement=placement)
        native = gs.simulate(jobs, CLUSTER, policy="sjf", placement="first-fit")
        assert made.digest == native.digest
        made = gs.simulate(jobs, CLUSTER, policy=scheduler, placement=placement)
        assert made.digest == gs.simulate(jobs, CLUSTER, placement="first-fit").digest


@pytest.mark.parametrize(
    "look", [lambda view: view.place(0), lambda view: view.waiting, lambda view: view.running]
)
def test_only_the_state_of_a_scheduler_lists_jobs_and_places_them(look):
    class Curious(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            look(view)
            return super().rank(view, jobs)

    with pytest.raises(ValueError, match="only the state of a scheduler"):
        gs.simulate(trace(), CLUSTER, policy=Curious())


@each("job", [-1, 60, 2**31, 2**40])
@each("ask", ["remaining_us", "attained_us", "place"])
def test_a_job_that_has_not_arrived_is_an_index_error(ask, job):
    class Curious(Strict):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            getattr(state, ask)(job if ask == "place" else np.array([job]))

    with pytest.raises(IndexError, match=f"job {job} has not arrived"):
        gs.simulate(trace(), CLUSTER, policy=Curious())


@each(
    ("server", "count", "error", "message"),
    [
        (-1, 1, IndexError, "unknown server -1"),
        (3, 1, IndexError, "unknown server 3"),
        (0, 5, ValueError, "server 0 has 4 free GPUs, not 5"),
        (0, -1, ValueError, "server 0 has 4 free GPUs, not -1"),
    ],
)
def test_gpus_that_are_not_there_cannot_be_asked_for(server, count, error, message):
    class Greedy(gs.Placement):
        def place(self, free: Any, request: Any) -> Any:
            return [(server, free.lowest_free(server, count))]

    with pytest.raises(error, match=message):
        gs.simulate(trace(), CLUSTER, placement=Greedy())


def test_no_action_is_taken_inside_of_reallocate():
    shown: list[Any] = []
    tried = []

    class Acting(FirstFit):
        def place(self, free: Any, request: Any) -> Any:
            for actions in shown:
                with pytest.raises(ValueError, match="inside reallocate"):
                    actions.reallocate([(0, [(0, 1)])] * 50)
                with pytest.raises(ValueError, match="inside reallocate"):
                    actions.preempt(request.job)
                tried.append(request.job)
            return super().place(free, request)

    class Reallocating(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            targets, left = [], state.num_gpus
            for job in np.sort(np.concatenate([state.running, state.waiting])).tolist():
                if state.gpus[job] <= left:
                    targets.append((job, [(0, int(state.gpus[job]))]))
                    left -= state.gpus[job]
            shown.append(actions)
            actions.reallocate(targets)
            shown.pop()
            if targets:
                actions.wake(state.now_us + 1_000_000)

    gs.simulate(trace(20), CLUSTER, policy=Reallocating(), placement=Acting())
    assert tried


MADE_BY_NEW: dict[str, Callable[[], Any]] = {
    "order": lambda: gs.simulate(trace(), CLUSTER, policy=ShortestFirst.__new__(ShortestFirst)),
    "scheduler": lambda: gs.simulate(trace(), CLUSTER, policy=Strict.__new__(Strict)),
    "placement": lambda: gs.simulate(trace(), CLUSTER, placement=FirstFit.__new__(FirstFit)),
    "state": lambda: _core.State.__new__(_core.State).seed,
    "actions": lambda: _core.Actions.__new__(_core.Actions).wake(3),
    "free GPUs": lambda: _core.FreeGpus.__new__(_core.FreeGpus).free_gpus,
    "schedule": lambda: _core.Schedule.__new__(_core.Schedule).digest,
    "control": lambda: _core.RunControl.__new__(_core.RunControl).num_finished,
    "jobs": lambda: len(_core.JobTable.__new__(_core.JobTable)),
    "run": lambda: _core.Run.__new__(_core.Run).take_finished(),
}


@each("what", MADE_BY_NEW)
def test_an_object_that_was_never_initialised_is_refused(what):
    with pytest.raises((ValueError, TypeError), match="never initialised"):
        MADE_BY_NEW[what]()
