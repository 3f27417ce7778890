"""What the list schedulers and their orders once got wrong, each as small as it was found."""

from typing import Any

import numpy as np
import pytest

from gpusched import _core
from gpusched.reference import Job, replay
from tests.parity.core import make_cluster, run_core
from tests.reference.cases import SECOND


def assert_finishes(
    finish_s: list[int],
    jobs: list[Job],
    servers: list[tuple[int, str]],
    policy: str,
    placement: str = "count",
    params: dict[str, Any] | None = None,
) -> None:
    """Run both engines and compare them with what the rule gives by hand."""
    core = run_core(jobs, servers, policy, placement, params)
    assert [finish // SECOND for finish in core.finish_us] == finish_s
    assert core == replay(jobs, servers, policy, placement, policy_params=params)


def test_serverfilling_lets_the_first_of_the_jobs_it_did_not_take_go_on():
    jobs = [
        Job(0, 10 * SECOND, 1, share_milli=400),
        Job(0, 20 * SECOND, 1, share_milli=400),
        Job(1 * SECOND, 1 * SECOND, 1, share_milli=300),
        Job(1 * SECOND, 6 * SECOND, 2),
    ]
    assert_finishes([10, 21, 2, 7], jobs, [(3, "gpu")], "serverfilling-srpt", "first-fit")


def test_entry_decides_inside_a_queue_beyond_the_512th_limit():
    limits = [tick / SECOND for tick in range(1, 601)]
    params = {"limits": limits, "inside": "entry", "period_s": 0.0}
    servers = [(3, "gpu")]
    for more in ([], [Job(20, 1, 3)]):  # one decision more or fewer before
        # Job 1 enters queue 512 a tick before job 0, and goes on when there is room for one.
        jobs = [Job(0, 5000, 1), Job(255 + len(more), 5000, 2), Job(513, 10, 1), *more]
        core = run_core(jobs, servers, "2d-las", "count", params)
        assert core == replay(jobs, servers, "2d-las", "count", policy_params=params)
        assert core.preemptions[0] >= 1


def test_a_run_refuses_a_task_without_gpus_that_came_past_the_checks_of_a_trace():
    row = np.array([0, 0], np.int32)
    table = _core.JobTable(
        np.array([0, 0], np.int64), np.array([SECOND, SECOND], np.int64),
        np.array([1, 0], np.int32), demand=row, demand_share_milli=np.array([1000], np.int32),
        demand_cpu_milli=np.array([500], np.int64), demand_memory_mib=np.array([0], np.int64),
    )  # fmt: skip
    cluster = make_cluster([(2, "gpu")])
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())
    for policy in ("2d-las", "easy", "srtf", "conservative", "fifo"):
        with pytest.raises(ValueError, match=r"gpus: row 1 is 0; it must be at least 1"):
            _core.Run(table, servers, _core.RunDescription(policy=policy, placement="first-fit"))
