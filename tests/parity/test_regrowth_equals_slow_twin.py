"""A decision about those alone who grow, where all have their least widths, is one about all."""

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.each import each
from tests.parity.slow_twins import equal_runs, slow_twins

pytestmark = pytest.mark.long

WIDER = ((2, 1.0), (4, 1.5), (8, 2.0), (12, 2.2))
"""Widths, and their throughput as a multiple of that of two GPUs."""


def profiles(gains: tuple[float, ...], second: tuple[float, ...]) -> list[gs.model.JobProfile]:
    """Return a model for each gain, on two types."""
    return [
        gs.model.JobProfile(
            f"m{index}",
            throughput={
                name: {1: speed} | {width: speed * gain * more for width, more in WIDER}
                for name, speed in (("A", 1.0), ("B", second[index % len(second)]))
            },
        )
        for index, gain in enumerate(gains)
    ]


def few(
    seed: int, gains: tuple[float, ...], second: tuple[float, ...], load: float
) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs with restarts and wrong estimates, for whom there is mostly more than enough."""
    draws = np.random.default_rng(seed)
    size = 300
    service_s = draws.integers(1, 60, size) * 10
    gpus = draws.choice([1, 2, 4], size)
    trace = gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, int(6_000 / load), size) // 5 * 5), service_s=service_s,
        gpus=gpus, min_gpus=np.where(draws.random(size) < 0.8, 1, gpus),
        max_gpus=draws.choice([4, 6, 8], size), restart_s=draws.choice([0, 0, 5, 40], size),
        estimate_s=service_s * draws.choice([0.5, 1.0, 1.0, 2.0], size),
    ).with_profiles(profiles(gains, second), index=draws.integers(0, len(gains), size))  # fmt: skip
    return trace, gs.Cluster((gs.ServerGroup(5, 8, "A"), gs.ServerGroup(4, 4, "B")))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("predictor", ["oracle", "estimate"])
@pytest.mark.parametrize("load", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("second", [(0.5,), (0.5, 1.4)])
@pytest.mark.parametrize("gains", [(1.3, 1.6, 1.9), (1.0, 1.6), (1.6, 2.5)])
def test_who_grows_is_the_same_where_the_others_are_not_looked_at(
    gains, second, load, predictor, seed
):
    drawn = few(seed, gains, second, load)
    policy = ("afs", "afs:period_s=60")[seed % 2]
    placement = ("consolidated", "first-fit", "spread", "best-fit")[seed]
    equal_runs(*drawn, speed="table", policy=policy, placement=placement, predictor=predictor)


@each("load", [0.5, 2.0])
@each("seed", range(3))
def test_jobs_that_are_cancelled_and_copies_of_a_run(seed, load):
    trace, cluster = few(seed, (1.3, 1.6, 1.9), (0.5,), load)

    def digest() -> str:
        with unwarned():
            run = gs.Simulation(trace, cluster, policy="afs", speed="table")
            for number in range(40):
                run.run_until(run.now + 52.5)
                live = np.sort(np.concatenate([run.state.waiting, run.state.running]))
                if live.size:
                    run.cancel(int(live[7 * number % live.size]))
                run = run.fork()
            run.run()
            return run.result().digest

    fast = digest()
    with slow_twins():
        assert fast == digest()


@pytest.mark.parametrize("seed", range(3))
def test_gangs_that_no_type_holds(seed):
    draws = np.random.default_rng(seed)
    size = 150
    gpus = np.where(draws.random(size) < 0.03, 12, draws.choice([1, 2], size))
    trace = gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 9_000, size)),
        service_s=draws.integers(1, 60, size) * 10,
        gpus=gpus,
        min_gpus=gpus,
        max_gpus=np.maximum(gpus, 8),
    ).with_profiles(profiles((1.3, 1.6, 1.9), (0.5,)), index=draws.integers(0, 3, size))
    cluster = gs.Cluster((gs.ServerGroup(1, 8, "A"), gs.ServerGroup(2, 4, "B")))
    equal_runs(trace, cluster, speed="table", policy="afs")


def test_groups_of_blocks_in_which_nobody_may_win_are_passed_over():
    draws = np.random.default_rng(7)
    size = 4_200
    short = draws.random(size) < 0.002
    trace = gs.Trace.from_columns(
        submit_s=np.where(np.arange(size) < size - 5, 0, 10),
        service_s=np.where(short, 30, 600),
        gpus=np.ones(size, np.int64),
        max_gpus=np.full(size, 8),
    ).with_profiles(profiles((1.3, 1.6, 1.9), (0.5,)), index=draws.integers(0, 3, size))
    cluster = gs.Cluster((gs.ServerGroup(530, 8, "A"), gs.ServerGroup(1, 8, "B")))
    equal_runs(trace, cluster, speed="table", policy="afs", placement="first-fit")
