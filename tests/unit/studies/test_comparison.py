"""Several policies on one workload."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import gpusched as gs
from gpusched.studies import comparison as study
from gpusched.studies.comparison import Comparison, Interrupted, compare

POLICIES = ["fifo", "sjf", "srtf", "2d-las", "easy"]


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    return gs.generate("philly", 400, load=1.1, cluster=gs.Cluster.uniform(4, 8), seed=3)


@pytest.fixture(scope="module")
def cluster() -> gs.Cluster:
    return gs.Cluster.uniform(4, 8)


@pytest.fixture(scope="module")
def comparison(trace: gs.Trace, cluster: gs.Cluster) -> Comparison:
    return compare(trace, cluster, POLICIES)


def test_a_run_in_a_comparison_equals_the_run_alone(comparison, trace, cluster):
    for policy in POLICIES:
        alone = gs.simulate(trace, cluster, policy=policy)
        assert comparison.results[policy].digest == alone.digest


def test_the_number_of_threads_changes_nothing(comparison, trace, cluster):
    for threads in (1, 2, 7):
        again = compare(trace, cluster, POLICIES, threads=threads)
        assert digests(again) == digests(comparison)


def digests(comparison: Comparison) -> list[tuple[str, str]]:
    return [(label, result.digest) for label, result in comparison.results.items()]


def test_results_stand_in_the_order_asked_under_canonical_labels(trace, cluster):
    asked = ["srtf", gs.Policy("2d-las", preset="lucid"), "fifo"]
    assert list(compare(trace, cluster, asked).results) == ["srtf", "2d-las:preset=lucid", "fifo"]


def test_the_options_reach_every_run(trace, cluster):
    made = compare(trace, cluster, ["fifo", "random"], placement="spread", seed=5)
    assert {r.spec.placement for r in made.results.values()} == {"spread"}
    assert {r.spec.seed for r in made.results.values()} == {5}


def test_a_policy_may_be_an_object_of_a_python_class(trace, cluster):
    class FirstSubmitted(gs.Order):
        lifetime = "fixed"

        def rank(self, view: Any, jobs: Any) -> Any:
            return trace.submit_us[jobs].astype(float)

    made = compare(trace, cluster, ["fifo-skip", FirstSubmitted()])
    native, python = made.results
    assert native == "fifo-skip"
    assert python.startswith("python:")
    assert made.results[native].digest == made.results[python].digest


def test_two_policies_that_mean_the_same_are_refused(trace, cluster):
    with pytest.raises(ValueError, match="'fifo' is listed twice"):
        compare(trace, cluster, ["fifo", "sjf", gs.Policy("fifo")])


@pytest.mark.parametrize(
    ("policies", "error", "message"),
    [
        ([], ValueError, "at least one"),
        ("fifo", TypeError, "expected a list"),
        ([3], TypeError, "not 3"),
        (["srft"], ValueError, "srtf"),
    ],
)
def test_a_malformed_list_of_policies_is_refused(policies, error, message, trace, cluster):
    with pytest.raises(error, match=message):
        compare(trace, cluster, policies)


@pytest.mark.parametrize(("threads", "error"), [(0, ValueError), (1.5, TypeError)])
def test_a_senseless_number_of_threads_is_refused(threads, error, trace, cluster):
    with pytest.raises(error, match="threads"):
        compare(trace, cluster, ["fifo"], threads=threads)


def test_an_error_in_a_run_names_its_policy(trace, cluster, monkeypatch):
    monkeypatch.setattr(study, "simulate", failing("sjf", ValueError("row 7 is odd")))
    with pytest.raises(ValueError, match="policy sjf: row 7 is odd"):
        compare(trace, cluster, ["fifo", "sjf"])


def test_an_error_of_another_type_keeps_it_and_gets_a_note(trace, cluster, monkeypatch):
    monkeypatch.setattr(study, "simulate", failing("sjf", ZeroDivisionError("oops")))
    with pytest.raises(ZeroDivisionError) as caught:
        compare(trace, cluster, ["fifo", "sjf"])
    assert caught.value.__notes__ == ["in the run of policy sjf"]


def test_an_error_of_one_policy_comes_when_the_others_are_done_and_holds_them(
    trace, cluster, monkeypatch
):
    monkeypatch.setattr(study, "simulate", failing("fifo", ValueError("row 7 is odd")))
    with pytest.raises(ValueError, match="policy fifo: row 7 is odd") as caught:
        compare(trace, cluster, ["fifo", "sjf", "srtf"], threads=1)
    kept = caught.value.comparison  # type: ignore[attr-defined]
    assert list(kept.results) == ["sjf", "srtf"]
    assert list(kept.failed) == ["fifo"]
    assert kept.unfinished == ()
    assert kept.results["sjf"].digest == gs.simulate(trace, cluster, policy="sjf").digest
    assert kept.to_dict()["failed"] == {"fifo": "row 7 is odd"}
    assert kept.table().height == 2


def test_of_several_errors_the_first_asked_for_is_raised_and_the_others_are_told(trace, cluster):
    class Bad(gs.Order):
        def __init__(self, error: Exception, delay_s: float = 0) -> None:
            super().__init__()
            self.error, self.delay_s = error, delay_s

        def rank(self, view: Any, jobs: Any) -> Any:
            time.sleep(self.delay_s)
            raise self.error

    slow, quick = Bad(TypeError("slow"), 0.3), Bad(KeyError("quick"))
    with pytest.raises(TypeError, match="slow") as caught:
        compare(trace, cluster, [slow, "fifo", quick], threads=3)
    assert any("quick" in note for note in caught.value.__notes__)
    kept = caught.value.comparison  # type: ignore[attr-defined]
    assert list(kept.results) == ["fifo"]
    assert [type(error) for error in kept.failed.values()] == [TypeError, KeyError] or [
        type(error) for error in kept.failed.values()
    ] == [KeyError, TypeError]


class Scaled(gs.Order):
    """By width, ascending or descending."""

    def __init__(self, sign: int) -> None:
        super().__init__()
        self.sign = sign

    def rank(self, view: Any, jobs: Any) -> Any:
        return self.sign * view.gpus[jobs]


def test_objects_of_one_class_are_compared_if_they_differ(trace, cluster):
    made = compare(trace, cluster, [Scaled(1), "fifo", Scaled(-1)])
    one, fifo, other = made.results
    assert fifo == "fifo"
    assert one != other
    assert one.startswith("python:Scaled@")
    assert made.results[one].digest != made.results[other].digest
    assert made.results[one].spec != made.results[other].spec
    assert list(compare(trace, cluster, [Scaled(1), "fifo", Scaled(-1)]).results) == [*made.results]


def test_objects_that_are_alike_are_listed_twice(trace, cluster):
    same = Scaled(1)
    for policies in ([same, "fifo", same], [Scaled(1), Scaled(1)]):
        with pytest.raises(ValueError, match=r"'python:Scaled.* is listed twice"):
            compare(trace, cluster, policies)


def failing(name: str, error: Exception) -> Callable[..., gs.Result]:
    """``simulate``, but one policy fails."""

    def run(*args: Any, policy: gs.Policy, **options: Any) -> gs.Result:
        if policy.name == name:
            raise error
        return gs.simulate(*args, policy=policy, **options)

    return run


def test_progress_names_the_policy_and_ends_with_all_jobs(trace, cluster):
    seen: list[gs.Progress] = []
    threads: set[threading.Thread] = set()

    def progress(now: gs.Progress) -> None:
        seen.append(now)
        threads.add(threading.current_thread())

    compare(trace, cluster, ["fifo", "srtf"], progress=progress)
    assert {now.part for now in seen} == {"fifo", "srtf"}
    assert {now.total for now in seen} == {len(trace)}
    assert [now.part for now in seen if now.done == now.total].count("fifo") == 1
    assert seen[-1].done == len(trace)
    assert threads == {threading.current_thread()}


class Slow(gs.Order):
    """Takes its time, in Python."""

    def rank(self, view: Any, jobs: Any) -> Any:
        time.sleep(0.02)
        return view.gpus[jobs]


def test_an_interrupt_stops_the_others_and_keeps_what_had_finished(trace, cluster):
    def interrupt(now: gs.Progress) -> None:
        if now.part == "fifo" and now.done == now.total:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            compare(trace, cluster, ["fifo", Slow(), "srtf", "easy"], threads=1, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(caught.value, Interrupted)
    kept = caught.value.comparison
    assert list(kept.results) == ["fifo"]
    assert kept.unfinished == ("python:Slow", "srtf", "easy")
    assert kept.table().height == 1


def test_the_table_has_a_row_per_policy(comparison):
    table = comparison.table()
    assert table["policy"].to_list() == POLICIES
    assert table["mean_jct_s"].to_list() == [
        result.summary()["mean_jct_s"] for result in comparison.results.values()
    ]


def test_the_jobs_of_a_comparison_are_those_of_its_results(comparison):
    """Though what all share of the trace is made once."""
    jobs = comparison.jobs()
    for label, result in comparison.results.items():
        own = jobs.filter(pl.col("policy") == label).drop("policy")
        assert own.equals(result.to_polars())


def test_the_jobs_of_all_policies_go_to_one_parquet_file(comparison, trace, tmp_path):
    comparison.to_parquet(tmp_path / "jobs.parquet")
    jobs = pl.read_parquet(tmp_path / "jobs.parquet")
    assert jobs.columns[0] == "policy"
    assert jobs["policy"].unique(maintain_order=True).cast(pl.String).to_list() == POLICIES
    for policy in POLICIES:
        mine = jobs.filter(pl.col("policy") == policy).drop("policy")
        assert mine.equals(comparison.results[policy].to_polars())
    assert jobs.height == len(POLICIES) * len(trace)


def test_the_dictionary_is_plain_json(comparison):
    made = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert [row["policy"] for row in made["results"]] == POLICIES
    assert made["cluster"]["num_gpus"] == 32
    assert made["trace"]["num_jobs"] == 400
    assert made["unfinished"] == []


def test_undefined_figures_become_null(cluster):
    too_wide = gs.Trace.from_columns([0.0, 1.0], [1.0, 1.0], [64, 64])
    (row,) = compare(too_wide, cluster, ["fifo"]).to_dict()["results"]
    assert row["num_rejected"] == 2
    assert row["mean_jct_s"] is None
