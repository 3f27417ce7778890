"""Where a market has nothing to choose none is cleared, and jobs run as if one had been."""

import numpy as np
import pytest

import gpusched as gs
from tests.each import each
from tests.parity.slow_twins import equal_runs

pytestmark = pytest.mark.long

PLACEMENTS = ("count", "first-fit", "consolidated", "spread", "buddy")
WIDTHS = ([1, 1, 2, 4, 8, 16], [1], [2, 3, 5], [1, 8, 8])


def drawn(seed: int) -> gs.Trace:
    """Return jobs of one width each, more than fit."""
    draws = np.random.default_rng(seed)
    return gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 400, 60)).tolist(),
        service_s=draws.integers(1, 200, 60).tolist(),
        gpus=draws.choice([1, 2, 4, 8], 60).tolist(),
        restart_s=draws.integers(0, 5, 60).tolist(),
    )


@each(
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
def test_jobs_of_one_width_on_one_type_run_as_with_a_market(seed, policy, digest):
    """The digests are of a build that cleared a market at each of these decisions."""
    cluster = gs.Cluster.uniform(3, 8)
    result = gs.simulate(drawn(seed), cluster, policy=policy, placement="first-fit")
    assert result.digest.startswith(digest)


def overloaded(seed: int) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs with restarts and wrong estimates, in bursts, many of which end at one instant."""
    draws = np.random.default_rng(seed)
    num_jobs = 150
    cluster = gs.Cluster.uniform(int(draws.integers(1, 7)), 8)
    service_s = draws.integers(1, 40, num_jobs) * 30
    gpus = draws.choice(WIDTHS[seed % len(WIDTHS)], num_jobs)
    trace = gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 1 + draws.choice([0, 30, 3_000]), num_jobs)),
        service_s=service_s,
        gpus=np.minimum(gpus, cluster.num_gpus),
        restart_s=draws.choice([0, 5, 90], num_jobs),
        estimate_s=service_s * draws.choice([0.1, 0.5, 1.0, 1.0, 2.0], num_jobs),
    )
    return trace, cluster


@each("seed", range(8))
@each("placement", PLACEMENTS)
@each("predictor", ["oracle", "estimate"])
@each("options", ["", ":hysteresis=0", ":period_s=60"])
def test_who_runs_stays_in_order_as_if_all_were_put_in_order_at_each_decision(
    options, predictor, placement, seed
):
    equal_runs(
        *overloaded(seed), policy=f"matching{options}", placement=placement, predictor=predictor
    )
