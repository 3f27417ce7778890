"""Themis' auctions equal their readable twin, tick for tick."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.each import each
from tests.examples import examples
from tests.reference.themis import SECOND, Tenant, Themis

pytestmark = pytest.mark.long

GPUS = {0: 8, 1: 4}
NAMES = ("A", "B")


class Kind(NamedTuple):
    """Widths, and the service per second at each on A and B; sums of these are exact."""

    gpus: int
    least: int
    most: int
    rates: tuple[dict[int, float], dict[int, float]]


KINDS = (
    Kind(1, 1, 4, ({1: 1.0, 2: 2.0, 4: 3.0}, {1: 0.5, 2: 0.75, 4: 1.0})),
    Kind(2, 2, 8, ({2: 1.0, 4: 2.0, 8: 4.0}, {2: 1.0, 4: 1.5})),
    Kind(1, 1, 1, ({1: 0.25}, {1: 1.0})),
    Kind(4, 4, 4, ({4: 1.0}, {4: 0.5})),
    Kind(4, 1, 8, ({1: 0.25, 2: 0.75, 4: 1.0, 8: 1.5}, {})),
    Kind(8, 8, 8, ({8: 1.0}, {})),
)

job = st.tuples(
    st.integers(0, 20),  # submit
    st.integers(1, 40),
    st.sampled_from([0, 0, 1, 3]),  # restart
    st.sampled_from(range(len(KINDS))),
)
workloads = st.lists(job, min_size=1, max_size=7).map(
    lambda jobs: sorted(jobs, key=lambda job: job[0])
)


def check(
    drawn: list[tuple[int, int, int, int]], period_s: int, fairness: float, least_s: int
) -> None:
    """Run them both ways."""
    jobs = [
        Tenant(
            i, submit * SECOND, service * SECOND, KINDS[kind].gpus, restart * SECOND,
            {
                (gpu_type, gpus): rate
                for gpu_type, curve in enumerate(KINDS[kind].rates)
                for gpus, rate in curve.items()
            },
        )
        for i, (submit, service, restart, kind) in enumerate(drawn)
    ]  # fmt: skip
    Themis(jobs, GPUS, period_s * SECOND, fairness, least_s * SECOND).run(is_elastic=True)
    trace = gs.Trace.from_columns(
        submit_s=[submit for submit, _, _, _ in drawn],
        service_s=[service for _, service, _, _ in drawn],
        restart_s=[restart for _, _, restart, _ in drawn],
        gpus=[KINDS[kind].gpus for _, _, _, kind in drawn],
        min_gpus=[KINDS[kind].least for _, _, _, kind in drawn],
        max_gpus=[KINDS[kind].most for _, _, _, kind in drawn],
        profiles=[
            gs.model.JobProfile(
                f"p{i}",
                throughput={
                    name: curve for name, curve in zip(NAMES, kind.rates, strict=True) if curve
                },
            )
            for i, kind in enumerate(KINDS)
        ],
        profile=[kind for _, _, _, kind in drawn],
    )
    policy = gs.Policy(
        "themis", period_s=float(period_s), fairness=fairness, least_s=float(least_s)
    )
    cluster = gs.Cluster(
        tuple(
            gs.ServerGroup(1, gpus, name) for name, gpus in zip(NAMES, GPUS.values(), strict=True)
        )
    )
    result = gs.simulate(trace, cluster, policy=policy, speed="table", placement="first-fit")
    assert result.schedule.finish_us.tolist() == [job.finish for job in jobs]


@examples(400)
@given(
    workloads,
    st.sampled_from([1, 4, 20]),
    st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    st.sampled_from([1, 3, 30]),
)
def test_auctions_of_leases_equal_the_readable_ones(drawn, period_s, fairness, least_s):
    check(drawn, period_s, fairness, least_s)


@pytest.mark.parametrize("seed", range(4))
def test_auctions_among_hundreds_that_wait_equal_the_readable_ones(seed):
    draws = np.random.default_rng(seed)
    size = 400
    drawn = zip(
        np.sort(draws.integers(0, 300, size) * (draws.random(size) < 0.7)).tolist(),
        draws.integers(1, 40, size).tolist(),
        draws.choice([0, 0, 1, 3], size).tolist(),
        draws.integers(0, len(KINDS), size).tolist(),
        strict=True,
    )
    check(list(drawn), 20, 0.99, 3)


@each("seed", range(8))
def test_three_tenths_of_ten_that_suffer_are_three(seed):
    """In doubles (1 - 0.7) x 10 is a little more than 3, and four would bid."""
    draws = np.random.default_rng(seed)
    drawn = zip(
        [0] * 10, draws.integers(1, 40, 10).tolist(), draws.choice([0, 0, 1, 3], 10).tolist(),
        draws.integers(0, len(KINDS), 10).tolist(), strict=True,
    )  # fmt: skip
    check(list(drawn), 20, 0.7, 3)
