"""What the memory of a worker does to speeds and widths, in cases that are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched.specs.case import job_columns


def jobs_of(
    profile: gs.model.JobProfile, service_s: list[float], gpus: int, least: int
) -> gs.Trace:
    """Jobs of one profile and width that come at once."""
    count = len(service_s)
    return gs.Trace.from_columns(
        np.zeros(count), service_s, [gpus] * count, min_gpus=[least] * count,
        max_gpus=[2 * gpus] * count, profile=np.zeros(count, np.int32), profiles=(profile,),
    )  # fmt: skip


@pytest.mark.parametrize("batches", ["real", "integer"])
@pytest.mark.parametrize("split", ["proportional", "equal"])
def test_one_type_beats_the_fastest_mixture_where_that_has_too_little_memory(split, batches):
    # Two of A hold a sample each, and leave 98 of 100 to two of B; four of B have 25 each.
    profile = gs.model.JobProfile(
        "m", samples_per_s={"A": 10.0, "B": 9.0}, global_batch=100, max_samples={"A": 1}
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A"), gs.ServerGroup(1, 4, "B")))
    columns = job_columns(
        jobs_of(profile, [100.0], 4, 4), cluster, uses_estimates=False,
        speed="proportional",
    )  # fmt: skip
    # From a trace, a type that cannot hold a job's samples is none that it may use.
    del columns["type_set"], columns["type_masks"]
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type)
    values = {"split": split, "batches": batches}
    limits = _core.iteration_limits(_core.JobTable(**columns), servers, "proportional", values)
    assert limits["low"].tolist() == pytest.approx([25 / 9])


def test_jobs_have_as_many_gpus_as_their_memory_needs():
    # A batch of 100 needs four workers of 30: two jobs fill eight GPUs, and none is to have more.
    profile = gs.model.JobProfile(
        "m", samples_per_s={"A": 10.0}, global_batch=100, max_samples={"A": 30}
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 8, "A"),))
    result = gs.simulate(
        jobs_of(profile, [100.0, 100.0], 4, 1), cluster, policy="matching", placement="best-fit",
        speed="proportional",
    )  # fmt: skip
    assert result.schedule.start_us.tolist() == [0, 0]
    assert result.schedule.finish_us.tolist() == [100_000_000, 100_000_000]
