"""What Python holds of a run: views, copies, stops and interpreters."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

import gpusched as gs
from tests.boundary.workloads import CLUSTER, ShortestFirst, Strict, trace

# Freed memory is overwritten at once and not kept for the next allocation of its size.
HARSH = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}

PRELUDE = """
import gc
import numpy as np
import gpusched as gs
from gpusched import _core
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace

def refused(call, *words):
    try:
        found = call()
    except (ValueError, TypeError) as error:
        assert any(word in str(error) for word in words), error
    else:
        raise AssertionError(f"found {found!r}")
"""


def run_apart(code: str) -> None:
    """Run ``code`` in a process of its own, in which stale reads show."""
    made = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        env={**os.environ, **HARSH},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, f"exit code {made.returncode}\n{made.stderr[-2000:]}"


def test_what_a_call_showed_outlives_its_plug_in_and_its_run() -> None:
    run_apart(
        """
        kept = []
        class Order(ShortestFirst):
            def rank(self, view, jobs):
                kept.append(view)
                return super().rank(view, jobs)
        class Placement(FirstFit):
            def place(self, free, request):
                kept.append(free)
                return super().place(free, request)
        class Scheduler(Strict):
            def decide(self, state, finished, arrived, actions):
                kept.extend((state, actions))
                super().decide(state, finished, arrived, actions)
        gs.simulate(trace(), CLUSTER, policy=Order(), placement=Placement())
        gs.simulate(trace(), CLUSTER, policy=Scheduler())
        gc.collect()
        rubbish = [bytearray(4096) for _ in range(1000)]
        looks = {
            "State": (
                lambda s: s.seed, lambda s: s.now_us, lambda s: s.gpus, lambda s: s.waiting,
                lambda s: s.remaining_us(np.array([0])), lambda s: s.place(0),
            ),
            "Actions": (lambda a: a.wake(10**12), lambda a: a.reallocate([(0, [(0, 1)])])),
            "FreeGpus": (lambda f: f.free_gpus, lambda f: f.lowest_free(0, 1)),
        }
        kinds = {type(one).__name__ for one in kept}
        assert kinds == set(looks), kinds
        for one in kept:
            for look in looks[type(one).__name__]:
                refused(lambda: look(one), "inside the call")
        """
    )


def test_the_seed_of_a_kept_view_is_closed() -> None:
    kept = []

    class Keeper(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            assert view.seed == 7
            kept.append(view)
            return super().rank(view, jobs)

    gs.simulate(trace(), CLUSTER, policy=Keeper(), seed=7)
    with pytest.raises(ValueError, match="inside the call"):
        _ = kept[0].seed


def test_a_view_of_one_run_does_not_open_in_the_next() -> None:
    kept: list[Any] = []

    class Keeper(Strict):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            for old_state, old_actions in kept:
                with pytest.raises(ValueError, match="inside the call"):
                    _ = old_state.num_free
                with pytest.raises(ValueError, match="inside the call"):
                    old_actions.wake(10**12)
            super().decide(state, finished, arrived, actions)
            self.last = state, actions

    keeper = Keeper()
    for _ in range(2):
        gs.simulate(trace(), CLUSTER, policy=keeper)
        kept.append(keeper.last)


def test_a_view_serves_the_thread_of_its_call_alone() -> None:
    found: list[BaseException | None] = []

    class Curious(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                found.append(pool.submit(lambda: view.now_us).exception())
            return super().rank(view, jobs)

    gs.simulate(trace(5), CLUSTER, policy=Curious())
    assert found
    assert all(isinstance(error, ValueError) and "thread" in str(error) for error in found)


def test_a_scheduler_that_runs_itself_inside_of_a_call_keeps_its_state() -> None:
    run_apart(
        """
        class Nested(Strict):
            def decide(self, state, finished, arrived, actions):
                refused(
                    lambda: gs.simulate(trace(5), CLUSTER, policy=self), "serves one run at a time"
                )
                gc.collect()
                super().decide(state, finished, arrived, actions)
        made = gs.simulate(trace(20), CLUSTER, policy=Nested())
        assert made.digest == gs.simulate(trace(20), CLUSTER).digest
        """
    )


def test_no_action_is_taken_inside_of_reallocate() -> None:
    run_apart(
        """
        shown, tried = [], []
        class Acting(FirstFit):
            def place(self, free, request):
                if shown:
                    actions = shown[-1]
                    targets = [(job, [(0, 1)]) for job in range(1)]
                    refused(lambda: actions.reallocate(targets * 50), "inside of reallocate")
                    refused(lambda: actions.preempt(request.job), "inside of reallocate")
                    tried.append(request.job)
                return super().place(free, request)
        class Scheduler(gs.Scheduler):
            def decide(self, state, finished, arrived, actions):
                jobs = np.concatenate([state.running, state.waiting])
                targets, left = [], state.num_gpus
                for job in np.sort(jobs).tolist():
                    if state.gpus[job] <= left:
                        targets.append((job, [(0, int(state.gpus[job]))]))
                        left -= state.gpus[job]
                shown.append(actions)
                actions.reallocate(targets)
                shown.pop()
                if targets:
                    actions.wake(state.now_us + 1_000_000)
        gs.simulate(trace(20), CLUSTER, policy=Scheduler(), placement=Acting())
        assert tried
        """
    )


MADE_BY_NEW = {
    "order": "gs.simulate(trace(), CLUSTER, policy=ShortestFirst.__new__(ShortestFirst))",
    "scheduler": "gs.simulate(trace(), CLUSTER, policy=Strict.__new__(Strict))",
    "placement": "gs.simulate(trace(), CLUSTER, placement=FirstFit.__new__(FirstFit))",
    "state": "_core.State.__new__(_core.State).seed",
    "actions": "_core.Actions.__new__(_core.Actions).wake(3)",
    "free GPUs": "_core.FreeGpus.__new__(_core.FreeGpus).free_gpus",
    "schedule": "_core.Schedule.__new__(_core.Schedule).digest",
    "control": "_core.RunControl.__new__(_core.RunControl).num_finished",
    "jobs": "len(_core.JobTable.__new__(_core.JobTable))",
    "run": "_core.Run.__new__(_core.Run).take_finished()",
}


@pytest.mark.parametrize("what", MADE_BY_NEW)
def test_an_object_that_was_never_initialised_is_refused(what: str) -> None:
    run_apart(f'refused(lambda: {MADE_BY_NEW[what]}, "never initialised")')


class Scaled(ShortestFirst):
    """``sjf`` or its opposite."""

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def rank(self, view: Any, jobs: Any) -> Any:
        return self.factor * super().rank(view, jobs)


def same_summary(a: gs.Result, b: gs.Result) -> bool:
    return repr(a.summary()) == repr(b.summary())


def test_a_fresh_result_pickles_and_copies() -> None:
    result = gs.simulate(trace(), CLUSTER, policy="srtf", predictor="last-value")
    for made in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert made.digest == result.digest
        assert same_summary(made, result)
        assert made.audit().ok


def test_a_comparison_pickles_and_copies() -> None:
    comparison = gs.compare(trace(), CLUSTER, ["fifo", "srtf"])
    for made in (pickle.loads(pickle.dumps(comparison)), copy.deepcopy(comparison)):
        assert list(made.results) == ["fifo", "srtf"]
        assert repr(made.summaries) == repr(comparison.summaries)


def test_a_plug_in_of_python_pickles_and_copies() -> None:
    for factor in (1, -1):
        order = Scaled(factor)
        digest = gs.simulate(trace(), CLUSTER, policy=order).digest
        for made in (pickle.loads(pickle.dumps(order)), copy.deepcopy(order), copy.copy(order)):
            assert vars(made) == {"factor": factor}
            assert gs.simulate(trace(), CLUSTER, policy=made).digest == digest


def replayed(order: gs.Order) -> gs.Result:
    return gs.simulate(trace(), CLUSTER, policy=order)


def test_plug_ins_and_results_travel_between_processes() -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        there = pool.submit(replayed, Scaled(-1)).result(timeout=120)
    assert there.digest == replayed(Scaled(-1)).digest


def test_a_stop_that_is_set_before_a_short_run_ends_it() -> None:
    stop = threading.Event()
    stop.set()
    for call in (gs.simulate, gs.compare):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - its type is what is asked for
            call(trace(), CLUSTER, stop=stop)
        assert type(caught.value) is gs.Cancelled


def test_a_stop_that_is_set_during_a_short_run_ends_it() -> None:
    stop = threading.Event()

    class Stopping(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            stop.set()
            return super().rank(view, jobs)

    with pytest.raises(gs.Cancelled, match="of 60 jobs"):
        gs.simulate(trace(), CLUSTER, policy=Stopping(), stop=stop)


IN_A_SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
script = '''
try:
    import gpusched._core
except ImportError as error:
    print("refused", error)
'''
interpreters.run_string(interpreters.create(), script)
"""


def test_the_core_refuses_a_sub_interpreter_at_once() -> None:
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_SUB_INTERPRETER],
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert made.stdout.startswith("refused"), made.stderr
