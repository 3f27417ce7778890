"""Queues whose servers break down, against closed forms (Avi-Itzhak and Naor 1963) and chains."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

import gpusched as gs

SERVICE_S = 1_000.0
FAILURE_RATE, REPAIR_RATE = 0.1, 0.5  # of a server, per mean service
NUM_JOBS, NUM_BATCHES = 100_000, 40


def mean_of_one(rate):
    """Return the mean number of jobs of M/M/1 with breakdowns at any time and work that is kept."""
    ends = FAILURE_RATE + REPAIR_RATE
    return rate / (REPAIR_RATE / ends - rate) * (1 + FAILURE_RATE / ends**2)


def mean_of_chain(rate, servers, most=300):
    """Return that of M/M/k, each server on its own, from the chain of jobs and servers up."""
    size = servers + 1
    flow = np.zeros((most * size, most * size))
    for jobs in range(most):
        for up in range(size):
            state = jobs * size + up
            ways = (
                (state + size, rate * (jobs + 1 < most)),
                (state - size, min(jobs, up)),
                (state - 1, FAILURE_RATE * up),
                (state + 1, REPAIR_RATE * (servers - up)),
            )
            for other, at in ways:
                if at:
                    flow[state, other] += at
                    flow[state, state] -= at
    flow[:, 0] = 1  # in place of one equation: the shares sum to 1
    share = np.linalg.solve(flow.T, np.eye(1, len(flow))[0])
    return float(share @ np.repeat(np.arange(most), size))


@pytest.mark.parametrize(
    ("rate", "servers", "expected", "known"),
    [(0.5, 1, mean_of_one, 1.9166667), (1.5, 3, lambda rate: mean_of_chain(rate, 3), 2.410198873)],
    ids=["F29", "F32"],
)
def test_jobs_that_keep_their_work_respond_in_the_time_of_theory(rate, servers, expected, known):
    mean_jobs = expected(rate)
    assert mean_jobs == pytest.approx(known, abs=1e-6)
    draws = np.random.default_rng(servers)
    submit_s = np.cumsum(draws.exponential(SERVICE_S / rate, NUM_JOBS))
    services_s = draws.exponential(SERVICE_S, NUM_JOBS)
    # What is saved after each microsecond, at no cost, is all of the work.
    jobs = gs.Trace.from_columns(submit_s, services_s, [1] * NUM_JOBS)
    jobs = jobs.with_columns(checkpoint_every_s=1e-6)
    cluster = gs.Cluster.uniform(servers, 1)
    outages = gs.generate_outages(
        cluster, until_s=1.1 * submit_s[-1], mtbf_s=SERVICE_S / FAILURE_RATE,
        repair_s=SERVICE_S / REPAIR_RATE, seed=servers,
    )  # fmt: skip
    run = gs.simulate(jobs, cluster, policy="fifo", outages=outages)
    assert not run.schedule.lost_us.any()
    assert run.schedule.failures.sum() > 1000
    times = run.jobs.jct_s[NUM_JOBS // 10 :] / SERVICE_S
    batches = times.reshape(NUM_BATCHES, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(NUM_BATCHES)
    assert abs(batches.mean() - mean_jobs / rate) < student.ppf(0.9995, NUM_BATCHES - 1) * error
    assert error < 0.03 * mean_jobs / rate
