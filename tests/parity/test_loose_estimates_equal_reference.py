"""``conservative`` where jobs end long before they were expected to, as the readable engine."""

import numpy as np
import pytest

import gpusched as gs
from gpusched.reference import Job, replay
from tests.parity.core import assert_same, run_core
from tests.parity.slow_twins import equal_runs

pytestmark = pytest.mark.long

SECOND = 1_000_000
SERVERS = [(4, "V100")] * 3


def loose_jobs(seed: int, num_jobs: int = 120) -> list[Job]:
    """Return jobs of which a third to a half wait, with estimates of one kind that users give."""
    rng = np.random.default_rng(seed)
    service_s = rng.integers(1, 60, num_jobs)
    kinds = [(1.0, 3.0, 1), (1.0, 10.0, 1), (1.0, 2.0, 30), (0.6, 4.0, 1), (1.0, 1.0, 1)]
    low, high, unit_s = kinds[seed % len(kinds)]
    estimate_s = np.ceil(service_s * rng.uniform(low, high, num_jobs) / unit_s) * unit_s
    submit_s = np.sort(rng.integers(0, 5 * num_jobs, num_jobs))
    gpus = rng.choice([1, 1, 1, 2, 3, 4, 7], num_jobs)
    columns = zip(submit_s.tolist(), service_s.tolist(), gpus.tolist(), estimate_s, strict=True)
    return [
        Job(submit * SECOND, service * SECOND, width, estimate_us=int(estimate) * SECOND)
        for submit, service, width, estimate in columns
    ]


@pytest.mark.parametrize("placement", ["count", "consolidated", "first-fit"])
@pytest.mark.parametrize("seed", range(15))
def test_early_ends_move_those_up_who_fit(placement, seed):
    jobs = loose_jobs(seed)
    expected = replay(jobs, SERVERS, "conservative", placement)
    assert_same(expected, run_core(jobs, SERVERS, "conservative", placement))


@pytest.mark.parametrize("placement", ["count", "consolidated"])
@pytest.mark.parametrize("seed", range(5))
def test_a_long_queue_moves_up_as_if_every_reservation_were_made_anew(placement, seed):
    """Hundreds wait at a time: the profile has many blocks, which are split and emptied."""
    jobs = loose_jobs(seed, 800)
    trace = gs.Trace.from_columns(
        submit_s=np.array([job.submit_us for job in jobs]) / (4 * SECOND),
        service_s=np.array([job.service_us for job in jobs]) / SECOND,
        gpus=[job.gpus for job in jobs],
        estimate_s=np.array([job.estimate_us for job in jobs]) / SECOND,
    )
    cluster = gs.Cluster.uniform(3, 4)
    fast, _ = equal_runs(trace, cluster, policy="conservative", placement=placement)
    assert fast.series.queue_jobs.max() > 200
