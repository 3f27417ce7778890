"""What the pictures show: points of the curves, extremes, means, bars and readable axes."""

from __future__ import annotations

import base64
import inspect
import json
import math
import re
import sys
import zlib
from collections import defaultdict

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reporting.charts import bars, breakdowns, occupancy
from gpusched.reporting.charts.thinning import kept_steps, thin_distribution
from gpusched.reporting.drawing.plotly_values import plain
from gpusched.reporting.drawing.time_ticks import COARSE, time_ticks
from gpusched.reporting.pictures import allocation_chart, jct_cdf_chart, queue_chart, wait_cdf_chart
from gpusched.reporting.report import TICKS, BarRows, bar_rows
from gpusched.studies.comparison import Comparison, compare
from tests.each import each


def test_a_thinned_distribution_stays_on_the_distribution():
    values = np.random.default_rng(0).integers(0, 50, 1_000).astype(float)
    x, y = thin_distribution(values, 20)
    assert len(x) <= 20
    assert x[0] == values.min()
    assert x[-1] == values.max()
    assert y.tolist() == [float(np.mean(values <= at)) for at in x]


def test_a_thinned_series_keeps_every_peak_and_a_short_one_is_whole():
    time_s = np.arange(100_000.0)
    values = np.full(100_000, 5)
    values[[777, 60_001]] = 900, 0
    kept = kept_steps(time_s, values, 90_000.0, 200)
    assert len(kept) <= 200
    assert {0, 777, 60_001, 99_999} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert kept_steps(np.arange(9.0), np.arange(9), 9.0, 9).tolist() == list(range(9))


def test_most_points_lie_where_most_jobs_are(comparison):
    series = comparison.results["fifo"].series
    end_s = float(np.median(series.time_s))
    kept = kept_steps(series.time_s, series.queue_jobs, end_s, 100)
    assert len(kept) <= 100
    assert np.count_nonzero(series.time_s[kept] <= end_s) >= 0.8 * len(kept)


@pytest.mark.parametrize("picture", [allocation_chart, queue_chart])
def test_a_strip_per_policy_reaches_the_peak(picture, comparison):
    chart = picture(comparison, 100)
    assert [curve.label for curve in chart.curves] == ["fifo", "srtf †", "2d-las:preset=lucid ≈"]
    column = "allocated_gpus" if picture is allocation_chart else "queue_jobs"
    for curve, result in zip(chart.curves, comparison.results.values(), strict=True):
        assert 1 < len(curve.x) == len(curve.y) <= 100
        assert curve.y.max() == getattr(result.series, column).max()
    assert "the first, the lowest, the highest and the last step" in chart.caption
    assert chart.in_strips


def test_the_time_axis_ends_with_most_jobs_and_not_with_the_last():
    service = np.full(200, 10.0)
    service[50] = 1e7
    trace = gs.Trace.from_columns(np.arange(200.0), service, np.ones(200, dtype=int))
    chart = queue_chart(compare(trace, gs.Cluster.uniform(4, 8), ["fifo"]), 400)
    assert chart.x.title == "minutes since the first submission"
    assert chart.x.ends[1] * 60 < 300
    assert chart.curves[0].x.max() * 60 == pytest.approx(1e7 + 50, rel=1e-6)


@pytest.mark.parametrize("picture", [jct_cdf_chart, wait_cdf_chart])
def test_a_distribution_has_a_bounded_curve_per_policy(picture, comparison):
    chart = picture(comparison, 100)
    assert [curve.label for curve in chart.curves] == ["fifo", "srtf †", "2d-las:preset=lucid ≈"]
    assert all(1 < len(curve.x) == len(curve.y) <= 100 for curve in chart.curves)
    assert chart.highlighted == frozenset()


def test_of_many_policies_the_best_that_could_be_deployed_stands_out(many):
    (place,) = wait_cdf_chart(many, 50).highlighted
    assert list(many.results)[place].startswith("2d-las")
    assert breakdowns.means(many, "width", "wait").highlighted == {place}


@pytest.mark.parametrize("measure", ["wait", "jct"])
def test_means_by_user_and_width_are_those_of_the_jobs(measure, comparison):
    trace = comparison.trace
    result = comparison.results["fifo"]
    values = result.jobs.wait_s if measure == "wait" else result.jobs.jct_s
    by_user, by_width = defaultdict(list), defaultdict(list)
    for job in range(len(trace)):
        by_user[trace.user[job]].append(values[job])
        width = int(trace.gpus[job])
        by_width["1 GPU" if width == 1 else "2-8 GPUs" if width <= 8 else "9 or more GPUs"].append(
            values[job]
        )
    for by, expected in (("user", by_user), ("width", by_width)):
        chart = breakdowns.means(comparison, by, measure)
        drawn = {
            chart.groups[int(y)].rpartition(" (")[0]: x
            for x, y in zip(chart.curves[0].x, chart.curves[0].y, strict=True)
        }
        named = {name: mean for name, mean in drawn.items() if not name.endswith("others")}
        assert len(named) == (breakdowns.MOST_USERS if by == "user" else 3)
        for name, mean in named.items():
            assert mean == pytest.approx(max(np.mean(expected[name]), 1.0)), name
        for name in chart.groups:
            base, _, count = name.rpartition(" (")
            if base in expected:
                assert count.split()[0] == f"{len(expected[base]):,}"


def test_users_beyond_the_first_share_a_line(comparison):
    chart = breakdowns.means(comparison, "user", "wait")
    num_others = len(set(comparison.trace.user.codes.tolist())) - breakdowns.MOST_USERS
    assert chart.groups[0].startswith(f"{num_others:,} others (")
    assert f"the other {num_others:,} share the last line" in chart.caption
    trace = gs.Trace.from_columns([0.0], [5.0], [1])
    with pytest.raises(ValueError, match="it has no users"):
        breakdowns.means(compare(trace, gs.Cluster.uniform(1, 8), ["fifo"]), "user", "wait")


def bars_of(chart, policy: int = 0) -> set[tuple[int, float, float, float, float]]:
    shown = chart.policies[policy]
    columns = (shown.job, shown.begin, shown.length, shown.bottom, shown.height)
    return set(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture(scope="module")
def two_servers() -> Comparison:
    """Jobs on two servers of four GPUs whose places can be told by hand."""
    trace = gs.Trace.from_columns([0, 0, 0, 5], [10, 10, 20, 10], [2, 6, 1, 2])
    return compare(trace, gs.Cluster.uniform(2, 4), ["fifo"])


def test_bars_cover_exactly_what_jobs_hold(two_servers):
    result = two_servers.results["fifo"]
    rows = result.intervals
    chart = bars.bars(two_servers, None, None, 100)
    held: dict[int, float] = defaultdict(float)
    for job, _, length, _, height in bars_of(chart):
        held[job] += length * height
    for job in range(4):
        mine = rows["job"] == job
        lengths_s = (rows["end_us"] - rows["start_us"])[mine] / 1e6
        assert held[job] == pytest.approx(
            float((lengths_s * np.bitwise_count(rows["mask"][mine])).sum())
        )
    assert chart.top == 4 + 4 + 0.5
    assert [name for _, name in chart.ticks] == ["server 0", "server 1"]


def test_gpus_that_are_no_neighbours_are_bars_of_their_own():
    row, first, length = bars.runs_of_bits(
        np.array([0b1011, 1 << 63, (1 << 64) - 1, 0b101], dtype=np.uint64)
    )
    assert row.tolist() == [0, 0, 1, 2, 3, 3]
    assert first.tolist() == [0, 3, 63, 0, 0, 2]
    assert length.tolist() == [2, 1, 1, 64, 1, 1]


def test_a_window_cuts_bars_at_its_ends(two_servers):
    chart = bars.bars(two_servers, (2.0, 6.0), None, 100)
    for _, begin, length, _, _ in bars_of(chart):
        assert 2.0 <= begin < begin + length <= 6.0
    assert chart.x.ends == (2.0, 6.0)
    assert "From 2 s to 6 s after the first submission; all 2 servers" in chart.caption


def test_servers_may_be_chosen(two_servers):
    chart = bars.bars(two_servers, None, [1], 100)
    assert [name for _, name in chart.ticks] == ["server 1"]
    assert chart.top == 4
    assert "From 0 s to 30 s after the first submission, the whole run; 1 of 2" in chart.caption
    rows = two_servers.results["fifo"].intervals
    assert {job for job, *_ in bars_of(chart)} == set(rows["job"][rows["server"] == 1].tolist())


@pytest.mark.parametrize(
    ("window", "ends"),
    [
        ({"from_s": 2, "to_s": 6}, (2.0, 6.0)),
        ({"from_s": 12}, (12.0, 30.0)),
        ({"to_s": 6}, (0.0, 6.0)),
    ],
)
def test_a_window_has_a_begin_an_end_or_both(two_servers, window, ends):
    assert gs.plot.gantt(two_servers, **window).layout.xaxis.range == ends


def unpacked(rows: BarRows) -> dict[str, np.ndarray]:
    """The columns, read as the page's script reads them."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(rows.packed)), np.uint8)
    planes = planes.reshape(7, 4, rows.count).astype(np.int64)
    columns = sum(planes[:, byte] << (8 * byte) for byte in range(4))
    for summed in (0, 5):
        columns[summed] = np.cumsum(columns[summed]) % 2**32
    names = ("begin", "length", "server", "first", "count", "job", "gpus")
    return dict(zip(names, columns, strict=True))


def test_packed_bars_are_all_of_the_run(comparison):
    packed, span_s = bar_rows(comparison, (0.0, 1.0), 10**6)
    origin_us = int(comparison.trace.submit_us[0])
    for rows, result in zip(packed, comparison.results.values(), strict=True):
        assert rows.left_out == 0
        bars_of_run = unpacked(rows)
        log = result.intervals
        tick_us = span_s * 1e6 / TICKS
        area = bars_of_run["length"] * bars_of_run["count"]
        for name in ("server", "job"):
            gpu_us = np.bitwise_count(log["mask"]) * (log["end_us"] - log["start_us"])
            assert np.bincount(bars_of_run[name], area) * tick_us == pytest.approx(
                np.bincount(log[name], gpu_us), abs=9 * tick_us * len(log["job"])
            )
        first = np.lexsort((log["server"], log["job"], log["start_us"]))[0]
        assert bars_of_run["begin"][0] == round((log["start_us"][first] - origin_us) / tick_us)
        assert (np.diff(bars_of_run["begin"]) >= 0).all()
        assert (bars_of_run["gpus"] == comparison.trace.gpus[bars_of_run["job"]]).all()


def test_of_too_many_bars_the_window_and_the_largest_are_packed(comparison):
    window_s = (3 * 86_400.0, 3.2 * 86_400.0)
    every, span_s = bar_rows(comparison, window_s, 10**6)
    some, _ = bar_rows(comparison, window_s, 500)
    for whole, part in zip(map(unpacked, every), some, strict=True):
        told = unpacked(part)
        assert 490 <= part.count <= 500
        assert part.left_out == len(whole["begin"]) - part.count > 0
        low, high = (end / span_s * TICKS for end in window_s)

        def inside(bars: dict, low: float = low, high: float = high) -> int:
            return int(
                ((bars["begin"] < high - 1) & (bars["begin"] + bars["length"] > low + 1)).sum()
            )

        assert inside(told) == inside(whole) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window_s": (5, 5)}, "window_s: must be two increasing times in seconds"),
        ({"window_s": (0, float("inf"))}, "window_s: must be two increasing times in seconds"),
        ({"from_s": 7, "to_s": 7}, "must be two increasing times"),
        ({"from_s": 1, "window_s": (0, 5)}, "window_s: cannot be combined with from_s and to_s"),
        ({"servers": [2]}, "there is no server 2; the last one is 1"),
        ({"servers": [-1]}, "there is no server -1"),
        ({"servers": []}, "servers: expected ids of servers"),
        ({"most_bars": 0}, "most_bars: must be at least 1, not 0"),
    ],
)
def test_a_window_that_is_none_is_refused(arguments, message, two_servers):
    with pytest.raises(ValueError, match=message):
        gs.plot.gantt(two_servers, **arguments)


def test_the_window_that_is_chosen_has_the_longest_queue_and_few_enough_bars(comparison):
    chart = bars.bars(comparison, None, None, 300)
    assert max(map(len, chart.policies)) <= 300
    assert max(map(len, chart.policies)) > 150
    assert "around the longest queue" in chart.caption
    assert "left out" not in chart.caption
    series = comparison.results["2d-las:preset=lucid"].series
    peak_s = series.time_s[series.queue_jobs.argmax()] - comparison.trace.submit_s[0]
    assert chart.x.ends is not None
    begin, end = chart.x.ends
    assert begin <= peak_s / 86_400 <= end


def test_in_a_window_that_was_asked_for_the_least_bars_are_left_out(comparison):
    whole = bars.bars(comparison, (0.0, 1e9), None, 10**6)
    some = bars.bars(comparison, (0.0, 1e9), None, 100)
    assert all(len(shown) == 100 for shown in some.policies)
    areas = whole.policies[0].length * whole.policies[0].height
    kept = some.policies[0].length * some.policies[0].height
    assert kept.min() >= np.sort(areas)[-100] * (1 - 1e-9)
    num_left_out = sum(map(len, whole.policies)) - 300
    assert f"{num_left_out:,} bars of the least area are left out" in some.caption


def test_the_map_of_servers_adds_up_to_the_allocation(comparison):
    chart = occupancy.occupancy(comparison)
    assert chart.rows == tuple(f"server {index}" for index in range(4))
    end_s = (chart.edges[-1] - chart.edges[0]) * 86_400
    begin = float(comparison.trace.submit_s[0])
    for grid, result in zip(chart.policies, comparison.results.values(), strict=True):
        assert grid.percent.shape == (4, occupancy.NUM_COLUMNS)
        rows = result.intervals
        held_s = np.minimum(rows["end_us"] / 1e6, begin + end_s) - rows["start_us"] / 1e6
        area = float((np.maximum(held_s, 0) * np.bitwise_count(rows["mask"])).sum())
        assert grid.percent.mean() / 100 == pytest.approx(area / end_s / 32, abs=0.005)


def test_one_job_fills_its_part_of_the_map():
    trace = gs.Trace.from_columns([0.0, 0.0], [80.0, 160.0], [4, 8])
    chart = occupancy.occupancy(compare(trace, gs.Cluster.uniform(2, 8), ["fifo"]))
    (grid,) = chart.policies
    half, full = sorted(grid.percent.tolist())
    assert set(full) == {100}
    assert half[0] == 50
    assert half[-1] == 0
    assert half.count(50) == pytest.approx(occupancy.NUM_COLUMNS / 2, abs=2)


def test_many_servers_share_rows():
    trace = gs.Trace.from_columns([0.0], [80.0], [1])
    chart = occupancy.occupancy(compare(trace, gs.Cluster.uniform(101, 8), ["fifo"]))
    assert len(chart.rows) <= occupancy.MOST_ROWS
    assert chart.rows[0] == "servers 0-2"
    assert chart.rows[-1] == "servers 99-100"
    assert "a row is 3 neighbouring servers" in chart.caption


SCALES = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}


@given(st.floats(-3, 7.5), st.floats(0.005, 4))
def test_three_ticks_are_there_and_say_where_they_stand(begin, length):
    low, high = 10**begin, 10 ** (begin + length)
    ticks = time_ticks(low, high)
    assert 3 <= len(ticks) <= len(COARSE)
    assert list(ticks) == sorted(ticks)
    assert len(set(ticks.values())) == len(ticks)
    for at, name in ticks.items():
        assert low * (1 - 1e-6) <= at <= high * (1 + 1e-6)
        number, unit = name.replace(",", "").split()
        assert float(number) * SCALES[unit] == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize(
    ("ends", "names"),
    [
        ((1, 1e6), ["1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "10 d"]),
        ((7_000, 40_000), ["2 h", "3 h", "6 h"]),
        ((25_200, 26_640), ["7 h", "7.1 h", "7.2 h", "7.3 h", "7.4 h"]),
    ],
)
def test_ticks_are_times_that_people_use(ends, names):
    assert list(time_ticks(*ends).values()) == names


@each("dtype", ["f4", "f8", "i4", "u1"])
@each("shape", [(6,), (3, 2), (0,)])
def test_arrays_are_packed_as_plotly_packs_them(dtype, shape):
    values = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    drawn = go.Figure({"data": [{"type": "scatter", "customdata": values}]})
    packed = json.loads(drawn.to_json())["data"][0]["customdata"]
    assert plain(values) == packed


def test_what_is_none_or_no_number_of_json_is_left_out_of_dicts_and_none_in_lists():
    part = {"title": None, "x": [1.0, None], "line": {"dash": None, "width": 2}}
    assert plain(part) == {"x": [1.0, None], "line": {"width": 2}}
    for value in (math.nan, math.inf, -math.inf):
        assert plain({"x": [0.0, value], "opacity": value}) == {"x": [0.0, None], "opacity": None}


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
    assert len(getattr(gs.plot, name)(comparison.results["srtf"]).data) == 1


@every_picture
def test_a_picture_is_a_file_of_matplotlib_and_names_are_no_formulas(name, comparison, tmp_path):
    pytest.importorskip("matplotlib")
    results = {r"$\frac$": comparison.results["fifo"], "$x$ <b>": comparison.results["srtf"]}
    odd = Comparison(comparison.trace, comparison.cluster, results)
    figure = getattr(gs.plot, name)(odd, library="matplotlib")
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert figure.get_suptitle() == getattr(gs.plot, name)(odd).layout.title.text


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


def test_an_unknown_library_is_named(comparison):
    with pytest.raises(ValueError, match="library: must be 'plotly' or 'matplotlib', not 'x'"):
        gs.plot.queue(comparison, library="x")
    for draw in (gs.plot.queue, gs.plot.wait_cdf):
        with pytest.raises(ValueError, match="points: must be at least 8, not 7"):
            draw(comparison, points=7)
    with pytest.raises(TypeError, match="expected a Result or a Comparison, not int"):
        gs.plot.queue(3)


@pytest.mark.parametrize(
    ("library", "package"), [("plotly", "plotly"), ("matplotlib", r'"gpusched-core\[plot\]"')]
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
