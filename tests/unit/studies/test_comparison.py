"""Several policies on one workload, and parts of their runs."""

import json
import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.reporting.notes import caption, footnotes
from gpusched.reporting.report import render_report
from gpusched.schedules.schedule import UNFINISHED, StoredSchedule
from gpusched.studies import comparison as study
from gpusched.studies import what_if as whatif_module
from gpusched.studies.comparison import Comparison, Interrupted, compare
from gpusched.studies.threaded_runs import in_threads
from tests.each import each

POLICIES = ["fifo", "sjf", "srtf", "2d-las", "easy"]


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    return gs.generate("philly", 400, load=1.1, cluster=gs.Cluster.uniform(4, 8), seed=3, model=1)


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


def test_no_default_policy_lets_jobs_pile_up_on_the_default_workload():
    cluster = gs.Cluster.uniform(64)
    made = compare(gs.generate("philly", 20_000, load=0.9, cluster=cluster), cluster)
    assert "fifo" not in made.results  # strict, and unstable from low loads on
    for label, result in made.results.items():
        stretch = [
            result.jobs.jct_s[part].sum() / result.jobs.service_s[part].sum()
            for part in (slice(6_667), slice(13_333, None))
        ]
        assert stretch[1] / stretch[0] < 1.5, label


def test_objects_of_one_class_are_compared_if_they_differ(trace, cluster):
    made = compare(trace, cluster, [Scaled(1), "fifo", Scaled(-1)])
    one, fifo, other = made.results
    assert (fifo, one == other, one.startswith("python:Scaled@")) == ("fifo", False, True)
    assert made.results[one].digest != made.results[other].digest
    assert made.results[one].spec != made.results[other].spec
    assert list(compare(trace, cluster, [Scaled(1), "fifo", Scaled(-1)]).results) == [*made.results]


SAME = Scaled(1)


@each(
    ("policies", "options", "error", "message"),
    [
        ([], {}, ValueError, "at least one"),
        ("fifo", {}, TypeError, "expected a list"),
        ([3], {}, TypeError, "not 3"),
        (["srft"], {}, ValueError, "srtf"),
        (["fifo", "sjf", gs.Policy("fifo")], {}, ValueError, "'fifo' is listed twice"),
        ([SAME, "fifo", SAME], {}, ValueError, "'python:Scaled.* is listed twice"),
        ([Scaled(1), Scaled(1)], {}, ValueError, "'python:Scaled.* is listed twice"),
        (["fifo"], {"threads": 0}, ValueError, "threads"),
        (["fifo"], {"threads": 1.5}, TypeError, "threads"),
    ],
)
def test_what_cannot_be_compared_is_refused(policies, options, error, message, trace, cluster):
    with pytest.raises(error, match=message):
        compare(trace, cluster, policies, **options)


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
    assert (row["num_rejected"], row["mean_jct_s"]) == (2, None)


ONE = gs.Cluster.uniform(1, 1)


@pytest.fixture(scope="module")
def swapped() -> Comparison:
    """One GPU. Under fifo a, b, c end at 10, 16, 18; under sjf a, c, b at 10, 12, 18."""
    jobs = gs.Trace.from_columns(
        [0, 1, 2], [10, 6, 2], [1, 1, 1], id=["a", "b", "c"], user=["ann", "bob", "bob"]
    )
    return gs.compare(jobs, ONE, ["fifo", "sjf"])


def test_losers_end_later_and_winners_earlier(swapped):
    lost, won = swapped.losers(), swapped.winners()
    assert lost.columns == [
        "job", "id", "user", "gpus", "submit_s", "service_s", "baseline_status", "baseline_wait_s",
        "baseline_jct_s", "policy_status", "policy_wait_s", "policy_jct_s", "lost_s",
    ]  # fmt: skip
    shown = ("job", "id", "baseline_wait_s", "policy_wait_s", "baseline_jct_s", "policy_jct_s")
    assert lost.select(*shown, "lost_s").rows() == [(1, "b", 9, 11, 15, 17, 2)]
    assert won.select(*shown, "won_s").rows() == [(2, "c", 14, 8, 16, 10, 6)]


def test_the_other_direction_swaps_them(swapped):
    assert swapped.losers("fifo")["id"].to_list() == ["c"]
    assert swapped.winners("fifo", baseline="sjf")["id"].to_list() == ["b"]


def test_groups_are_told_what_they_lost_in_all(swapped):
    lost = swapped.losers(by="user")
    assert lost.rows() == [("bob", 2, 1, 1, 2, -2, 11.5, 9.5), ("ann", 1, 0, 0, 0, 0, 0, 0)]
    assert lost.columns == [
        "user", "num_jobs", "num_worse", "num_better", "lost_s", "mean_change_s",
        "baseline_mean_wait_s", "policy_mean_wait_s",
    ]  # fmt: skip
    won = swapped.winners(by="user", limit=1)
    assert won.rows() == [("bob", 2, 1, 1, 6, -2, 11.5, 9.5)]


def test_a_job_that_no_longer_finishes_has_lost_the_most(swapped):
    fifo, sjf = swapped.results.values()
    of = StoredSchedule.of(sjf.schedule)
    status = of.status.copy()
    status[0] = UNFINISHED
    cut = gs.Result(sjf.trace, sjf.cluster, sjf.spec, replace(of, status=status), 1.0)
    made = Comparison(swapped.trace, ONE, {"fifo": fifo, "sjf": cut})
    assert made.losers().select("id", "policy_status", "lost_s").rows() == [
        ("a", "unfinished", None), ("b", "finished", 2.0),
    ]  # fmt: skip
    assert made.winners("fifo").select("id", "won_s").rows() == [("a", None), ("b", 2.0)]
    assert made.losers(by="user").select("user", "num_jobs", "num_worse", "lost_s").rows() == [
        ("bob", 2, 1, 2.0), ("ann", 1, 1, 0.0),
    ]  # fmt: skip


def test_all_jobs_are_accounted_for():
    cluster = gs.Cluster.uniform(4, 8)
    jobs = gs.generate("philly", 400, load=1.1, cluster=cluster, seed=3)
    made = gs.compare(jobs, cluster, ["fifo", "srtf"])
    lost, won = made.losers("srtf", limit=None), made.winners("srtf", limit=None)
    before, after = made.results["fifo"].jobs.jct_s, made.results["srtf"].jobs.jct_s
    assert sorted([*lost["job"], *won["job"]]) == np.flatnonzero(before != after).tolist()
    assert lost["lost_s"].is_sorted(descending=True)
    assert lost["lost_s"].sum() - won["won_s"].sum() == pytest.approx((after - before).sum())
    assert len(made.losers("srtf", limit=3)) == 3
    groups = made.losers("srtf", by="gpus")
    assert groups["num_worse"].sum() == len(lost)
    assert groups["num_better"].sum() == len(won)
    assert groups["lost_s"].sum() == pytest.approx(lost["lost_s"].sum())
    assert made.winners("srtf", by="queue")["won_s"].sum() == pytest.approx(won["won_s"].sum())


def test_every_policy_is_broken_down(swapped):
    found = swapped.by("user")
    assert found.columns[:3] == ["policy", "user", "num_jobs"]
    for label, result in swapped.results.items():
        own = found.filter(pl.col("policy") == label).drop("policy")
        assert own.equals(result.by("user"))


@each(
    ("arguments", "options", "message"),
    [
        (["srft"], {}, "policy: no result of 'srft'; did you mean 'srtf'"),
        (["srtf"], {"baseline": "sjf"}, "baseline: no result of 'sjf'"),
        ([], {}, "policy: name one of srtf, easy"),
        (["fifo"], {"baseline": "fifo"}, "policy: fifo is the baseline"),
        (["srtf"], {"by": "users"}, "by: unknown 'users'"),
        (["srtf"], {"limit": 2.5}, "limit"),
    ],
)
def test_losers_that_cannot_be_named_are_an_error(part, arguments, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        part.losers(*arguments, **options)
    with pytest.raises(ValueError, match="policy: name one of two or more"):
        part.select(["fifo"]).losers()


CLUSTER = gs.Cluster.uniform(2, 8)
HOUR = 3_600.0
CUTS = {"warm_up_s": 6 * HOUR, "tail_s": 2 * HOUR}


@pytest.fixture(scope="module")
def day() -> gs.Trace:
    rng = np.random.default_rng(7)
    submit_s = np.sort(rng.uniform(0, 24 * HOUR, 300)).round()
    service_s = rng.lognormal(7, 1.2, 300).round() + 1
    users = [f"user {number}" for number in rng.integers(0, 20, 300)]
    return gs.Trace.from_columns(submit_s, service_s, rng.choice([1, 2, 8], 300), user=users)


@pytest.fixture(scope="module")
def part(day: gs.Trace) -> gs.Comparison:
    return gs.compare(day, CLUSTER, ["fifo", "srtf", "easy"], **CUTS)


@pytest.fixture(scope="module")
def inside(day: gs.Trace) -> Any:
    since = day.submit_s - day.submit_s[0]
    return (since >= 6 * HOUR) & (day.submit_s <= day.submit_s[-1] - 2 * HOUR)


def test_a_comparison_is_of_the_part(part, inside):
    assert 0 < inside.sum() < 300
    for label, result in part.results.items():
        assert part.summaries[label] == result.summary(**CUTS)
        assert part.summaries[label]["num_jobs"] == inside.sum()
        assert part.summaries[label]["mean_wait_s"] == pytest.approx(
            result.jobs.wait_s[inside].mean()
        )
    assert "gap" not in part.table().columns
    assert part.table()["window_begin_s"].n_unique() == 1
    assert part.to_dict()["window"] == CUTS
    assert pickle.loads(pickle.dumps(part)).summaries == part.summaries


def test_whole_and_part_are_views_of_the_same_runs(day, part):
    whole = part.within(None)
    assert whole.summaries["fifo"] == part.results["fifo"].summary()
    assert "window" not in whole.to_dict()
    assert whole.within(**CUTS).summaries == part.summaries
    assert part.select({"srtf"}).summaries["srtf"] == part.summaries["srtf"]


def test_groups_and_losers_are_of_its_jobs(part, inside):
    by_user = part.results["fifo"].by("user", **CUTS)
    assert by_user["num_jobs"].sum() == inside.sum()
    assert part.by("gpus").filter(part.by("gpus")["policy"] == "srtf")["num_jobs"].sum() == (
        inside.sum()
    )
    assert inside[part.losers("srtf", limit=None)["job"].to_numpy()].all()
    later = part.results["srtf"].jobs.jct_s > part.results["fifo"].jobs.jct_s
    assert len(part.losers("srtf", limit=None)) == (later & inside).sum()
    groups = part.losers("srtf", by="user", limit=None)
    assert groups["num_jobs"].sum() == inside.sum()
    assert groups["num_worse"].sum() == (later & inside).sum()


def test_the_report_says_which_part_it_is_of(part, inside, tmp_path):
    page = render_report(part)
    said = (
        "metrics cover the run after a warm-up of 6 h and until 2 h before the last "
        f"submission; {inside.sum()} jobs submitted in it"
    )
    assert said in page
    assert "gap to lower bound" not in page
    chart = page.partition('id="wait_by_width-chart">')[2].partition("</script>")[0]
    names = json.loads(chart)["encoding"]["y"]["scale"]["domain"]
    counts = [int(name.split("(")[1].split()[0]) for name in names]
    assert sum(counts) == inside.sum()
    path = tmp_path / "one.html"
    gs.write_report(part.results["fifo"], path, **CUTS)
    assert said in path.read_text()
    with pytest.raises(ValueError, match="warm_up_s"):
        gs.write_report(part.results["fifo"], path, warm_up_s=1e9)


def test_a_part_without_jobs_is_refused_before_anything_runs(day, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("gpusched.studies.comparison.simulate", never)
    monkeypatch.setattr("gpusched.studies.sizing.simulate", never)
    with pytest.raises(ValueError, match=r"none is left without the first .*\(warm_up_s\)"):
        gs.compare(day, CLUSTER, ["fifo"], warm_up_s=1e8)
    with pytest.raises(ValueError, match=r"last 1e\+08 s \(tail_s\)"):
        gs.size(day, "p95_wait_s < 600", tail_s=1e8)
    with pytest.raises(ValueError, match="goal: makespan_s is defined for whole runs only"):
        gs.size(day, "makespan_s < 600", warm_up_s=60)


def test_a_what_if_is_of_the_part_of_each_run(day, inside):
    answer = gs.whatif(day, CLUSTER, "fifo", ["policy=srtf", "servers=+1"], **CUTS)
    base = gs.simulate(day, CLUSTER, policy="fifo")
    after = gs.simulate(day, CLUSTER, policy="srtf")
    for outcome, result in zip((answer.base, answer.outcomes[0]), (base, after), strict=True):
        summary = result.summary(**CUTS)
        for key in ("mean_wait_s", "p95_wait_s", "mean_jct_s", "p95_jct_s", "utilisation"):
            assert outcome.measures[key] == summary[key]
        assert math.isnan(outcome.measures["makespan_s"])
        assert outcome.num_finished == inside.sum()
    change_s = (after.jobs.jct_s - base.jobs.jct_s)[inside]
    assert answer.outcomes[0].num_gain == np.count_nonzero(change_s < -60)
    assert answer.outcomes[0].num_lose == np.count_nonzero(change_s > 60)
    assert "after a warm-up of 6 h and until 2 h before the last submission" in str(answer)


def test_a_size_meets_the_goal_in_the_part(day):
    goal, bound = "p95_wait_s < 30 min", 30 * 60
    found = gs.size(day, goal, policy="fifo", resamples=2, block_s=6 * HOUR, **CUTS)
    every = [
        servers
        for servers in range(1, 12)
        if gs.simulate(day, gs.Cluster.uniform(servers), policy="fifo").metric("p95_wait_s", **CUTS)
        < bound
    ]
    assert found.servers == every[0]
    assert found.window is not None
    assert found.to_dict()["window"] == CUTS
    assert any("after a warm-up of 6 h" in note for note in found.notes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("policy=esay", "change policy=esay: .*did you mean 'easy'"),
        ("servers=many", r"change servers=many: must be a number or a difference"),
        ("estimates=*2", r"change estimates=\*2: the trace has no estimates"),
    ],
)
def test_a_wrong_change_is_told_before_the_base_case_is_sought(day, change, message, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the base case was sought")

    monkeypatch.setattr(whatif_module, "_assumed", never)
    with pytest.raises(ValueError, match=message):
        gs.whatif(day, None, "fifo", ["policy=srtf", change])


# Two jobs take turns each minute for sixty years: minutes of computing.
ENDLESS = gs.Trace.from_columns([0, 1], [1e9, 1e9], [1, 1]), gs.Cluster.uniform(1, 1)


def square(number: int, *_: Any) -> int:
    return number**2


def bad(*_: Any) -> int:
    raise ValueError("row 7 is odd")


class Endless:
    """A run that nobody waits for, and whether it was ended."""

    def __init__(self) -> None:
        self.has_ended = threading.Event()

    def __call__(self, *_: Any) -> int:
        with pytest.raises(gs.Cancelled):
            gs.simulate(*ENDLESS, policy="las")
        self.has_ended.set()
        raise gs.Cancelled(0, 1)


def test_what_the_parts_give_comes_in_their_order():
    parts: dict[str, Any] = {str(number): partial(square, number) for number in range(20)}
    for threads in (1, 3, None):
        made = in_threads(parts, threads=threads)
        assert list(made.items()) == [(str(number), number**2) for number in range(20)]


def test_an_error_names_its_part():
    parts: dict[str, Any] = {"one": partial(square, 1), "two": bad}
    with pytest.raises(ValueError, match=r"^two: row 7 is odd$"):
        in_threads(parts)


@pytest.mark.timeout(60)
def test_a_stop_reaches_parts_that_run():
    stop, long = threading.Event(), Endless()
    parts: dict[str, Any] = {"long": long, "short": partial(square, 1)}
    with pytest.raises(gs.Cancelled, match="stopped after 1 of 2 things"):
        in_threads(parts, threads=2, stop=stop, progress=lambda now: stop.set(), unit="things")
    assert long.has_ended.wait(60)


@pytest.mark.timeout(60)
def test_ctrl_c_reaches_parts_that_run():
    long = Endless()

    def interrupt(now: gs.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads({"long": long, "short": partial(square, 1)}, threads=2, progress=interrupt)
    assert long.has_ended.wait(60)


class Turning(gs.Placement):
    """Remembers how often it was asked: jobs of one GPU go to the servers in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.num_asked = 0

    def place(self, free: Any, request: Any) -> Any:
        """Place it on the next server, or on the first that has room."""
        self.num_asked += 1
        for turn in range(3):
            server = (self.num_asked + turn) % 3
            if free.free_gpus[server]:
                return [(server, free.lowest_free(server, 1))]
        return None


TURNED = gs.Trace.from_columns(range(30), [7, 9, 4] * 10, [1] * 30)
SERVERS = gs.Cluster.uniform(servers=3, gpus=2)


def test_runs_of_a_comparison_do_not_share_a_placement_of_python():
    policies = ["fifo", "sjf", "srtf", "easy"]
    alone = {
        policy: gs.simulate(TURNED, SERVERS, policy=policy, placement=Turning()).digest
        for policy in policies
    }
    placement = Turning()
    found = gs.compare(TURNED, SERVERS, policies, placement=placement, threads=4)
    assert {label: result.digest for label, result in found.results.items()} == alone
    assert placement.num_asked == 0


def test_runs_of_a_what_if_do_not_share_what_is_written_in_python():
    def changes(threads: int) -> list[Any]:
        answer = gs.whatif(
            TURNED, SERVERS, "fifo", ["policy=sjf", "policy=srtf", "servers=+1"],
            placement=Turning(), threads=threads,
        )  # fmt: skip
        return [dict(outcome.measures) for outcome in answer.outcomes]

    assert changes(1) == changes(4) == changes(4)


def test_a_placement_that_cannot_be_copied_for_several_runs_is_named():
    class Locked(Turning):
        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()

    gs.compare(TURNED, SERVERS, ["fifo"], placement=Locked())
    with pytest.raises(TypeError, match="Locked: each of several runs needs its own copy"):
        gs.compare(TURNED, SERVERS, ["fifo", "sjf"], placement=Locked())


def test_metrics_of_jobs_are_of_those_that_every_policy_finishes():
    cluster = gs.Cluster.uniform(4, 8)
    trace = gs.generate("philly", 400, load=1.0, cluster=cluster, seed=3, model=1)
    results = {
        "large": gs.simulate(trace, cluster, policy="fifo-skip"),
        "small": gs.simulate(trace, gs.Cluster.uniform(1, 8), policy="fifo-skip"),
    }
    found = Comparison(trace, cluster, results)
    narrow = trace.gpus <= 8
    assert 0 < narrow.sum() < 400
    for label, summary in found.summaries.items():
        jobs, whole = results[label].jobs, results[label].summary()
        assert summary["mean_jct_s"] == pytest.approx(jobs.jct_s[narrow].mean())
        assert summary["max_jct_s"] == jobs.jct_s[narrow].max()
        assert summary["mean_wait_s"] == pytest.approx(jobs.wait_s[narrow].mean())
        for key in ("num_finished", "utilisation", "makespan_s", "preemptions"):
            assert summary[key] == whole[key]
    assert found.summaries["small"] == results["small"].summary()
    assert found.summaries["large"]["gap"] >= 0
    (said,) = [line for line in caption(found) if line.startswith("job metrics count")]
    assert said.startswith(
        f"job metrics count the {narrow.sum()} jobs that every policy finishes; "
    )
    alone = found.select(["large"])
    assert alone.summaries["large"] == results["large"].summary()
    assert not [line for line in caption(alone) if line.startswith("job metrics count")]
    late = found.within(warm_up_s=3_600)
    counted = narrow & late.counted
    summary = late.summaries["large"]
    assert summary["mean_jct_s"] == pytest.approx(results["large"].jobs.jct_s[counted].mean())


def test_ten_parts_of_a_trace_say_how_far_the_order_of_policies_holds():
    rows = np.arange(1000)  # values made by hand: the means of the parts, and what follows
    own, other = 100 + rows % 7, (100 + rows % 5) * (1 + 0.05 * (rows // 100))
    by_hand = gs.studies.ratio(*(values.reshape(10, 100).mean(axis=1) for values in (own, other)))
    told = [round(figure, 4) for figure in (by_hand.value, by_hand.low, by_hand.high)]
    assert told == [0.8286, 0.7502, 0.9183]
    cluster = gs.Cluster.uniform(8, 8)
    trace = gs.generate("philly", 3_000, load=0.9, cluster=cluster, seed=2)
    found = compare(trace, cluster, ["fifo-skip", "srtf", "fifo"])
    tenths = found.tenths()
    assert list(tenths) == ["srtf", "fifo"]
    jct_s = {label: result.jobs.jct_s for label, result in found.results.items()}
    parts = {label: values.reshape(10, 300).mean(axis=1) for label, values in jct_s.items()}
    for label, one in tenths.items():
        assert one.ratio == pytest.approx(jct_s[label].mean() / jct_s["fifo-skip"].mean())
        assert one.num_lower == (parts[label] < parts["fifo-skip"]).sum()
        assert one.typical == gs.studies.ratio(parts[label], parts["fifo-skip"])
    back = found.tenths("srtf")["fifo-skip"]
    assert back.typical.value == pytest.approx(1 / tenths["srtf"].typical.value)
    said = f"srtf lower in {tenths['srtf'].num_lower}, typically {tenths['srtf'].typical.value:.3g}"
    assert any(said in line for line in footnotes(found))
    assert compare(trace.head(2_999), cluster, ["fifo-skip", "srtf"]).tenths() == {}
    made = found.to_dict()
    assert made["tenths"]["srtf"]["low"] == tenths["srtf"].typical.low
    assert made["same_jobs"] == {"num": 3_000, "num_others": 0, "share_of_others": 0.0}
    assert "tenths" not in found.select([]).to_dict()
    with pytest.raises(ValueError, match="baseline: no result of 'strf'; did you mean 'srtf'"):
        found.tenths("strf")
