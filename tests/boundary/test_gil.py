"""A native call that lasts lets other threads of Python go on.

Threads are not made to change places here: another one can go on only where the call gives the GIL
away. How long the call takes does not matter, if it is long enough for another thread to wake.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.boundary.workloads import ShortestFirst
from tests.each import each

MANY = 200_000
PATIENCE_S = 60.0

Call = Callable[[], Any]


@contextmanager
def beating() -> Iterator[list[int]]:
    """Count, in another thread, how often it had the GIL; it takes it from nobody."""
    beats, is_over = [0], threading.Event()

    def beat() -> None:
        while not is_over.is_set():
            beats[0] += 1
            time.sleep(1e-4)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield beats
    finally:
        is_over.set()
        sys.setswitchinterval(interval)
        thread.join()


def lets_others_go_on(make: Callable[[], Call]) -> bool:
    """Call until another thread went on meanwhile, or for a minute."""
    with beating() as beats:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            call = make()
            before = beats[0]
            call()
            if beats[0] > before:
                return True
    return False


def trace_columns(num_jobs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    submit_us = np.sort(rng.integers(0, 10**10, num_jobs))
    service_us = rng.integers(10**6, 10**8, num_jobs)
    return submit_us, service_us, rng.integers(1, 5, num_jobs).astype(np.int32)


JOBS = trace_columns(MANY)
TABLE = _core.JobTable(*JOBS)
SERVERS = _core.Cluster(np.full(64, 8, np.int32), np.zeros(64, np.int32))
FIFO = _core.RunDescription(policy="fifo", placement="count")
RATES = np.random.default_rng(2).random((700, 700))
ONES = np.ones(MANY)


def assign() -> Call:
    return lambda: _core.assign(RATES.ravel(), *RATES.shape)


def solve() -> Call:
    solver = _core.Assignment()
    return lambda: solver.solve(RATES.ravel(), *RATES.shape)


def change_row() -> Call:
    solver = _core.Assignment()
    cost = np.multiply.outer(np.arange(1.0, 401), RATES[0, :400])
    solver.solve(cost.ravel(), *cost.shape)
    far = cost[0] * 1e-12  # so that all duals are computed anew
    return lambda: [solver.change_row(row, far) for row in range(400)]


def transport() -> Call:
    solver = _core.Transportation()
    value = np.random.default_rng(3).random(20_000 * 8)
    supply, room = np.ones(20_000, np.int32), np.full(8, 2_500, np.int32)
    return lambda: solver.solve(value, supply, room)


def auction() -> Call:
    value = RATES[:150, :150].ravel().copy()
    demand = np.ones(150, np.int32)
    return lambda: _core.auction(value, demand, 150, 1e-4)


def market_problem(size: int) -> _core.MatchingProblem:
    rng = np.random.default_rng(4)
    return _core.MatchingProblem(
        rate=rng.uniform(1, 3, size * 8),
        capacity=np.full(8, size, np.int32),
        rounds=rng.uniform(5, 9, size),
        samples=np.full(size, 1e5),
    )


def matching() -> Call:
    market, problem = _core.MatchingMarket(), market_problem(40)
    return lambda: market.solve(problem, {})


def exact_matching() -> Call:
    problem = market_problem(6)
    return lambda: _core.exact_matching(problem, {}, _core.RunControl(), max_steps=20_000)


def split_batch() -> Call:
    rates = np.random.default_rng(5).random(6_000)
    return lambda: _core.split_whole_batch(10**9, rates, np.zeros(0, np.int64), False)


def lease_line() -> Call:
    sizes = np.full(3000, 1, np.int64)
    line = _core.LeaseLine(64, np.zeros(4000, np.int32), sizes, sizes * 50, sizes * 4000)
    return lambda: [line.try_join(place) for place in range(2999, 0, -3)]


def plan_gangs() -> Call:
    table, control = _core.JobTable(*trace_columns(5_000)), _core.RunControl()
    return lambda: _core.plan_gangs(table, SERVERS, "sjf-bco", {}, 0, 1e-3, control)


def plan_deadlines() -> Call:
    size = 2_000
    arrival = np.arange(size) * 10**6
    first = np.arange(size + 1) * 1
    return lambda: _core.plan_deadlines(
        arrival, arrival + 10**9, np.full(size, 1e8), np.ones(size), np.zeros(size, np.int64),
        first, np.zeros(size, np.int32), np.ones(size, np.int32), np.ones(size),
        np.full(1, 64), 10**7, "market", 4, 0, False, False, _core.RunControl(),
    )  # fmt: skip


def fill() -> Call:
    arrivals, control = np.arange(1_000), _core.RunControl()
    return lambda: _core.fill(TABLE, arrivals, SERVERS, "best-fit", {}, 0, control)


def lanes(call: Callable[[_core.VectorEnvironment], Any], *, begins: bool = True) -> Call:
    made = _core.VectorEnvironment(
        SERVERS, placement="count", placement_values={}, num_slots=512, cost="wait", num_lanes=64
    )
    table = _core.JobTable(*trace_columns(2_000))
    for lane in range(64 if begins else 0):
        made.begin(lane, table, 2_000, 0)
    return lambda: call(made)


def finished() -> _core.Schedule:
    return _core.Run(TABLE, SERVERS, FIFO).finish()


SCHEDULE = finished()
STATUS = SCHEDULE.status
PLAIN = {
    "submit_us": JOBS[0], "service_us": JOBS[1], "gpus": JOBS[2],
    "share_milli": None, "weight": None, "short_service_us": 10**7,
}  # fmt: skip


def cluster_series() -> Call:
    log = SCHEDULE.intervals()
    return lambda: _core.cluster_series(
        submit_us=JOBS[0], gpus=JOBS[2], finish_us=SCHEDULE.finish_us, status=STATUS, **log
    )


def run_measures() -> Call:
    held = {
        name: getattr(SCHEDULE, name)
        for name in ("start_us", "finish_us", "held_us", "preemptions", "resizes")
    }
    held["num_servers"], held["status"] = SCHEDULE.num_servers, STATUS
    return lambda: _core.run_measures(**PLAIN, **held)


def group_times() -> Call:
    order = _core.time_order(SCHEDULE.finish_us)
    times = SCHEDULE.finish_us[order]
    group = np.zeros(MANY, np.int32)
    return lambda: _core.group_times(
        order=order, time_us=times, group=group, num_groups=1, percents=[50, 99]
    )


def of_gangs(name: str) -> Callable[[], Call]:
    return lambda: lambda: getattr(_core, name)(*JOBS, 512)


def of_weighted(name: str) -> Callable[[], Call]:
    return lambda: lambda: getattr(_core, name)(*JOBS, 512, ONES)


def priced_times() -> Call:
    edges, widths = np.array([0, 10**9, 10**11]), np.ones(MANY, np.int32)
    return lambda: _core.priced_times(*JOBS[:2], widths, edges, np.array([1.0, 0.5]))


ONE = np.ones(1, np.int64)


def answer(made: _core.VectorEnvironment) -> None:
    for _ in range(50):
        made.answer(np.zeros(64, np.int64))


CALLS: dict[str, Callable[[], Call]] = {
    "assign": assign,
    "Assignment.solve": solve,
    "Assignment.change_row": change_row,
    "Transportation.solve": transport,
    "auction": auction,
    "MatchingMarket.solve": matching,
    "exact_matching": exact_matching,
    "split_whole_batch": split_batch,
    "LeaseLine": lambda: (
        lambda: _core.LeaseLine(64, np.zeros(10**6, np.int32), ONE, ONE, np.array([10**6]))
    ),
    "LeaseLine.try_join": lease_line,
    "plan_gangs": plan_gangs,
    "plan_deadlines": plan_deadlines,
    "fill": fill,
    "VectorEnvironment.begin": lambda: lanes(
        lambda made: made.begin(0, TABLE, MANY, 0), begins=False
    ),
    "VectorEnvironment.answer": lambda: lanes(answer),
    "VectorEnvironment.schedule": lambda: lanes(
        lambda made: [made.schedule(lane) for lane in range(64)]
    ),
    "JobTable": lambda: lambda: _core.JobTable(*JOBS),
    "Cluster": lambda: lambda: _core.Cluster(np.ones(2**18, np.int32), np.zeros(2**18, np.int32)),
    "Run": lambda: lambda: _core.Run(TABLE, SERVERS, FIFO),
    "Run.finish": lambda: _core.Run(TABLE, SERVERS, FIFO).finish,
    "Schedule.digest": lambda: lambda: SCHEDULE.digest,
    "Schedule.intervals": lambda: SCHEDULE.intervals,
    "Schedule.finish_us": lambda: lambda: SCHEDULE.finish_us,
    "cluster_series": cluster_series,
    "run_measures": run_measures,
    "schedule_measures": lambda: lambda: _core.schedule_measures(SCHEDULE, **PLAIN),
    "time_order": lambda: lambda: _core.time_order(SCHEDULE.finish_us),
    "group_times": group_times,
    "longest_job": lambda: lambda: _core.longest_job(*JOBS[:2]),
    "squashed_srpt": of_gangs("squashed_srpt"),
    "total_work": of_gangs("total_work"),
    "wide_gangs": of_gangs("wide_gangs"),
    "mean_busy_time": of_weighted("mean_busy_time"),
    "busy_times": of_weighted("busy_times"),
    "priced_times": priced_times,
    "iteration_limits": lambda: lambda: _core.iteration_limits(TABLE, SERVERS, "fixed", {}),
    "least_costs": lambda: lambda: _core.least_costs(TABLE, SERVERS, "fixed", {}),
}


@each("name", CALLS)
def test_another_thread_goes_on_during_a_call_that_lasts(name):
    assert lets_others_go_on(CALLS[name])


def test_a_call_that_keeps_the_gil_is_told_from_one_that_gives_it_away():
    with beating() as beats:
        before = beats[0]
        sum(range(3_000_000))
        assert beats[0] == before


@pytest.mark.parametrize("name", ["remaining_us", "attained_us", "waiting"])
def test_another_thread_goes_on_while_a_long_queue_is_shown(name):
    class HeardError(Exception):
        """Ends the run."""

    heard = []

    class Looking(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            heard.append(lets_others_go_on(lambda: lambda: getattr(view, name)(jobs)))
            raise HeardError

    class Listing(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            heard.append(lets_others_go_on(lambda: lambda: state.waiting))
            raise HeardError

    jobs = gs.Trace.from_columns(np.zeros(MANY), np.ones(MANY), np.ones(MANY))
    policy = Listing() if name == "waiting" else Looking()
    with pytest.raises(HeardError):
        gs.simulate(jobs, gs.Cluster.uniform(1, 8), policy=policy)
    assert heard == [True]
