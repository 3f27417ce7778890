"""A stop that is set before or during a call ends it as cancelled, with what was finished."""

import itertools
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, trace
from tests.examples import examples
from tests.golden import workload as golden

ENDLESS = gs.Trace.from_columns([0, 1], [1e9, 1e9], [1, 1]), gs.Cluster.uniform(1, 1)


def deadlines(num_jobs: int, **options: Any) -> gs.online.DeadlinePlan:
    """Plan for jobs that arrive one after the other."""
    rates = {("A", width): float(width) for width in range(1, 9)}
    jobs = [gs.online.DeadlineJob(60.0 * i, 60.0 * i + 9e4, 4e4, rates) for i in range(num_jobs)]
    return gs.online.plan_deadlines(jobs, {"A": 64}, **options)


# Each with how much there is to do.
CALLS: dict[str, tuple[Callable[..., Any], int]] = {
    "simulate": (lambda **o: gs.simulate(trace(), CLUSTER, **o), 60),
    "simulate with a plug-in": (
        lambda **o: gs.simulate(trace(), CLUSTER, policy=ShortestFirst(), **o), 60,
    ),
    "simulate with a predictor": (
        lambda **o: gs.simulate(trace(), CLUSTER, predictor="last-value", **o), 60,
    ),
    "compare": (lambda **o: gs.compare(trace(), CLUSTER, ["fifo", "sjf"], **o), 2),
    "fill": (lambda **o: gs.online.fill(trace(), CLUSTER, placement="first-fit", **o), 0),
    "predict": (lambda **o: gs.prediction.predict(trace(), "last-value", **o), 60),
    "plan_deadlines": (lambda **o: deadlines(30, **o), 30),
}  # fmt: skip
calls = pytest.mark.parametrize("name", CALLS)


def stopped() -> threading.Event:
    stop = threading.Event()
    stop.set()
    return stop


@calls
def test_nothing_runs_where_the_stop_is_set_before(name):
    call, total = CALLS[name]
    with pytest.raises(gs.Cancelled) as caught:
        call(stop=stopped())
    assert caught.value.num_finished == 0
    assert caught.value.total == (total or caught.value.total)
    assert str(caught.value).startswith("stopped after 0 of ")


def test_no_plug_in_is_asked_where_the_stop_is_set_before():
    class Untouched(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            raise AssertionError

    for call in (
        lambda: gs.simulate(trace(), CLUSTER, policy=Untouched(), stop=stopped()),
        lambda: gs.compare(trace(), CLUSTER, [Untouched()], stop=stopped()),
    ):
        with pytest.raises(gs.Cancelled):
            call()


@calls
def test_a_stop_that_is_never_set_changes_nothing(name):
    call, _ = CALLS[name]
    assert call(stop=threading.Event()) is not None


@calls
@pytest.mark.parametrize("stop", [True, "now", lambda: True])
def test_a_stop_that_is_no_event_is_a_type_error(name, stop):
    call, _ = CALLS[name]
    with pytest.raises(TypeError, match=r"stop: expected a threading\.Event, not "):
        call(stop=stop)


def test_wrong_arguments_come_before_a_stop():
    with pytest.raises(ValueError, match="unknown policy"):
        gs.simulate(trace(), CLUSTER, policy="fifoo", stop=stopped())


def test_a_cancelled_run_is_an_exception_and_no_keyboard_interrupt():
    assert issubclass(gs.Cancelled, Exception)
    assert not issubclass(gs.Cancelled, KeyboardInterrupt)
    assert issubclass(gs.Interrupted, KeyboardInterrupt)


# Tiny on purpose: the stop falls on the first, the last, or one of few instants.
@examples(40)
@given(
    num_jobs=st.integers(1, 12),
    at_call=st.integers(0, 30),
    seam=st.sampled_from(["policy", "placement"]),
    predictor=st.sampled_from(["oracle", "last-value"]),
)
def test_a_stop_in_any_call_of_a_plug_in_is_honoured(num_jobs, at_call, seam, predictor):
    stop, num_calls = threading.Event(), 0

    def count() -> None:
        nonlocal num_calls
        if num_calls == at_call:
            stop.set()
        num_calls += 1

    class StoppingOrder(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            count()
            return super().rank(view, jobs)

    class StoppingPlacement(FirstFit):
        def place(self, free: Any, request: Any) -> Any:
            count()
            return super().place(free, request)

    chosen: Any = StoppingOrder() if seam == "policy" else StoppingPlacement()
    try:
        made = gs.simulate(
            trace(num_jobs), CLUSTER, **{seam: chosen}, predictor=predictor, stop=stop
        )
    except gs.Cancelled as error:
        assert stop.is_set()
        assert 0 <= error.num_finished <= error.total == num_jobs  # noqa: PT017
    else:
        assert not stop.is_set()
        assert num_calls <= at_call
        assert len(made.trace) == num_jobs


def test_a_reallocation_that_reads_many_targets_hears_a_stop():
    stop = threading.Event()

    class Repeats(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            stop.set()
            actions.reallocate(itertools.repeat((0, [(0, 1)]), 10**7))  # to be refused at the end

    with pytest.raises(gs.Cancelled):
        gs.simulate(*ENDLESS, policy=Repeats(), stop=stop)


def test_a_reallocation_of_many_jobs_hears_a_stop_before_it_has_tried_all():
    stop, num_jobs, num_tried = threading.Event(), 20_000, 0

    class Nowhere(gs.Placement):
        def place(self, free: Any, request: Any) -> None:
            nonlocal num_tried
            if num_tried == 0:
                stop.set()
                time.sleep(0.5)  # until the run is told
            num_tried += 1

    class All(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            actions.reallocate((job, [(0, 1)]) for job in arrived.tolist())

    jobs = gs.Trace.from_columns([0] * num_jobs, [1] * num_jobs, [1] * num_jobs)
    with pytest.raises(gs.Cancelled):
        gs.simulate(jobs, CLUSTER, policy=All(), placement=Nowhere(), stop=stop)
    assert 0 < num_tried < num_jobs


def test_a_cancelled_run_tells_how_many_jobs_had_finished():
    stop = threading.Event()
    short = np.ones(500)
    jobs = gs.Trace.from_columns(
        np.concatenate([np.arange(500), [500, 501]]), np.concatenate([short, [1e9, 1e9]]),
        np.ones(502),
    )  # fmt: skip
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    with pytest.raises(gs.Cancelled, match="stopped after 500 of 502 jobs") as caught:
        gs.simulate(jobs, gs.Cluster.uniform(1, 1), policy="las", stop=stop)
    assert (caught.value.num_finished, caught.value.total) == (500, 502)
    assert caught.value.comparison is None
    whole = gs.simulate(jobs.head(500), gs.Cluster.uniform(1, 1), policy="las").jobs
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        part = error.result
        assert part.warnings == ["stopped after 500 of 502 jobs"]
        assert part.jobs["status"][:500].tolist() == whole["status"].tolist()
        assert part.jobs["jct_s"][:500].tolist() == whole["jct_s"].tolist()
        assert np.isnan(part.jobs["finish_s"][500:]).all()
        assert part.summary()["num_unfinished"] == 2
        assert part.is_partial
        with pytest.raises(ValueError, match="the run was stopped: its result cannot be audited"):
            part.audit()
        with pytest.raises(ValueError, match="the run was stopped: its result cannot be saved"):
            part.save("nowhere.npz")


def test_an_online_run_that_is_cancelled_holds_what_had_finished():
    stop = threading.Event()

    class Last(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            if view.now_us > 40_000_000:
                stop.set()
                time.sleep(0.3)
            return super().rank(view, jobs)

    with pytest.raises(gs.Cancelled) as caught:
        gs.simulate(trace(), CLUSTER, policy=Last(), predictor="group-mean", stop=stop)
    summary = caught.value.result.summary()
    assert 0 < summary["num_finished"] == caught.value.num_finished < 60


def test_a_stop_before_anything_ran_leaves_no_result_and_one_after_all_ran_the_whole():
    with pytest.raises(gs.Cancelled) as caught:
        gs.simulate(trace(), CLUSTER, stop=stopped())
    assert caught.value.result is None
    stop = threading.Event()
    with pytest.raises(gs.Cancelled) as caught:
        gs.simulate(trace(), CLUSTER, progress=lambda now: stop.set(), stop=stop)
    assert caught.value.result.digest == gs.simulate(trace(), CLUSTER).digest
    assert not caught.value.result.is_partial


def test_a_plan_tells_how_far_it_is_and_can_be_stopped():
    batch = gs.Trace.from_columns([0] * 4, [5, 6, 7, 8], [1, 2, 1, 2])
    options: dict[str, Any] = {"speed": "fixed", "contention": "none"}
    seen: list[gs.Progress] = []
    gs.online.plan(batch, CLUSTER, **options, progress=seen.append)
    assert seen == [gs.Progress(done, 3) for done in (1, 2, 3)]
    stop = threading.Event()
    with pytest.raises(gs.Cancelled, match="after 1 of 3 values of kappa"):
        gs.online.plan(batch, CLUSTER, **options, progress=lambda now: stop.set(), stop=stop)


def test_a_plan_for_deadlines_tells_how_far_it_is_and_can_be_stopped():
    seen: list[gs.Progress] = []
    deadlines(30, progress=seen.append)
    assert seen[-1] == gs.Progress(30, 30)
    stop = threading.Event()

    def progress(now: gs.Progress) -> None:
        if now.done:
            stop.set()

    # Minutes of work, of which the first seconds decide on some jobs.
    with pytest.raises(gs.Cancelled) as caught:
        deadlines(20_000, progress=progress, stop=stop, quanta=20_000, segments=300)
    assert 0 < caught.value.num_finished < caught.value.total == 20_000


def test_a_stop_that_is_set_by_the_last_progress_is_honoured():
    stop = threading.Event()
    with pytest.raises(gs.Cancelled, match="60 of 60"):
        gs.simulate(trace(), CLUSTER, progress=lambda now: stop.set(), stop=stop)


def test_a_cancelled_comparison_holds_what_had_finished():
    stop = threading.Event()
    done = set()

    def progress(now: gs.Progress) -> None:
        if now.done == now.total:
            done.add(now.part)
        if done == {"fifo", "srtf"}:
            stop.set()

    with pytest.raises(gs.Cancelled, match="after 2 of 3 policies") as caught:
        gs.compare(*ENDLESS, ["fifo", "las", "srtf"], threads=3, progress=progress, stop=stop)
    kept = caught.value.comparison
    assert list(kept.results) == ["fifo", "srtf"]
    assert kept.unfinished == ("las",)
    assert kept.table().height == 2


def test_a_stop_that_is_set_once_all_policies_are_done_loses_none():
    stop = threading.Event()

    class Last(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            stop.set()
            return super().rank(view, jobs)

    with pytest.raises(gs.Cancelled) as caught:
        gs.compare(trace(), CLUSTER, [Last()], stop=stop)
    kept = caught.value.comparison
    assert len(kept.results) + len(kept.unfinished) == 1


def test_an_error_of_a_run_is_not_taken_for_a_stop():
    class Nested(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            gs.simulate(trace(), CLUSTER, stop=stopped())

    with pytest.raises(gs.Cancelled, match="0 of 60 jobs") as caught:
        gs.compare(trace(), CLUSTER, [Nested(), "fifo"], stop=threading.Event())
    found = caught.value.comparison
    assert list(found.results) == ["fifo"]
    assert list(found.failed.values()) == [caught.value]
    assert found.unfinished == ()


WATCHDOG_S = 60.0


@pytest.mark.parametrize(("solver", "objective"), [("milp", "ftf"), ("linprog", "water-filling")])
def test_a_stop_does_not_wait_for_the_linear_program_of_gavel(solver, objective, monkeypatch):
    stop, is_over = threading.Event(), threading.Event()

    def slow(*_args, **_options):
        stop.set()
        assert is_over.wait(WATCHDOG_S), "the run waited for its solver"

    monkeypatch.setattr(f"scipy.optimize.{solver}", slow)
    try:
        with pytest.raises(gs.Cancelled):
            gs.simulate(
                golden.trace(is_typed=False),
                golden.networked_cluster(),
                policy=f"gavel:objective={objective}",
                stop=stop,
            )
    finally:
        is_over.set()
