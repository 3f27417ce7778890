"""Simulated means against closed forms: each lies inside its 99 % interval.

The intervals come from batch means: after a warm-up the jobs are cut into consecutive batches, so
long that their means are nearly independent. The seeds are fixed, so a pass is a pass for good.
"""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

import gpusched as gs

pytestmark = pytest.mark.long

NUM_JOBS = 2_000_000
NUM_BATCHES = 40
MEAN_SERVICE_S = 1_000.0  # a tick is a billionth of it


def exponential(rng):
    return rng.exponential(size=NUM_JOBS)


def hyperexponential(rng):
    """A tenth of the jobs is long: squared coefficient of variation 4.1."""
    mean = np.where(rng.random(NUM_JOBS) < 0.1, 5.0, 5 / 9)
    return rng.exponential(mean)


def uniform(rng):
    return rng.uniform(0, 2, NUM_JOBS)


SQUARED_MEAN = {
    exponential: 2.0,
    hyperexponential: 0.1 * 50 + 0.9 * 2 * (5 / 9) ** 2,
    uniform: 4 / 3,
}
DENSITY = {
    exponential: lambda x: np.exp(-x),
    hyperexponential: lambda x: 0.1 / 5 * np.exp(-x / 5) + 0.9 * 9 / 5 * np.exp(-x * 9 / 5),
    uniform: lambda x: np.where(x <= 2, 0.5, 0.0),
}


def simulated_jct(policy, service, load, num_gpus, seed):
    """Mean JCT in units of the mean service, and half the width of its 99 % interval."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(1 / (load * num_gpus), NUM_JOBS))
    trace = gs.Trace.from_columns(
        submit_s=submit * MEAN_SERVICE_S,
        service_s=service(rng) * MEAN_SERVICE_S,
        gpus=np.ones(NUM_JOBS, dtype=np.int64),
    )
    cluster = gs.Cluster.uniform(servers=num_gpus, gpus=1)
    jct = gs.simulate(trace, cluster, policy=policy, placement="count").jobs.jct_s / MEAN_SERVICE_S
    batches = jct[NUM_JOBS // 10 :].reshape(NUM_BATCHES, -1).mean(axis=1)
    from scipy import stats  # takes long to load, also where these tests do not run

    quantile = stats.t.ppf(0.995, NUM_BATCHES - 1)
    return batches.mean(), quantile * batches.std(ddof=1) / np.sqrt(NUM_BATCHES)


def check(simulated, expected):
    mean, half_width = simulated
    assert abs(mean - expected) <= half_width, f"{mean:.4f} +- {half_width:.4f}, not {expected:.4f}"
    assert half_width < 0.05 * expected  # or it would say nothing


@pytest.mark.parametrize("load", [0.3, 0.7, 0.85])
def test_mm1_responds_in_the_time_of_theory(load):
    check(simulated_jct("fifo", exponential, load, 1, seed=1), 1 / (1 - load))


@pytest.mark.parametrize(("num_gpus", "load"), [(2, 0.7), (8, 0.8), (64, 0.95)])
def test_mmk_waits_as_erlang_c_says(num_gpus, load):
    offered = num_gpus * load
    busy = offered**num_gpus / factorial(num_gpus) / (1 - load)
    waits = busy / (sum(offered**i / factorial(i) for i in range(num_gpus)) + busy)
    expected = 1 + waits / (num_gpus * (1 - load))
    check(simulated_jct("fifo", exponential, load, num_gpus, seed=2), expected)


@pytest.mark.parametrize("service", [hyperexponential, uniform])
def test_mg1_in_order_of_arrival_follows_pollaczek_and_khinchine(service):
    load = 0.7
    expected = 1 + load * SQUARED_MEAN[service] / (2 * (1 - load))
    check(simulated_jct("fifo", service, load, 1, seed=3), expected)


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("service", [exponential, hyperexponential, uniform])
def test_mg1_srpt_responds_as_schrage_and_miller_say(service, load):
    check(simulated_jct("srtf", service, load, 1, seed=4), srpt_response(DENSITY[service], load))


def srpt_response(density, arrival_rate):
    """Mean response of M/G/1-SRPT (Schrage and Miller 1966), for mean service 1.

    A job of size x waits until its residence begins, behind the work of all that is then shorter
    than x, and is delayed in it by arrivals shorter than what it has left.
    """
    from scipy.integrate import cumulative_simpson, simpson

    x = np.linspace(0, 120, 240_001)
    mass = density(x)
    longer = 1 - cumulative_simpson(mass, x=x, initial=0)
    load = arrival_rate * cumulative_simpson(x * mass, x=x, initial=0)  # of jobs up to x
    second = cumulative_simpson(x**2 * mass, x=x, initial=0)
    waiting = arrival_rate * (second + x**2 * longer) / (2 * (1 - load) ** 2)
    residence = cumulative_simpson(1 / (1 - load), x=x, initial=0)
    return simpson((waiting + residence) * mass, x=x)
