"""Bandwidths, links, profiles and speeds that make no sense are refused by field and row."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.each import each

PROFILE = gs.model.JobProfile("model", gradient_bytes=1e8, batch=8, forward_s=0.01, backward_s=0.1)
JOBS = gs.Trace.from_columns([0, 1], [10, 20], [2, 6]).with_profiles([PROFILE])
CLUSTER = gs.Cluster.uniform(2, 4, nic_gbps=10, intra_gbps=100)


def simulate(**arguments: Any) -> gs.Result:
    return gs.simulate(**{"trace": JOBS, "cluster": CLUSTER, "speed": "ring"} | arguments)


@each(
    ("arguments", "error", "message"),
    [
        ({"speed": "rnig"}, ValueError, "unknown speed 'rnig'; did you mean 'ring'"),
        ({"speed": "ring:overhead_s=-1"}, ValueError, "speed ring: parameter overhead_s is -1"),
        ({"speed": "ring:reduction_bytes_per_s=0"}, ValueError, "reduction_bytes_per_s is 0"),
        ({"speed": gs.Policy("fifo")}, TypeError, "speed: expected a name or a SpeedChoice"),
        ({"contention": "sharde"}, ValueError, "unknown contention 'sharde'; did you mean 'shared"),
        ({"contention": "shared:scaling=0"}, ValueError, "contention shared: parameter scaling"),
        ({"contention": "shared:scaling=1.5"}, ValueError, "scaling is 1.5; allowed: 1e-09 to 1"),
        ({"contention": "shared:degradation=-1"}, ValueError, "degradation is -1"),
        ({"contention": None}, TypeError, "contention: expected a name or a ContentionChoice"),
        ({"speed": "fixed", "contention": "shared"}, ValueError, "no effect under speed 'fixed'"),
        ({"placement": "count"}, ValueError, "placement: the speed depends on servers"),
        ({"cluster": gs.Cluster.uniform(2, 4)}, ValueError, "nic_gbps of server 0 is missing"),
        (
            {"cluster": gs.Cluster.uniform(2, 4, nic_gbps=10)},
            ValueError,
            "intra_gbps of server 0 is missing",
        ),
        ({"trace": gs.Trace.from_columns([0], [1], [1])}, ValueError, "profile"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        simulate(**arguments)


def test_a_contention_alone_asks_for_the_ring():
    assert simulate(speed=None, contention="shared").spec.speed == "ring"
    assert simulate(speed=None).spec.speed == "fixed"
    graphs = [gs.model.JobGraph(f"{n}", (gs.model.Stage(n, 0.1, 1e8, 0.0),)) for n in (2, 6)]
    staged = gs.Trace.from_columns([0, 1], [10, 20], [2, 6]).with_graphs(graphs)
    assert simulate(trace=staged, speed=None, contention="shared").spec.speed == "stages"


def test_a_ring_wider_than_the_cluster_is_a_counted_reject():
    wide = gs.Trace.from_columns([0, 0], [10, 20], [9, 8]).with_profiles([PROFILE])
    result = simulate(trace=wide)
    assert result.jobs.status.tolist() == ["rejected", "finished"]
    assert result.jobs.reason[0] == "needs more GPUs than the cluster has"


GPUS, TYPES = np.array([4, 4], np.int32), np.array([0, 0], np.int32)


@each(
    ("columns", "message"),
    [
        ({"nic_bytes_per_s": [0.0, 1.0]}, "nic_bytes_per_s: row 0 is 0.0"),
        ({"nic_bytes_per_s": [1.0, -5.0]}, "nic_bytes_per_s: row 1 is -5.0"),
        ({"intra_bytes_per_s": [1.0, float("inf")]}, "intra_bytes_per_s: row 1 is inf"),
        ({"nic_bytes_per_s": [1.0]}, "nic_bytes_per_s: length 1 differs from the expected 2"),
        ({"server_domain": [0, 0]}, "server_domain: row 0 is 0; unknown domain"),
        ({"server_domain": [0, 2], "domain_parent": [-1, 0], "uplink_bytes_per_s": [1.0, 1.0]},
         "server_domain: row 1 is 2"),
        ({"server_domain": [0, 0], "domain_parent": [-1, -1], "uplink_bytes_per_s": [1.0, 1.0]},
         "row 1 is a second root; the first is row 0; one tree must connect all servers"),
        ({"server_domain": [0, 0], "domain_parent": [1, 0], "uplink_bytes_per_s": [1.0, 1.0]},
         "row 0 never reaches a root; the parents form a cycle"),
        ({"server_domain": [0, 0], "domain_parent": [-1, 7], "uplink_bytes_per_s": [1.0, 1.0]},
         "domain_parent: row 1 is 7"),
        ({"server_domain": [0, 0], "domain_parent": [-1, 0], "uplink_bytes_per_s": [1.0, 0.0]},
         "uplink_bytes_per_s: row 1 is 0.0"),
        ({"server_domain": [0, 0], "domain_parent": [-1, 0]},
         "uplink_bytes_per_s: row 1 is missing"),
    ],
)  # fmt: skip
def test_the_core_refuses_a_network_by_column_and_row(columns, message):
    arrays = {
        name: np.array(values, np.float64 if name.endswith("_per_s") else np.int32)
        for name, values in columns.items()
    }
    with pytest.raises(ValueError, match=message):
        _core.Cluster(GPUS, TYPES, **arrays)


@each(
    ("columns", "message"),
    [
        ({"profile": [0, 1]}, "profile: row 1 is 1; an index into the profiles"),
        ({"profile": [0]}, "profile: length 1 differs from submit_us: 2"),
        ({"gradient_bytes": [-1.0]}, "gradient_bytes: row 0 is -1.0"),
        ({"gradient_bytes": [float("nan")]}, "gradient_bytes: row 0 is nan"),
        ({"compute_s": [0.0]}, "compute_s: row 0 is 0.0"),
        ({"compute_s": [float("inf")]}, "compute_s: row 0 is inf"),
    ],
)
def test_the_core_refuses_profiles_by_column_and_row(columns, message):
    good = {"profile": [0, 0], "gradient_bytes": [1e8], "compute_s": [0.1]} | columns
    arrays = {
        name: np.array(values, np.int32 if name == "profile" else np.float64)
        for name, values in good.items()
    }
    with pytest.raises(ValueError, match=message):
        _core.JobTable(JOBS.submit_us, JOBS.service_us, JOBS.gpus, **arrays)


def test_a_wrong_dtype_is_a_type_error_and_not_a_copy():
    with pytest.raises(TypeError):
        _core.Cluster(GPUS, TYPES, nic_bytes_per_s=np.ones(2, np.float32))
    with pytest.raises(TypeError):
        _core.JobTable(JOBS.submit_us, JOBS.service_us, JOBS.gpus, profile=np.zeros(2, np.int64))
