"""The bare loops of ``bench/floor`` equal a walk over every job at every event."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import bare
from tests.examples import examples

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def floor() -> None:
    """Build the loops, or say why that cannot be done here."""
    try:
        bare.load()
    except bare.FloorUnavailableError as error:
        pytest.skip(str(error))


Job = tuple[int, int, int]  # submit, service, gpus

# Tiny ranges on purpose: ties, simultaneous events and full pools are the interesting cases.
small_job = st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 9))
long_job = st.tuples(st.integers(0, 90), st.integers(1, 40), st.sampled_from([1, 1, 2, 4, 8]))
workloads = st.one_of(
    st.lists(small_job, min_size=1, max_size=12), st.lists(long_job, min_size=1, max_size=40)
)


def brute_force(policy: str, jobs: list[Job], num_gpus: int) -> tuple[list[int], list[int], int]:
    """First starts, finishes and preemptions: at each event, look at every job."""
    remaining = [service for _, service, _ in jobs]
    start, finish = [-1] * len(jobs), [-1] * len(jobs)
    arriving = [j for j, (_, _, gpus) in enumerate(jobs) if gpus <= num_gpus]
    running: set[int] = set()
    waiting: set[int] = set()
    now = preemptions = 0
    while arriving or running:
        events = [now + remaining[j] for j in running] + [jobs[j][0] for j in arriving]
        elapsed, now = min(events) - now, min(events)
        for j in running:
            remaining[j] -= elapsed
        for j in [j for j in running if remaining[j] == 0]:
            running.remove(j)
            finish[j] = now
        waiting |= {j for j in arriving if jobs[j][0] == now}
        arriving = [j for j in arriving if jobs[j][0] > now]

        preemptive = policy == "srtf"
        free = num_gpus - (0 if preemptive else sum(jobs[j][2] for j in running))
        taken = set()
        for j in sorted(
            waiting | running if preemptive else waiting,
            key=lambda j: (0 if policy == "fifo" else remaining[j], j),
        ):
            if jobs[j][2] <= free:
                free -= jobs[j][2]
                taken.add(j)
                start[j] = now if start[j] < 0 else start[j]
        if preemptive:
            preemptions += len(running - taken)
            waiting, running = (waiting | running) - taken, taken
        else:
            waiting, running = waiting - taken, running | taken
    return start, finish, preemptions


def assert_equal(policy: str, jobs: list[Job], num_gpus: int) -> None:
    jobs = sorted(jobs, key=lambda job: job[0])
    submit, service, gpus = (list(column) for column in zip(*jobs, strict=True))
    out = bare.run(
        policy, np.array(submit, np.int64), np.array(service, np.int64), np.array(gpus, np.int32),
        num_gpus, starts=True,
    )  # fmt: skip
    start, finish, preemptions = brute_force(policy, jobs, num_gpus)
    assert out.start_us is not None
    assert out.finish_us.tolist() == finish
    assert out.start_us.tolist() == start
    assert out.preemptions == preemptions


def test_the_floor_writes_where_it_is_told():
    columns = (np.array([0, 1], np.int64), np.array([5, 7], np.int64), np.array([1, 1], np.int32))
    finish_us = np.zeros(2, np.int64)
    out = bare.run("fifo", *columns, 2, finish_us=finish_us)
    assert out.finish_us is finish_us
    assert finish_us.tolist() == [5, 8]
    with pytest.raises(ValueError, match="has the length of the trace"):
        bare.run("fifo", *columns, 2, finish_us=np.zeros(3, np.int64))


@pytest.mark.parametrize("policy", bare.POLICIES)
@examples(600)
@given(jobs=workloads, num_gpus=st.integers(1, 16))
def test_floor_equals_a_walk_over_all_jobs(policy, jobs, num_gpus):
    assert_equal(policy, jobs, num_gpus)


def busy_pool(seed: int) -> tuple[list[Job], int]:
    rng = np.random.default_rng(seed)
    num_gpus = int(rng.integers(1, 24))
    num_jobs = int(rng.integers(10, 40))
    widest = int(rng.integers(1, num_gpus + 2))
    jobs = zip(
        rng.integers(0, 10 * num_jobs // num_gpus + 1, num_jobs).tolist(),
        rng.integers(1, int(rng.choice([3, 12, 60])), num_jobs).tolist(),
        rng.integers(1, widest + 1, num_jobs).tolist(),
        strict=True,
    )
    return list(jobs), num_gpus


@pytest.mark.parametrize("policy", bare.POLICIES)
def test_floor_equals_the_walk_on_busy_pools(policy):
    for seed in range(2000):
        assert_equal(policy, *busy_pool(seed))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policy", bare.POLICIES)
def test_floor_equals_the_walk_with_hundreds_of_running_jobs(policy, seed):
    # More than a few blocks of the sorted list, so that blocks split, empty and are reused.
    rng = np.random.default_rng(seed)
    size = 700
    jobs = zip(
        rng.integers(0, 300, size).tolist(),
        rng.integers(1, 400, size).tolist(),
        rng.choice([1, 1, 1, 2, 3, 30], size).tolist(),
        strict=True,
    )
    assert_equal(policy, list(jobs), 300)


def test_an_unknown_policy_is_named():
    column = np.ones(1, np.int64)
    with pytest.raises(ValueError, match="not 'lifo'"):
        bare.run("lifo", column, column, np.ones(1, np.int32), 1)


def test_a_column_of_another_dtype_is_refused():
    column = np.ones(1, np.int64)
    with pytest.raises(TypeError):
        bare.run("fifo", column.astype(float), column, np.ones(1, np.int32), 1)
