"""A solver that keeps what it computed serves one call: a second one during it is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpusched.deciding import AssignmentSolver

# The handler of a signal is Python that runs in the midst of a native call: it calls the same
# object, and lets another thread do so. Where the signal came too late the problem was too small.
SCRIPT = """
import signal
import threading
import numpy as np
import numpy.ma
from gpusched import _core
from gpusched.deciding import AssignmentSolver

rng = np.random.default_rng(1)


def distances(size):  # rows in the plane want different columns, which takes longer than chance
    x, y, u, v = rng.random((4, size))
    return np.hypot(x[:, None] - u, y[:, None] - v)


def assignment(size):
    solver, cost = AssignmentSolver(), distances(size)
    return lambda: solver.solve(cost).cost


def core_assignment(size):
    solver, cost = _core.Assignment(), distances(size).ravel()
    return lambda: solver.solve(cost, size, size)[3]


def transportation(size):
    solver = _core.Transportation()
    value = rng.random(size * size)
    ones = np.ones(size, np.int32)
    return lambda: solver.solve(value, ones, ones, True, False)[3]


def attempt(make, size, delay):
    call, heard = make(size), []

    def again():
        try:
            call()
            heard.append("let in")
        except ValueError as error:
            heard.append(str(error))

    def handler(*_):
        again()
        other = threading.Thread(target=again)
        other.start()
        other.join()

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, delay)
    found = call()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return heard, found, call()


make = globals()[NAME]
# Some of a call is Python before and after the native one; the signal must come between.
for size, delay in ((size, delay) for size in SIZES for delay in (0.02, 0.05, 0.1)):
    heard, found, later = attempt(make, size, delay)
    if len(heard) == 2 and "let in" not in heard:
        break
print(*heard, sep="\\n")
print(found == later)
"""
SIZES = {
    "assignment": (500, 1000, 2000, 4000),
    "core_assignment": (500, 1000, 2000, 4000),
    "transportation": (300, 600, 1200, 2400),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_solver_that_is_at_work_refuses_a_second_caller(name: str) -> None:
    script = f"NAME, SIZES = {name!r}, {SIZES[name]!r}\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    refusal = "the solver is at work, in another thread or around this very call"
    assert done.stdout.splitlines() == [refusal, refusal, "True"]


def test_a_refused_caller_does_not_take_the_solution_away() -> None:
    solver = AssignmentSolver()
    solver.solve([[4.0, 1.0], [2.0, 0.0]])
    with solver._at_work(), pytest.raises(ValueError, match="the solver is at work"):
        solver.solve([[1.0]])
    assert solver.change_row(0, [0.0, 1.0]).cost == 0
