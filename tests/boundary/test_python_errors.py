"""An exception in a Python plug-in comes through the core unchanged, and leaves nothing broken."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace
from tests.each import each


class OddError(Exception):
    """One that no library knows how to make: it takes two arguments."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text, number)


ERRORS = [
    OddError("odd", 7),
    ValueError("a value"),
    TypeError("a type"),
    RuntimeError("a runtime"),
    KeyError("a key"),
    MemoryError("memory"),
    StopIteration("stop"),
    KeyboardInterrupt("from within"),
    SystemExit(3),
]


class Countdown:
    """Raises at the n-th call."""

    def __init__(self, error: BaseException, calls: int) -> None:
        super().__init__()
        self.error, self.calls = error, calls

    def tick(self) -> None:
        self.calls -= 1
        if self.calls <= 0:
            raise self.error


class FailingOrder(Countdown, ShortestFirst):
    def rank(self, view: Any, jobs: Any) -> Any:
        self.tick()
        return super().rank(view, jobs)


class FailingPlacement(Countdown, FirstFit):
    def place(self, free: Any, request: Any) -> Any:
        self.tick()
        return super().place(free, request)


class FailingScheduler(Countdown, Strict):
    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.tick()
        super().decide(state, finished, arrived, actions)


class FailingAtTheStart(Countdown, Strict):
    def begin(self, state: Any) -> None:
        self.tick()


PLUG_INS = [FailingOrder, FailingPlacement, FailingScheduler, FailingAtTheStart]


def run(plug_in: Any, jobs: gs.Trace | None = None) -> gs.Result:
    seam = "placement" if isinstance(plug_in, gs.Placement) else "policy"
    options = {"policy": "sjf", "placement": "first-fit"} | {seam: plug_in}
    return gs.simulate(trace() if jobs is None else jobs, CLUSTER, **options)


def check_that_runs_still_work() -> None:
    expected = gs.simulate(trace(), CLUSTER, policy="sjf", placement="first-fit").digest
    made = gs.simulate(trace(), CLUSTER, policy=ShortestFirst(), placement=FirstFit())
    assert made.digest == expected


@each("calls", [1, 9, 30])
@each("error", ERRORS)
@each("plug_in", PLUG_INS)
def test_an_exception_comes_through_as_the_object_it_is(plug_in, error, calls):
    if plug_in is FailingAtTheStart:
        calls = 1
    with pytest.raises(type(error)) as caught:
        run(plug_in(error, calls))
    assert caught.value is error
    names = []
    traceback = caught.value.__traceback__
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert names[-1] == "tick"  # the user's own line is in the traceback
    check_that_runs_still_work()


@each("plug_in", PLUG_INS)
def test_an_instance_that_failed_may_be_run_again(plug_in):
    instance = plug_in(OddError("odd", 1), 1 if plug_in is FailingAtTheStart else 20)
    with pytest.raises(OddError):
        run(instance)
    instance.calls = 10**9
    fresh = plug_in(OddError("odd", 1), 10**9)
    assert run(instance).digest == run(fresh).digest


def test_nothing_is_kept_alive_by_a_run():
    for fails in (False, True):
        order = FailingOrder(OddError("odd", 1), 20 if fails else 10**9)
        jobs = trace()
        kept = [weakref.ref(order), weakref.ref(jobs)]
        if fails:
            with pytest.raises(OddError):
                run(order, jobs)
        else:
            run(order, jobs)
        del order, jobs
        gc.collect()
        assert [reference() for reference in kept] == [None, None]


@pytest.mark.parametrize("error", [ValueError("a value"), TypeError("a type")])
def test_a_comparison_names_the_policy_whose_plug_in_failed(error):
    with pytest.raises(type(error), match=rf"policy python:FailingOrder: {error}") as caught:
        gs.compare(trace(), CLUSTER, ["fifo", FailingOrder(error, 5)], placement="first-fit")
    assert caught.value.__cause__ is error
    check_that_runs_still_work()


def test_a_comparison_adds_a_note_to_an_error_it_cannot_remake():
    error = OddError("odd", 7)
    with pytest.raises(OddError) as caught:
        gs.compare(trace(), CLUSTER, ["fifo", FailingOrder(error, 5)], placement="first-fit")
    assert caught.value is error
    assert error.__notes__ == ["in the run of policy python:FailingOrder"]


def test_progress_that_fails_ends_the_run():
    long_ago = np.array([0, 1]), np.array([1e9, 1e9]), np.array([1, 1])
    endless = gs.Trace.from_columns(*long_ago)  # decided anew each minute for sixty years
    one_gpu = gs.Cluster.uniform(1, 1)

    def progress(now: gs.Progress) -> None:
        raise OddError("odd", now.done)

    with pytest.raises(OddError):
        gs.simulate(endless, one_gpu, policy="las", progress=progress)
    assert not [t for t in threading.enumerate() if t.name.startswith("gpusched-run")]


@each(
    ("plug_in", "message"),
    [
        (type("O", (gs.Order,), {}), r"order: rank\(view, jobs\) is missing"),
        (type("P", (gs.Placement,), {}), r"placement: place\(free, request\) is missing"),
        (type("S", (gs.Scheduler,), {}), "scheduler: decide is missing"),
        (
            type("Q", (ShortestFirst,), {"__init__": lambda self: None}),
            r"__init__\(\) must be called",
        ),
    ],
)
def test_a_plug_in_that_is_not_finished_says_what_is_missing(plug_in, message):
    with pytest.raises(TypeError, match=message):
        run(plug_in())


def test_a_method_with_other_arguments_is_a_type_error():
    class Short(gs.Order):
        def rank(self, view: Any) -> Any:
            return [0.0]

    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        run(Short())


@each(
    ("answer", "message"),
    [
        (lambda n: np.full(n, np.nan), "the key of job 0 is not finite"),
        (lambda n: [np.inf] * n, "the key of job 0 is not finite"),
        (lambda n: [-np.inf] * n, "the key of job 0 is not finite"),
        (lambda n: np.zeros(n + 1), "must return one number per job: 1"),
        (lambda n: [], "must return one number per job: 1"),
        (lambda n: np.zeros((n, 1)), "must return one number per job: 1"),
        (lambda n: None, "must return one number per job: 1"),
        (lambda n: 3.0, "must return one number per job: 1"),
        (lambda n: ["a"] * n, "must return one number per job: 1"),
        (lambda n: [object()] * n, "must return one number per job: 1"),
        (lambda n: {"a": 1}, "must return one number per job: 1"),
    ],
)
def test_keys_must_be_one_finite_number_per_job(answer, message):
    class Odd(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return answer(len(jobs))

    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 12])
    big = gs.Trace.from_columns([0, 1], [5, 5], [12, 12])  # one waits, so it needs a key
    assert run(ShortestFirst(), jobs).audit().ok
    with pytest.raises(ValueError, match=f"order: .*{message}".replace("job 0", "job [01]")):
        run(Odd(), big)


@each("kind", ["f4", "i8", "i4", "u8", "?", ">f8", "O"])
def test_keys_may_be_numbers_of_any_type(kind):
    class Gang(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return view.gpus[jobs].astype(kind)

    class Wide(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return np.repeat(view.gpus[jobs].astype(float), 2)[::2]

    native = gs.Trace.from_columns([0] * 6, [5, 4, 3, 2, 1, 6], [1, 0 + 1, 3, 12, 2, 12])
    if kind != "?":  # as truth values all gangs are alike
        assert run(Gang(), native).digest == run("sgf", native).digest
    assert run(Wide(), native).digest == run("sgf", native).digest


@each(
    ("answer", "error", "message"),
    [
        (7, TypeError, "."),
        ([7], (TypeError, ValueError, RuntimeError), "."),
        ([(0,)], (TypeError, ValueError, RuntimeError), "."),
        ([(0, -1)], (TypeError, ValueError, RuntimeError), "."),
        ([(0, 2**64)], (TypeError, ValueError, RuntimeError), "."),
        ([(0, "1")], (TypeError, ValueError, RuntimeError), "."),
        ([(0, 1.5)], (TypeError, ValueError, RuntimeError), "."),
        ([(2**40, 1)], (TypeError, ValueError, RuntimeError), "."),
        ([], gs.InvariantError, "at 0 us, job 0: the allocation must have all GPUs of the job"),
        ([(0, 0b11)], gs.InvariantError, "the allocation must have all GPUs of the job"),
        ([(0, 0b1111), (1, 1)], gs.InvariantError, "the allocation must have all GPUs of the job"),
        ([(0, 0), (1, 0b111)], gs.InvariantError, "job 0: "),
        ([(-1, 0b111)], gs.InvariantError, "at 0 us, job 0: unknown server"),
        ([(3, 0b111)], gs.InvariantError, "at 0 us, job 0: unknown server"),
        ([(0, 0b10011)], gs.InvariantError, "at 0 us, job 0: a GPU is not free"),
        ([(0, 1), (0, 0b110)], gs.InvariantError, "must be named once each, in order"),
        ([(1, 1), (0, 0b11)], gs.InvariantError, "must be named once each, in order"),
        ([(0, 0b11), (0, 0b10)], gs.InvariantError, "job 0: "),
    ],
)
def test_a_placement_must_name_the_whole_gang_on_free_gpus(answer, error, message):
    class Odd(gs.Placement):
        def place(self, free: Any, request: Any) -> Any:
            return answer

    jobs = gs.Trace.from_columns([0], [5], [3])
    with pytest.raises(error, match=message):
        run(Odd(), jobs)
    check_that_runs_still_work()


def test_a_placement_must_keep_to_the_allowed_types():
    class Careless(gs.Placement):
        def place(self, free: Any, request: Any) -> Any:
            return [(0, 1)]

    cluster = gs.Cluster((gs.ServerGroup(1, 4, "K80"), gs.ServerGroup(1, 4, "V100")))
    jobs = gs.Trace.from_columns([0], [5], [1], gpu_types=["V100"])
    with pytest.raises(gs.InvariantError, match="job 0: the GPU type is not allowed"):
        gs.simulate(jobs, cluster, placement=Careless())


def test_gpus_that_another_job_holds_are_not_free():
    class SameForAll(gs.Placement):
        def place(self, free: Any, request: Any) -> Any:
            return [(0, 1)]

    jobs = gs.Trace.from_columns([0, 2], [5, 5], [1, 1])
    with pytest.raises(gs.InvariantError) as caught:
        run(SameForAll(), jobs)
    assert str(caught.value).startswith("at 2000000 us, job 1: a GPU is not free; digest of the")
