"""The headline names what could be deployed, and never claims too much."""

from __future__ import annotations

import re

import gpusched as gs
from gpusched.reporting.report import headline
from gpusched.studies.comparison import compare


def test_the_best_that_could_be_deployed_comes_first(comparison):
    (line,) = headline(comparison)
    assert line.startswith(
        "Of the policies that could be deployed, 2d-las:preset=lucid has the lowest mean JCT: "
    )
    assert re.search(r"srtf †, which sees the true service times, has [\d.]+ h\.$", line)


def test_the_headline_never_claims_too_much(comparison):
    row = comparison.summaries["2d-las:preset=lucid"]
    (line,) = headline(comparison)
    claim = re.search(r"No schedule of these jobs can lower that by more than ([\d.]+) %", line)
    assert claim is not None
    bound, mean = row["lower_bound_mean_jct_s"], row["mean_jct_s"]
    assert float(claim[1]) / 100 >= 1 - bound / mean > float(claim[1]) / 100 - 0.0011


def test_the_only_one_that_could_be_deployed_is_called_so(comparison):
    (line,) = headline(comparison.select(("fifo", "srtf")))
    assert line.startswith("fifo, the only one of these that could be deployed, has")


def test_without_clairvoyant_policies_nothing_is_said_of_them(comparison):
    (line,) = headline(comparison.select(("fifo", "2d-las:preset=lucid")))
    assert line.startswith("2d-las:preset=lucid has the lowest mean JCT: ")
    assert "†" not in line


def test_where_none_could_be_deployed_that_is_said():
    trace = gs.Trace.from_columns([0, 0, 0], [8, 1, 4], [1, 1, 1])
    (line,) = headline(compare(trace, gs.Cluster.uniform(1, 1), ["srtf", "sjf"]))
    assert line.startswith("None of these policies could be deployed: all see the true service")
    assert "Of them, srtf † has the lowest mean JCT" in line


def test_a_policy_with_predictions_that_are_no_truth_could_be_deployed():
    trace = gs.generate("philly", 200, seed=1)
    cluster = gs.Cluster.uniform(64, 8)
    for predictor, is_clairvoyant in (("oracle", True), ("noise", True), ("group-mean", False)):
        found = compare(trace, cluster, ["srtf", "sjf"], predictor=predictor)
        (line,) = headline(found)
        assert line.startswith("None of these") == is_clairvoyant, predictor


def test_the_headline_bounds_the_deadlines_met():
    # On one GPU the first meets one of three deadlines, the second two, and nobody all.
    trace = gs.Trace.from_columns([0, 0, 0], [8, 1, 4], [1, 1, 1], deadline_s=[20, 3, 2])
    _, line = headline(compare(trace, gs.Cluster.uniform(1, 1), ["fifo", "sjf"]))
    assert line == (
        "fifo, the only one of these that could be deployed, has the most deadlines met: 33.3 %. "
        "No schedule of these jobs meets more than 66.7 %. "
        "sjf †, which sees the true service times, meets 66.7 %."
    )


def test_nothing_is_said_of_jobs_that_never_finish():
    trace = gs.Trace.from_columns([0.0, 1.0], [5.0, 5.0], [64, 64])
    found = compare(trace, gs.Cluster.uniform(1, 8), ["fifo", "sjf"])
    assert headline(found) == []
    assert headline(found.select(("fifo",))) == []
