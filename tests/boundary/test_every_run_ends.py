"""Every policy on hostile input: the run ends, or is refused in words, or hears that it shall stop.

The limits are generous: they turn a hang into a failure and measure nothing.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.golden import workload as golden

pytestmark = pytest.mark.long

WATCHDOG_S = 60.0
SOON_S = 20.0
POLICIES = gs.policies()
PERIODS = ("period_s", "round_s", "slot_s", "slice_s", "lease_s")
CLUSTER = gs.Cluster(
    (
        gs.ServerGroup(4, 8, "V100", cpu=64, memory_gib=512),
        gs.ServerGroup(6, 4, "K80", cpu=32, memory_gib=128),
    )
)
NEVER = float("nan")


def simulate(
    jobs: gs.Trace, cluster: gs.Cluster, policy: Any, stop_s: float, **options: Any
) -> gs.Result | str | None:
    """The result, what the run was refused with, or None where it had to be stopped.

    A run that does not stop, either, ends the test from outside.
    """
    stop = threading.Event()
    timer = threading.Timer(stop_s, stop.set)
    timer.start()
    name = policy if isinstance(policy, str) else policy.name
    if "elastic" in POLICIES[name.partition(":")[0]].flags:
        options = {"speed": "table"} | options
    try:
        return gs.simulate(jobs, cluster, policy=policy, stop=stop, **options)
    except ValueError as error:
        return str(error)
    except gs.Cancelled:
        return None
    finally:
        timer.cancel()


def trace(submit_s: Any, service_s: Any, gpus: Any, **more: Any) -> gs.Trace:
    """Jobs that every policy takes: with deadlines, profiles and widths to choose from."""
    num_jobs = len(submit_s)
    submit_s, service_s, gpus = map(np.asarray, (submit_s, service_s, gpus))
    rng = np.random.default_rng(num_jobs)
    deadlines = submit_s + np.maximum(service_s, 1e-3) * rng.uniform(0.5, 4, num_jobs) + 1e-3
    deadlines[::5] = NEVER
    filled = {
        "deadline_s": deadlines,
        "min_gpus": np.ones(num_jobs, int),
        "max_gpus": np.maximum(gpus, 8),
        "profiles": golden.profiles(),
        "profile": rng.integers(0, 4, num_jobs),
    }
    return gs.Trace.from_columns(submit_s, service_s, gpus, **(filled | more))


@functools.cache
def at_once() -> gs.Trace:
    """All jobs at one instant, and many alike."""
    rng = np.random.default_rng(1)
    return trace(np.zeros(120), rng.integers(1, 300, 120), rng.choice([1, 2, 3, 4, 8, 16], 120))


@functools.cache
def short_and_long() -> gs.Trace:
    """Services of a microsecond beside the longest."""
    services = np.where(np.arange(24) % 3 == 0, 2**53 / 1e6, 1e-6)
    return trace(np.arange(24) // 4 * 1e-6, services, 1 + np.arange(24) % 8, deadline_s=None)


@functools.cache
def late() -> gs.Trace:
    """Submits next to the largest allowed."""
    rng = np.random.default_rng(2)
    submit_us = 2**61 - 1_000 + np.sort(rng.integers(0, 1_000, 40))
    services = rng.choice([1e-6, 3e-6, 1, 3_600], 40)
    return trace(submit_us / 1e6, services, rng.integers(1, 9, 40), deadline_s=None)


@functools.cache
def costly() -> gs.Trace:
    """Restarts longer than any period or slot."""
    rng = np.random.default_rng(3)
    costs = {"checkpoint_s": np.full(40, 2e3), "restart_s": rng.choice([0, 3e4], 40)}
    return trace(np.arange(40), rng.integers(1, 4_000, 40), rng.integers(1, 9, 40), **costs)


@functools.cache
def varied() -> gs.Trace:
    """Hardly two jobs of a width, and as many weights, from almost nothing to almost too much."""
    rng = np.random.default_rng(4)
    weights = 10.0 ** rng.uniform(-300, 300, 90)
    widths = 1 + np.arange(90) * 56 // 90
    return trace(np.arange(90) * 10, rng.integers(1, 900, 90), widths, weight=weights)


@functools.cache
def urgent() -> gs.Trace:
    """Deadlines a microsecond after the submit, at the service's end, and at the end of time."""
    submit, service = np.arange(60.0), np.full(60, 50.0)
    deadlines = np.choose(
        np.arange(60) % 4, [submit + 1e-6, submit + 50, np.full(60, 2.0**61 / 1e6), submit + 51]
    )
    return trace(submit, service, 1 + np.arange(60) % 4, deadline_s=deadlines)


@functools.cache
def measured_here_and_there() -> gs.Trace:
    """Tables in which some widths run, and some only on one type."""
    profiles = [
        gs.model.JobProfile(
            "pairs", throughput={"V100": {2: 3.0, 4: 0.0, 8: 9.0}, "K80": {2: 1.0}}
        ),
        gs.model.JobProfile("wide", throughput={"V100": {16: 1e-9}}),
        gs.model.JobProfile("nowhere near", throughput={"K80": {1: 1.0, 4: 0.0}}),
    ]
    index = np.arange(45) % 3
    widths = np.array([2, 16, 4])[index]
    return trace(
        np.arange(45), np.full(45, 30), widths, profiles=profiles, profile=index,
        max_gpus=widths * 2,
    )  # fmt: skip


HOSTILE: dict[str, Callable[[], gs.Trace]] = {
    "all at one instant": at_once,
    "a microsecond beside 2^53": short_and_long,
    "next to the last submit": late,
    "restarts longer than periods": costly,
    "widths and weights of all kinds": varied,
    "deadlines at once and never": urgent,
    "few widths that run": measured_here_and_there,
}


def with_long_periods(policy: str) -> gs.Policy:
    """The policy with decisions so far apart that a run of centuries has few of them."""
    parameters = POLICIES[policy].parameters
    known = [parameter["name"] for parameter in parameters if parameter["name"] in PERIODS]
    return gs.Policy(policy, **dict.fromkeys(known, 1e6))


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_on_hostile_jobs_ends(policy, case):
    lasts = case == "a microsecond beside 2^53"
    chosen = with_long_periods(policy) if lasts else policy
    found = simulate(HOSTILE[case](), CLUSTER, chosen, WATCHDOG_S)
    assert found is not None, f"still running after {WATCHDOG_S} s"
    assert isinstance(found, str) or not (found.schedule.status == 2).any()


def centuries() -> gs.Trace:
    """More jobs than fit, of the longest services."""
    widths = np.array([8, 8, 16, 24, 8, 1])
    return trace(np.arange(6), np.full(6, 2**53 / 1e6), widths, deadline_s=None)


LISTS = [policy for policy, info in POLICIES.items() if info.parameter("epoch")]
SOLVING = [
    (policy, parameter["name"], parameter["least_positive"] or max(1e-6, parameter["minimum"]))
    for policy, info in POLICIES.items()
    for parameter in info.parameters
    if parameter["name"] in PERIODS and policy not in LISTS
]


@pytest.mark.parametrize("epoch", ["event", "period"])
@pytest.mark.parametrize("policy", LISTS)
def test_a_run_of_centuries_with_a_period_of_a_millisecond_ends(policy, epoch):
    chosen = gs.Policy(policy, period_s=1e-3, epoch=epoch)
    found = simulate(centuries(), CLUSTER, chosen, WATCHDOG_S)
    assert found is not None, f"still running after {WATCHDOG_S} s"
    assert isinstance(found, str)
    assert "no progress (livelock)" in found


@pytest.mark.parametrize(("policy", "period", "least"), SOLVING)
def test_a_run_of_centuries_whose_decisions_take_long_can_be_stopped(policy, period, least):
    # It would end likewise, but a million decisions of theirs are minutes.
    assert stops(centuries(), gs.Policy(policy, **{period: least}))


KINDS = 2_000


@functools.cache
def of_all_kinds() -> gs.Trace:
    """Thousands of demands, each with a width of its own."""
    rng = np.random.default_rng(5)
    return gs.Trace.from_columns(
        np.sort(rng.integers(0, 4_000, KINDS)),
        rng.integers(1, 90, KINDS),
        rng.integers(1, 9, KINDS),
        cpu=rng.integers(1, 8_000, KINDS) / 1_000,
        memory_gib=rng.integers(1, 16_384, KINDS) / 1_024,
    )


@pytest.mark.parametrize("policy", [n for n, i in POLICIES.items() if "elastic" not in i.flags])
def test_a_run_with_thousands_of_kinds_of_jobs_ends(policy):
    found = simulate(of_all_kinds(), CLUSTER, policy, WATCHDOG_S)
    assert found is not None, f"still running after {WATCHDOG_S} s"


@functools.cache
def flood() -> gs.Trace:
    """Far more than the cluster can serve, all at once and of many widths: minutes of work."""
    rng = np.random.default_rng(6)
    num_jobs = 30_000
    return trace(
        np.sort(rng.choice([0, 1, 2, 3], num_jobs)),
        rng.integers(1, 40_000, num_jobs) * 1e3,
        rng.integers(1, 33, num_jobs),
    )


def stops(jobs: gs.Trace, policy: Any) -> bool:
    """Whether a run ends that is asked to stop half a second after it began."""
    run = threading.Thread(target=simulate, args=(jobs, CLUSTER, policy, 0.5), daemon=True)
    run.start()
    run.join(0.5 + SOON_S)
    return not run.is_alive()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_that_shall_stop_stops(policy):
    assert stops(flood(), policy)
