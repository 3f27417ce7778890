"""Every metric says what it is and is computed on runs that have what it needs."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.reporting.report import render_report
from gpusched.results.metric_registry import BETTER, GROUPS, NEEDS, UNITS
from gpusched.results.run_facts import RunFacts
from gpusched.results.shown_metrics import all_metrics, main_metrics
from tests.each import each
from tests.unit.failing_runs import each_end
from tests.unit.held_runs import each_hold

KNOWN = gs.metrics()
CLUSTER = gs.Cluster.uniform(4, 4, nic_gbps=10, intra_gbps=100)
JOBS = gs.generate("philly", jobs=60, load=0.9, cluster=CLUSTER, seed=1, model=1)

every_metric = each("key", sorted(KNOWN))


@pytest.fixture(scope="module")
def runs():
    """Runs that together have all that any metric needs."""
    profiled = JOBS.with_profiles(gs.model.zoo(), seed=1)
    return {
        "plain": gs.simulate(JOBS, CLUSTER, policy="fifo"),
        "many jobs": gs.simulate(gs.generate("philly", jobs=400), CLUSTER, policy="fifo"),
        "deadlines": gs.simulate(JOBS.with_deadlines(seed=1), CLUSTER, policy="dancer"),
        "contention": gs.simulate(
            profiled, CLUSTER, policy="srtf", placement="first-fit", speed="ring",
            contention="shared",
        ),
        "predictions": gs.simulate(JOBS, CLUSTER, policy="sjf", predictor="forest:trees=2"),
        "weights": gs.simulate(
            replace(JOBS, weight=np.arange(1.0, len(JOBS) + 1)), CLUSTER, policy="wspt"
        ),
        "failures": each_end(),
        "holds": each_hold(),
    }  # fmt: skip


@every_metric
def test_a_metric_says_what_it_is(key):
    metric = KNOWN[key]
    assert metric.key == key
    assert metric.unit in UNITS
    assert metric.summary.endswith(".")
    assert metric.better in BETTER
    assert metric.group in GROUPS
    assert set(metric.needs) <= set(NEEDS)
    assert metric.label
    assert metric.table == "none" or metric.short
    assert key.endswith("_s") == (metric.unit in ("s", "GPU s", "1/s")), "keys of seconds end in _s"


@every_metric
def test_a_metric_is_computed_where_the_run_has_what_it_needs(key, runs):
    metric = KNOWN[key]
    summaries = [(run, run.summary()) for run in runs.values()]
    if metric.is_default:
        found = [(run, summary[key]) for run, summary in summaries if key in summary]
    else:
        assert not any(key in summary for _, summary in summaries)
        found = []
        for run in runs.values():  # until one has as many jobs as it takes
            found.append((run, run.metric(key)))
            if math.isfinite(found[-1][1]):
                break
    assert found, "no run has what it needs"
    for run, value in found:
        assert isinstance(value, str) == (metric.unit == "text")
        assert run.metric(key) == value or math.isnan(float(value))
    assert any(isinstance(value, str) or math.isfinite(value) for _, value in found)
    if set(metric.needs) & {
        "deadlines",
        "contention",
        "predictions",
        "weights",
        "failures",
        "holds",
    }:
        assert key not in runs["plain"].summary()
        with pytest.raises(ValueError, match=f"metric {key}: is defined only where"):
            runs["plain"].metric(key)


def test_tables_have_an_order_of_their_own():
    assert [metric.key for metric in main_metrics()][:3] == ["dsr", "mean_jct_s", "p99_jct_s"]
    assert set(main_metrics()) < set(all_metrics())


@pytest.fixture
def add():
    """Register a metric that is forgotten after the test."""

    def add(**fields: Any) -> None:
        given = {"unit": "s", "summary": "The longest time to the first start.", **fields}

        @gs.register_metric("longest_delay_s", **given)
        def _longest(run: RunFacts) -> Any:
            delay_us = (run.schedule.start_us - run.trace.submit_us)[run.finished]
            return delay_us.max() / 1e6

    yield add
    gs.unregister("longest_delay_s")


def test_a_new_metric_is_in_summary_table_json_and_report(add):
    add(table="main")
    comparison = gs.compare(JOBS, CLUSTER, ["fifo", "srtf"])
    for result in comparison.results.values():
        longest = (result.schedule.start_us - JOBS.submit_us).max() / 1e6
        assert result.summary()["longest_delay_s"] == longest
        assert type(result.summary()["longest_delay_s"]) is float
    assert "longest_delay_s" in comparison.table().columns
    plain = json.loads(json.dumps(comparison.to_dict()))
    assert "longest_delay_s" in plain["results"][0]
    assert "The longest time to the first start." in render_report(comparison)
    assert "longest delay" in [metric.label for metric in main_metrics()]


def test_a_metric_that_is_not_asked_for_is_computed_by_its_name(add):
    add(is_default=False)
    result = gs.simulate(JOBS, CLUSTER, policy="fifo")
    assert "longest_delay_s" not in result.summary()
    assert result.metric("longest_delay_s") > 0
    with pytest.raises(ValueError, match="unknown metric 'longest_dela'; did you mean"):
        result.metric("longest_dela")


def test_a_neutral_metric_has_no_best(add):
    add(better="neutral")
    from gpusched.results.shown_metrics import columns

    metric = gs.metrics()["longest_delay_s"]
    (column,) = columns([{metric.key: 1.0}, {metric.key: 2.0}], [metric])
    assert not any(cell.best for cell in column.cells)


@pytest.mark.usefixtures("add")
def test_a_metric_that_fails_is_named():
    @gs.register_metric("longest_delay_s", unit="s", summary="None.")
    def _fails(run: RunFacts) -> object:
        return [1]

    result = gs.simulate(JOBS, CLUSTER, policy="fifo")
    with pytest.raises(TypeError, match=r"metric longest_delay_s: expected a number or a text"):
        result.summary()
    gs.unregister("longest_delay_s")

    @gs.register_metric("longest_delay_s", unit="s", summary="None.")
    def _raises(run: RunFacts) -> float:
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as error:
        gs.simulate(JOBS, CLUSTER, policy="fifo").summary()
    assert error.value.__notes__ == ["in the metric longest_delay_s"]


@each(
    ("field", "value", "message"),
    [
        ("key", "gap", "metric: the name 'gap' is taken"),
        ("unit", "sec", "metric another: unknown unit 'sec'"),
        ("summary", "", "metric another: summary must not be empty"),
        ("better", "more", "metric another: unknown direction 'more'"),
        ("needs", ("deadline",), "unknown need 'deadline'; did you mean 'deadlines'"),
        ("table", "big", "metric another: unknown table 'big'"),
        ("group", "job", "unknown group 'job'; did you mean 'jobs'"),
        ("kind", "percents", "unknown kind 'percents'; did you mean 'percent'"),
    ],
)
def test_a_wrong_registration_is_refused(field, value, message):
    fields = {"key": "another", "unit": "s", "summary": "A.", field: value}
    with pytest.raises(ValueError, match=message):
        gs.register_metric(**fields)  # type: ignore[arg-type]
    more: dict[str, Any] = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        gs.register_metric("another", unit="s", summary="A.", **more)(lambda run: 1.0)
    assert "another" not in gs.metrics()


def test_the_short_name_is_the_given_one_or_the_label_in_two_lines(add):
    add()
    assert gs.metrics()["longest_delay_s"].short == "longest|delay"
    assert KNOWN["allocation"].short == "alloc."


def test_a_run_that_took_no_time_has_infinite_speed(runs):
    plain = runs["plain"]
    quick = gs.Result(plain.trace, plain.cluster, plain.spec, plain.schedule, 0.0)
    assert quick.metric("jobs_per_s") == math.inf
