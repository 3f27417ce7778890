"""The pairwise rule of AFS equals its readable twin, tick for tick."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.examples import examples
from tests.reference.afs import Growing, replay

pytestmark = pytest.mark.long

SECOND = 1_000_000
GPUS = 6
CURVES = (
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    [1.0, 1.5, 1.75, 1.875],
    [1.0, 1.5, 1.5, 1.75],  # the third one adds nothing
    [1.0, 3.0, 4.0],  # the second one more than doubles
    [1.0, 1.25],
    [1.0],
)
"""Service per second at 1, 2, .. GPUs; sums of these are exact."""

job = st.tuples(
    st.integers(0, 20),  # submit
    st.integers(1, 40),
    st.sampled_from(range(len(CURVES))),
)


def check(drawn: list[tuple[int, int, int]], num_gpus: int) -> None:
    """Run them both ways."""
    jobs = [
        Growing(i, submit * SECOND, service * SECOND, [0.0, *CURVES[curve]])
        for i, (submit, service, curve) in enumerate(drawn)
    ]
    replay(jobs, num_gpus)
    trace = gs.Trace.from_columns(
        submit_s=[submit for submit, _, _ in drawn],
        service_s=[service for _, service, _ in drawn],
        gpus=[1] * len(drawn),
        max_gpus=[len(CURVES[curve]) for _, _, curve in drawn],
        profiles=[
            gs.model.JobProfile(f"p{i}", throughput={"T4": dict(enumerate(curve, start=1))})
            for i, curve in enumerate(CURVES)
        ],
        profile=[curve for _, _, curve in drawn],
    )
    cluster = gs.Cluster((gs.ServerGroup(num_gpus // GPUS, GPUS, "T4"),))
    result = gs.simulate(trace, cluster, policy="afs", speed="table", placement="first-fit")
    assert result.schedule.finish_us.tolist() == [job.finish for job in jobs]


@examples(300)
@given(
    st.lists(job, min_size=1, max_size=12).map(lambda jobs: sorted(jobs, key=lambda job: job[0]))
)
def test_gpu_by_gpu_of_afs_equals_the_readable_one(drawn):
    check(drawn, GPUS)


@pytest.mark.parametrize("seed", range(3))
def test_gpu_by_gpu_among_hundreds_that_could_grow_equals_the_readable_one(seed):
    draws = np.random.default_rng(seed)
    size = 250
    drawn = zip(
        np.sort(draws.integers(0, 3, size) * (draws.random(size) < 0.3)).tolist(),
        draws.integers(1, 4, size).tolist(),
        draws.integers(0, len(CURVES), size).tolist(),
        strict=True,
    )
    check(list(drawn), 40 * GPUS)
