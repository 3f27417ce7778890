"""The picture of a sizing: one file that needs no network and says what was found."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpusched as gs
from gpusched.reporting import sizing_figures
from gpusched.reporting.sizing_page import render_sizing


@pytest.fixture(scope="module")
def sizing() -> gs.studies.Sizing:
    rng = np.random.default_rng(5)
    submit = np.sort(rng.uniform(0, 30 * 86_400, 400))
    jobs = gs.Trace.from_columns(submit, rng.lognormal(9.5, 1, 400), rng.choice([1, 4, 16], 400))
    return gs.size(jobs, "p95_wait_s < 20 min and utilisation > 1%", resamples=10)


def test_the_page_says_what_was_found_and_fetches_nothing(sizing, tmp_path):
    gs.reporting.write_sizing(sizing, tmp_path / "size.html", ["the moon is assumed"])
    page = (tmp_path / "size.html").read_text()
    own = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.DOTALL)
    assert f"You need {sizing.servers} servers x 8 GPUs" in own
    assert "the moon is assumed" in own
    for note in sizing.notes():
        assert note in own
    assert own.count('role="img"') == 3
    assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="', page)
    assert own.count("<tr") == 1 + len(sizing.runs)
    assert own.count("class=answer") == 1


def test_the_goal_stands_at_its_value_and_zero_at_the_floor(sizing):
    wait, used = sizing.goals.goals
    drawn = sizing_figures.metric_by_servers(sizing, wait)
    assert drawn.layout.yaxis.type == "log"
    assert drawn.layout.shapes[0].y0 == 1200
    assert drawn.layout.annotations[0].y == pytest.approx(np.log10(1200))
    floor = drawn.layout.yaxis.tickvals[0]
    assert drawn.layout.yaxis.ticktext[0] == "0"
    for run in sizing.runs:
        shown = max(run.values["p95_wait_s"], floor)
        assert any((run.counts[0], shown) in zip(t.x, t.y, strict=True) for t in drawn.data[1:])
    assert sizing_figures.metric_by_servers(sizing, used).layout.shapes[0].y0 == 0.01


def test_the_share_of_the_resamples_rises_to_all(sizing):
    sure = sizing.confidence
    assert sure is not None
    (curve,) = sizing_figures.enough_by_servers(sure, 5).data
    assert curve.y[0] == 0
    assert curve.y[-1] == 1


def test_a_mix_of_two_types_shows_which_counts_met_the_goal():
    jobs = gs.Trace.from_columns([0, 0, 0, 9], [9, 9, 9, 9], [4, 4, 4, 4])
    found = gs.size(jobs, "p95_wait_s < 5", prices={"A100": 2, "V100": 1}, gpus_per_server=4)
    page = render_sizing(found)
    assert "Mixes that were run" in page
    drawn = sizing_figures.mixes_of_two(found)
    star = next(trace for trace in drawn.data if trace.name == "answer")
    assert (star.x[0], star.y[0]) == found.counts


def test_without_an_answer_the_page_says_so():
    jobs = gs.Trace.from_columns([0], [10], [1])
    assert "No number of servers was found" in render_sizing(gs.size(jobs, "mean_jct_s < 1"))
