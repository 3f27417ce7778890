"""The pages of studies as their readers see them, and what their filters do."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from gpusched.reporting.sweeps.measures import measure
from tests.unit.reporting.chromium import Browser, browser, command
from tests.unit.reporting.example_study import CLUSTERS, LOADS, POLICIES
from tests.unit.reporting.example_study import runs as example_runs
from tests.unit.reporting.page_checks import CUT_OFF, DRAWN, OUTSIDE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(command() is None, reason="no Chromium is installed"),
    pytest.mark.timeout(600),
]
METRICS = ["mean_jct_s", "p99_jct_s", "p50_jct_s", "p95_jct_s", "utilisation"]
TABLE = "[...document.querySelectorAll('table.metrics')].find(t => t.checkVisibility())"
ROWS = f"[...{TABLE}.tBodies[0].rows].filter(row => row.checkVisibility())"
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
    """Open the page in a window so high that all of it is seen, and wait for its charts."""
    tab.open(path, width, 12_000, dark=dark)
    tab.wait_for(DRAWN)


def choose(tab: Browser, control: str, value: str) -> None:
    """Choose an option by what is written on it; a control is an id or an axis."""
    tab.evaluate(
        f"(menu => {{ menu.value = [...menu.options].find(o => o.text === {value!r}).value;"
        "menu.dispatchEvent(new Event('change', { bubbles: true })); })"
        f"(document.querySelector('#{control}, [data-axis=\"{control}\"]'))"
    )
    tab.wait_for(DRAWN)


def cells(tab: Browser, column: int) -> list[str]:
    told: list[str] = tab.evaluate(f"{ROWS}.map(row => row.cells[{column}].textContent)")
    return told


def words(tab: Browser, chart: str) -> list[str]:
    """The texts that a chart shows, in the order in which they are drawn."""
    told: list[str] = tab.evaluate(
        f"[...document.querySelectorAll('#{chart} svg text')].map(t => t.textContent)"
    )
    return told


def marks(tab: Browser, chart: str) -> list[str]:
    """What a reader of the screen is told of each mark of a chart."""
    told: list[str] = tab.evaluate(
        f"[...document.querySelectorAll('#{chart} svg [aria-roledescription$=mark]')]"
        ".map(mark => mark.getAttribute('aria-label') || '')"
    )
    return [label for label in told if label]


@pytest.mark.parametrize("width", [400, 800, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_hidden_at_any_width(tab, page, width, dark):
    open_whole(tab, page, width, dark=dark)
    for metric in ("mean JCT", "utilisation"):
        choose(tab, "metric", metric)
        assert tab.evaluate("innerWidth") == width
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(OUTSIDE) == []
        assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []


def test_the_first_screen_has_the_answer(tab, page):
    tab.open(page, 1280, 900)
    for part in ("#headline", "#filters .legend", "table.metrics tbody tr:nth-child(6)"):
        bottom = f"document.querySelector({part!r}).getBoundingClientRect().bottom"
        assert 0 < tab.evaluate(bottom) < 900


def test_long_names_do_not_leave_the_page(tab, tmp_path):
    odd = example_runs().with_columns(
        pl.col("policy").replace("sjf", f"mine:{'parameter=1,' * 12}"),
        pl.col("cluster").replace("large", "a-cluster-with-a-long-name-" * 6),
    )
    gs.reporting.write_sweep(odd, tmp_path / "study.html", metrics=METRICS)
    for width in (400, 1280):
        open_whole(tab, tmp_path / "study.html", width)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(OUTSIDE) == []
        assert tab.complaints() == []


def test_the_table_has_the_chosen_setting_or_all(tab, page):
    tab.open(page, 1280, 900)
    caption = "document.querySelector('caption').textContent"
    assert cells(tab, 0) == ["fifo", "sjf", "srtf †"]
    assert (set(cells(tab, 1)), set(cells(tab, 2))) == ({"small <8>"}, {"0.9"})
    assert tab.evaluate(caption) == "mean JCT at cluster small <8>, load 0.9"
    axis = f"{TABLE}.querySelector('th.axis').checkVisibility()"
    assert not tab.evaluate(axis)
    choose(tab, "cluster", "large")
    choose(tab, "load", "1.1")
    assert (set(cells(tab, 1)), set(cells(tab, 2))) == ({"large"}, {"1.1"})
    tab.evaluate("document.getElementById('every').click()")
    assert len(cells(tab, 0)) == len(POLICIES) * len(LOADS) * len(CLUSTERS)
    assert tab.evaluate(axis)
    assert tab.evaluate(caption) == "mean JCT "


def test_a_metric_fills_the_table_with_typical_runs_and_intervals(tab, page):
    tab.open(page, 1280, 900)
    static = [cells(tab, column) for column in range(13)]
    for key in ("p99_jct_s", "utilisation", "mean_jct_s"):
        of = measure(key)
        choose(tab, "metric", of.label)
        frame = gs.studies.compare_runs(
            example_runs().filter(**SMALL), key, by=("load",), baseline="fifo"
        ).frame.filter(load=0.9)
        assert cells(tab, 3) == [of.text(value) for value in frame["typical"]]
        ends = zip(frame["low"], frame["high"], strict=True)
        assert cells(tab, 4) == [f"{of.text(low)} to {of.text(high)}" for low, high in ends]
        captions = "[...document.querySelectorAll('caption')].filter(c => c.checkVisibility())"
        assert tab.evaluate(f"{captions}.map(c => c.firstChild.textContent)") == [f"{of.label} "]
    assert [cells(tab, column) for column in range(13)] == static


def test_the_legend_makes_policies_stand_out_in_all_charts(tab, page):
    open_whole(tab, page, 1280)
    faded = "[...document.querySelectorAll('#{} svg path[opacity=\"0.18\"]')].length"
    charts = ("lines-mean_jct_s", "forest_plot-mean_jct_s", "pareto-mean_jct_s")
    assert [tab.evaluate(faded.format(chart)) for chart in charts] == [0, 0, 0]
    tab.evaluate("document.querySelector('[data-policy=sjf]').click()")
    tab.wait_for(f"{faded.format(charts[2])} > 0")
    assert all(tab.evaluate(faded.format(chart)) for chart in charts)


def test_the_charts_show_the_setting_that_is_chosen(tab, page):
    open_whole(tab, page, 1280)
    charts = ("lines-mean_jct_s", "pareto-mean_jct_s")
    before = [marks(tab, name) for name in charts]
    choose(tab, "cluster", "large")
    after = [marks(tab, name) for name in charts]
    assert before[0] != after[0]
    assert before[1] != after[1]
    runs = example_runs()
    own = runs.filter(policy="sjf", cluster="large", load=0.7)["mean_jct_s"].drop_nulls()
    typical = gs.studies.typical(own.to_numpy())
    assert any(f"{typical.value / 3600:.2f} h" in words for words in after[0])
    choose(tab, "load", "1.1")
    assert marks(tab, charts[0]) == after[0]
    assert marks(tab, charts[1]) != after[1]


def test_the_sensitivity_is_of_the_policy_that_is_chosen(tab, page):
    open_whole(tab, page, 1280)
    assert "load: 6.96 h (0.7) to 10.9 h (1.1)" in words(tab, "sensitivity-mean_jct_s")
    choose(tab, "shown", "sjf")
    assert "load: 3.48 h (0.7) to 5.46 h (1.1)" in words(tab, "sensitivity-mean_jct_s")


def test_a_metric_is_drawn_when_it_is_chosen(tab, page):
    open_whole(tab, page, 1280)
    drawn = "document.querySelectorAll('#lines-p99_jct_s svg').length"
    assert tab.evaluate(drawn) == 0
    choose(tab, "metric", "p99 JCT")
    assert tab.evaluate(drawn) == 1
    assert not tab.evaluate("document.querySelector('#lines-mean_jct_s').checkVisibility()")


def test_every_chart_is_told_in_words_that_follow_the_filters(tab, page):
    open_whole(tab, page, 1280)
    told = "document.getElementById('pareto-mean_jct_s').ariaLabel"
    before = tab.evaluate(told)
    assert "on the front" in before
    choose(tab, "cluster", "large")
    assert tab.evaluate(told) == (
        "p99 JCT against mean JCT, at cluster large, load 0.9. The table has the numbers."
    )
    choose(tab, "cluster", "small <8>")
    assert tab.evaluate(told) == before


def test_filters_are_used_by_keys(tab, page):
    tab.open(page, 1280, 900)
    tab.evaluate("document.getElementById('metric').focus()")
    tab.press("p")  # the first metric whose label begins so
    assert cells(tab, 3)[0].endswith(" d")
    tab.evaluate("document.querySelector('[data-policy=sjf]').focus()")
    tab.press(" ")
    assert tab.evaluate("document.querySelector('[data-policy=sjf]').ariaPressed") == "true"


def test_the_table_is_sorted_after_a_filter_as_before(tab, page):
    tab.open(page, 1280, 900)
    head = f"{TABLE}.querySelectorAll('thead th')"
    for label in ("mean JCT", "p99 JCT"):
        choose(tab, "metric", label)
        tab.evaluate(f"{head}[3].querySelector('button').click()")
        values = tab.evaluate(f"{ROWS}.map(row => Number(row.cells[3].dataset.value))")
        assert values == sorted(values)
        assert tab.evaluate(f"{head}[3].ariaSort") == "ascending"


def test_the_button_turns_the_page_and_its_charts_dark(tab, page):
    open_whole(tab, page, 800)
    looks = (
        "getComputedStyle(document.body).backgroundColor",
        "getComputedStyle(document.querySelector('#lines-mean_jct_s text')).fill",
        "getComputedStyle(document.querySelector('#lines-mean_jct_s .mark-line path')).stroke",
        "getComputedStyle(document.querySelector('#heat_map-mean_jct_s .mark-rect path')).fill",
    )
    light = [tab.evaluate(what) for what in looks]
    tab.evaluate("document.getElementById('theme').click()")
    assert not set(light) & {tab.evaluate(what) for what in looks}


def test_on_paper_the_tables_are_whole_and_the_legend_is_there(tab, page):
    open_whole(tab, page, 1280)
    tab.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert len(cells(tab, 0)) == len(POLICIES) * len(LOADS) * len(CLUSTERS)
        assert tab.evaluate("document.querySelector('.legend').checkVisibility()")
    finally:
        tab.call("Emulation.setEmulatedMedia", media="")


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
    assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []
    # The number of servers stays where the rest of the table scrolls.
    tab.evaluate("document.querySelector('.scroll').scrollLeft = 10000")
    left = "document.querySelector('tbody th').getBoundingClientRect().left"
    assert tab.evaluate(
        f"{left} === document.querySelector('.scroll').getBoundingClientRect().left"
    )
