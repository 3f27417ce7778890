"""Where a market has nothing to choose none is cleared, and jobs run as if one had been."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs


def drawn(seed: int) -> gs.Trace:
    """Return jobs of one width each, more than fit."""
    draws = np.random.default_rng(seed)
    return gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 400, 60)).tolist(),
        service_s=draws.integers(1, 200, 60).tolist(),
        gpus=draws.choice([1, 2, 4, 8], 60).tolist(),
        restart_s=draws.integers(0, 5, 60).tolist(),
    )


@pytest.mark.parametrize(
    ("seed", "policy", "digest"),
    [
        (0, "matching", "d8d5ab98b155b5fd"),
        (0, "matching:period_s=60", "cd02c62b8005a4d2"),
        (1, "matching", "db14bb614615eeaa"),
        (1, "matching:period_s=60", "4d385bd35a7ea6ee"),
        (2, "matching", "66a0d7012ba46d57"),
        (2, "matching:period_s=60", "bf3cdc0d541ae8c8"),
    ],
)
def test_jobs_of_one_width_on_one_type_run_as_with_a_market(
    seed: int, policy: str, digest: str
) -> None:
    """The digests are of a build that cleared a market at each of these decisions."""
    cluster = gs.Cluster.uniform(3, 8)
    result = gs.simulate(drawn(seed), cluster, policy=policy, placement="first-fit")
    assert result.digest.startswith(digest)
