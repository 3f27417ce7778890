"""A solver that keeps what it computed serves one call: a second one during it is refused."""

import pickle
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.online import AssignmentSolver

# The handler of a signal is Python that runs in the midst of a native call: it calls the same
# object, and lets another thread do so. Where the signal came too late the problem was too small.
SCRIPT = """
import signal
import threading
import numpy as np
import numpy.ma
from gpusched import _core
from gpusched.online import AssignmentSolver

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
def test_a_solver_that_is_at_work_refuses_a_second_caller(name):
    script = f"NAME, SIZES = {name!r}, {SIZES[name]!r}\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    refusal = "the solver is busy, in another thread or in a call around this one"
    assert done.stdout.splitlines() == [refusal, refusal, "True"]


@pytest.mark.parametrize("delay_s", [0.02, 0.06, 0.1])
def test_ctrl_c_does_not_take_the_solution_away(delay_s):
    x, y, u, v = np.random.default_rng(1).random((4, 3000))
    far = np.hypot(x[:, None] - u, y[:, None] - v)
    solver = AssignmentSolver()
    solver.solve([[4.0, 1.0], [2.0, 0.0]])

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay_s)
        with pytest.raises(KeyboardInterrupt):
            solver.solve(far)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert solver.change_row(0, [0.0, 1.0]).cost == 0


CLUSTER = gs.Cluster.uniform(servers=8, gpus=8)
JOBS = gs.generate("philly", 2000, load=1.5, cluster=CLUSTER, seed=1)


def episodes(env: Any, seed: int) -> list[Any]:
    """Play with the first that fits, twenty steps an episode."""
    shown = []
    for number in range(3):
        info = env.reset(seed=seed + number)[1]
        for _ in range(20):
            *seen, info = env.step(info["action_mask"].argmax(axis=-1))
            shown.append(seen)
    return shown


@pytest.mark.parametrize("num_envs", [None, 3])
def test_a_second_thread_is_refused_by_an_environment_and_harms_no_episode(num_envs):
    def make() -> Any:
        if num_envs is None:
            return gs.gym.QueueEnv(JOBS, CLUSTER, slots=16, jobs=500)
        return gs.gym.QueueVectorEnv(num_envs, JOBS, CLUSTER, slots=16, jobs=500)

    env, over, refused = make(), threading.Event(), []
    env.reset(seed=0)

    def intrude() -> None:
        answer = np.zeros(num_envs or 1, np.int64)
        calls = [
            lambda: env._lanes.answer(answer),
            lambda: env.step(answer if num_envs else 0),
            lambda: env.reset(seed=3),
            lambda: env.action_masks(),
            lambda: env._lanes.schedule(0),
        ]
        while not over.is_set():
            for call in calls:
                try:
                    call()
                except ValueError as error:
                    refused.append(str(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=intrude) for _ in range(2)]
    try:
        with env._lanes:  # as each of its methods does for as long as it lasts
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 60
            while len(refused) < 100 and time.monotonic() < deadline:
                time.sleep(0.001)
        for _ in range(200):  # without the block they come in between, and nothing breaks
            try:
                env.step(np.zeros(num_envs, np.int64) if num_envs else 0)
            except ValueError as error:
                refused.append(str(error))
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert len(refused) >= 100
    assert set(refused) == {
        "the environment is busy, in another thread or in a call around this one"
    }
    pickled = [pickle.dumps(episodes(one, seed=7)) for one in (env, make())]
    assert pickled[0] == pickled[1]
