"""The report as its readers see it: on a phone, on a tablet, on a screen, by day and by night."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusched as gs
from gpusched.reporting.report import write_report
from gpusched.studies.comparison import Comparison
from tests.unit.reporting.chromium import Browser, browser, command
from tests.unit.reporting.page_checks import CUT_OFF, DRAWN, OUTSIDE

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
    assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []


@every_width
def test_nothing_is_hidden_with_twelve_policies(tab, report_of_many, width):
    open_whole(tab, report_of_many, width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(CUT_OFF) == []
    assert tab.complaints() == []
    assert tab.evaluate("document.querySelectorAll('#queue .mark-line path').length") == 12
    assert sorted(opacities(tab, "wait_cdf")) == pytest.approx([0.18] * 11 + [1])


def opacities(tab: Browser, chart: str) -> list[float]:
    """How opaque each curve of a chart is."""
    lines = f"[...document.querySelectorAll('#{chart} .mark-line path')]"
    found: list[float] = tab.evaluate(f"{lines}.map(e => Number(e.getAttribute('opacity') ?? 1))")
    return found


def test_long_names_do_not_leave_the_page(tab, tmp_path):
    users = [f"{'a-user-with-a-long-name-' * 5}{index}" for index in range(40)]
    trace = gs.Trace.from_columns(range(40), [50] * 40, [1, 2] * 20, user=users, name="n" * 300)
    result = gs.simulate(trace, gs.Cluster.uniform(2, 8))
    results = {f"a-policy-of-somebody:{'parameter=1,' * 9}x={i}": result for i in range(3)}
    write_report(Comparison(trace, result.cluster, results), tmp_path / "report.html")
    open_whole(tab, tmp_path / "report.html", 400)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.evaluate(OUTSIDE) == []
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
    assert text.startswith("Of the deployable policies, 2d-las:preset=lucid has")
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
AXIS = "getComputedStyle(document.querySelector('#jct_cdf .role-axis-title text')).fill"
CURVE = "getComputedStyle(document.querySelector('#jct_cdf .mark-line path')).stroke"
CELL = "getComputedStyle(document.querySelector('#servers .mark-rect path')).fill"
SEEN = (BACKGROUND, AXIS, CURVE, CELL)


def test_the_button_turns_the_page_and_its_charts_dark(tab, report):
    open_whole(tab, report, 800)
    light = [tab.evaluate(what) for what in SEEN]
    assert tab.evaluate("document.getElementById('theme').ariaPressed") == "false"
    tab.evaluate("document.getElementById('theme').click()")
    assert tab.evaluate("document.getElementById('theme').ariaPressed") == "true"
    dark = [tab.evaluate(what) for what in SEEN]
    assert not set(light) & set(dark)
    open_whole(tab, report, 800, dark=True)
    assert [tab.evaluate(what) for what in SEEN] == dark


def test_paper_is_light_and_has_all_tables_and_charts(tab, report):
    tab.open(report, 800, 900, dark=True)
    tab.evaluate("window.wasOpen = document.querySelectorAll('details:not([open])').length")
    assert tab.evaluate("wasOpen") > 0
    pdf = base64.b64decode(tab.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 3
    assert tab.evaluate(DRAWN)
    assert tab.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    tab.call("Emulation.setEmulatedMedia", media="print", features=[
        {"name": "prefers-color-scheme", "value": "dark"},
    ])  # fmt: skip
    on_paper = [tab.evaluate(what) for what in SEEN]
    assert tab.evaluate("document.querySelector('.legend').checkVisibility()")
    tab.call("Emulation.setEmulatedMedia", media="")
    open_whole(tab, report, 800)
    assert [tab.evaluate(what) for what in SEEN] == on_paper


def test_a_legend_highlights_a_policy_in_all_charts(tab, report):
    open_whole(tab, report, 800)
    tab.evaluate("document.querySelectorAll('.legend button')[1].click()")
    for chart in ("jct_cdf", "wait_cdf"):
        tab.wait_for(f"[...document.querySelectorAll('#{chart} .mark-line path')]"
                     ".some(e => Number(e.getAttribute('opacity')) < 1)")  # fmt: skip
        first, second, third = opacities(tab, chart)
        assert second == 1 > max(first, third), chart
    for chart in ("wait_by_width", "jct_by_user"):
        signal = f"views.get(document.getElementById('{chart}')).signal('highlight')"
        assert tab.evaluate(signal) == ["srtf †"]
    pressed = "[...document.querySelectorAll('.legend button')].map(b => b.ariaPressed)"
    assert tab.evaluate(pressed) == ["false", "true", "false"]


def test_the_policy_whose_servers_are_shown_can_be_chosen(tab, report):
    open_whole(tab, report, 800)
    options = tab.evaluate("[...document.getElementById('shown').options].map(o => o.text)")
    assert options == ["fifo", "srtf †", "2d-las:preset=lucid ≈"]
    assert tab.evaluate("document.getElementById('shown').value") == options[2]
    drawn = """
    [...document.querySelectorAll('#gantt .mark-rect path')].map(e => e.getAttribute('d')).join()
    """
    before = tab.evaluate(drawn)
    choose = "s => { s.value = 'srtf †'; s.dispatchEvent(new Event('change')); }"
    tab.evaluate(f"({choose})(document.getElementById('shown'))")
    tab.wait_for(f"({drawn.strip()}) !== {json.dumps(before)}")
    for chart in ("gantt", "servers"):
        signal = f"views.get(document.getElementById('{chart}')).signal('shown')"
        assert tab.evaluate(signal) == "srtf †"


def test_a_chart_is_as_wide_as_there_is_room(tab, report):
    for width in (1280, 400, 800):
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=30_000, deviceScaleFactor=1, mobile=False,
        ) if width != 1280 else open_whole(tab, report, width)  # fmt: skip
        tab.wait_for("""[...document.querySelectorAll('.chart')].every(chart => {
          const svg = chart.querySelector('svg');
          return Math.abs(svg.viewBox.baseVal.width - chart.clientWidth) < 12;
        })""")


def test_what_a_chart_says_is_there_for_who_does_not_see_it(tab, report):
    open_whole(tab, report, 800)
    labels = tab.evaluate("charts.map(c => c.ariaLabel)")
    assert len(labels) == 10
    assert all("srtf †: " in label for label in labels)
