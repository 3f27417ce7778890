"""Time slices of jobs by width equal their readable twin, tick for tick."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.each import each
from tests.examples import examples
from tests.reference.gandiva import Gandiva, Sharer

SECOND = 1_000_000
SERVERS, GPUS = 3, 4

job = st.tuples(
    st.integers(0, 30),  # submit
    st.integers(1, 40),
    st.sampled_from([1, 1, 1, 2, 3, 4, 6, 8, 12]),
    st.sampled_from([0, 0, 1, 7]),  # restart
)


def check(drawn: list[tuple[int, int, int, int]], slice_s: int, servers: int) -> None:
    """Run them both ways."""
    jobs = [
        Sharer(i, submit * SECOND, service * SECOND, gpus, restart * SECOND)
        for i, (submit, service, gpus, restart) in enumerate(drawn)
    ]
    Gandiva(jobs, servers, GPUS, slice_s * SECOND).run()
    trace = gs.Trace.from_columns(*map(list, zip(*[row[:3] for row in drawn], strict=True)),
                                  restart_s=[row[3] for row in drawn])  # fmt: skip
    policy = gs.Policy("gandiva", slice_s=float(slice_s))
    result = gs.simulate(trace, gs.Cluster.uniform(servers, GPUS), policy=policy)
    assert result.schedule.finish_us.tolist() == [job.finish for job in jobs]
    result.audit().raise_if_bad()


@examples(300)
@given(
    st.lists(job, min_size=1, max_size=20).map(lambda jobs: sorted(jobs, key=lambda job: job[0])),
    st.sampled_from([1, 3, 10]),
)
def test_turns_on_servers_by_width_equal_the_readable_ones(drawn, slice_s):
    check(drawn, slice_s, SERVERS)


@each("seed", range(6))
def test_turns_of_a_crowd_on_many_servers_equal_the_readable_ones(seed):
    draws = np.random.default_rng(seed)
    size = 300
    submit = np.sort(draws.integers(0, 40, size) * (draws.random(size) < 0.5))
    drawn = zip(
        submit.tolist(),
        draws.integers(1, 40, size).tolist(),
        draws.choice([1, 1, 1, 2, 3, 8], size).tolist(),
        draws.choice([0, 0, 0, 7], size).tolist() if seed % 2 else [0] * size,
        strict=True,
    )
    check(list(drawn), 10, 20)
