"""What travels between processes, what is copied, and what says why it cannot."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace
from tests.each import each

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{str(p): lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in PROTOCOLS},
}
copies = each("copied", named=COPIES)


class Scaled(ShortestFirst):
    """``sjf`` or its opposite."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def rank(self, view: Any, jobs: Any) -> Any:
        return self.factor * super().rank(view, jobs)


class WithState(Scaled):
    """Says itself what it consists of, and knows nothing of the core's part."""

    def __getstate__(self) -> float:
        return self.factor

    def __setstate__(self, state: float) -> None:
        self.factor = state


class WithSlots(ShortestFirst):
    __slots__ = ("factor",)

    def __init__(self) -> None:
        super().__init__()
        self.factor = 3


class WithNew(Scaled):
    def __new__(cls, factor: float, *, sign: int) -> WithNew:
        return super().__new__(cls)

    def __init__(self, factor: float, *, sign: int) -> None:
        super().__init__(factor * sign)
        self.sign = sign

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, int]]:
        return (self.factor,), {"sign": self.sign}


class Knot(Strict):
    """Refers to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.me = self


def digest(plug_in: Any) -> str:
    seam = "placement" if isinstance(plug_in, gs.Placement) else "policy"
    return gs.simulate(trace(), CLUSTER, **{seam: plug_in}).digest


@copies
@pytest.mark.parametrize(
    "plug_in",
    [Scaled(1), Scaled(-1), WithState(-1), WithSlots(), WithNew(2, sign=-1), FirstFit(), Strict()],
    ids=lambda plug_in: type(plug_in).__name__,
)
def test_a_plug_in_of_python_is_the_same_after_a_copy(copied, plug_in):
    expected = digest(plug_in)  # also: one that has run can be copied
    made = copied(plug_in)
    assert type(made) is type(plug_in)
    assert made is not plug_in
    assert getattr(made, "factor", None) == getattr(plug_in, "factor", None)
    assert digest(made) == expected


@copies
def test_a_plug_in_that_refers_to_itself_is_copied(copied):
    made = copied(Knot())
    assert made.me is made or copied is copy.copy
    assert digest(made) == digest(Strict())


@pytest.mark.parametrize("name", [n for n, i in gs.policies().items() if not i.is_native])
def test_a_registered_policy_of_python_can_be_copied(name):
    made = gs.policies()[name].python_class
    assert made is not None
    assert type(copy.deepcopy(made())) is made


def test_a_plug_in_that_keeps_a_view_says_that_it_cannot_be_pickled():
    class Keeper(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            self.view = view
            return super().rank(view, jobs)

    keeper = Keeper()
    gs.simulate(trace(), CLUSTER, policy=keeper)
    with pytest.raises(TypeError, match="cannot pickle or copy 'State' objects of the core"):
        copy.deepcopy(keeper)


JOBS = trace()
OF_THIS_PROCESS = {
    "RunControl": _core.RunControl(),
    "JobTable": _core.JobTable(JOBS.submit_us, JOBS.service_us, JOBS.gpus),
    "JobColumn": _core.JOB_COLUMNS[0],
    "RunDescription": _core.RunDescription(policy="fifo", placement="count"),
    "Cluster": _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type),
    "Assignment": _core.Assignment(),
    "MatchingMarket": _core.MatchingMarket(),
    "TimedScheduler": _core._testing.TimedScheduler("easy"),
    "Heap": _core._testing.Heap(),
}


@copies
@pytest.mark.parametrize("name", OF_THIS_PROCESS)
def test_what_belongs_to_the_process_says_that_it_cannot_be_copied(name, copied):
    with pytest.raises(TypeError, match=f"cannot pickle or copy '{name}' objects of the core"):
        copied(OF_THIS_PROCESS[name])


def native_classes() -> list[type]:
    bases = (_core.Order.__mro__[1],)
    modules = (_core, _core._testing)
    return [
        c
        for m in modules
        for c in vars(m).values()
        if isinstance(c, type) and c.__mro__[1:] and issubclass(c, bases)
    ]


@each("native", native_classes())
def test_every_native_class_says_how_it_is_copied(native):
    assert any("__reduce__" in vars(base) for base in native.__mro__[:-2])


@copies
def test_what_gangs_ask_for_and_hold_is_copied(copied):
    allocation = copied(_core.Allocation(3, [(0, 3), (2, 4)], [2, 0, 1]))
    assert (allocation.gpus, allocation.pieces) == (3, [(0, 3), (2, 4)])
    assert allocation.ranks == [2, 0, 1]
    part = copied(_core.Part(1, 4))
    assert (part.type, part.gpus) == (1, 4)
    request = copied(_core.Request(7, 2, types=5, preemptions=3))
    assert (request.job, request.gpus, request.types, request.preemptions) == (7, 2, 5, 3)


@each("ranks", [[0], [0, 0], [1, 2], [-1, 0], [0, 1, 2]])
def test_the_ranks_of_an_allocation_are_its_workers(ranks):
    with pytest.raises(ValueError, match="each of the 2 workers once"):
        _core.Allocation(2, [(0, 3)], ranks)


RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "preemptive": {"policy": "srtf"},
    "predicted": {"policy": "srtf", "predictor": "last-value"},
    "pooled": {"placement": "count"},
    "of Python": {"policy": Scaled(-1), "placement": FirstFit()},
}


@copies
@pytest.mark.parametrize("name", RUNS)
def test_a_result_is_the_same_after_a_copy(name, copied):
    jobs = trace(user=[f"u{job % 3}" for job in range(60)])
    result = gs.simulate(jobs, CLUSTER, **RUNS[name])
    made = copied(result)
    assert made.digest == result.digest
    assert repr(made.summary()) == repr(result.summary())
    assert made.spec == result.spec
    assert np.array_equal(made.trace.submit_us, jobs.submit_us)
    assert made.to_polars().equals(result.to_polars())
    assert list(made.warnings) == list(result.warnings)
    if name != "of Python":  # which the audit cannot parse
        assert made.audit().ok
    # Once more, of what is arrays by now and has computed everything.
    assert copied(made).digest == result.digest


def test_a_result_with_admissions_keeps_its_decisions(tmp_path):
    jobs = trace(deadline_s=np.full(60, 400.0), value=np.arange(1, 61))
    result = gs.simulate(jobs, CLUSTER, policy="dancer")
    made = pickle.loads(pickle.dumps(result))
    for column, values in result.schedule.decisions().items():
        assert list(made.schedule.decisions()[column]) == list(values), column


def test_arrays_of_a_copied_result_are_read_only():
    made = pickle.loads(pickle.dumps(gs.simulate(trace(), CLUSTER)))
    for array in (made.trace.gpus, made.schedule.start_us, made.schedule.intervals()["mask"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_a_result_can_compute_again_does_not_travel():
    result = gs.simulate(trace(500), CLUSTER)
    fresh = len(pickle.dumps(result))
    result.summary(), result.jobs, result.events, result.series, result.audit()
    result.remark = "mine"  # type: ignore[attr-defined]
    assert len(pickle.dumps(result)) < fresh + 100
    assert copy.deepcopy(result).remark == "mine"  # type: ignore[attr-defined]


@copies
def test_a_comparison_is_the_same_after_a_copy(copied):
    comparison = gs.compare(trace(), CLUSTER, ["fifo", "srtf"])
    made = copied(comparison)
    assert repr(made.summaries) == repr(comparison.summaries)
    assert made.to_dict() == comparison.to_dict()
    assert len({id(result.trace) for result in made.results.values()} | {id(made.trace)}) == 1


@copies
def test_errors_that_carry_a_comparison_are_copied(copied):
    comparison = gs.compare(trace(), CLUSTER, ["fifo"])
    for error in (gs.Interrupted(comparison), gs.Cancelled(1, 2, "policies", comparison)):
        made = copied(error)
        assert str(made) == str(error)
        assert list(made.comparison.results) == ["fifo"]
    plain = copied(gs.Cancelled(3, 5))
    assert (plain.num_finished, plain.total, plain.comparison) == (3, 5, None)
    assert str(copied(gs.InvariantError("job 3"))) == "job 3"


def replayed(order: Any) -> tuple[gs.Result, Any]:
    return gs.simulate(trace(), CLUSTER, policy=order), order


def compared(stop_at: int) -> gs.Comparison:
    if stop_at:
        raise gs.Cancelled(stop_at, 9, "policies", gs.compare(trace(), CLUSTER, ["fifo"]))
    return gs.compare(trace(), CLUSTER, ["fifo", "sjf"])


def test_a_pool_of_processes_takes_plug_ins_and_returns_results():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        result, order = pool.submit(replayed, Scaled(-1)).result(timeout=120)
        assert result.digest == digest(Scaled(-1)) == digest(order)
        comparison = pool.submit(compared, 0).result(timeout=120)
        assert list(comparison.results) == ["fifo", "sjf"]
        with pytest.raises(gs.Cancelled, match="after 3 of 9 policies") as caught:
            pool.submit(compared, 3).result(timeout=120)
        assert list(caught.value.comparison.results) == ["fifo"]


@each(
    "arguments",
    [(), (gs.Order,), (1, 2), (gs.Order, 2), (gs.Order, dict), (gs.Order, gs.Scheduler)],
)
def test_only_a_seam_and_a_class_that_derives_from_it_are_made_again(arguments):
    with pytest.raises(TypeError, match="_remade: expected an interface and a class that derives"):
        _core._remade(*arguments)
