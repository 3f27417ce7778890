"""EDF at greatest widths equals its readable twin, tick for tick."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.each import each
from tests.examples import examples
from tests.reference.edf_greatest import SECOND, Wide, replay

GPUS = 8
CURVES = (
    {1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0},
    {1: 1.0, 2: 1.5, 4: 2.0, 8: 1.0},  # wider is slower
    {1: 1.0, 2: 0.5},
    {1: 1.0},
)
"""Service per second; sums of these are exact."""

job = st.tuples(
    st.integers(0, 30),  # submit, halves of a second
    st.integers(1, 40),
    st.one_of(st.none(), st.integers(1, 60)),  # after the submit
    st.sampled_from(range(len(CURVES))),
)


def check(drawn: list[tuple[int, int, int | None, int]], slot_s: int, *, admission: bool) -> None:
    """Run them both ways."""
    half = SECOND // 2
    jobs = [
        Wide(i, submit * half, service * SECOND,
             None if patience is None else submit * half + patience * SECOND, CURVES[curve])
        for i, (submit, service, patience, curve) in enumerate(drawn)
    ]  # fmt: skip
    replay(jobs, GPUS, slot_s * SECOND, admission=admission)
    trace = gs.Trace.from_columns(
        submit_s=[job.submit / SECOND for job in jobs],
        service_s=[job.service / SECOND for job in jobs],
        gpus=[1] * len(jobs),
        max_gpus=[max(job.rates) for job in jobs],
        deadline_s=[math.nan if job.deadline is None else job.deadline / SECOND for job in jobs],
        profiles=[
            gs.model.JobProfile(f"p{i}", throughput={"T4": curve}) for i, curve in enumerate(CURVES)
        ],
        profile=[curve for _, _, _, curve in drawn],
    )
    policy = gs.Policy("edf-greatest", slot_s=float(slot_s), admission=admission)
    cluster = gs.Cluster((gs.ServerGroup(1, GPUS, "T4"),))
    result = gs.simulate(trace, cluster, policy=policy, speed="table", placement="first-fit")
    assert result.schedule.finish_us.tolist() == [job.finish for job in jobs]
    if admission:
        decisions = result.schedule.decisions()
        turned_down = decisions["job"][decisions["admitted"] == 0].tolist()
        assert sorted(turned_down) == [job.id for job in jobs if job.is_turned_down]


@examples(300)
@given(
    st.lists(job, min_size=1, max_size=10).map(lambda jobs: sorted(jobs, key=lambda job: job[0])),
    st.sampled_from([1, 3, 10]),
    st.booleans(),
)
def test_edf_at_greatest_widths_equals_the_readable_one(drawn, slot_s, admission):
    check(drawn, slot_s, admission=admission)


@each("seed", range(4))
def test_hundreds_in_the_line_of_deadlines_run_as_the_readable_ones(seed):
    draws = np.random.default_rng(seed)
    size = 300
    patience = draws.integers(1, 600, size).tolist()
    drawn = zip(
        np.sort(draws.integers(0, 200, size) * (draws.random(size) < 0.5)).tolist(),
        draws.integers(1, 40, size).tolist(),
        [None if seconds % 5 == 0 else seconds for seconds in patience],
        draws.integers(0, len(CURVES), size).tolist(),
        strict=True,
    )
    check(list(drawn), 10, admission=False)
