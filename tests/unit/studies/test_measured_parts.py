"""Studies and pages of the part of runs between a warm-up and a tail."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.reporting.report import render_report
from gpusched.studies import what_if as whatif_module

CLUSTER = gs.Cluster.uniform(2, 8)
HOUR = 3_600.0
CUTS = {"warm_up_s": 6 * HOUR, "tail_s": 2 * HOUR}


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    rng = np.random.default_rng(7)
    submit_s = np.sort(rng.uniform(0, 24 * HOUR, 300)).round()
    service_s = rng.lognormal(7, 1.2, 300).round() + 1
    users = [f"user {number}" for number in rng.integers(0, 20, 300)]
    return gs.Trace.from_columns(submit_s, service_s, rng.choice([1, 2, 8], 300), user=users)


@pytest.fixture(scope="module")
def part(trace: gs.Trace) -> gs.Comparison:
    return gs.compare(trace, CLUSTER, ["fifo", "srtf", "easy"], **CUTS)


@pytest.fixture(scope="module")
def inside(trace: gs.Trace) -> Any:
    since = trace.submit_s - trace.submit_s[0]
    return (since >= 6 * HOUR) & (trace.submit_s <= trace.submit_s[-1] - 2 * HOUR)


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


def test_whole_and_part_are_views_of_the_same_runs(trace, part):
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
    page = render_report(part, plotly="cdn")
    said = (
        "metrics: of the run after a warm-up of 6.00 h and until 2.00 h before the last "
        f"submission; {inside.sum()} jobs submitted in it"
    )
    assert said in page
    assert "gap to lower bound" not in page
    chart = page.partition('id="wait_by_width-data">')[2].partition("</script>")[0]
    notes = [note["text"] for note in json.loads(chart)["layout"]["annotations"]]
    counts = [int(note.split("(")[1].split()[0]) for note in notes if "(" in note]
    assert sum(counts) == inside.sum()
    path = tmp_path / "one.html"
    gs.write_report(part.results["fifo"], path, plotly="cdn", **CUTS)
    assert said in path.read_text()
    with pytest.raises(ValueError, match="warm_up_s"):
        gs.write_report(part.results["fifo"], path, warm_up_s=1e9)


def test_a_part_without_jobs_is_refused_before_anything_runs(trace, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("gpusched.studies.comparison.simulate", never)
    monkeypatch.setattr("gpusched.studies.sizing.simulate", never)
    with pytest.raises(ValueError, match=r"none is left without the first .*\(warm_up_s\)"):
        gs.compare(trace, CLUSTER, ["fifo"], warm_up_s=1e8)
    with pytest.raises(ValueError, match=r"last 1e\+08 s \(tail_s\)"):
        gs.size(trace, "p95_wait_s < 600", tail_s=1e8)
    with pytest.raises(ValueError, match="goal: makespan_s is of whole runs"):
        gs.size(trace, "makespan_s < 600", warm_up_s=60)


def test_a_what_if_is_of_the_part_of_each_run(trace, inside):
    answer = gs.whatif(trace, CLUSTER, "fifo", ["policy=srtf", "servers=+1"], **CUTS)
    base = gs.simulate(trace, CLUSTER, policy="fifo")
    after = gs.simulate(trace, CLUSTER, policy="srtf")
    for outcome, result in zip((answer.base, answer.outcomes[0]), (base, after), strict=True):
        summary = result.summary(**CUTS)
        for key in ("mean_wait_s", "p95_wait_s", "mean_jct_s", "p95_jct_s", "utilisation"):
            assert outcome.measures[key] == summary[key]
        assert math.isnan(outcome.measures["makespan_s"])
        assert outcome.num_finished == inside.sum()
    change_s = (after.jobs.jct_s - base.jobs.jct_s)[inside]
    assert answer.outcomes[0].num_gain == np.count_nonzero(change_s < -60)
    assert answer.outcomes[0].num_lose == np.count_nonzero(change_s > 60)
    assert "after a warm-up of 6.00 h and until 2.00 h before the last submission" in str(answer)


def test_a_size_meets_the_goal_in_the_part(trace):
    goal, bound = "p95_wait_s < 30 min", 30 * 60
    found = gs.size(trace, goal, policy="fifo", resamples=2, block_s=6 * HOUR, **CUTS)
    every = [
        servers
        for servers in range(1, 12)
        if gs.simulate(trace, gs.Cluster.uniform(servers), policy="fifo").metric(
            "p95_wait_s", **CUTS
        )
        < bound
    ]
    assert found.servers == every[0]
    assert found.window is not None
    assert found.to_dict()["window"] == CUTS
    assert any("after a warm-up of 6.00 h" in note for note in found.notes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("policy=esay", "change policy=esay: .*did you mean 'easy'"),
        ("placement=consolidate", "change placement=consolidate: .*'consolidated'"),
        ("predictor=oracel", "change predictor=oracel: .*oracle"),
        ("speed=rings", "change speed=rings: .*did you mean 'ring'"),
        ("contention=share", "change contention=share: .*'shared'"),
        ("servers=many", r"change servers=many: must be a number, or one to add"),
        ("load=high", "change load=high: must be a positive number"),
        ("load=*0", r"change load=\*0: must be a positive number"),
        ("estimates=bad", "change estimates=bad: must be exact, or a factor"),
        ("estimates=*2", r"change estimates=\*2: the trace has no estimates"),
    ],
)
def test_a_wrong_change_is_told_before_the_base_case_is_sought(trace, change, message, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the base case was sought")

    monkeypatch.setattr(whatif_module, "_assumed", never)
    with pytest.raises(ValueError, match=message):
        gs.whatif(trace, None, "fifo", ["policy=srtf", change])
