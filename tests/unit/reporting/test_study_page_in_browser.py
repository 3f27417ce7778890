"""The pages of studies as their readers see them, and what their filters do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.reporting.sweeps.measures import measure
from tests.unit.reporting.chromium import Browser, browser, command
from tests.unit.reporting.example_study import CLUSTERS, LOADS, POLICIES
from tests.unit.reporting.example_study import runs as example_runs
from tests.unit.reporting.page_checks import COVERED, CUT_OFF, DRAWN, OUTSIDE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(command() is None, reason="no Chromium is installed"),
    pytest.mark.timeout(600),
]
METRICS = ["mean_jct_s", "p99_jct_s", "p50_jct_s", "p95_jct_s", "utilisation"]
ROWS = "[...document.querySelectorAll('#metrics tbody tr')]"
SMALL = {"cluster": "small <8>"}


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.html"
    gs.reporting.write_sweep(example_runs(), path, metrics=METRICS)
    return path


def open_whole(tab: Browser, path: Path, width: int, *, dark: bool = False) -> None:
    """Open the page in a window so high that every chart is drawn."""
    tab.open(path, width, 30_000, dark=dark)
    tab.wait_for(DRAWN)


def choose(tab: Browser, control: str, value: str) -> None:
    """Choose an option by what is written on it."""
    tab.evaluate(
        f"(menu => {{ menu.value = [...menu.options].find(o => o.text === {value!r}).value;"
        "menu.dispatchEvent(new Event('change', { bubbles: true })); })"
        f"(document.getElementById({control!r}))"
    )


def cells(tab: Browser, column: int) -> list[str]:
    told: list[str] = tab.evaluate(f"{ROWS}.map(row => row.cells[{column}].textContent)")
    return told


def traces(tab: Browser, chart: str) -> list[dict[str, Any]]:
    """What a chart draws now."""
    told: list[dict[str, Any]] = tab.evaluate(
        f"document.getElementById({chart!r}).data.map(({{ type, mode, name, x, y, z, base }}) =>"
        "({ type, mode, name, x, y, z, base }))"
    )
    return told


@pytest.mark.parametrize("width", [400, 800, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_hidden_at_any_width(tab, page, width, dark):
    open_whole(tab, page, width, dark=dark)
    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(COVERED) == []
    assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []


def test_long_names_do_not_leave_the_page(tab, tmp_path):
    odd = example_runs().with_columns(
        pl.col("policy").replace("sjf", f"mine:{'parameter=1,' * 12}"),
        pl.col("cluster").replace("large", "a-cluster-with-a-long-name-" * 6),
    )
    gs.reporting.write_sweep(odd, tmp_path / "study.html", metrics=METRICS)
    for width in (400, 1280):
        open_whole(tab, tmp_path / "study.html", width)
        choose(tab, "along", "cluster")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(OUTSIDE) == []
        assert tab.complaints() == []


def test_the_table_has_the_chosen_setting_along_the_axis(tab, page):
    tab.open(page, 1280, 900)
    assert len(cells(tab, 0)) == len(POLICIES) * len(LOADS)
    assert set(cells(tab, 1)) == {"small <8>"}
    assert "9 of 18 rows" in tab.evaluate("document.getElementById('shown-rows').textContent")
    choose(tab, "axis-0", "large")
    assert set(cells(tab, 1)) == {"large"}
    choose(tab, "along", "cluster")
    assert set(cells(tab, 1)) == set(CLUSTERS)
    assert set(cells(tab, 2)) == {"0.7"}
    tab.evaluate("document.getElementById('every').click()")
    assert len(cells(tab, 0)) == len(POLICIES) * len(LOADS) * len(CLUSTERS)


def test_a_metric_fills_the_table_with_typical_runs_and_intervals(tab, page):
    tab.open(page, 1280, 900)
    static = [cells(tab, column) for column in range(13)]
    for key in ("p99_jct_s", "utilisation", "mean_jct_s"):
        of = measure(key)
        choose(tab, "metric", of.label)
        frame = gs.studies.compare_runs(
            example_runs().filter(**SMALL), key, by=("load",), baseline="fifo"
        ).frame
        assert cells(tab, 4) == [of.text(value) for value in frame["typical"]]
        ends = zip(frame["low"], frame["high"], strict=True)
        assert cells(tab, 5) == [f"{of.text(low)} to {of.text(high)}" for low, high in ends]
        told = tab.evaluate("document.getElementById('metric-name').textContent")
        assert told == of.label
    assert [cells(tab, column) for column in range(13)] == static


def test_policies_that_are_not_chosen_leave_the_table_and_the_charts(tab, page):
    open_whole(tab, page, 1280)
    tab.evaluate("document.getElementById('policy-0').click()")
    assert set(cells(tab, 0)) == {"sjf", "srtf †"}
    names = {chart: {t["name"] for t in traces(tab, chart)} for chart in ("lines", "pareto")}
    assert names["lines"] == {"sjf", "srtf †"}
    assert names["pareto"] == {"sjf", "srtf †", "front"}
    legend = tab.evaluate("document.getElementById('lines-legend').textContent")
    assert legend == "sjfsrtf †"


@pytest.mark.parametrize("show", ["typical", "change"])
def test_the_charts_show_what_the_pictures_of_python_show(tab, page, show):
    open_whole(tab, page, 1280)
    choose(tab, "show", show)
    runs = example_runs()
    drawn = gs.plot.lines(runs, where=SMALL, show=show).data
    for shown in ("none", "lines+markers"):
        mine = [t for t in traces(tab, "lines") if t["mode"] == shown]
        theirs = [t for t in drawn if t.mode == shown]
        assert [t["name"] for t in mine] == [t.name for t in theirs]
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one["x"], other.x, rtol=1e-6)
            np.testing.assert_allclose(one["y"], other.y, rtol=2e-4)
    (field,) = traces(tab, "heat_map")
    figure = gs.plot.heat_map(runs, where=SMALL, show=show)
    (other,) = figure.data
    np.testing.assert_allclose(field["z"], np.array(other.z, float), rtol=2e-4)
    ticks = "document.getElementById('heat_map').layout.yaxis.ticktext"
    assert tab.evaluate(ticks) == list(figure.layout.yaxis.ticktext)
    title = "document.querySelector('#lines .ytitle').textContent"
    assert (
        tab.evaluate(title) == gs.plot.lines(runs, where=SMALL, show=show).layout.yaxis.title.text
    )


def test_the_other_charts_show_what_the_pictures_of_python_show(tab, page):
    open_whole(tab, page, 1280)
    runs, at = example_runs(), {**SMALL, "load": 0.9}
    choose(tab, "axis-1", "0.9")
    rows = traces(tab, "forest_plot")
    drawn = gs.plot.forest_plot(runs, where=SMALL).data
    assert [t["name"] for t in rows] == [t.name for t in drawn]
    np.testing.assert_allclose([t["x"] for t in rows], [t.x for t in drawn], rtol=2e-4)
    points = {t["name"]: (t["x"], t["y"]) for t in traces(tab, "pareto")}
    for trace in gs.plot.pareto(runs, "mean_jct_s", "p99_jct_s", where=at).data:
        x, y = points[trace.name]
        np.testing.assert_allclose(x, trace.x, rtol=2e-4)
        np.testing.assert_allclose(y, trace.y, rtol=2e-4)
    curves = [t for t in traces(tab, "cdf_over_seeds") if t["mode"] == "lines+markers"]
    drawn = gs.plot.cdf_over_seeds(runs, where=at).data
    for mine, trace in zip(curves, [t for t in drawn if t.mode == "lines+markers"], strict=True):
        np.testing.assert_allclose(mine["x"], trace.x, rtol=2e-4)
        assert mine["y"] == list(trace.y)
    bars = [(t["base"], t["x"][0], t["y"][0]) for t in traces(tab, "sensitivity")]
    fifo = {"policy": "fifo"}
    drawn = gs.plot.sensitivity(runs.filter(**fifo), base=at).data
    np.testing.assert_allclose(bars, [(t.base, t.x[0], t.y[0]) for t in drawn], rtol=1e-3)


def test_every_chart_is_told_in_words_that_follow_the_filters(tab, page):
    open_whole(tab, page, 1280)
    words = "[...document.querySelectorAll('.chart')].map(c => c.getAttribute('aria-label'))"
    before = tab.evaluate(words)
    assert all(len(text) > 40 for text in before)
    assert "sjf, load 0.7: 0.5" in before[2]
    assert "on the front" in before[3]
    choose(tab, "axis-0", "large")
    after = tab.evaluate(words)
    same = [at for at, (a, b) in enumerate(zip(before, after, strict=True)) if a == b]
    assert same == [2]  # the ratios are
    settings = [tab.evaluate(f"document.getElementById('{c}-setting').textContent")
                for c in ("lines", "pareto")]  # fmt: skip
    assert settings == ["large", "large, load 0.7"]


def test_filters_are_used_by_keys(tab, page):
    tab.open(page, 1280, 900)
    tab.evaluate("document.getElementById('metric').focus()")
    tab.press("p")  # the first metric whose label begins so
    assert tab.evaluate("document.getElementById('metric-name').textContent") == "p99 JCT"
    tab.evaluate("document.getElementById('policy-1').focus()")
    tab.press(" ")
    assert "sjf" not in cells(tab, 0)


def test_the_table_is_sorted_after_a_filter_as_before(tab, page):
    tab.open(page, 1280, 900)
    head = "document.querySelectorAll('#metrics thead th')"
    for label in ("mean JCT", "p99 JCT"):
        choose(tab, "metric", label)
        assert tab.evaluate(f"{head}[4].ariaSort") == "none"
        tab.evaluate(f"{head}[4].querySelector('button').click()")
        values = tab.evaluate(f"{ROWS}.map(row => Number(row.cells[4].dataset.value))")
        assert values == sorted(values)
        assert tab.evaluate(f"{head}[4].ariaSort") == "ascending"


def test_the_button_turns_the_page_and_its_charts_dark(tab, page):
    open_whole(tab, page, 800)
    looks = (
        "getComputedStyle(document.body).backgroundColor",
        "getComputedStyle(document.querySelector('#lines .xtitle')).fill",
        "document.querySelector('#lines .js-line').style.stroke",
        "document.getElementById('heat_map').data[0].colorscale[2][1]",
        "document.getElementById('sensitivity').data[0].marker.color",
    )
    light = [tab.evaluate(what) for what in looks]
    tab.evaluate("document.getElementById('theme').click()")
    tab.wait_for(f"{looks[1]} !== {light[1]!r}")
    assert not set(light) & {tab.evaluate(what) for what in looks}


def test_without_its_library_the_tables_work(tab, tmp_path):
    gs.reporting.write_sweep(
        example_runs(), tmp_path / "s.html", metrics=METRICS, plotly="nowhere.js"
    )
    tab.open(tmp_path / "s.html", 400, 900)
    assert tab.evaluate("document.getElementById('missing').checkVisibility()")
    assert not tab.evaluate("document.querySelector('figure').checkVisibility()")
    choose(tab, "metric", "p99 JCT")
    assert len(cells(tab, 0)) == len(POLICIES) * len(LOADS)
    assert cells(tab, 4)[0].endswith(" d")


@pytest.fixture(scope="module")
def size_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("size") / "size.html"
    trace = gs.generate("philly", 600, load=0.9, cluster=gs.Cluster.uniform(8, 8), seed=1)
    goal = "p95_wait_s < 20 min and p99_jct_s < 9 d and mean_jct_s < 2 d"
    gs.reporting.write_sizing(gs.size(trace, goal, resamples=5), path)
    return path


@pytest.mark.parametrize("width", [400, 800, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_hidden_at_any_width_of_a_sizing(tab, size_page, width, dark):
    tab.open(size_page, width, 9_000, dark=dark)
    tab.wait_for(DRAWN)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("document.querySelectorAll('.chart').length") >= 3
    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(COVERED) == []
    assert tab.evaluate(CUT_OFF) == []
    assert tab.evaluate("document.querySelector('.gtitle')") is None  # the page has the titles
    assert tab.complaints() == []
    # The number of servers stays where the rest of the table scrolls.
    tab.evaluate("document.querySelector('.scroll').scrollLeft = 10000")
    left = "document.querySelector('tbody th').getBoundingClientRect().left"
    assert tab.evaluate(
        f"{left} === document.querySelector('.scroll').getBoundingClientRect().left"
    )
