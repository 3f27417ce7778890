"""The same study wherever it runs: the same table, row for row, whatever dies on the way."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import polars as pl
import pytest

import gpusched as gs
from tests.time_limit import time_limit
from tests.unit.studies.places import dask_cluster, opened_at
from tests.unit.studies.studies import NarrowFirst, a_trace, small

TIMES = ("wall_s", "total_s", "jobs_per_s")


def facts(result: gs.studies.SweepResult) -> pl.DataFrame:
    return result.runs.drop(TIMES)


@pytest.mark.parametrize(
    "place", ["threads:1", "threads:3", "processes:2", "given processes", "dask", "ray"]
)
def test_the_table_is_the_same(place, tmp_path):
    study = small(
        traces=[
            {"generate": "philly", "jobs": 60, "loads": [0.7, 2.0]},
            {"trace": a_trace(), "label": "given", "windows": [{"to": 9e3}, {"from": 9e3}]},
            {"trace": a_trace(), "label": "none left", "filter": "gpus > 1000"},
        ],
        policies=["fifo", "srtf", NarrowFirst()],
    )
    with time_limit(180), opened_at(place) as backend:
        found = gs.sweep(study, executor=backend, folder=tmp_path)
    expected = gs.sweep(study)
    assert facts(found).drop("repeat").equals(facts(expected).drop("repeat"))
    assert found.num_failed == 6


def test_workers_that_die_at_random_moments_cost_nothing():
    study = small(seeds=list(range(40)))
    expected = facts(gs.sweep(study))
    chance = random.Random(0)
    with time_limit(300), dask_cluster() as address:
        import distributed

        with distributed.Client(address) as client:
            ends = threading.Event()

            def kill() -> None:
                for _ in range(3):
                    time.sleep(0.2 + chance.random())
                    workers = list(client.run(os.getpid).values())
                    if ends.is_set() or not workers:
                        return
                    os.kill(chance.choice(workers), signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            found = gs.sweep(study, executor=client)
            ends.set()
            killer.join()
    assert facts(found).equals(expected)
