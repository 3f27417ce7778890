"""The upper bound on deadlines met: below all that could be, above all that is."""

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.bounds import deadline_bounds, known
from gpusched.bounds.deadline_bounds import (
    DeadlineJobs,
    Rates,
    TimeTree,
    Windows,
    _possible,
    concave_hull,
    deadline_bound,
    dsr_bound,
    find_prices,
    least_gpu_time,
    pooled_bound,
    rates_of,
    value_at,
)
from gpusched.bounds.known import _pooled
from gpusched.plugins.policy import SpeedChoice
from tests.each import each
from tests.examples import examples
from tests.golden import workload as golden

POLICIES = ("dancer", "edf", "edf-fastest", "elasticflow", "llf", "fifo-skip", "themis-greedy")
CURVES = (
    {"V100": {1: 4.0, 2: 7.0, 4: 10.0}, "K80": {1: 1.0, 2: 2.0, 4: 4.0}},
    {"V100": {1: 2.0, 2: 3.5, 4: 5.0}},
    {"V100": {1: 3.0}, "K80": {1: 2.0, 4: 4.0}},
)
PROFILES = [gs.model.JobProfile(f"model{i}", throughput=curve) for i, curve in enumerate(CURVES)]

# Tiny ranges on purpose: ties, and windows that end where others begin.
job = st.tuples(
    st.integers(0, 12),  # submit
    st.integers(1, 8),  # service
    st.sampled_from([1, 1, 2, 4]),
    st.integers(1, 10),  # to the deadline
    st.integers(1, 3),  # value
    st.integers(0, len(CURVES) - 1),
)
workloads = st.lists(job, min_size=1, max_size=10)


def cluster(servers: int = 1) -> gs.Cluster:
    return gs.Cluster((gs.ServerGroup(servers, 4, "V100"), gs.ServerGroup(servers, 4, "K80")))


def trace(jobs: list[tuple[int, ...]], **more: Any) -> gs.Trace:
    submit, service, gpus, patience, value, profile = zip(*sorted(jobs), strict=True)
    return gs.Trace.from_columns(
        submit_s=submit, service_s=service, gpus=gpus,
        deadline_s=[s + p for s, p in zip(submit, patience, strict=True)], value=value,
        profiles=PROFILES, profile=profile, **more,
    )  # fmt: skip


def fixed_windows(jobs: list[tuple[int, ...]], gpus: int) -> Windows:
    """Jobs of their own width, those alone that fit their windows."""
    kept = np.array([j for j in jobs if j[1] <= j[3]] or [(0, 1, 1, 1, 1, 0)], dtype=float)
    widths, kind = np.unique(kept[:, 2], return_inverse=True)
    ones = np.ones((len(widths), 1))
    rates = Rates(
        np.array([gpus]), kind, np.zeros((len(widths), 1), np.int64), widths[:, None], ones
    )
    submit = kept[:, 0]
    return Windows(submit, submit + kept[:, 3], kept[:, 1], kept[:, 4], kind, rates)


def brute_force(windows: Windows) -> float:
    """The same relaxation as the pooled bound, by a linear program over all intervals."""
    optimize = pytest.importorskip("scipy.optimize")
    demand = least_gpu_time(windows)
    rows, room = [], []
    for begin in np.unique(windows.begin_s):
        for end in np.unique(windows.end_s):
            if end > begin:
                inside = (windows.begin_s >= begin) & (windows.end_s <= end)
                rows.append(np.where(inside, demand, 0.0))
                room.append(float(windows.rates.type_gpus.sum()) * (end - begin))
    found = optimize.linprog(-windows.value, np.array(rows), room, bounds=(0, 1))
    return float(-found.fun)


@examples(50)
@given(workloads, st.integers(1, 4))
def test_the_greedy_solves_the_pooled_program(jobs, gpus):
    windows = fixed_windows(jobs, gpus)
    exact = brute_force(windows)
    assert pooled_bound(windows, 1_000) == pytest.approx(exact)
    assert pooled_bound(windows, 3) >= exact - 1e-9  # rounded outwards


@examples(25)
@given(workloads, st.integers(1, 4), st.integers(0, 5))
def test_any_prices_give_a_bound(jobs, gpus, seed):
    pytest.importorskip("scipy")
    windows = fixed_windows(jobs, gpus)
    tree = TimeTree.over(windows, 16)
    prices = find_prices(windows, tree, 1.0)
    best = value_at(prices, windows, tree)
    assert best <= pooled_bound(windows, 1_000) + 1e-6  # the same and more
    rng = np.random.default_rng(seed)
    noisy = prices * rng.uniform(0, 2, prices.shape) + rng.uniform(0, 0.1, prices.shape)
    assert value_at(noisy, windows, tree) >= best - 1e-6


@examples(25)
@given(workloads, st.sampled_from(["table", "fixed"]))
def test_no_policy_passes_the_bound(jobs, speed):
    jobs_ = trace(jobs)
    count, worth = (deadline_bound(jobs_, cluster(), speed=speed, values=v) for v in (False, True))
    assert worth.total == jobs_.value.sum()
    for policy in POLICIES:
        result = gs.simulate(jobs_, cluster(), policy=policy, placement="buddy", speed=speed)
        met = (result.schedule.finish_us >= 0) & (result.schedule.finish_us <= jobs_.deadline_us)
        assert met.sum() <= count.met
        # Whichever schedule asked first, and however few bounds it needed.
        summary = result.summary()
        assert (summary["dsr_bound"], summary["dsr_bound_name"]) == (count.dsr, count.name)
        assert summary["dsr"] <= summary["dsr_bound"]
        assert jobs_.value[met].sum() <= worth.met
        assert not (met & ~count.is_possible).any()


@each("speed", ["fixed", "table", "proportional"])
@each("policy", ["edf", "elasticflow", "edf-fastest", "matching"])
def test_it_holds_with_limits_values_spread_tables_and_types(speed, policy):
    jobs, servers = golden.urgent(is_typed=True), golden.networked_cluster()
    bound = deadline_bound(jobs, servers, speed=speed, values=True)
    result = gs.simulate(jobs, servers, policy=policy, placement="best-fit", speed=speed)
    finish_us = result.schedule.finish_us
    met = (finish_us >= 0) & (finish_us <= jobs.deadline_us)
    assert 0 < jobs.value[met].sum() <= bound.met < bound.total
    assert bound.num_deadlines == np.count_nonzero(jobs.deadline_us >= 0)
    summary = result.summary()
    assert summary["dsr"] <= summary["dsr_bound"] == deadline_bound(jobs, servers, speed=speed).dsr


MODULE = sys.modules[deadline_bound.__module__]


def crowded() -> tuple[gs.Trace, gs.Cluster]:
    """Three jobs, each possible alone; two by GPU time, one on the type that they can use."""
    return trace([(0, 4, 4, 4, 1, 1)] * 3), cluster()


def test_a_summary_has_the_bounds_that_its_size_allows(monkeypatch):
    pytest.importorskip("scipy")
    found = {}
    for most in ((3, 3), (2, 3), (2, 2)):
        monkeypatch.setattr(known, "_MOST", most[0])
        monkeypatch.setattr(MODULE, "_MOST_JOBS", most[1])
        bound, name = dsr_bound(*crowded(), speed="table")
        found[name] = round(3 * bound)
    assert found == {"typed": 1, "pooled": 2, "alone": 3}


def test_without_scipy_a_summary_has_the_bounds_that_need_none(monkeypatch):
    monkeypatch.setattr(known, "find_spec", lambda name: None)
    assert dsr_bound(*crowded(), speed="table") == (2 / 3, "pooled")


def test_a_bound_is_computed_once_and_only_where_it_may_be_lower(monkeypatch):
    pytest.importorskip("scipy")
    calls = []
    for module, name in ((known, "pooled_bound"), (known, "upper_bound")):
        original = getattr(module, name)

        def counted(
            *arguments: Any, original: Any = original, name: str = name, **more: Any
        ) -> Any:
            calls.append(name)
            return original(*arguments, **more)

        monkeypatch.setattr(module, name, counted)
    jobs = gs.Trace.from_columns([0, 0, 0], [4, 4, 4], [1, 1, 1], deadline_s=[4, 8, 8])
    one = gs.Cluster((gs.ServerGroup(1, 1, "V100"),))
    for met, computed in ((3, []), (2, ["pooled_bound"]), (1, ["upper_bound"]), (0, [])):
        calls.clear()
        dsr_bound(jobs, one, speed="fixed", met=met)
        assert calls == computed
    assert dsr_bound(jobs, one, speed="fixed") == (2 / 3, "pooled")
    dsr_bound(jobs, cluster(), speed="fixed", met=3)
    assert dsr_bound(jobs, cluster(), speed="fixed") == (1.0, "alone")


def test_one_gpu_does_one_job_at_a_time():
    jobs = gs.Trace.from_columns(
        submit_s=[0, 0, 0], service_s=[4, 4, 4], gpus=[1, 1, 1], deadline_s=[4, 8, 8]
    )
    one = gs.Cluster((gs.ServerGroup(1, 1, "V100"),))
    found = deadline_bound(jobs, one, speed="fixed").bounds
    assert found.items() >= {"alone": 3, "pooled": 2, "typed": 2}.items()
    assert deadline_bound(jobs, one, speed="fixed").dsr == pytest.approx(2 / 3)


def test_the_speed_is_what_the_jobs_have_figures_for_unless_it_is_named():
    plain = gs.Trace.from_columns([0, 0, 0], [4, 4, 4], [1, 1, 1], deadline_s=[4, 8, 8])
    one = gs.Cluster.uniform(1, 1, "V100")
    assert deadline_bound(plain, one).bounds == deadline_bound(plain, one, speed="fixed").bounds
    modelled = plain.with_profiles([gs.model.zoo()["resnet50"]])
    assert deadline_bound(modelled, one).met == 2
    measured = trace([(0, 5, 1, 2, 1, 0), (0, 5, 1, 1, 1, 0)])
    named = deadline_bound(measured, cluster(), speed="table")
    assert deadline_bound(measured, cluster()).bounds == named.bounds
    with pytest.raises(ValueError, match="the jobs have no profiles"):
        deadline_bound(plain, one.with_speeds({"V100": 2.0}))


def test_what_no_width_makes_in_time_is_impossible():
    # 4 V100s are 10/4 as fast as one.
    jobs = trace([(0, 5, 1, 2, 1, 0), (0, 5, 1, 1, 1, 0)])
    assert deadline_bound(jobs, cluster()).is_possible.tolist() == [False, True]
    assert deadline_bound(jobs, cluster(), speed="fixed").met == 0


def test_what_can_never_run_makes_nothing_of_its_like():
    # No two servers of 4 GPUs take four each; two of 2 take two each.
    jobs = gs.Trace.from_columns(
        [0, 0], [10, 10], [4, 4], deadline_s=[123, 123], gpus_per_node=[4, 2],
        profile=[0, 0], profiles=[gs.model.JobProfile("m", throughput={"t4": {1: 1, 2: 2, 4: 4}})],
    )  # fmt: skip
    servers = gs.Cluster((gs.ServerGroup(2, 2, "t4"),))
    assert deadline_bound(jobs, servers, speed="table").is_possible.tolist() == [False, True]
    assert gs.simulate(jobs, servers, policy="las", speed="table").audit().ok
    none = deadline_bound(jobs[:1], servers, speed="table")
    assert (none.met, none.is_possible.tolist()) == (0, [False])


def test_a_tight_window_needs_wide_and_costly_gangs():
    jobs = trace([(0, 5, 1, 2, 1, 0), (0, 5, 1, 9, 1, 0)])
    rates = rates_of(jobs, cluster(), SpeedChoice.parse("table"))
    ends = np.array([2.0, 10.0])
    windows = Windows(np.zeros(2), ends, np.array([5.0, 5.0]), np.ones(2), rates.kind, rates)
    assert least_gpu_time(windows).tolist() == [8.0, 5.0]


def test_without_deadlines_there_is_nothing_to_meet():
    jobs = gs.Trace.from_columns(submit_s=[0], service_s=[4], gpus=[1])
    bound = deadline_bound(jobs, cluster(), speed="fixed")
    assert bound.met == 0
    assert np.isnan(bound.dsr)
    assert np.isnan(dsr_bound(jobs, cluster(), speed="fixed")[0])
    assert dsr_bound(jobs, cluster(), speed="fixed")[1] == ""


def test_ten_thousand_jobs_are_no_trouble():
    pytest.importorskip("scipy")
    rng = np.random.default_rng(1)
    rows = zip(
        *(rng.integers(1, most, 10_000).tolist() for most in (3_000, 8, 5, 12, 2)), strict=True
    )
    jobs = [(*row, 0) for row in rows]
    bound = deadline_bound(trace(jobs), cluster(2))
    assert bound.bounds["typed"] < bound.bounds["pooled"] < bound.bounds["alone"]


def test_widths_beside_the_own_one_count_where_that_one_is_capped():
    table = {"A": {2: 4.0, 6: 12.0}, "B": {2: 1.0, 6: 3.0}}
    jobs = gs.Trace.from_columns(
        [0], [60], [4], max_gpus=[4], profiles=[gs.model.JobProfile("p", throughput=table)],
        profile=[0],
    )  # fmt: skip
    three_each = gs.Cluster((gs.ServerGroup(1, 3, "A"), gs.ServerGroup(1, 3, "B")))
    gpus, rate = rates_of(jobs, three_each, SpeedChoice.parse("table")).envelope(0)
    # Of four GPUs one must be of B, at half a unit each: two. Three of A make six.
    assert np.interp(3, gpus, rate) >= 6 / 2


def test_a_hull_is_concave_and_rises():
    assert concave_hull([(1, 1), (2, 1.5), (3, 2.4), (4, 2.4)]) == [(1, 1), (3, 2.4)]
    assert concave_hull([(2, 1.0), (2, 3.0), (1, 1.0)]) == [(2, 3.0)]


@pytest.mark.parametrize(
    ("speed", "message"),
    [("quantum", "unknown speed 'quantum'"), ("table", "the jobs have no profiles")],
)
def test_what_is_missing_is_named(speed, message):
    jobs = gs.Trace.from_columns(submit_s=[0], service_s=[4], gpus=[1], deadline_s=[9])
    with pytest.raises(ValueError, match=message):
        deadline_bound(jobs, cluster(), speed=speed)


def test_a_brief_bound_is_coarse_for_more_jobs_than_many_and_no_fewer(monkeypatch):
    jobs = [(i, 8, 2, 9 + 2 * (i % 7), 1 + i % 3, i % len(CURVES)) for i in range(60)]
    monkeypatch.setattr(known, "_CELLS_OF_MANY", 1)

    def bound(is_brief: bool, many: int) -> float:
        monkeypatch.setattr(known, "_MANY", many)
        windows, _ = _possible(trace(jobs), cluster(), "table", True)
        assert len(windows) == 60
        return _pooled(DeadlineJobs(windows, has_values=True, is_brief=is_brief))

    fine = bound(is_brief=False, many=1)
    assert bound(is_brief=True, many=60) == fine
    assert bound(is_brief=True, many=59) > fine


def contended() -> tuple[gs.Trace, gs.Cluster]:
    """Jobs of which types, GPU time and windows all keep some from their deadlines."""
    rng = np.random.default_rng(7)
    rows = zip(*(rng.integers(1, most, 400).tolist() for most in (300, 8, 5, 12, 2)), strict=True)
    return trace([(*row, 0) for row in rows]), cluster(2)


def test_a_bound_is_the_same_whenever_it_is_computed(monkeypatch):
    optimize = pytest.importorskip("scipy.optimize")
    options = []

    def noted(*arguments: Any, original: Any = optimize.linprog, **more: Any) -> Any:
        options.append(more["options"])
        return original(*arguments, **more)

    monkeypatch.setattr(optimize, "linprog", noted)
    first, second = (deadline_bound(*contended(), values=True) for _ in range(2))
    assert first.bounds == second.bounds
    assert first.bounds["typed"] < first.bounds["pooled"]
    assert first.unsolved == ()
    assert options == [{"maxiter": 10_000}] * 2  # steps, and no time


def test_a_program_that_is_cut_off_is_left_out_and_named(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setattr(deadline_bounds, "_MOST_ITERATIONS", 3)
    jobs, servers = contended()
    found = [deadline_bound(jobs, servers) for _ in range(2)]
    assert found[0].bounds == found[1].bounds
    assert list(found[0].bounds) == ["alone", "pooled"]
    assert found[0].unsolved == ("typed",)
    assert dsr_bound(jobs, servers, speed="table") == (found[0].dsr, found[0].name)
