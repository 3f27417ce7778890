"""``gs.plot``: every picture of the report as a figure, in both libraries with the same data."""

from __future__ import annotations

import inspect
import re
import sys

import numpy as np
import pytest

import gpusched as gs
from gpusched.studies.comparison import Comparison

OF_STUDIES = {
    "cdf_over_seeds", "forest_plot", "heat_map", "lines", "pareto", "sensitivity",
}  # fmt: skip
EVERYWHERE = sorted(set(gs.plot.__all__) - OF_STUDIES - {"contention", "slowdown_cdf", "tuning"})
every_picture = pytest.mark.parametrize("name", EVERYWHERE)


def test_there_is_a_function_for_every_picture_of_the_report(page):
    assert set(re.findall(r'<div class="chart" id="(\w+)"', page)) == set(EVERYWHERE)


@every_picture
def test_a_picture_is_a_figure_of_plotly(name, comparison):
    figure = getattr(gs.plot, name)(comparison)
    assert type(figure).__module__.startswith("plotly.graph_objs")
    assert figure.layout.title.text
    assert len(figure.data) == 3
    figure.to_json()


@every_picture
def test_a_picture_is_a_file_of_matplotlib(name, comparison, tmp_path):
    pytest.importorskip("matplotlib")
    figure = getattr(gs.plot, name)(comparison, library="matplotlib")
    figure.savefig(tmp_path / "a.png")
    figure.savefig(tmp_path / "a.svg")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    text = figure.get_suptitle()
    assert text == getattr(gs.plot, name)(comparison).layout.title.text


@every_picture
def test_a_single_result_has_every_picture(name, comparison):
    figure = getattr(gs.plot, name)(comparison.results["srtf"])
    assert len(figure.data) == 1


def test_both_libraries_draw_the_same_points(comparison):
    pytest.importorskip("matplotlib")
    curves = gs.plot.wait_cdf(comparison, points=50).data
    lines = gs.plot.wait_cdf(comparison, points=50, library="matplotlib").axes[0].lines
    assert len(lines) == len(curves) == 3
    for line, curve in zip(lines, curves, strict=True):
        x, y = line.get_data()
        assert np.asarray(x, np.float32).tolist() == list(curve.x)
        assert np.asarray(y, np.float32).tolist() == list(curve.y)
        assert line.get_label() == curve.name


def test_names_are_no_formulas_in_matplotlib(comparison, tmp_path):
    pytest.importorskip("matplotlib")
    results = {r"$\frac$": comparison.results["fifo"], "$x$ <b>": comparison.results["srtf"]}
    odd = Comparison(comparison.trace, comparison.cluster, results)
    for name in EVERYWHERE:
        getattr(gs.plot, name)(odd, library="matplotlib").savefig(tmp_path / "a.png")


def test_an_unknown_library_is_named(comparison):
    with pytest.raises(ValueError, match="library: must be 'plotly' or 'matplotlib', not 'x'"):
        gs.plot.queue(comparison, library="x")
    for draw in (gs.plot.queue, gs.plot.wait_cdf):
        with pytest.raises(ValueError, match="points: must be at least 8, not 7"):
            draw(comparison, points=7)
    with pytest.raises(TypeError, match="expected a Result or a Comparison, not int"):
        gs.plot.queue(3)
    with pytest.raises(ValueError, match="most_bars: must be at least 1, not 0"):
        gs.plot.gantt(comparison, most_bars=0)


@pytest.mark.parametrize(
    ("library", "package"), [("plotly", "plotly"), ("matplotlib", r"gpusched\[plot\]")]
)
def test_a_missing_library_is_named(library, package, comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"this figure needs {library}: pip install {package}"):
        gs.plot.queue(comparison, library=library)


def test_every_function_takes_the_same_first_arguments():
    for name in gs.plot.__all__:
        parameters = inspect.signature(getattr(gs.plot, name)).parameters
        assert next(iter(parameters)) == "source"
        assert parameters["library"].default == "plotly"
