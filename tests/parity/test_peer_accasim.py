"""AccaSim, run live on 10,000 rigid jobs, finishes each when gpusched does."""

import importlib.util

import numpy as np
import pytest

import gpusched as gs
from tests.parity.accasim_runs import finishes_s

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        importlib.util.find_spec("accasim") is None,
        reason="the extra oracles is not installed: pip install accasim",
    ),
]

NUM_JOBS = 10_000
NUM_GPUS = 64

#: A name of accasim_runs and what decides so here. With exact times AccaSim's EASY as released is
#: first come, first served that passes over what does not fit, see there.
SAME_RULES = [
    ("fifo", "fifo"),
    ("sjf", "sjf:scan=strict"),
    ("easy", "fifo:scan=skip"),
    ("easy-reserved", "easy:extra=false"),
]


@pytest.mark.parametrize(("theirs", "ours"), SAME_RULES)
def test_accasim_decides_alike(theirs, ours, tmp_path):
    random = np.random.default_rng(19)
    gpus = random.choice([1, 1, 1, 2, 4, 8, 16, 48], NUM_JOBS)
    service_s = 1 + random.exponential(1_000, NUM_JOBS).astype(np.int64)
    span_s = float((gpus * service_s).sum()) / NUM_GPUS / 0.75
    submit_s = np.sort(random.integers(0, int(span_s), NUM_JOBS))
    trace = gs.Trace.from_columns(submit_s=submit_s, service_s=service_s, gpus=gpus)
    cluster = gs.Cluster.uniform(1, NUM_GPUS)
    result = gs.simulate(trace, cluster, policy=ours, placement="count")
    finish_s = finishes_s(tmp_path, theirs, NUM_GPUS, submit_s, service_s, gpus)
    waited = result.schedule.finish_us // 10**6 > submit_s + service_s
    assert waited.mean() > 0.1  # or all rules would be equal
    assert (result.schedule.finish_us == np.array(finish_s) * 10**6).all()
