"""Lower bounds: worked by hand, exact, and equal in Python and native."""

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.bounds.certificates import certificate, lower_bounds, makespan_bound
from gpusched.bounds.known import busy_times, mean_busy_time, priced_time, shared_cost
from gpusched.bounds.registry import BoundedJobs, JobColumns, known_bounds
from gpusched.model.cluster import Cluster
from gpusched.reference import replay
from gpusched.specs.case import least_costs
from tests.each import each
from tests.reference import bound_twins
from tests.reference.bound_twins import mean_busy_half_ticks, priced_times, squashed_srpt_ticks
from tests.unit.small_runs import SECOND, job, trace_of


def columns(*jobs):
    """(submit, service, gpus), in microseconds."""
    submit_us, service_us, gpus = zip(*jobs, strict=True) if jobs else ((), (), ())
    return JobColumns(
        np.array(submit_us, np.int64), np.array(service_us, np.int64), np.array(gpus, np.int32)
    )


def bound(name):
    """The registered bound on gangs that keep their widths."""
    return lambda jobs, num_gpus: known_bounds()[name].compute(BoundedJobs.gangs(jobs, num_gpus))


longest_job, total_work, wide_gangs = map(bound, ("longest-job", "total-work", "wide-gangs"))
squashed_srpt = bound("squashed-srpt")


def trivial(jobs):
    return bound("trivial")(jobs, 1)


def native(name):
    """The compiled twin, where it is built."""
    try:
        return getattr(import_module("gpusched._core"), name)
    except ImportError:
        pytest.skip("the compiled core is not installed")


def test_one_job_alone():
    alone = columns((7, 10, 2))
    assert trivial(alone) == 10
    assert squashed_srpt(alone, 4) == 5  # as if it ran on all four GPUs
    assert mean_busy_time(alone, 4) == Fraction(5, 2) + 5
    assert makespan_bound(alone, 4) == 10


def test_squashed_srpt_preempts_for_the_shorter_job():
    # On one GPU: 0-2 first, 2-3 second, 3-11 first.
    assert squashed_srpt(columns((0, 10, 1), (2, 1, 1)), 1) == 11 + 1
    # On two GPUs both need half of that: 0-2, 2-2.5, 2.5-5.5.
    assert squashed_srpt(columns((0, 10, 1), (2, 1, 1)), 2) == Fraction(11, 2) + Fraction(1, 2)


def test_mean_busy_time_of_a_preempted_job():
    # On one GPU job 0 is busy in 0-2 and 3-11: mean (2 * 1 + 8 * 7) / 10 = 5.8. Job 1: 2.5 - 2.
    expected = Fraction(58, 10) + 5 + Fraction(1, 2) + Fraction(1, 2)
    assert mean_busy_time(columns((0, 10, 1), (2, 1, 1)), 1) == expected - Fraction(3, 10)
    # 5.8 is rounded down to half a tick. With ten GPUs a tick is a tenth of that.
    assert mean_busy_time(columns((0, 10, 10), (2, 1, 10)), 10) == expected


def test_mean_busy_time_orders_by_work_over_weight():
    # Equal work; the weight lets the second job go first. Busy 1-2 and 0-1, both + 1/2.
    twins = columns((0, 1, 1), (0, 1, 1))
    weighted = mean_busy_time(twins, 1, weight=np.array([1.0, 3.0]))
    assert float(weighted) == pytest.approx(1 * 2 + 3 * 1, rel=1e-12)
    assert weighted <= 5
    equal = mean_busy_time(twins, 1, weight=np.array([2.0, 2.0]))
    assert float(equal) == pytest.approx(2 * float(mean_busy_time(twins, 1)), rel=1e-12)


@each(
    ("jobs", "num_gpus", "bound"),
    [
        ([(3, 1, 1), (5, 20, 1)], 4, 22),  # the last submit and its service
        ([(3, 1, 1), (5, 4, 4), (5, 6, 2), (5, 3, 2)], 4, 2 + Fraction(34, 4)),  # all work from 5
        (
            [(3, 1, 1), (5, 4, 3), (5, 4, 3), (6, 1, 1)],
            4,
            2 + 8,
        ),  # two gangs that exclude each other
        ([(3, 1, 1), (5, 4, 2), (5, 4, 2)], 4, 2 + 4),  # two that do not
    ],
)
def test_each_term_of_the_makespan_bound_decides_somewhere(jobs, num_gpus, bound):
    assert makespan_bound(columns(*jobs), num_gpus) == bound


def test_the_makespan_bound_is_exact_beyond_64_bits():
    start = 2**61
    jobs = columns((start - 2**60, 2**53, 3), (start, 2**53 - 1, 3), (start, 2**53, 1))
    expected = 2**60 + Fraction(3 * (2**53 - 1) + 2**53, 4)
    assert makespan_bound(jobs, 4) == max(expected, 2**60 + 2**53)
    assert makespan_bound(jobs, 10**6) == 2**60 + 2**53


def test_no_jobs_are_bounded_by_zero():
    nothing = columns()
    assert trivial(nothing) == squashed_srpt(nothing, 4) == 0
    assert mean_busy_time(nothing, 4) == makespan_bound(nothing, 4) == 0


def test_the_best_bound_is_the_largest_and_counts_the_chosen_jobs_alone():
    trace = trace_of([job(0, 10, 1), job(1, 3, 4), job(2, 50, 4)])
    cluster = Cluster.uniform(servers=1, gpus=4)
    everything = lower_bounds(trace, cluster)
    name, value = everything.best
    assert value == max(everything.total_jct_us.values()) == everything.total_jct_us[name]
    assert set(everything.total_jct_us) >= {"squashed-srpt", "mean-busy-time", "trivial"}
    some = lower_bounds(trace, cluster, jobs=np.array([True, True, False]))
    first_two = lower_bounds(trace.head(2), cluster)
    assert some == first_two
    assert some.makespan_us < everything.makespan_us


def test_no_bound_is_the_best_everywhere():
    cluster = Cluster.uniform(servers=1, gpus=4)

    def best(jobs):
        return lower_bounds(trace_of(jobs), cluster).best[0]

    assert best([job(0, 10, 1)]) == "trivial"
    assert best([job(0, 10, 2)] * 3) == "mean-busy-time"
    # A job that is preempted completes long after its mean busy time plus half its service.
    assert best([job(0, 100, 4), job(50, 30, 4)]) == "squashed-srpt"


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=12))
def test_on_one_gpu_squashed_srpt_is_attained_by_srtf_to_the_tick(drawn):
    jobs = [job(submit * 1e-6, service * 1e-6) for submit, service in drawn]
    outcome = replay(jobs, [(1, "gpu")], "srtf")
    trace = trace_of(jobs)
    flow = sum(outcome.finish_us) - int(trace.submit_us.sum())
    assert squashed_srpt(trace, 1) == flow


units = st.sampled_from([1, SECOND, 2**40])
job_columns = st.builds(
    lambda jobs, unit: columns(*sorted((r * unit, p * unit, g) for r, p, g in jobs)),
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 8)),
        min_size=1,
        max_size=12,
    ),
    units,
)


@given(job_columns, st.integers(1, 10**6))
def test_native_squashed_srpt_equals_its_readable_twin(jobs, num_gpus):
    ticks = native("squashed_srpt")(*jobs, num_gpus)
    assert ticks == squashed_srpt_ticks(*jobs, num_gpus=num_gpus)


@given(job_columns, st.integers(1, 10**6), st.data())
def test_native_mean_busy_times_in_all_and_of_each_job_equal_their_readable_twin(
    jobs, num_gpus, data
):
    some_weight = st.lists(st.floats(0.01, 100), min_size=len(jobs.gpus), max_size=len(jobs.gpus))
    weight = np.array(data.draw(st.one_of(st.just([]), some_weight)), dtype=np.float64)
    each: list[int] = []
    readable = mean_busy_half_ticks(*jobs, num_gpus=num_gpus, weight=weight, each=each)
    assert native("mean_busy_time")(*jobs, num_gpus, weight) == readable
    assert busy_times(jobs, num_gpus, weight).tolist() == [float(one) for one in each]


def test_what_a_job_takes_is_charged_to_several_certificates_at_once():
    # Ten short jobs alone, then as much at once as takes three times its service: each certificate
    # is good for one half only.
    alone = [(100 * k, 10, 1) for k in range(10)]
    crowd = [(10_000, 10, 4)] * 6
    some, apart = columns(*alone, *crowd), columns(*crowd)
    expected = 100 + float(mean_busy_time(apart, 4))
    assert shared_cost(some, 4) > max(
        trivial(some), mean_busy_time(some, 4), squashed_srpt(some, 4)
    )
    assert float(shared_cost(some, 4, rounds=200)) == pytest.approx(expected, rel=5e-3)


def test_gangs_that_exclude_each_other_follow_one_another():
    # Three of five GPUs each: no two at once, though the work of all five fits into three times.
    wide = columns(*[(0, 10, 3)] * 5)
    assert float(shared_cost(wide, 5, rounds=200)) == pytest.approx(10 * 15, rel=5e-3)
    assert float(max(mean_busy_time(wide, 5), squashed_srpt(wide, 5))) < 120


priced = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 4), st.integers(0, 4)),
    min_size=1, max_size=6,
)  # fmt: skip


@given(priced, st.lists(st.integers(1, 8), min_size=5, max_size=12), st.data())
def test_native_priced_times_equal_their_readable_twin(jobs, lengths, data):
    submit, service, gpus, raised = (np.array(one) for one in zip(*sorted(jobs), strict=True))
    edges = np.cumsum([0, *lengths, 40]).astype(np.int64)
    price = st.lists(st.integers(0, 6), min_size=len(edges) - 1, max_size=len(edges) - 1)
    prices = np.array(data.draw(price) + data.draw(price)) / 2
    columns_of = (
        submit.astype(np.int64), service.astype(np.int64),
        np.concatenate((gpus, raised)).astype(np.int32), edges, prices,
    )  # fmt: skip
    cost, held = native("priced_times")(*columns_of)
    slow_cost, slow_held = priced_times(*columns_of)
    assert cost == pytest.approx(slow_cost, rel=1e-12)
    # Equal costs may be had in several ways. All but the free time is held, and paid for.
    for found in (held, slow_held):
        assert (found.reshape(2, -1) >= 0).all()
        assert cost - float((found * prices).sum()) >= service.sum() - 1e-9


def test_a_job_waits_where_that_is_cheaper_than_what_it_would_pay():
    # Service 4, two GPUs. Until 3 a GPU costs 1 a microsecond: to run at once costs 4 + 6; to wait
    # until all is free 7; to run from 2 on is 6 + 2.
    edges = np.array([0, 3, 10], np.int64)
    one = (np.array([0], np.int64), np.array([4], np.int64), np.array([2], np.int32), edges)
    for compute in (native("priced_times"), priced_times):
        cost, held = compute(*one, np.array([1.0, 0.0]))
        assert cost == 7
        assert held.tolist() == [0, 8]
        # At a quarter each GPU is worth it: 4 + 1.5 is less than 7.
        cost, held = compute(*one, np.array([0.25, 0.0]))
        assert cost == 5.5
        assert held.tolist() == [6, 2]


@each(
    ("field", "value", "message"),
    [
        (0, [11], "submit_us must be between the first and the last edge"),
        (1, [0], "service_us must be positive"),
        (1, [4, 4], "submit_us and service_us must have one length"),
        (2, [-1], "widths must be 0 or more"),
        (2, [1, 1], "price must have one entry per step and widths one per job, for each machine"),
        (3, [0, 3, 3], "edge_us must be two or more increasing values"),
        (4, [1.0, -1.0], "price must be 0 or more"),
        (4, [1.0, np.nan], "price must be 0 or more"),
    ],
)
def test_wrong_prices_are_refused(field, value, message):
    columns_of = [
        np.array([0], np.int64), np.array([4], np.int64), np.array([2], np.int32),
        np.array([0, 3, 10], np.int64), np.array([1.0, 0.0]),
    ]  # fmt: skip
    columns_of[field] = np.array(value, columns_of[field].dtype)
    with pytest.raises(ValueError, match=message):
        native("priced_times")(*columns_of)


def test_prices_do_not_depend_on_when_the_trace_begins():
    jobs = columns((0, 50_000, 3), (10_000, 70_000, 4), (11_000, 5_000, 1))
    later = jobs._replace(submit_us=jobs.submit_us + 2**60)
    assert priced_time(later, 4) == priced_time(jobs, 4) > 125_000


def test_times_that_a_double_does_not_count_have_no_prices():
    far = columns((0, 10, 1), (2**53, 10, 1))
    with pytest.raises(OverflowError, match="more microseconds than a double can count"):
        priced_time(far, 4)
    trace = trace_of([job(0, 10, 1), job(2**53 / 1e6, 10, 1)])
    found = lower_bounds(trace, Cluster.uniform(servers=1, gpus=4), thorough=True)
    assert "priced-time" not in found.total_jct_us
    assert found.best[1] >= 20_000_000


def test_prices_find_the_optimum_where_jobs_can_be_cut():
    # Two jobs of all GPUs at once: 10 + 20. No price makes it more, and few make it that.
    some = columns((0, 10_000_000, 4), (0, 10_000_000, 4))
    assert 29.4e6 < priced_time(some, 4) <= 30e6


MAKESPANS = {
    "longest_job": (longest_job, bound_twins.longest_job, 1),
    "total_work": (total_work, bound_twins.total_work, None),
    "wide_gangs": (wide_gangs, bound_twins.wide_gangs, 1),
}


@given(job_columns, st.integers(1, 20), st.sampled_from(sorted(MAKESPANS)))
def test_native_bounds_on_the_makespan_equal_their_readable_twins(jobs, num_gpus, name):
    bound, readable, unit = MAKESPANS[name]
    value = readable(jobs, num_gpus)
    arguments = jobs[:2] if name == "longest_job" else (*jobs, num_gpus)
    assert native(name)(*arguments) == value
    assert bound(jobs, num_gpus) == Fraction(value, unit or num_gpus)


def test_bounds_on_the_makespan_count_with_wide_words():
    # 2^62 ticks and more: the readable twins go on with Python's integers.
    jobs = columns((0, 2**53, 2**20), (2**60, 2**53, 2**20), (2**60, 2**53, 2**20))
    for name, (bound, readable, unit) in MAKESPANS.items():
        num_gpus = 2**20
        assert bound(jobs, num_gpus) == Fraction(readable(jobs, num_gpus), unit or num_gpus), name
    assert total_work(jobs, 2**20) == 2**60 + 2**54


@pytest.mark.parametrize("name", ["total_work", "wide_gangs"])
def test_native_bounds_on_the_makespan_refuse_what_is_no_trace(name):
    good = columns((0, 5, 1), (3, 5, 1))
    for place, wrong, message in (
        (0, [3, 0], "sorted"),
        (0, [-1, 0], "sorted"),
        (1, [5, -5], "negative"),
        (2, [1, -1], "negative"),
        (1, [5], "one length"),
        (2, [1], "one length"),
    ):
        given = list(good)
        given[place] = np.array(wrong, dtype=given[place].dtype)
        with pytest.raises(ValueError, match=message):
            native(name)(*given, 4)
    with pytest.raises(ValueError, match="num_gpus"):
        native(name)(*good, 0)


def test_bounds_of_all_jobs_are_computed_once_for_a_trace_and_nobody_can_change_them():
    jobs = trace_of([job(0, 10, 2), job(3, 4, 1)])
    cluster = Cluster.uniform(servers=1, gpus=4)
    first = lower_bounds(jobs, cluster)
    best = first.best
    first.total_jct_us.clear()
    assert lower_bounds(jobs, cluster).best == best
    everybody = np.ones(2, dtype=np.bool_)
    shared = certificate(jobs, cluster, jobs=everybody)
    assert certificate(jobs, cluster) is shared
    assert certificate(jobs, Cluster.uniform(servers=1, gpus=5)) is not shared
    assert certificate(jobs, cluster, jobs=np.array([True, False])) is not shared


def test_what_is_beyond_128_bits_has_the_other_bounds():
    jobs = columns((0, 2**53, 2**30), (2**60, 2**53, 2**30))
    assert bound("mean-busy-time")(jobs, 2**30) is None
    assert squashed_srpt(jobs, 2**30) == trivial(jobs) == 2**54
    with pytest.raises(OverflowError, match="127 bits"):
        native("mean_busy_time")(*jobs, 2**30, np.empty(0))


@each("bits", range(58, 68))
def test_native_bounds_count_with_wide_words_where_narrow_ones_overflow(bits):
    # Three jobs whose last completion, in ticks of the squashed machine, is about 2^bits.
    service = 2**53 - 1
    for width in (2 ** (bits - 54), 2 ** (bits - 54) + 1):
        jobs = columns((0, service, width), (3, service, width), (2**40, 7, 1))
        ticks = native("squashed_srpt")(*jobs, 3)
        assert ticks == squashed_srpt_ticks(*jobs, num_gpus=3)
        readable = mean_busy_half_ticks(*jobs, num_gpus=3, weight=np.empty(0))
        if bits < 62:  # beyond, the moments of these jobs need more than 127 bits
            assert native("mean_busy_time")(*jobs, 3, np.empty(0)) == readable
            assert mean_busy_time(JobColumns(*jobs), 3) == Fraction(readable[0], 6)


@each("bits", range(61, 67))
def test_native_mean_busy_times_change_to_wide_words_as_well(bits):
    # A late submit stretches the horizon, and no job is large: the moments stay narrow.
    jobs = columns((0, 2**20, 3), (2**60, 2**21, 5), (2**60 + 1, 2**21, 1))
    num_gpus = 2 ** (bits - 60)
    readable = mean_busy_half_ticks(*jobs, num_gpus=num_gpus, weight=np.empty(0))
    assert native("mean_busy_time")(*jobs, num_gpus, np.empty(0)) == readable


def test_native_mean_busy_times_use_127_bits_and_no_more():
    # 63 bits of work, and 64 of twice the horizon.
    alone = columns((0, 2**53, 2**9))
    readable = mean_busy_half_ticks(*alone, num_gpus=1, weight=np.empty(0))
    assert native("mean_busy_time")(*alone, 1, np.empty(0)) == readable
    # Two of them: one bit more, which might still be held but is not counted on.
    two = columns((0, 2**53, 2**9), (0, 2**53, 2**9))
    with pytest.raises(OverflowError):
        native("mean_busy_time")(*two, 1, np.empty(0))


@pytest.mark.parametrize("name", ["squashed_srpt", "mean_busy_time"])
def test_native_bounds_refuse_what_is_no_workload(name):
    function, more = native(name), (np.empty(0),) if name == "mean_busy_time" else ()
    good = columns((0, 1, 1), (1, 1, 1))
    for bad, why in [
        (good._replace(submit_us=good.submit_us[::-1].copy()), "sorted"),
        (good._replace(service_us=good.service_us - 1), "positive"),
        (good._replace(gpus=good.gpus - 1), "positive"),
        (good._replace(gpus=good.gpus[1:].copy()), "one length"),
    ]:
        with pytest.raises(ValueError, match=why):
            function(*bad, 4, *more)
    with pytest.raises(ValueError, match="num_gpus"):
        function(*good, 0, *more)
    with pytest.raises(TypeError):
        function(*good._replace(gpus=good.gpus.astype(np.int64)), 4, *more)


def elastic(*tables, services_us, gpus, num_gpus, policy="optimus:period_s=0", **columns):
    """What a policy makes of jobs that may change their widths, and the bounds on it."""
    cluster = gs.Cluster.uniform(servers=1, gpus=num_gpus, gpu_type="A")
    profiles = [
        gs.model.JobProfile(name=f"p{i}", throughput={"A": table}) for i, table in enumerate(tables)
    ]
    num_jobs = len(services_us)
    trace = gs.Trace.from_columns(
        [0] * num_jobs, np.array(services_us) / SECOND, gpus, **columns
    ).with_profiles(profiles, index=[i % len(tables) for i in range(num_jobs)])
    result = gs.simulate(trace, cluster, policy=policy, speed="table")
    costs = least_costs(trace, cluster, speed="table")
    return result, lower_bounds(trace, cluster, costs=costs)


@pytest.mark.parametrize(
    ("narrow", "wide", "service_us"),
    [(2.96, 3.2, 6257353235965359), (2.01, 4.0, 6613902390729619), (0.91, 1.7, 3993362859657972)],
)
def test_no_rounding_raises_an_elastic_bound_above_a_schedule(narrow, wide, service_us):
    # Both jobs on one GPU each, all the time: the bound is tight but for its margin.
    result, lower = elastic(
        {1: narrow, 2: wide}, services_us=[service_us] * 2, gpus=[2, 2], num_gpus=2
    )
    makespan_us = int(result.schedule.finish_us.max())
    assert makespan_us * (1 - 2**-30) < lower.makespan_us <= makespan_us
    assert lower.best[1] <= 2 * makespan_us


@pytest.mark.parametrize(
    ("table", "num_jobs", "service_s", "gpus", "num_gpus", "least_s", "columns"),
    [
        # 9 GPU seconds each, on three GPUs or on two: both at once on two.
        ({2: 2.0, 3: 3.0}, 2, 3, 3, 4, 4.5, {"max_gpus": [3, 3]}),
        # Three of four GPUs at the least, one after the other; the fourth is worth a third.
        ({3: 3.0, 4: 4.0}, 2, 4, 3, 4, 6.0, {}),
        # On three GPUs, between the two figures, it is 2.75 times as fast.
        ({2: 2.0, 4: 9.0}, 1, 1, 2, 3, 1 / 2.75, {}),
    ],
)
def test_what_other_widths_save_and_what_they_do_not(
    table, num_jobs, service_s, gpus, num_gpus, least_s, columns
):
    result, lower = elastic(
        table, services_us=[service_s * SECOND] * num_jobs, gpus=[gpus] * num_jobs,
        num_gpus=num_gpus, **columns,
    )  # fmt: skip
    assert float(lower.makespan_us) / SECOND == pytest.approx(least_s, rel=1e-5)
    assert result.schedule.finish_us.max() >= lower.makespan_us
    assert set(lower.total_jct_us) >= {"squashed-srpt", "trivial"}
    assert "mean-busy-time" not in lower.total_jct_us


@pytest.mark.parametrize("table", [{3: 3.0}, {2: 2.0, 3: 3.0, 4: 4.0}])
def test_jobs_that_can_run_at_one_width_alone_are_bounded_as_gangs(table):
    # Another width is not in the table, or is not allowed: one gang after the other.
    result, lower = elastic(
        table, services_us=[3 * SECOND] * 2, gpus=[3, 3], num_gpus=4, min_gpus=[3, 3],
        max_gpus=[3, 3],
    )  # fmt: skip
    assert lower.makespan_us == 6 * SECOND == result.schedule.finish_us.max()
    assert "mean-busy-time" in lower.total_jct_us


def test_a_width_that_cannot_run_costs_what_it_is():
    profile = gs.model.JobProfile("p", throughput={"A": {1: 1.0, 2: 0.0, 4: 2.0}})
    trace = gs.Trace.from_columns(
        [0], [50], [2], min_gpus=[1], max_gpus=[4], profiles=[profile], profile=[0]
    )
    cluster = gs.Cluster.uniform(servers=2, gpus=4, gpu_type="A")
    costs = least_costs(trace, cluster, speed="table")
    assert {name: column.tolist() for name, column in costs.items()} == {
        "time": [1], "gpu_time": [1], "narrowest": [2], "widest": [2],
    }  # fmt: skip


def test_what_can_never_run_costs_what_it_asks_for():
    curve = {1: 1.0, 2: 2.0, 4: 8.0}
    profile = gs.model.JobProfile("p", throughput={"A": curve, "B": curve})
    trace = gs.Trace.from_columns(
        [0, 0, 0], [50, 50, 50], [2, 2, 64], gpu_types=[["A"], ["B"], ["A"]],
        min_gpus=[1, 1, 1], max_gpus=[4, 4, 64], profiles=[profile], profile=[0, 0, 0],
    )  # fmt: skip
    cluster = gs.Cluster.uniform(servers=2, gpus=4, gpu_type="A")
    costs = least_costs(trace, cluster, speed="table")
    assert costs["time"].tolist() == [0.25, 1, 1]
    assert costs["gpu_time"].tolist() == [0.5, 1, 1]
    assert costs["narrowest"].tolist() == [1, 2, 64]
    assert costs["widest"].tolist() == [4, 2, 64]
