"""The picture of a sizing as its readers see it, by day and by night."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusched as gs
from tests.unit.reporting.chromium import Browser, browser, command
from tests.unit.reporting.page_checks import COVERED, CUT_OFF, DRAWN, OUTSIDE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(command() is None, reason="no Chromium is installed"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("size") / "size.html"
    trace = gs.generate("philly", 600, load=0.9, cluster=gs.Cluster.uniform(8, 8), seed=1)
    goal = "p95_wait_s < 20 min and p99_jct_s < 9 d and mean_jct_s < 2 d"
    gs.reporting.write_sizing(gs.size(trace, goal, resamples=5), path)
    return path


@pytest.mark.parametrize("width", [400, 800, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_hidden_at_any_width(tab, page, width, dark):
    tab.open(page, width, 9_000, dark=dark)
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
