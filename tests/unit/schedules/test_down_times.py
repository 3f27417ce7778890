"""When GPUs are down, and how intervals end: against counting every second."""

from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.outages import FAIL, Outages, spans
from gpusched.schedules.down_times import down_rows, struck
from tests.examples import examples
from tests.unit.failing_runs import (
    ALL,
    PAIR,
    SECOND,
    each_end,
    failing,
    one_server_of_a_gang_fails,
    outages_of,
)

END = 12
NEVER = 10**9
outage = st.tuples(
    st.integers(0, 1), st.integers(0, END), st.integers(1, 5) | st.none(),
    st.sampled_from(["fail", "drain", "maint"]),
)  # fmt: skip


def is_open(rows, server, second, kind=None):
    return any(
        of == server and start <= second < (NEVER if length is None else start + length)
        for of, start, length, each in rows
        if kind in (None, each)
    )


@given(st.lists(outage, max_size=6), st.sampled_from([None, "fail"]))
@examples(150)
def test_spans_are_the_seconds_with_an_open_outage(rows, kind):
    found = zip(*spans(PAIR, outages_of(rows), *([] if kind is None else [[FAIL]])), strict=True)
    seconds = [
        (server, second)
        for server, begin, end in found
        for second in range(begin // SECOND, min(end // SECOND, 2 * END))
    ]
    assert seconds == [
        (server, second)
        for server in (0, 1)
        for second in range(2 * END)
        if is_open(rows, server, second, kind)
    ]


# A run of a job of 1 to 4 GPUs on one server or both, as (begin, length, masks).
run = st.tuples(
    st.integers(0, END), st.integers(1, 5),
    st.dictionaries(st.integers(0, 1), st.sampled_from([0b1, 0b11, ALL]), min_size=1),
)  # fmt: skip


def free_of_others(runs):
    """Those of the runs, one of each job, that hold no GPU of an earlier one."""
    kept = []
    for begin, length, masks in runs:
        if not any(
            begin < until and since < begin + length and masks[server] & of.get(server, 0)
            for since, until, of in kept
            for server in masks
        ):
            kept.append((begin, begin + length, masks))
    return kept


@given(st.lists(outage, min_size=1, max_size=5), st.lists(run, min_size=1, max_size=5))
@examples(200)
def test_gpus_are_down_where_an_outage_is_open_and_no_job_holds_them(rows, runs):
    kept = sorted(free_of_others(runs), key=lambda each: each[0])
    gpus = [sum(mask.bit_count() for mask in masks.values()) for _, _, masks in kept]
    trace = gs.Trace.from_columns(
        [begin for begin, _, _ in kept], [end - begin for begin, end, _ in kept], gpus
    )
    outages = outages_of(rows)
    result = failing(trace, PAIR, [[each] for each in kept], outages)
    down = down_rows(trace, PAIR, result.intervals, outages)
    for server in (0, 1):
        for second in range(2 * END):
            held = sum(
                masks.get(server, 0).bit_count()
                for since, until, masks in kept
                if since <= second < until
            )
            there = (down["server"] == server) & (down["start_us"] <= second * SECOND)
            there &= second * SECOND < down["end_us"]
            wanted = 4 - held if is_open(rows, server, second) else 0
            assert down["milli"][there].sum() == 1000 * wanted
    series = result.series
    for instant, counted in zip(series.time_s, series.down_gpus, strict=True):
        at = (down["start_us"] <= instant * SECOND) & (instant * SECOND < down["end_us"])
        if instant < series.time_s[-1]:
            assert counted == down["milli"][at].sum() // 1000
    capacity = result.capacity
    assert capacity.capacity == capacity.down + capacity.held + capacity.idle
    assert capacity.idle >= 0


def test_parts_of_a_server_fail_together():
    groups = tuple(gs.ServerGroup(1, 2, kind, part_of="big") for kind in ("A100", "V100"))
    cluster = gs.Cluster((*groups, gs.ServerGroup(1, 4, "A100")))
    server, begin_us, _ = spans(cluster, Outages.from_columns([1], [5], [9]))
    assert (server.tolist(), begin_us.tolist()) == ([0, 1], [5 * SECOND] * 2)


def test_a_server_that_is_down_already_interrupts_nobody():
    # A job cannot start there, so that only the first of two outages that touch can hit it.
    trace = gs.Trace.from_columns([0, 0], [10, 10], [4, 4])
    outages = Outages.from_columns([0, 0, 1], [10, 20, 10], [20, 30, 20], ["fail", "fail", "drain"])
    rows = failing(trace, PAIR, [[(0, 10, {0: ALL})], [(0, 20, {1: ALL})]], outages).intervals
    assert struck(rows, PAIR, outages).tolist() == [True, False]
    assert struck({**rows, "end_us": rows["end_us"] + 10 * SECOND}, PAIR, outages).tolist() == [
        False, False,
    ]  # fmt: skip
    assert not struck(rows, PAIR, None).any()


def test_the_events_of_each_end():
    events = each_end().events
    told = [
        (at, kind, job)
        for at, kind, job in zip(events.time_s, events.kind, events.job, strict=True)
        if at
    ]
    assert told == [
        (40, "interrupt", 1), (50, "resume", 1), (60, "fail", 1), (70, "kill", 0),
        (70, "interrupt", 3), (90, "resume", 3), (100, "finish", 2), (137, "finish", 3),
    ]  # fmt: skip


def test_a_job_that_goes_on_at_once_elsewhere_was_interrupted_and_not_resized():
    trace = gs.Trace.from_columns([0], [10], [4])
    result = failing(
        trace, PAIR, [[(0, 5, {0: ALL}), (5, 15, {1: ALL})]], Outages.from_columns([0], [5]),
        failures=[1], lost=[5],
    )  # fmt: skip
    assert result.events.kind.tolist() == ["arrival", "start", "interrupt", "resume", "finish"]
    assert result.summary()["time_to_recover_s"] == 0
    # Without the outages, as in another policy's run, the same log is of a job that was resized.
    same = failing(trace, PAIR, [[(0, 5, {0: ALL}), (5, 15, {1: ALL})]])
    assert same.events.kind.tolist() == ["arrival", "start", "resize", "finish"]


def test_jobs_that_are_over_do_not_wait():
    series = each_end().series
    assert series.time_s.tolist() == [0, 40, 50, 60, 70, 90, 100, 120, 137]
    assert series.queue_jobs.tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 0]
    assert series.down_gpus.tolist() == [0, 4, 0, 4, 4, 0, 4, 0, 0]
    assert series.allocated_gpus.tolist() == [16, 12, 16, 12, 4, 8, 4, 4, 0]


def test_gpus_of_a_server_that_never_comes_back_stay_down():
    trace = gs.Trace.from_columns([10], [5], [4])
    result = failing(trace, PAIR, [[(10, 15, {0: ALL})]], Outages.from_columns([1], [2]))
    assert result.series.to_polars()["down_gpus"].to_list() == [4, 4]
    assert result.capacity.gpu_s["down"] == 20
    assert one_server_of_a_gang_fails().series.down_gpus.tolist() == [0, 0, 4, 0, 0, 0]
