"""Every solver ends whatever it is given, with what is right, and on Ctrl-C within a second."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.online.assignment import AssignmentSolver, assign, transport
from tests.boundary.test_interrupts import SOON_S, interrupted, posix
from tests.each import each
from tests.examples import number_of
from tests.random_solvers import SOLVERS, try_case


@pytest.mark.parametrize("solver", SOLVERS)
def test_random_cases_of_a_solver_are_what_scipy_and_brute_force_say(solver):
    """The first of those that ``python -m tests.random_solvers`` tries in any number."""
    for number in range(number_of(10 * SOLVERS[solver][1])):
        try:
            try_case(solver, 1, number)
        except Exception as error:
            error.add_note(f"case {number}")
            raise


NAN, INF = float("nan"), float("inf")
JOB = {"arrival_s": 0.0, "deadline_s": 9e3, "work": 9.0, "rates": {("A", 1): 1.0}}
PLACED = {"rounds": 1.0, "round_samples": 1.0}


def deadline(**figures: Any) -> Callable[[], object]:
    return lambda: gs.online.plan_deadlines([gs.online.DeadlineJob(**(JOB | figures))], {"A": 1})


def placed(rates: Any, **figures: Any) -> Callable[[], object]:
    return lambda: gs.online.place_jobs(rates, **(PLACED | figures))


REFUSED: list[tuple[Callable[[], object], str]] = [
    *((partial(assign, [[1.0, bad]], method=method), f"row 0, column 1: {text} is")
      for method in ("jonker-volgenant", "auction")
      for bad, text in ((NAN, "nan"), (-INF, "-inf"), (1e301, "1e\\+301"), (-1e308, "-1e\\+308"))),
    *((partial(assign, [[1.0, bad]], maximise=True), f"row 0, column 1: {text} is")
      for bad, text in ((NAN, "nan"), (INF, "inf"), (1e301, "1e\\+301"))),
    *((partial(assign, np.zeros(shape)), "cost: must be a non-empty matrix")
      for shape in ((0, 3), (3, 0), (0, 0), (3,))),
    (partial(assign, [[1, 10**400]]), "cost: an integer is beyond 1e300"),
    (partial(AssignmentSolver().solve, [[1.0], [1e301]]), "row 1, column 0: 1e\\+301 is beyond"),
    (partial(transport, [[INF]], [1], [1]), "row 0, column 0: inf"),
    (partial(transport, [[-1e301]], [1], [1]), "row 0, column 0: -1e\\+301 is beyond 1e300"),
    (partial(transport, np.zeros((0, 2)), [], [1, 1]), "value: must be a non-empty matrix"),
    (partial(transport, [[1.0]], [2**40], [1]), r"supply\[0\]: must be a whole number"),
    (placed([[1.0, NAN]]), r"rates\[0, 1\]: nan must be"),
    (placed([[1.0, 1e-300]]), r"rates\[\d\]: 1e-300 must lie between 1e-30 and 1e30, or be 0"),
    (placed([[1.0]], rounds=1e31), r"rounds\[0\]: 1e\+31 must lie between 1e-30 and 1e30"),
    (placed([[1.0]], round_samples=INF), r"round_samples\[0\]: inf must be positive and finite"),
    (placed([[1.0]], waiting_s=1e300), r"waiting_s\[0\]: 1e\+300 must lie between"),
    (placed(np.zeros((0, 3))), r"rates: has shape \(0, 3\)"),
    (deadline(work=NAN), r"jobs\[0\]\.work: nan"),
    (deadline(value=-INF), r"jobs\[0\]\.value: -inf"),
    (deadline(value=1e101), r"jobs\[0\]\.value: 1e\+101 must lie between"),
    (deadline(rates={("A", 1): INF}), r"jobs\[0\]\.rates\['A', 1\]: inf"),
    (deadline(change_s=1e300), r"jobs\[0\]\.change_s: 1e\+300"),
    (partial(gs.online.plan_deadlines, [], {"A": 1}, quanta=10**6),
     "quanta: 1000000 must lie between"),
    (partial(gs.online.plan_deadlines, [], {"A": 1}, segments=10**6),
     "segments: 1000000 must lie"),
]  # fmt: skip


@each(("call", "message"), REFUSED)
def test_what_no_solver_can_count_with_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# All want the columns of a corner, each a little otherwise: bids and samples help little.
FAR_APART = """
        random = np.random.default_rng(1)
        places = zip(random.random((2, 6000)), random.random((2, 6000)) / 10)
        cost = np.hypot(*(np.subtract.outer(row, column) for row, column in places))
        print("ready", flush=True)
"""
# Minutes of computing, on a machine that is ten times as fast as well; FAR_APART: ten seconds.
LONG = {
    "assign": f"""{FAR_APART}
        assign(cost)
    """,
    "AssignmentSolver": f"""{FAR_APART}
        AssignmentSolver().solve(cost)
    """,
    "auction": """
        cost = np.outer(np.arange(3000.0), np.arange(3000.0))
        print("ready", flush=True)
        assign(cost, method="auction")
    """,
    "transport": """
        value = -np.outer(np.arange(2000.0), np.arange(1500.0))
        print("ready", flush=True)
        transport(value, np.arange(2000) % 90, np.full(1500, 90))
    """,
    "place_jobs": """
        rng = np.random.default_rng(0)
        rates = np.outer(rng.uniform(1, 3, 80), rng.uniform(1, 3, 150))
        work = dict(rounds=rng.uniform(1, 9, 80), round_samples=100.0, capacity=[4] * 150)
        print("ready", flush=True)
        gs.online.place_jobs(rates, **work, draws=10**6, effort=10**12)
    """,
    "plan": """
        rng = np.random.default_rng(0)
        widths = rng.integers(1, 65, 100_000)
        trace = gs.Trace.from_columns(np.zeros(100_000), rng.uniform(1, 1e4, 100_000), widths)
        cluster = gs.Cluster.uniform(2_000, 8, nic_gbps=10, intra_gbps=100)
        print("ready", flush=True)
        gs.online.plan(trace, cluster, speed="fixed", contention="none", tolerance=0.0)
    """,
    "fill": """
        requests = gs.traces.Requests.from_columns([1, 2, 4], gpu_share=[0.05, 1, 1])
        cluster = gs.Cluster.uniform(4_000, 8)
        print("ready", flush=True)
        gs.online.fill(requests, cluster, until=900.0)
    """,
    "exact": """
        from gpusched_papers import exact
        profile = gs.model.JobProfile("model", 1e9, 32.0, 0.0, 0.1)
        jobs = dict(profile=np.zeros(8, np.int32), profiles=(profile,))
        trace = gs.Trace.from_columns(np.zeros(8), np.arange(8) + 10.0, [3, 2, 3, 2] * 2, **jobs)
        cluster = gs.Cluster.uniform(4, 3, nic_gbps=10, intra_gbps=100)
        problem = exact.instance(trace, cluster, degradation=0.5)
        print("ready", flush=True)
        exact.solve(problem, time_limit_s=600.0)
    """,
}
IMPORTS = (
    "import numpy as np\n"
    "from gpusched.online.assignment import AssignmentSolver, assign\n"
    "from gpusched.online.assignment import transport\n"
)


@posix
@pytest.mark.long
@pytest.mark.parametrize("solver", LONG)
def test_ctrl_c_ends_a_solver(solver):
    # Without the indentation that the imports do not have.
    lines = [line[8:] for line in LONG[solver].splitlines()]
    seconds, output, _ = interrupted(IMPORTS + "\n".join(lines))
    assert seconds < SOON_S
    assert output.rstrip().endswith("KeyboardInterrupt")
