"""Which jobs have room on an empty cluster: those that a run does not reject."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.traces.fitting_jobs import fitting_jobs, fitting_load
from tests.each import each

MIXED = Cluster(
    (
        ServerGroup(2, 8, "V100", cpu=32, memory_gib=64),
        ServerGroup(3, 4, "T4", cpu=16, memory_gib=256),
        ServerGroup(1, 2, "K80"),
    )
)


def jobs(**columns: object) -> gs.Trace:
    num_jobs = len(next(iter(columns.values())))
    given = {"submit_s": list(range(num_jobs)), "service_s": [10] * num_jobs, **columns}
    return gs.Trace.from_columns(**given)


def test_jobs_are_as_wide_as_the_types_that_they_may_run_on():
    types = ["", "", "V100", "V100", "V100|T4", "V100|T4", "K80", "A100"]
    trace = jobs(gpus=[30, 31, 16, 17, 28, 29, 3, 1], gpu_types=types)
    assert fitting_jobs(trace, MIXED).tolist() == [
        True, False, True, False, True, False, False, False,
    ]  # fmt: skip


def test_workers_find_room_for_their_cpus_and_memory():
    # 8 CPUs each: 4 on a V100 server, 2 on one with T4, 2 on the one that is never short.
    trace = jobs(gpus=[16, 17, 14, 15, 1], cpu=[8, 8, 4, 4, 33], memory_gib=[1, 1, 60, 65, 1])
    assert fitting_jobs(trace, MIXED).tolist() == [True, False, True, False, True]
    only = Cluster(MIXED.servers[:1])
    assert fitting_jobs(trace, only).tolist() == [False, False, False, False, False]


@each("seed", range(5))
def test_what_fits_by_gpus_and_types_is_what_a_run_does_not_reject(seed):
    draw = np.random.default_rng(seed)
    names = np.array(["", "V100", "T4", "V100|T4", "K80|T4", "A100"])
    trace = jobs(gpus=draw.integers(1, 33, 60), gpu_types=names[draw.integers(0, 6, 60)].tolist())
    cluster = Cluster(tuple(ServerGroup(g.count, g.gpus, g.gpu_type) for g in MIXED.servers))
    with pytest.warns(UserWarning, match="rejected"):
        result = gs.simulate(trace, cluster, policy="fifo", placement="spread")
    fits = fitting_jobs(trace, cluster)
    assert 0 < fits.sum() < len(trace)
    assert fits.tolist() == (result.to_polars()["status"] != "rejected").to_list()
    assert fitting_load(trace, cluster, fits) == pytest.approx(result.metric("load"))


def test_the_load_is_that_of_the_jobs_that_fit():
    trace = jobs(gpus=[1, 99, 3])
    cluster = Cluster.uniform(1, 4)
    fits = fitting_jobs(trace, cluster)
    assert fitting_load(trace, cluster, fits) == pytest.approx(40 / (4 * 2))
    assert fitting_load(trace, cluster, np.zeros(3, dtype=bool)) == 0
