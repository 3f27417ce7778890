"""The native pass over a run's columns is what the formulas say, array by array."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched import _core
from gpusched.base.arrays import nearest_rank
from gpusched.engine.simulation import simulate_quietly
from gpusched.schedules.schedule import CANCELLED, FINISHED, REJECTED, STATUSES, UNFINISHED
from tests.each import each

SHORT_US = 10_000_000
PERCENTS = (50, 90, 95, 99, 100)

ticks = st.one_of(st.integers(1, 30), st.integers(1, 2**52))
one_job = st.fixed_dictionaries(
    {
        "submit_us": ticks,
        "service_us": ticks,
        "delay_us": st.integers(0, 2**40),
        "held_us": ticks,
        "wait_us": st.integers(0, 2**40),
        "gpus": st.integers(1, 1 << 20),
        "share_milli": st.integers(1, 1000),
        "weight": st.floats(1e-3, 1e3),
        "preemptions": st.integers(0, 100),
        "resizes": st.integers(0, 100),
        "num_servers": st.integers(0, 1000),
        "tenant": st.integers(0, 4),
        "status": st.sampled_from([*[FINISHED] * 6, *range(len(STATUSES))]),
    }
)
DTYPES = {
    "gpus": np.int32, "share_milli": np.int32, "weight": np.float64, "preemptions": np.int32,
    "resizes": np.int32, "num_servers": np.int32, "status": np.uint8, "tenant": np.int32,
}  # fmt: skip


@st.composite
def run_columns(draw: st.DrawFn) -> dict[str, Any]:
    jobs = sorted(draw(st.lists(one_job, max_size=40)), key=lambda job: job["submit_us"])
    columns: dict[str, Any] = {
        name: np.array([job[name] for job in jobs], dtype=DTYPES.get(name, np.int64))
        for name in (*DTYPES, "submit_us", "service_us", "delay_us", "wait_us", "held_us")
    }
    finished = columns["status"] == FINISHED
    end_us = columns["submit_us"] + columns.pop("wait_us") + columns["held_us"]
    columns["start_us"] = np.where(finished, columns["submit_us"] + columns.pop("delay_us"), -1)
    columns["finish_us"] = np.where(finished, end_us, -1)
    for name in ("share_milli", "weight", "tenant"):
        if draw(st.booleans()):
            columns[name] = None
    columns["num_tenants"] = 5
    return columns


def exact(values: Any) -> int:
    return sum(map(int, values))


def near(found: float, exactly: Fraction) -> bool:
    return math.isclose(found, float(exactly), rel_tol=1e-15)


@given(run_columns())
def test_the_figures_are_those_of_the_formulas(columns):
    measures = _core.run_measures(**columns, short_service_us=SHORT_US)
    status = columns["status"]
    done = status == FINISHED
    submit_us = columns["submit_us"][done]
    flow_us = columns["finish_us"][done] - submit_us
    wait_us = flow_us - columns["held_us"][done]
    share = np.full(len(status), 1000) if columns["share_milli"] is None else columns["share_milli"]
    width = columns["gpus"].astype(np.int64) * share

    assert measures.num_finished == done.sum()
    assert measures.num_rejected == (status == REJECTED).sum()
    assert measures.num_unfinished == (status >= UNFINISHED).sum()
    assert measures.num_cancelled == (status == CANCELLED).sum()
    assert measures.first_submit_us == (submit_us[0] if done.any() else 0)
    assert measures.last_finish_us == columns["finish_us"][done].max(initial=0)
    assert measures.flow_us == exact(flow_us)
    assert measures.wait_us == exact(wait_us)
    assert measures.delay_us == exact(columns["start_us"][done] - submit_us)
    assert measures.since_first_us == exact(submit_us - submit_us[:1])
    assert measures.num_servers == exact(columns["num_servers"][done])
    assert measures.num_preemptions == exact(columns["preemptions"])
    assert measures.num_resizes == exact(columns["resizes"])

    def area(lengths: Any, chosen: Any) -> int:
        return sum(int(w) * int(t) for w, t in zip(width[chosen], lengths[chosen], strict=True))

    assert measures.held_gpu_milli_us == area(columns["held_us"], slice(None))
    assert measures.useful_gpu_milli_us == area(columns["service_us"], done)
    assert measures.accepted_gpu_milli_us == area(columns["service_us"], status != REJECTED)
    for percent in PERCENTS:
        for values, found in (
            (flow_us, measures.flow_percentile_us(percent)),
            (wait_us, measures.wait_percentile_us(percent)),
        ):
            rank = nearest_rank(np.sort(values), percent)
            assert found == (0 if math.isnan(rank) else rank)


@given(run_columns())
def test_sums_in_double_precision_lose_nothing_to_their_order(columns):
    measures = _core.run_measures(**columns, short_service_us=SHORT_US)
    done = columns["status"] == FINISHED
    jct_s = (columns["finish_us"] - columns["submit_us"])[done] / 1e6
    service_us = columns["service_us"][done]
    weight = np.ones(len(jct_s)) if columns["weight"] is None else columns["weight"][done]
    area = columns["gpus"][done] * (service_us / 1e6)

    def total(values: Any) -> Fraction:
        return sum(map(Fraction, values.tolist()), Fraction(0))

    assert near(measures.area_jct, total(jct_s * area))
    assert near(measures.area, total(area))
    assert near(measures.weighted_jct, total(jct_s * weight))
    assert near(measures.weight, total(weight))
    slowdown = np.maximum(1.0, jct_s / (np.maximum(service_us, SHORT_US) / 1e6))
    assert near(measures.bounded_slowdown, total(slowdown))
    for percent in PERCENTS:
        rank = nearest_rank(np.sort(slowdown), percent)
        assert measures.bounded_slowdown_percentile(percent) == (0 if math.isnan(rank) else rank)
    tenant = np.full(len(done), -1) if columns["tenant"] is None else columns["tenant"]
    whose = [slowdown[tenant[done] == one] for one in range(columns["num_tenants"])]
    means = [total(one) / len(one) for one in whose if len(one)]
    assert measures.num_tenants == len(means)
    fairness = sum(means) ** 2 / (len(means) * sum(x * x for x in means)) if means else Fraction(0)
    assert math.isclose(measures.tenant_fairness, float(fairness), rel_tol=1e-14)
    # Logarithms of two libraries differ in the last digit.
    logs = math.fsum(map(math.log, jct_s.tolist()))
    size = math.fsum(abs(math.log(value)) for value in jct_s.tolist())
    assert abs(measures.log_jct - logs) <= 1e-15 * size


def _columns(**changes: Any) -> dict[str, Any]:
    one = {name: np.ones(2, DTYPES.get(name, np.int64)) for name in (
        *DTYPES, "submit_us", "service_us", "start_us", "finish_us", "held_us"
    )}  # fmt: skip
    own = {"status": np.zeros(2, np.uint8), "tenant": np.zeros(2, np.int32)}
    return {**one, **own, "num_tenants": 1, **changes}


FIGURES = [
    name for name in dir(_core.RunMeasures) if not name.startswith("_") and "perc" not in name
]
small_jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 5)), min_size=1, max_size=12
)


@given(small_jobs, st.sampled_from(["fifo", "srtf", "las"]), st.booleans())
def test_the_measures_of_a_schedule_are_those_of_its_columns(jobs, policy, is_plain):
    submit_s, service_s, gpus = zip(*jobs, strict=True)
    extra: dict[str, Any] = {} if is_plain else {"weight": [2.0 + gpu for gpu in gpus]}
    trace = gs.Trace.from_columns(submit_s, service_s, gpus, **extra)
    # Jobs of five GPUs are rejected.
    result = simulate_quietly(trace, gs.Cluster.uniform(servers=2, gpus=2), policy=policy)
    schedule = result.schedule
    given_jobs = {
        "submit_us": trace.submit_us, "service_us": trace.service_us, "gpus": trace.gpus,
        "share_milli": None, "weight": trace.weight, "short_service_us": SHORT_US,
    }  # fmt: skip
    made = {name: getattr(schedule, name) for name in (
        "start_us", "finish_us", "held_us", "preemptions", "resizes", "num_servers", "status"
    )}  # fmt: skip
    found = _core.schedule_measures(schedule, **given_jobs)
    known = _core.run_measures(**given_jobs, **made)
    assert {name: getattr(found, name) for name in FIGURES} == {
        name: getattr(known, name) for name in FIGURES
    }
    for percent in PERCENTS:
        assert found.flow_percentile_us(percent) == known.flow_percentile_us(percent)
        assert found.wait_percentile_us(percent) == known.wait_percentile_us(percent)


def test_the_measures_of_a_schedule_ask_for_all_of_its_jobs():
    cluster = gs.Cluster.uniform(servers=1, gpus=1)
    trace = gs.Trace.from_columns([0, 1], [1, 1], [1, 1])
    schedule = gs.simulate(trace, cluster).schedule
    with pytest.raises(ValueError, match="the same length"):
        _core.schedule_measures(
            schedule, submit_us=trace.submit_us[:1], service_us=trace.service_us[:1],
            gpus=trace.gpus[:1], share_milli=None, weight=None, short_service_us=1,
        )  # fmt: skip


@each(
    ("changes", "message"),
    [
        *(({name: column[:1]}, "the same length") for name, column in _columns().items()
          if name != "num_tenants"),
        ({"status": np.array([0, len(STATUSES)], np.uint8)}, "status"),
        *(({"tenant": np.array([0, tenant], np.int32)}, "tenant") for tenant in (-1, 1, 2**31 - 1)),
    ],
)  # fmt: skip
def test_columns_of_another_length_and_what_is_not_known_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.run_measures(**_columns(**changes), short_service_us=1)
    with pytest.raises(ValueError, match="percent: 42"):
        _core.run_measures(**_columns(), short_service_us=1).flow_percentile_us(42)


@each("name", sorted({*_columns()} - {"status", "num_tenants"}))
def test_a_column_of_another_type_is_refused(name):
    other = _columns()[name].astype(np.float32)
    with pytest.raises(TypeError):
        _core.run_measures(**_columns(**{name: other}), short_service_us=1)
