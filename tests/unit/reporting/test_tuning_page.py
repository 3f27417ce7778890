"""The page and the picture of a search."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.reporting.tuning_figure import chart
from tests.unit.studies.searches import tuned

pytest.importorskip("optuna", reason="the extra tune is not installed")


@pytest.fixture(scope="module")
def found() -> gs.studies.Tuning:
    return tuned(trials=8, name="<b>tuned</b>")


def test_the_page_has_search_and_held_out_jobs(found, tmp_path):
    path = tmp_path / "tuning.html"
    gs.reporting.write_tuning(found, path, ["assumed & told"], plotly="cdn")
    text = path.read_text()
    headings, rows = found.rows
    for cell in (*headings, *(cell for row in rows for cell in row)):
        assert f">{cell}<" in text
    for line in (*found.windows, *found.warnings):
        assert line in text
    assert "<b>" not in text
    assert "&lt;b&gt;tuned&lt;/b&gt;" in text
    assert "assumed &amp; told" in text
    assert text.count("<tr>") + text.count("<tr class=answer>") == 2 + len(rows) + 8


def test_the_picture_has_trials_the_best_so_far_and_the_baseline(found):
    drawn = chart(found)
    best, base, trials = drawn.panels[0].curves
    done = found.trials.drop_nulls("value")
    scale = done["value"][0] / trials.y[0]
    assert not trials.is_joined
    assert trials.x.tolist() == done["trial"].to_list()
    assert (trials.y * scale).tolist() == pytest.approx(done["value"].to_list())
    assert (np.diff(best.y) <= 0).all()
    assert best.y[-1] * scale == pytest.approx(found.held_out["search_value"][0])
    assert (base.y * scale).tolist() == pytest.approx([found.default_value] * 2)
    assert base.label == "2d-las (baseline)"


@pytest.mark.parametrize("library", ["plotly", "matplotlib"])
def test_both_libraries_draw_points_without_lines(found, library):
    figure = gs.plot.tuning(found, library=library)
    if library == "plotly":
        modes = {one.name: one.mode for one in figure.data if one.mode != "none"}
        assert modes["a trial"] == "markers"
        assert "lines" in modes["best so far"]
    else:
        lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
        assert lines["a trial"].get_linestyle() == "None"
        assert lines["a trial"].get_marker() not in ("", "None")
        assert lines["best so far"].get_linestyle() != "None"


def test_another_source_is_refused():
    with pytest.raises(TypeError, match="expected a Tuning, not int"):
        gs.plot.tuning(3)
