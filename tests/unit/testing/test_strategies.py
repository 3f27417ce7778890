"""Drawn traces and clusters: in their ranges, small when made small, and code again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import gpusched as gs
from gpusched.testing.cases import cluster_code, columns_of, trace_code, with_rows
from gpusched.testing.strategies import COLUMNS
from tests.golden import workload as golden

few = settings(max_examples=30, deadline=None)


@few
@given(gs.testing.workloads(columns=COLUMNS, gpu_types=("A", "B"), max_jobs=5))
def test_a_workload_fits_its_cluster_and_its_code_builds_it_again(workload):
    trace, cluster = workload
    assert 1 <= len(trace) <= 5
    assert trace.gpus.max() <= cluster.num_gpus <= 16
    assert (trace.submit_us % 1_000_000 == 0).all()
    names = {"gs": gs}
    exec(trace_code(trace), names)
    exec(cluster_code(cluster), names)
    assert names["cluster"] == cluster
    assert repr(columns_of(names["trace"])) == repr(columns_of(trace))


def test_the_code_of_real_columns_builds_them_again():
    for trace in (golden.urgent(is_typed=True), golden.demanding(), golden.networked()):
        names = {"gs": gs}
        exec(trace_code(trace), names)
        made = names["trace"]
        assert repr(columns_of(made)) == repr(columns_of(trace))
        for column in ("submit_us", "service_us", "gpus", "share_milli", "memory_mib", "type_set"):
            assert np.array_equal(getattr(made, column), getattr(trace, column)), column
    for cluster in (golden.roomy_cluster(), golden.networked_cluster()):
        names = {"gs": gs}
        exec(cluster_code(cluster), names)
        assert names["cluster"] == cluster


def test_what_is_found_is_as_small_as_it_can_be():
    trace, cluster = find(
        gs.testing.workloads(columns=("weight", "estimate_s")), lambda of: len(of[0]) >= 2
    )
    assert columns_of(trace) == {"submit_s": [0, 0], "service_s": [1, 1], "gpus": [1, 1]}
    assert (cluster.num_servers, cluster.num_gpus) == (1, 1)


def test_some_jobs_do_not_fit_if_asked_for():
    trace, cluster = find(
        gs.testing.workloads(is_fitting=False), lambda of: of[0].gpus.max() > of[1].num_gpus
    )
    assert len(trace) == 1
    assert trace.gpus[0] == cluster.num_gpus + 1


@few
@given(gs.testing.states(policy="srtf", placement="best-fit", max_jobs=6), st.data())
def test_a_state_is_one_of_its_run(run, data):
    state = run.state
    assert state.num_arrived >= 1
    digest = gs.simulate(run.trace, run.cluster, policy="srtf", placement="best-fit").digest
    fork = run.fork()
    fork.run()
    assert fork.result().digest == digest


def test_rows_come_with_their_models():
    columns = columns_of(golden.networked())
    some = with_rows(columns, [5, 2])
    assert some.graphs
    assert sorted(some.gpus.tolist()) == sorted(columns["gpus"][row] for row in (5, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["wight"]}, "columns: unknown column 'wight'; did you mean 'weight'"),
        ({"max_jobs": 0}, "max_jobs: 0 is less than 1"),
    ],
)
def test_a_mistake_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        gs.testing.traces(**options)


WITHOUT = """
import sys
sys.modules["hypothesis"] = None
from importlib import util
known = util.find_spec
util.find_spec = lambda name, *more: None if name == "hypothesis" else known(name, *more)
import gpusched as gs
trace, cluster = gs.Trace.from_columns([0], [1], [1]), gs.Cluster.uniform(1, 1)
gs.testing.check_policy("fifo", on=(trace, cluster))
try:
    gs.testing.check_policy("fifo")
except ImportError as error:
    print(error)
"""


def test_without_hypothesis_the_extra_is_named_and_a_given_case_is_checked():
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120, check=True
    )
    told = "gpusched.testing needs hypothesis: pip install gpusched[testing]"
    assert made.stdout.strip() == told
