"""The jobs that seconds and iterations are compared on are what they are said to be."""

from __future__ import annotations

import numpy as np

import gpusched as gs
from bench.iterations import iterations_recur, times_recur
from gpusched.base.arrays import Float64
from gpusched_papers.a_srpt import TESTBED


def iterations(trace: gs.Trace) -> Float64:
    """Of each job, by the time of one on the empty cluster."""
    limits = gs.bounds.iteration_limits(trace, TESTBED.cluster(), speed="stages")
    counted: Float64 = trace.service_s / limits["low"]
    return counted


def models_of_a_group(trace: gs.Trace) -> float:
    """How many graphs the jobs of a group and a width have, on average over jobs."""
    assert trace.group is not None
    assert trace.graph is not None
    kinds = np.stack([trace.group.codes, trace.gpus])
    _, kind = np.unique(kinds, axis=1, return_inverse=True)
    return float(np.mean([len(set(trace.graph[kind == one])) for one in kind]))


def test_jobs_have_as_many_iterations_as_seconds_in_the_study():
    ratio = iterations(iterations_recur(1)) / times_recur(1).service_s
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-3)


def test_a_group_trains_one_model_in_the_study_and_many_here():
    assert models_of_a_group(times_recur(1)) == 1
    assert models_of_a_group(iterations_recur(1)) > 3
