"""The report as its readers see it: on a phone, on a tablet, on a screen, by day and by night."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.reporting.report import write_report
from gpusched.studies.comparison import Comparison
from tests.unit.reporting.chromium import Browser, browser, command
from tests.unit.reporting.page_checks import COVERED, CUT_OFF, DRAWN, OUTSIDE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(command() is None, reason="no Chromium is installed"),
    pytest.mark.timeout(600),
]

WIDTHS = (400, 800, 1280)
every_width = pytest.mark.parametrize("width", WIDTHS)
by_day_and_by_night = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def report(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(comparison, path)
    return path


@pytest.fixture(scope="module")
def report_of_many(many: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "report.html"
    write_report(many, path)
    return path


def open_whole(tab: Browser, path: Path, width: int, *, dark: bool = False) -> None:
    """Open the page in a window so high that every chart is drawn."""
    tab.open(path, width, 30_000, dark=dark)
    tab.wait_for(DRAWN)


@every_width
@by_day_and_by_night
def test_nothing_is_hidden_at_any_width(tab, report, width, dark):
    open_whole(tab, report, width, dark=dark)
    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(COVERED) == []
    assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []


@every_width
def test_nothing_is_hidden_with_twelve_policies(tab, report_of_many, width):
    open_whole(tab, report_of_many, width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(COVERED) == []
    assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []
    assert tab.evaluate("document.querySelectorAll('#queue .scatterlayer .trace').length") == 12
    faded = "[...document.querySelectorAll('#wait_cdf .scatterlayer .trace')]"
    assert tab.evaluate(f"{faded}.filter(t => t.style.opacity === '1').length") == 1


def test_long_names_do_not_leave_the_page(tab, tmp_path):
    users = [f"{'a-user-with-a-long-name-' * 5}{index}" for index in range(40)]
    trace = gs.Trace.from_columns(range(40), [50] * 40, [1, 2] * 20, user=users, name="n" * 300)
    result = gs.simulate(trace, gs.Cluster.uniform(2, 8))
    results = {f"a-policy-of-somebody:{'parameter=1,' * 9}x={i}": result for i in range(3)}
    write_report(Comparison(trace, result.cluster, results), tmp_path / "report.html")
    open_whole(tab, tmp_path / "report.html", 400)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(COVERED) == []
    assert tab.evaluate(CUT_OFF) == []


def test_the_check_of_what_is_outside_can_fail(tab, report):
    tab.open(report, 400, 900)
    tab.evaluate("document.querySelector('#headline').style.width = '2000px'")
    assert tab.evaluate("document.documentElement.scrollWidth") > 400
    assert tab.evaluate(OUTSIDE) != []


@every_width
def test_the_headline_is_seen_without_scrolling(tab, report, width):
    tab.open(report, width, 800)
    text = tab.evaluate("document.getElementById('headline').innerText")
    assert text.startswith("Of the policies that could be deployed, 2d-las:preset=lucid has")
    assert tab.evaluate("document.getElementById('headline').getBoundingClientRect().bottom") < 800


def test_the_first_column_stays_while_a_table_scrolls(tab, report):
    tab.open(report, 400, 800)
    tab.evaluate("document.querySelector('.scroll').scrollLeft = 10000")
    left = "document.querySelector('#metrics tbody th').getBoundingClientRect().left"
    box = "document.querySelector('.scroll').getBoundingClientRect()"
    assert tab.evaluate("document.querySelector('.scroll').scrollLeft") > 100
    assert tab.evaluate(left) == tab.evaluate(f"{box}.left")
    # Most of the box is left to what scrolls.
    width = "document.querySelector('#metrics tbody th').offsetWidth"
    assert tab.evaluate(width) < 0.5 * tab.evaluate(f"{box}.width")


def first_column(tab: Browser) -> list[str]:
    cells = "[...document.querySelectorAll('#metrics tbody th')].map(e => e.innerText)"
    return [text.split()[0] for text in tab.evaluate(cells)]


def test_a_table_is_sorted_by_keys(tab, report, comparison):
    tab.open(report, 800, 900)
    mean = {label: row["mean_jct_s"] for label, row in comparison.summaries.items()}
    head = "document.querySelectorAll('#metrics thead th')"
    assert first_column(tab) == list(mean)
    tab.evaluate(f"{head}[1].querySelector('button').focus()")
    tab.press("Enter")
    assert first_column(tab) == sorted(mean, key=mean.get)
    assert tab.evaluate(f"[...{head}].map(e => e.ariaSort)")[:3] == ["none", "ascending", "none"]
    tab.press("Enter")
    assert first_column(tab) == sorted(mean, key=mean.get, reverse=True)
    assert tab.evaluate(f"{head}[1].ariaSort") == "descending"
    tab.evaluate(f"{head}[0].querySelector('button').click()")
    assert first_column(tab) == sorted(mean)
    assert tab.evaluate(f"{head}[1].ariaSort") == "none"


def test_what_is_undefined_is_sorted_to_the_end(tab, report):
    tab.open(report, 800, 900)
    tab.evaluate("delete document.querySelector('#metrics tbody tr td').dataset.value")
    for _ in range(2):
        tab.evaluate("document.querySelectorAll('#metrics thead button')[1].click()")
        assert first_column(tab)[-1] == "fifo"


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
AXIS = "getComputedStyle(document.querySelector('#jct_cdf .xtitle')).fill"
CURVE = "document.querySelector('#jct_cdf .js-line').style.stroke"


def test_the_button_turns_the_page_and_its_charts_dark(tab, report):
    tab.open(report, 800, 2_000)
    tab.wait_for("document.querySelector('#jct_cdf .xtitle')")
    light = [tab.evaluate(what) for what in (BACKGROUND, AXIS, CURVE)]
    assert tab.evaluate("document.getElementById('theme').ariaPressed") == "false"
    tab.evaluate("document.getElementById('theme').click()")
    assert tab.evaluate("document.getElementById('theme').ariaPressed") == "true"
    tab.wait_for(f"{AXIS} !== {light[1]!r}")
    dark = [tab.evaluate(what) for what in (BACKGROUND, AXIS, CURVE)]
    assert not set(light) & set(dark)
    tab.open(report, 800, 2_000, dark=True)
    tab.wait_for("document.querySelector('#jct_cdf .xtitle')")
    assert [tab.evaluate(what) for what in (BACKGROUND, AXIS, CURVE)] == dark


def test_a_legend_highlights_a_policy_in_all_charts(tab, report):
    open_whole(tab, report, 800)
    tab.evaluate("document.querySelectorAll('.legend button')[1].click()")
    for chart in ("jct_cdf", "wait_cdf", "wait_by_width", "jct_by_user"):
        traces = f"[...document.querySelectorAll('#{chart} .scatterlayer .trace')]"
        opacity = tab.evaluate(f"{traces}.map(t => Number(t.style.opacity))")
        assert opacity[1] == 1 > max(opacity[0], opacity[2]), chart
    pressed = "[...document.querySelectorAll('.legend button')].map(b => b.ariaPressed)"
    assert tab.evaluate(pressed) == ["false", "true", "false"] * 6


def range_of(tab: Browser, chart: str) -> list[float]:
    return [float(end) for end in tab.evaluate(f"{chart}._fullLayout.xaxis.range")]


def test_a_chart_is_zoomed_by_keys(tab, report):
    open_whole(tab, report, 800)
    chart = "document.getElementById('gantt')"
    begin, end = range_of(tab, chart)
    tab.evaluate(f"{chart}.focus()")
    assert tab.evaluate(f"document.activeElement === {chart}")
    tab.press("+")
    low, high = range_of(tab, chart)
    assert high - low == pytest.approx((end - begin) / 2)
    tab.press("ArrowRight")
    moved, _ = range_of(tab, chart)
    assert moved == pytest.approx(low + (high - low) / 4)
    tab.press("0")
    assert range_of(tab, chart) == pytest.approx([begin, end])


def test_the_policy_whose_servers_are_shown_can_be_chosen(tab, report):
    open_whole(tab, report, 800)
    visible = "document.getElementById('gantt').data.map(t => t.visible)"
    options = tab.evaluate("[...document.getElementById('shown').options].map(o => o.text)")
    assert options == ["fifo", "srtf †", "2d-las:preset=lucid ≈"]
    assert tab.evaluate(visible) == [False, False, True]
    choose = "s => { s.value = '1'; s.dispatchEvent(new Event('change')); }"
    tab.evaluate(f"({choose})(document.getElementById('shown'))")
    assert tab.evaluate(visible) == [False, True, False]


SAID = "document.getElementById('gantt-said').textContent"


def shown_bars(tab: Browser) -> list[list[float]]:
    """Server, begin, end and job of the bars of the policy that is shown."""
    seen: list[list[float]] = tab.evaluate("""(() => {
      const chart = document.getElementById('gantt');
      const trace = chart.data.find(t => t.visible);
      const { tickvals, ticktext } = chart.layout.yaxis;
      const nearest = y => tickvals.reduce((best, v, i) =>
        Math.abs(v - y) < Math.abs(tickvals[best] - y) ? i : best, 0);
      return Array.from(trace.y, (y, i) => [Number(ticktext[nearest(y)].split(' ')[1]),
        trace.base[i], trace.base[i] + trace.x[i], trace.customdata[i][0]]);
    })()""")
    return seen


def test_any_window_and_servers_of_the_gantt_chart_can_be_seen(tab, report, comparison):
    open_whole(tab, report, 800)
    tab.wait_for(f"{SAID}.includes('jobs')")
    tab.evaluate("""(() => {
      for (const [id, value] of [['servers', '1, 3'], ['from', 2], ['to', 2.5]]) {
        document.getElementById(`gantt-${id}`).value = value;
      }
      document.getElementById('gantt-to').dispatchEvent(new Event('change', { bubbles: true }));
    })()""")
    rows = comparison.results["2d-las:preset=lucid"].intervals
    origin_us = int(comparison.trace.submit_us[0])
    begin, end = ((rows[name] - origin_us) / 86_400e6 for name in ("start_us", "end_us"))
    there = np.isin(rows["server"], [1, 3]) & (begin < 2.5) & (end > 2)
    wanted = {
        (int(s), int(j)) for s, j in zip(rows["server"][there], rows["job"][there], strict=True)
    }
    assert {(int(server), int(job)) for server, _, _, job in shown_bars(tab)} == wanted
    assert range_of(tab, "document.getElementById('gantt')") == pytest.approx([2, 2.5])
    assert "on 2 of 4 servers from 2 to 2.5 days" in tab.evaluate(SAID)
    # A zoom brings what was left out, or hides what is no longer there.
    tab.evaluate("document.querySelector('[data-move=in]').click()")
    assert range_of(tab, "document.getElementById('gantt')") == pytest.approx([2.125, 2.375])
    low, high = 2.125, 2.375
    assert all(b < high and e > low for _, b, e, _ in shown_bars(tab))
    tab.evaluate("void Plotly.relayout('gantt', {'xaxis.range': [1, 1.5]})")
    tab.wait_for(f"{SAID}.includes('from 1 to 1.5 days')")
    tab.evaluate("document.querySelector('[data-page=\"1\"]').click()")
    assert tab.evaluate("document.getElementById('gantt-servers').value") == "2-3"
    tab.evaluate("document.querySelector('[data-move=all]').click()")
    first, last = range_of(tab, "document.getElementById('gantt')")
    assert (first, last) == pytest.approx((0, max(r.intervals["end_us"].max() - origin_us
            for r in comparison.results.values()) / 86_400e6))  # fmt: skip
    assert tab.complaints() == []


@pytest.mark.parametrize("servers", ["4", "3-1", "a", "0-99999999", ""])
def test_servers_that_do_not_exist_are_refused(tab, report, servers):
    open_whole(tab, report, 800)
    tab.wait_for(f"{SAID}.includes('jobs')")
    before = tab.evaluate(SAID)
    tab.evaluate(f"""(() => {{
      const field = document.getElementById('gantt-servers');
      field.value = '{servers}';
      field.dispatchEvent(new Event('change', {{ bubbles: true }}));
    }})()""")
    assert not tab.evaluate("document.getElementById('gantt-servers').checkValidity()")
    assert tab.evaluate(SAID) == before


def test_without_its_library_the_page_says_so(tab, comparison, tmp_path):
    write_report(comparison, tmp_path / "report.html", plotly="nowhere.js")
    tab.open(tmp_path / "report.html", 400, 900)
    assert tab.evaluate("document.getElementById('missing').checkVisibility()")
    assert not tab.evaluate("document.querySelector('figure').checkVisibility()")
    tab.evaluate("document.querySelectorAll('#metrics thead button')[1].click()")
    assert first_column(tab)[0] == "srtf"
