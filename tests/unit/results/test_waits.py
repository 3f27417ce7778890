"""Who held a job's GPUs while it waited: by hand, and against counting every second."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.results.explain import DOWN, EARLIER, LATER, RUNNING, Wait, Waits, _percent
from tests.each import each
from tests.unit.small_runs import SECOND, job, simulated


def test_a_job_that_is_overtaken_says_by_whom():
    """One server of 4. Job 0 holds 3 until 10. Job 1 wants 4; job 2 wants 1 and runs 2-6."""
    result = simulated(
        [job(0, 10, 3), job(1, 5, 4), job(2, 4, 1)], [(4, "V100")], "fifo-skip",
        user=["ann", "bob", ""],
    )  # fmt: skip
    story = result.explain(1)
    assert story.lines[1:6] == (
        "Waited for 9 s.",
        "  At submission, 1 of the 4 GPUs that it may use were free; 1 job held 3.",
        "  Their GPU time during the wait: 75% held by jobs already running, 11% held by jobs "
        "submitted later that started during the wait, 14% free.",
        "  Fewer than its 4 GPUs were free for 9 s (100%).",
        "  Largest shares: job 0 of ann (3 GPUs, 75%, already running); job 2 (1 GPU, 11%, "
        "submitted later, started first).",
    )
    (wait,) = story.waits
    assert (wait.begin_us, wait.end_us) == (1 * SECOND, 10 * SECOND)
    assert wait.shares[LATER] == pytest.approx(4 / 36)
    assert [holder.job for holder in wait.holders] == [0, 2]


def test_a_queue_that_is_strict_is_told_from_a_lack_of_gpus():
    """Job 2 wants 1, and 1 is free; but job 1 comes first, and does not fit before 10."""
    result = simulated([job(0, 10, 3), job(1, 5, 4), job(2, 4, 1)], [(4, "V100")], "fifo")
    (wait,) = result.explain(2).waits
    assert (wait.short_us, wait.fits_us, wait.scattered_us) == (5 * SECOND, 8 * SECOND, 0)
    assert wait.shares[EARLIER] == pytest.approx(20 / 52)
    assert (
        "  It would have fitted on one server for 8 s (62%): then the policy or the placement "
        "kept it waiting, not a lack of GPUs."
    ) in result.explain(2).lines


def test_free_gpus_in_pieces_are_told_from_too_few():
    """Two servers of 2, one GPU of each held until 10: no server has two free."""
    jobs = [job(0, 10, 1), job(0, 10, 1), job(1, 5, 2)]
    result = simulated(jobs, [(2, "V100"), (2, "V100")], "fifo", "spread")
    assert result.explain(2).waits == ()  # spread takes what is in pieces
    cluster = gs.Cluster.uniform(2, 2)
    trace = gs.Trace.from_columns([0, 0, 1, 1], [10, 10, 5, 5], [1, 2, 2, 1])
    held = gs.simulate(trace, cluster, policy="fifo", placement="consolidated")
    (wait,) = held.explain(2).waits
    assert (wait.short_us, wait.fits_us, wait.scattered_us) == (9 * SECOND, 0, 0)
    pieces = gs.simulate(
        gs.Trace.from_columns([0, 0, 0, 2], [10, 1, 10, 5], [1, 1, 1, 2]), cluster,
        policy="fifo",
    )  # fmt: skip
    (wait,) = pieces.explain(3).waits
    assert (wait.short_us, wait.fits_us, wait.scattered_us) == (0, 0, 8 * SECOND)
    assert "  Enough were free, but not on any one server, for 8 s (100%)." in (
        pieces.explain(3).lines
    )


def test_a_job_waits_for_as_many_gpus_of_each_server_as_it_wants():
    """4 GPUs are free, 3 and 1, until the job of one GPU ends on the second server."""
    jobs = gs.Trace.from_columns([0, 0, 1], [9, 5, 3], [2, 2, 4], gpus_per_node=[0, 0, 2])
    result = gs.simulate(jobs, gs.Cluster.uniform(2, 4), policy="fifo")
    (wait,) = result.explain(2).waits
    assert (wait.short_us, wait.fits_us, wait.scattered_us) == (0, 0, 4 * SECOND)
    assert "  Enough were free, but not on 2 servers with 2 free on each, for 4 s (100%)." in (
        result.explain(2).lines
    )


def test_a_job_wider_than_a_server_needs_whole_ones():
    jobs = gs.Trace.from_columns([0, 0, 1], [10, 4, 5], [1, 2, 4])
    result = gs.simulate(jobs, gs.Cluster.uniform(3, 2), policy="fifo")
    (wait,) = result.explain(2).waits
    assert wait.is_wide
    assert (wait.short_us, wait.fits_us) == (3 * SECOND, 0)


def test_types_that_it_may_not_use_are_counted_apart():
    jobs = [
        job(0, 10, 2, allowed=("A100",)), job(1, 5, 1, allowed=("A100",)), job(2, 4, 1),
    ]  # fmt: skip
    result = simulated(jobs, [(2, "A100"), (4, "V100")], "fifo-skip")
    story = result.explain(1)
    (wait,) = story.waits
    assert (wait.usable, wait.free_at_begin, wait.short_us) == (2, 0, 9 * SECOND)
    assert wait.free_of_others == pytest.approx(4 - 4 / 9)
    assert "  Of the types that it may not use, 3.6 GPUs were free on average." in story.lines


def test_a_preempted_job_tells_of_both_waits():
    """One GPU: job 0 runs 0-2 and 5-13, job 1 runs 2-5."""
    result = simulated([job(0, 10, 1), job(2, 3, 1)], [(1, "V100")], "srtf")
    story = result.explain(0)
    (wait,) = story.waits
    assert (wait.begin_us, wait.end_us) == (2 * SECOND, 5 * SECOND)
    assert wait.shares == {RUNNING: 0, EARLIER: 0, LATER: 1, DOWN: 0}
    assert any(line.startswith("  When it lost its GPUs, 0 of the 1") for line in story.lines)


def test_jobs_that_share_gpus_are_told_no_more_than_the_log_tells():
    trace = gs.Trace.from_columns([0, 0, 1], [10, 10, 5], [1, 1, 1], gpu_share=[0.5, 0.75, 0.5])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="fifo")
    assert result.explain(2).waits == ()  # the half that is left
    result = gs.simulate(trace, gs.Cluster.uniform(1, 1), policy="fifo")
    wait = result.explain(2).waits[0]
    assert (wait.gpus, wait.fits_us) == (0.5, None)


@each(
    ("share", "text"),
    [(0, "0.0%"), (0.0009, "<0.1%"), (0.001, "0.1%"), (0.05, "5.0%"), (0.1, "10%"), (1, "100%")],
)
def test_a_small_share_has_a_decimal(share, text):
    assert _percent(share) == text


def test_a_pool_is_one_server_and_who_did_not_wait_or_cannot_run_has_no_waits():
    jobs = gs.Trace.from_columns([0, 1], [10, 5], [3, 2])
    pool = gs.simulate(jobs, gs.Cluster.uniform(2, 2), policy="fifo", placement="count")
    (wait,) = pool.explain(1).waits
    assert (wait.usable, wait.free_at_begin, wait.short_us) == (4, 1, 9 * SECOND)
    result = simulated([job(0, 1, 1), job(0, 1, 99)], [(1, "V100")], "fifo")
    assert result.explain(0).waits == ()
    assert result.explain(1).waits == ()


def counted(result: gs.Result, waiting: int, wait: Wait) -> dict[str, Any]:
    """The same by counting each second: all times are whole ones."""
    trace, cluster, rows = result.trace, result.cluster, result.intervals
    types = trace.allowed_types or [()] * len(trace)
    allowed = types[waiting] or cluster.gpu_types
    usable = [
        s for s in range(cluster.num_servers)
        if cluster.gpu_types[cluster.server_type[s]] in allowed
    ]  # fmt: skip
    size = {s: int(cluster.server_gpus[s]) for s in range(cluster.num_servers)}
    needed = int(trace.gpus[waiting])
    held = {RUNNING: 0, EARLIER: 0, LATER: 0}
    short = fits = others = 0
    seconds = range(wait.begin_us // SECOND, wait.end_us // SECOND)
    for second in seconds:
        free = dict(size)
        for row in range(len(rows["job"])):
            if rows["start_us"][row] <= second * SECOND < rows["end_us"][row]:
                owner, server = int(rows["job"][row]), int(rows["server"][row])
                width = int(rows["mask"][row]).bit_count()
                free[server] -= width
                if server in usable:
                    begin = rows["start_us"][row]
                    while any(
                        rows["job"][r] == owner and rows["end_us"][r] == begin
                        for r in range(len(rows["job"]))
                    ):
                        begin = next(
                            rows["start_us"][r] for r in range(len(rows["job"]))
                            if rows["job"][r] == owner and rows["end_us"][r] == begin
                        )  # fmt: skip
                    is_old = begin < wait.begin_us
                    held[RUNNING if is_old else EARLIER if owner < waiting else LATER] += width
        if needed <= max(size[s] for s in usable):
            has_room = any(free[s] >= needed for s in usable)
        else:
            has_room = sum(size[s] for s in usable if free[s] == size[s]) >= needed
        is_short = sum(free[s] for s in usable) < needed
        short += is_short
        fits += has_room and not is_short
        others += sum(free[s] for s in size if s not in usable)
    total = len(seconds) * sum(size[s] for s in usable)
    return {
        "shares": {side: value / total for side, value in held.items()},
        "short": short,
        "fits": fits,
        "others": others / len(seconds),
    }


@given(
    widths=st.lists(st.integers(1, 6), min_size=3, max_size=7),
    policy=st.sampled_from(["fifo", "fifo-skip", "srtf", "easy", "2d-las", "sjf"]),
    placement=st.sampled_from(["consolidated", "first-fit", "spread", "best-fit"]),
    seed=st.integers(0, 10_000),
)
def test_waits_are_those_of_counting_every_second(widths, policy, placement, seed):
    rng = np.random.default_rng(seed)
    number = len(widths)
    submit = np.sort(rng.integers(0, 12, number)).astype(float)
    service = rng.integers(1, 15, number).astype(float)
    types = rng.choice(["", "A", "B", "A|B"], number, p=[0.4, 0.2, 0.2, 0.2]).tolist()
    trace = gs.Trace.from_columns(submit, service, widths, gpu_types=types)
    cluster = gs.Cluster((gs.ServerGroup(2, 3, "A"), gs.ServerGroup(1, 2, "B")))
    result = gs.simulate(trace, cluster, policy=policy, placement=placement)
    for index in range(number):
        for wait in result.explain(index).waits:
            found = counted(result, index, wait)
            for side, share in found["shares"].items():
                assert math.isclose(wait.shares[side], share, abs_tol=1e-9)
            assert (wait.short_us, wait.fits_us) == (
                found["short"] * SECOND,
                found["fits"] * SECOND,
            )
            assert math.isclose(wait.free_of_others, found["others"], abs_tol=1e-9)
            assert math.isclose(sum(h.share for h in wait.holders), sum(wait.shares.values()))


def test_the_gpus_of_a_holder_are_the_most_at_a_time():
    jobs = gs.Trace.from_columns([0, 1], [10, 5], [4, 4])
    result = gs.simulate(jobs, gs.Cluster.uniform(2, 2), policy="fifo")
    looked = Waits(result.trace, result.cluster, result.intervals, 1)
    (holder,) = looked.look(1 * SECOND, 10 * SECOND).holders
    assert (holder.gpus, holder.share) == (4, 1)


@pytest.mark.parametrize("ids", [["a7", "b8", "b9"], [70, 8, 1]])
def test_a_job_may_be_named_as_its_source_does(ids):
    trace = gs.Trace.from_columns([0, 1, 2], [5, 5, 5], [8, 8, 8], id=ids)
    result = gs.simulate(trace, gs.Cluster.uniform(1, 8))
    for place, name in enumerate(ids):
        assert result.explain(str(name)) == result.explain(place)
    with pytest.raises(ValueError, match="job: none has the id 'b7'"):
        result.explain("b7")
