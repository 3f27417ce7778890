"""Parameters that are written as decimals, times counts."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched.reference import FINISHED, REJECTED, Job, replay
from tests.parity.core import run_core


@pytest.mark.parametrize(("kappa", "status"), [(1.16, FINISHED), (1.159, REJECTED)])
def test_a_gang_may_span_as_many_servers_as_the_decimal_says(kappa, status):
    """1.16 x 25 servers are 29, though it is less in doubles."""
    servers = [(4, "gpu")] * 13 + [(3, "gpu")] * 16
    for run in (replay, run_core):
        outcome = run(
            [Job(0, 10, 100)],
            servers,
            "fifo",
            "consolidated-relaxed",
            placement_params={"kappa": kappa},
        )
        assert outcome.status == [status]


@pytest.mark.parametrize(("times", "servers"), [(1.12, {0}), (1.121, {0, 1})])
def test_a_pool_has_as_many_gpus_as_the_decimal_says(times, servers):
    """1.12 x 25 GPUs are 28, those of the first server, though it is more in doubles."""
    trace = gs.Trace.from_columns(
        [0, 0, 0], [5, 10, 1], [4, 4, 25], gpu_types=[["B"], ["A"], ["A", "B"]]
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 28, "A"), gs.ServerGroup(1, 4, "B")))
    policy = gs.Policy("sjf-bco", **{"lambda": times, "mode": "queue", "u": 1.0})
    rows = gs.simulate(trace, cluster, policy=policy).intervals
    assert {
        int(s) for s, job in zip(rows["server"], rows["job"], strict=True) if job == 2
    } == servers
