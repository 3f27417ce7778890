"""What GPUs make of a job is found once for all jobs of its kind, as if for each of them."""

from __future__ import annotations

import numpy as np

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.each import each
from tests.parity.slow_twins import slow_twins
from tests.parity.typed_profiles import TYPES, typed_profiles


@each("seed", range(6))
@each("options", ["", ":widths=own", ":period_s=60"])
def test_jobs_of_one_kind_run_as_if_each_were_described(options: str, seed: int) -> None:
    draws = np.random.default_rng(seed)
    profiles = typed_profiles()
    size = 80
    gpus = draws.choice([1, 2, 4, 12], size)
    trace = gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 600, size)),
        service_s=draws.integers(10, 400, size),
        gpus=gpus,
        min_gpus=np.maximum(1, gpus // draws.choice([1, 2], size)),
        max_gpus=gpus * draws.choice([1, 2], size),
        gpu_types=[draws.choice([*TYPES, "A|B", ""]) for _ in range(size)],
        restart_s=draws.integers(0, 30, size),
        profiles=profiles,
        profile=draws.integers(0, len(profiles), size),
    )
    cluster = gs.Cluster(tuple(gs.ServerGroup(1, 8, name) for name in TYPES))

    def digest() -> str:
        with unwarned():
            return gs.simulate(trace, cluster, policy=f"matching{options}", speed="table").digest

    fast = digest()
    with slow_twins():
        assert fast == digest()
