"""Ctrl-C, and a stop that is asked for, end a run within a second whatever it is busy with."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.boundary.workloads import ShortestFirst

pytestmark = pytest.mark.long

# A second, and two more for a machine that is busy with something else.
SOON_S = 3.0
ONE_GPU = gs.Cluster.uniform(1, 1)

# Two jobs take turns each minute for sixty years: minutes of computing.
ENDLESS = "gs.Trace.from_columns([0, 1], [1e9, 1e9], [1, 1]), gs.Cluster.uniform(1, 1)"

# Loads all that a run needs, so that a slow machine is not still importing when it is asked to end.
WARM_UP = """
import gpusched as gs
small = gs.Trace.from_columns([0, 1], [5, 5], [1, 1]), gs.Cluster.uniform(1, 1)
gs.compare(*small, ["fifo", "srtf"])
"""

posix = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")


def interrupted(code: str) -> tuple[float, str, int]:
    """Run ``code``, send SIGINT half a second after it says that it is ready.

    Returns the seconds until it ended, what it printed after that, and its exit code.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", WARM_UP + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        assert child.poll() is None, "the run was too short for the test"
        child.send_signal(signal.SIGINT)
        asked = time.monotonic()
        output, _ = child.communicate(timeout=30)
        return time.monotonic() - asked, output, child.returncode
    finally:
        child.kill()
        child.communicate()


@posix
def test_ctrl_c_ends_a_run_as_a_keyboard_interrupt():
    code = f"""
        print("ready", flush=True)
        gs.simulate({ENDLESS}, policy="las")
        print("not interrupted")
    """
    seconds, output, returncode = interrupted(code)
    assert seconds < SOON_S
    assert output.rstrip().endswith("KeyboardInterrupt")
    assert "not interrupted" not in output
    assert returncode == -signal.SIGINT  # as for any Python program that does not catch it


@posix
def test_a_process_that_catches_ctrl_c_goes_on_as_if_nothing_had_been():
    code = f"""
        import threading
        before = gs.simulate(*small, policy="srtf").digest
        print("ready", flush=True)
        try:
            gs.simulate({ENDLESS}, policy="las", progress=lambda now: None)
        except KeyboardInterrupt:
            print("interrupted", gs.simulate(*small, policy="srtf").digest == before)
            print(threading.active_count())
    """
    seconds, output, returncode = interrupted(code)
    assert seconds < SOON_S
    assert (output, returncode) == ("interrupted True\n1\n", 0)


@posix
def test_ctrl_c_ends_a_run_with_a_plug_in_of_python():
    code = f"""
        class Attained(gs.Order):
            lifetime, preemptive = "service", True
            def rank(self, view, jobs):
                return view.attained_us(jobs)
        gs.register_order("attained")(Attained)
        print("ready", flush=True)
        gs.simulate({ENDLESS}, policy="attained:period_s=60")
    """
    seconds, output, returncode = interrupted(code)
    assert seconds < SOON_S
    assert output.rstrip().endswith("KeyboardInterrupt")
    assert returncode == -signal.SIGINT


@posix
def test_ctrl_c_in_a_comparison_keeps_what_had_finished():
    code = f"""
        print("ready", flush=True)
        try:
            gs.compare({ENDLESS}, ["fifo", "las", "srtf"], threads=3)
        except KeyboardInterrupt as error:
            print(sorted(error.comparison.results), error.comparison.unfinished)
    """
    seconds, output, returncode = interrupted(code)
    assert seconds < SOON_S
    assert (output, returncode) == ("['fifo', 'srtf'] ('las',)\n", 0)


@posix
def test_ctrl_c_in_a_comparison_that_is_not_caught_ends_the_process():
    code = f"""
        print("ready", flush=True)
        gs.compare({ENDLESS}, ["las", "las:period_s=61", "las:period_s=62"], threads=2)
    """
    seconds, output, returncode = interrupted(code)
    assert seconds < SOON_S
    assert "unfinished: las, las:period_s=61, las:period_s=62" in output.splitlines()[-1]
    assert returncode != 0


# Searches of minutes: a proof among workers that differ by a factor for all jobs alike, so that
# many divisions are nearly as good; and promises to thousands of jobs.
SEARCHES = {
    "place_jobs": """
        rng = np.random.default_rng(1)
        rates = np.outer(rng.uniform(0.8, 1.6, 7), rng.uniform(1, 3, 26))
        jobs = dict(rounds=rng.uniform(6, 12, 7), round_samples=np.full(7, 1e5))
        links = dict(gradient_bytes=50e6, bandwidth_gbps=10)
        print("ready", flush=True)
        gs.online.place_jobs(rates, **jobs, **links, sampler="exact")
    """,
    "plan_deadlines": """
        rates = {("gpu", width): float(width) for width in (1, 2, 4, 8)}
        job = gs.online.DeadlineJob(0.0, 3e5, 1e4, rates)
        print("ready", flush=True)
        gs.online.plan_deadlines([job] * 20_000, {"gpu": 1_000})
    """,
}


@posix
@pytest.mark.parametrize("search", SEARCHES)
def test_ctrl_c_ends_a_search(search):
    seconds, output, returncode = interrupted(
        "import numpy as np\n" + textwrap.dedent(SEARCHES[search])
    )
    assert seconds < SOON_S
    assert output.rstrip().endswith("KeyboardInterrupt")
    assert returncode == -signal.SIGINT


def seconds_to_stop(
    trace: gs.Trace, cluster: gs.Cluster, *, after_s: float = 0.3, **options: Any
) -> float:
    """Set the stop so long into a run; return how long it took to end."""
    stop = threading.Event()
    asked = []

    def ask() -> None:
        asked.append(time.monotonic())
        stop.set()

    timer = threading.Timer(after_s, ask)
    timer.start()
    try:
        with pytest.raises(gs.Cancelled):
            gs.simulate(trace, cluster, stop=stop, **options)
        return time.monotonic() - asked[0]
    finally:
        timer.cancel()


def burst(num_jobs: int, span_s: float) -> gs.Trace:
    """Far more jobs than the cluster can serve in the time in which they come."""
    rng = np.random.default_rng(0)
    return gs.Trace.from_columns(
        np.sort(rng.uniform(0, span_s, num_jobs)),
        rng.uniform(1, 10_000, num_jobs),
        rng.integers(1, 9, num_jobs),
    )


@pytest.mark.parametrize("span_s", [0, 1_000], ids=["at one instant", "one after the other"])
def test_a_policy_that_is_slow_on_a_deep_queue_can_be_stopped(span_s):
    cluster = gs.Cluster.uniform(servers=8, gpus=8)
    seconds = seconds_to_stop(burst(60_000, span_s), cluster, policy="conservative")
    assert seconds < SOON_S


def test_a_slow_placement_can_be_stopped():
    cluster = gs.Cluster.uniform(servers=8_192, gpus=8)
    options = {"policy": "easy", "placement": "random"}
    assert seconds_to_stop(burst(60_000, 1_000), cluster, **options) < SOON_S


@pytest.mark.parametrize("after_s", [0.3, 2.0])
def test_dancer_can_be_stopped_while_it_clears_servers_of_a_full_cluster(after_s):
    servers = 8_192
    rng, narrow, wide = np.random.default_rng(1), 7 * servers, servers // 2
    # Narrow jobs are on every server as gangs of whole servers come, again and again.
    trace = gs.Trace.from_columns(
        np.r_[np.zeros(narrow), np.sort(rng.uniform(0, 20_000, 8 * wide))],
        np.r_[rng.integers(600, 40_000, narrow), np.full(8 * wide, 3_000)],
        np.r_[np.ones(narrow), np.full(8 * wide, 8)],
        deadline_s=np.r_[np.full(narrow, np.nan), np.full(8 * wide, 60_000.0)],
    )
    cluster = gs.Cluster.uniform(servers=servers, gpus=8)
    options = {"policy": "dancer", "placement": "spread"}
    assert seconds_to_stop(trace, cluster, after_s=after_s, **options) < SOON_S


def test_a_slow_plug_in_of_python_can_be_stopped():
    class Slow(ShortestFirst):
        def rank(self, view: Any, jobs: Any) -> Any:
            time.sleep(0.002)  # of the order of a model's inference
            return super().rank(view, jobs)

    jobs = gs.Trace.from_columns(np.arange(20_000), np.full(20_000, 5), np.ones(20_000))
    assert seconds_to_stop(jobs, ONE_GPU, policy=Slow()) < SOON_S
