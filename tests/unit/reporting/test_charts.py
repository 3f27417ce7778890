"""What the pictures show: points of the curves, extremes, means, bars and readable axes."""

import inspect
import itertools
import re
import struct
import sys
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reporting.charts import breakdowns
from gpusched.reporting.charts.thinning import kept_steps, thin_distribution
from gpusched.reporting.charts.timeline import MOST_BARS, runs_of_bits
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.style import DURATION, config, duration_scale
from gpusched.studies.comparison import Comparison, compare
from tests.each import each
from tests.unit.reporting.chart_rows import rows_of_chart

LABELS = ["fifo", "srtf †", "2d-las:preset=lucid ≈"]


def encoding_of(chart) -> dict:
    """The encoding of the first plot of a chart."""
    spec = chart.to_dict()
    spec = spec.get("spec", spec)
    return (spec["layer"][0] if "layer" in spec else spec)["encoding"]


def ends_of(chart, channel: str = "x") -> list:
    return encoding_of(chart)[channel]["scale"]["domain"]


def caption_of(chart) -> str:
    return chart.to_dict()["usermeta"]["caption"]


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


@pytest.mark.parametrize("name", ["allocation", "queue"])
def test_a_strip_per_policy_reaches_the_peak(name, comparison):
    chart = getattr(gs.plot, name)(comparison, points=100)
    rows = rows_of_chart(chart)
    assert list(rows) == LABELS
    column = "allocated_gpus" if name == "allocation" else "queue_jobs"
    for row, result in zip(rows.values(), comparison.results.values(), strict=True):
        assert 1 < len(row["x"]) == len(row["y"]) <= 100
        assert max(row["y"]) == getattr(result.series, column).max()
    assert "the first, lowest, highest and last step" in caption_of(chart)
    assert chart.to_dict()["facet"]["row"]["field"] == "policy"


def test_the_time_axis_ends_with_most_jobs_and_not_with_the_last():
    service = np.full(200, 10.0)
    service[50] = 1e7
    trace = gs.Trace.from_columns(np.arange(200.0), service, np.ones(200, dtype=int))
    chart = gs.plot.queue(compare(trace, gs.Cluster.uniform(4, 8), ["fifo"]))
    assert encoding_of(chart)["x"]["title"] == "minutes since the first submission"
    assert ends_of(chart)[1] * 60 < 300
    assert max(rows_of_chart(chart)["fifo"]["x"]) * 60 == pytest.approx(1e7 + 50, rel=1e-5)


@pytest.mark.parametrize("name", ["jct_cdf", "wait_cdf"])
def test_a_distribution_has_a_bounded_curve_per_policy(name, comparison):
    chart = getattr(gs.plot, name)(comparison, points=100)
    rows = rows_of_chart(chart)
    assert list(rows) == LABELS
    assert all(1 < len(row["x"]) == len(row["share"]) <= 100 for row in rows.values())
    assert chart.to_dict()["params"][0]["value"] == []


def test_half_and_most_of_the_jobs_are_marked_on_their_curve(comparison):
    chart = gs.plot.wait_cdf(comparison)
    curves, dots = rows_of_chart(chart), rows_of_chart(chart, 1)
    for label, result in zip(LABELS, comparison.results.values(), strict=True):
        points = set(zip(curves[label]["x"], curves[label]["share"], strict=True))
        assert points >= set(zip(dots[label]["x"], dots[label]["share"], strict=True))
        wait_s = np.maximum(result.jobs.wait_s[result.jobs.is_finished], 1.0)
        for at, share in zip(dots[label]["x"], (0.5, 0.95), strict=True):
            # The least point of the curve where it is so high: it has one every 1/400.
            assert share <= np.mean(wait_s <= at * (1 + 1e-5))
            assert at <= np.quantile(wait_s, share + 1 / 200) * (1 + 1e-5)


def test_of_many_policies_the_best_that_could_be_deployed_stands_out(many):
    for draw in (gs.plot.wait_cdf, gs.plot.wait_by_width):
        (parameter,) = draw(many).to_dict()["params"]
        (label,) = parameter["value"]
        assert parameter["name"] == "highlight"
        assert label.startswith("2d-las")
        assert "highlight" in encoding_of(draw(many))["opacity"]["condition"]["test"]


def test_a_policy_has_one_colour_everywhere_and_the_eighth_another_dash(many):
    scales = []
    for name in ("jct_cdf", "wait_by_user", "queue"):
        scales.append(encoding_of(getattr(gs.plot, name)(many))["color"]["scale"])
    assert all(scale == scales[0] for scale in scales)
    assert len(scales[0]["domain"]) == 12
    dashes = encoding_of(gs.plot.jct_cdf(many))["strokeDash"]["scale"]["range"]
    pairs = [(place % len(palette.COLOURS), *dash) for place, dash in enumerate(dashes)]
    assert len(set(pairs)) == 12


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
        chart = getattr(gs.plot, f"{measure}_by_{by}")(comparison)
        row = rows_of_chart(chart)["fifo"]
        drawn = {
            name.rpartition(" (")[0]: mean
            for name, mean in zip(row["group"], row["mean_s"], strict=True)
        }
        named = {name: mean for name, mean in drawn.items() if not name.endswith("others")}
        assert len(named) == (breakdowns.MOST_USERS if by == "user" else 3)
        for name, mean in named.items():
            assert mean == pytest.approx(max(np.mean(expected[name]), 1.0), rel=1e-5), name
        for name in row["group"]:
            base, _, count = name.rpartition(" (")
            if base in expected:
                assert count.split()[0] == f"{len(expected[base]):,}"
        assert encoding_of(chart)["y"]["scale"]["domain"] == row["group"]


def test_users_beyond_the_first_share_a_line(comparison):
    chart = gs.plot.wait_by_user(comparison)
    num_others = len(set(comparison.trace.user.codes.tolist())) - breakdowns.MOST_USERS
    assert ends_of(chart, "y")[-1].startswith(f"{num_others:,} others (")
    assert f"the other {num_others:,} share the last line" in caption_of(chart)
    trace = gs.Trace.from_columns([0.0], [5.0], [1])
    with pytest.raises(ValueError, match="the trace has no users"):
        gs.plot.wait_by_user(compare(trace, gs.Cluster.uniform(1, 8), ["fifo"]))


def bars_of(chart, policy: int = 0) -> list[dict]:
    row = dict(list(rows_of_chart(chart).values())[policy])
    del row["policy"]
    return [dict(zip(row, values, strict=True)) for values in zip(*row.values(), strict=True)]


def gpus_of(bar: dict, per_server: int) -> float:
    """How many GPUs a bar covers; servers stand 8 % apart."""
    return (bar["bottom"] - bar["top"]) / 0.92 * per_server


@pytest.fixture(scope="module")
def two_servers() -> Comparison:
    """Jobs on two servers of four GPUs whose places can be told by hand."""
    trace = gs.Trace.from_columns([0, 0, 0, 5], [10, 10, 20, 10], [2, 6, 1, 2])
    return compare(trace, gs.Cluster.uniform(2, 4), ["fifo"])


def server_names(chart) -> list[str]:
    axis = encoding_of(chart)["y"]["axis"]
    ids = re.search(r"\[(.*?)\]", axis["labelExpr"])[1].split(", ")
    assert axis["values"] == [place + 0.5 for place in range(len(ids))]
    return ids


def test_bars_cover_exactly_what_jobs_hold(two_servers):
    rows = two_servers.results["fifo"].intervals
    chart = gs.plot.gantt(two_servers)
    held: dict[int, float] = defaultdict(float)
    for bar in bars_of(chart):
        held[bar["job"]] += (bar["end"] - bar["begin"]) * gpus_of(bar, 4)
        assert bar["gpus"] == two_servers.trace.gpus[bar["job"]]
        assert bar["server"] < bar["top"] < bar["bottom"] < bar["server"] + 1
    for job in range(4):
        mine = rows["job"] == job
        lengths_s = (rows["end_us"] - rows["start_us"])[mine] / 1e6
        assert held[job] == pytest.approx(
            float((lengths_s * np.bitwise_count(rows["mask"][mine])).sum()), rel=1e-5
        )
    assert server_names(chart) == ["0", "1"]


def test_gpus_that_are_no_neighbours_are_bars_of_their_own():
    row, first, length = runs_of_bits(
        np.array([0b1011, 1 << 63, (1 << 64) - 1, 0b101], dtype=np.uint64)
    )
    assert row.tolist() == [0, 0, 1, 2, 3, 3]
    assert first.tolist() == [0, 3, 63, 0, 0, 2]
    assert length.tolist() == [2, 1, 1, 64, 1, 1]


def test_a_window_cuts_bars_at_its_ends(two_servers):
    chart = gs.plot.gantt(two_servers, window_s=(2.0, 6.0))
    for bar in bars_of(chart):
        assert 2.0 <= bar["begin"] < bar["end"] <= 6.0
    assert ends_of(chart) == [2.0, 6.0]
    assert "From 2 s to 6 s after the first submission; all 2 servers" in caption_of(chart)


def test_grey_areas_are_the_times_in_which_servers_are_down(tmp_path):
    outages = gs.Outages.from_columns(
        [1, 1, 0, 2, 1],
        [2, 4, 6, 0, 40],
        [5, 9, None, 9, 50],
        ["fail", "drain", "drain", "fail", "fail"],
    )
    trace = gs.Trace.from_columns([0, 0, 0, 5], [10, 10, 20, 10], [2, 6, 1, 2])
    result = gs.simulate(trace, gs.Cluster.uniform(3, 4), policy="fifo-skip", outages=outages)
    chart = gs.plot.gantt(result, from_s=0, to_s=30, servers=[0, 1])
    down, jobs = chart.layer
    assert [(area["server"], area["begin"], area["end"]) for area in bars_of(down)] == [
        (0, 6, 30), (1, 2, 9),
    ]  # fmt: skip
    assert [(area["top"], area["bottom"]) for area in bars_of(down)] == [(0, 1), (1, 2)]
    assert bars_of(jobs)
    assert caption_of(chart).endswith("Grey: the server has failed, is drained or maintained.")
    pytest.importorskip("vl_convert")
    gs.plot.save(chart, tmp_path / "a.svg", width="text")
    assert 'width="50' in (tmp_path / "a.svg").read_text()
    without = gs.plot.gantt(result, from_s=30, to_s=31, servers=[1])
    assert not hasattr(without, "layer")


def test_servers_may_be_chosen(two_servers):
    chart = gs.plot.gantt(two_servers, servers=[1])
    assert server_names(chart) == ["1"]
    assert ends_of(chart, "y") == [0, 1]
    caption = caption_of(chart)
    assert "From 0 s to 30 s after the first submission, the whole run; 1 of 2" in caption
    rows = two_servers.results["fifo"].intervals
    on_it = set(rows["job"][rows["server"] == 1].tolist())
    assert {bar["job"] for bar in bars_of(chart)} == on_it


@pytest.mark.parametrize(
    ("window", "ends"),
    [
        ({"from_s": 2, "to_s": 6}, [2.0, 6.0]),
        ({"from_s": 12}, [12.0, 30.0]),
        ({"to_s": 6}, [0.0, 6.0]),
    ],
)
def test_a_window_has_a_begin_an_end_or_both(two_servers, window, ends):
    assert ends_of(gs.plot.gantt(two_servers, **window)) == ends


@each(
    ("arguments", "message"),
    [
        ({"window_s": (5, 5)}, "window_s: must be two increasing times in seconds"),
        ({"window_s": (0, float("inf"))}, "window_s: must be two increasing times in seconds"),
        ({"from_s": 7, "to_s": 7}, "must be two increasing times"),
        ({"from_s": 1, "window_s": (0, 5)}, "window_s: cannot be combined with from_s and to_s"),
        ({"servers": [2]}, "unknown server 2; the last one is 1"),
        ({"servers": [-1]}, "unknown server -1"),
        ({"servers": []}, "servers: expected ids of servers"),
        ({"most_bars": 0}, "most_bars: must be between 1 and 1,500, not 0"),
        ({"most_bars": 1_501}, "most_bars: must be between 1 and 1,500, not 1501"),
    ],
)
def test_a_window_that_is_none_is_refused(arguments, message, two_servers):
    with pytest.raises(ValueError, match=message):
        gs.plot.gantt(two_servers, **arguments)


def test_the_window_that_is_chosen_has_the_longest_queue_and_few_enough_bars(comparison):
    chart = gs.plot.gantt(comparison, most_bars=300)
    counts = [len(row["job"]) for row in rows_of_chart(chart).values()]
    assert 150 < max(counts) <= 300
    assert "around the longest queue" in caption_of(chart)
    assert "left out" not in caption_of(chart)
    series = comparison.results["2d-las:preset=lucid"].series
    peak_s = series.time_s[series.queue_jobs.argmax()] - comparison.trace.submit_s[0]
    begin, end = ends_of(chart)
    assert begin <= peak_s / 86_400 <= end


def test_in_a_window_that_was_asked_for_the_least_bars_are_left_out(comparison):
    def areas(chart) -> list[float]:
        return [(bar["end"] - bar["begin"]) * gpus_of(bar, 8) for bar in bars_of(chart)]

    whole = gs.plot.gantt(comparison, to_s=5 * 86_400.0)
    some = gs.plot.gantt(comparison, to_s=5 * 86_400.0, most_bars=10)
    rows, every = rows_of_chart(some), rows_of_chart(whole)
    for label in LABELS:
        assert 10 == len(rows[label]["job"]) < len(every[label]["job"]) < MOST_BARS
    assert min(areas(some)) >= sorted(areas(whole))[-10] * 0.999
    num_left_out = sum(len(row["job"]) for row in every.values()) - 30
    assert f"{num_left_out:,} bars with the smallest area are left out" in caption_of(some)


def test_one_policy_is_shown_and_a_menu_has_the_others(comparison):
    for draw in (gs.plot.gantt, gs.plot.servers):
        (parameter,) = draw(comparison).to_dict()["params"]
        assert parameter["name"] == "shown"
        assert parameter["value"] == LABELS[2]
        assert parameter["bind"]["options"] == LABELS
        (alone,) = draw(comparison.results["fifo"]).to_dict()["params"]
        assert alone == {"name": "shown", "value": "fifo"}


def grids_of(chart, num_rows: int) -> list[np.ndarray]:
    rows = rows_of_chart(chart).values()
    return [np.array(row["percent"]).reshape(num_rows, -1) for row in rows]


def test_the_map_of_servers_adds_up_to_the_allocation(comparison):
    chart = gs.plot.servers(comparison)
    assert ends_of(chart, "y") == [f"server {index}" for index in range(4)]
    end_s = ends_of(chart)[1] * 86_400
    begin = float(comparison.trace.submit_s[0])
    for grid, result in zip(grids_of(chart, 4), comparison.results.values(), strict=True):
        rows = result.intervals
        held_s = np.minimum(rows["end_us"] / 1e6, begin + end_s) - rows["start_us"] / 1e6
        area = float((np.maximum(held_s, 0) * np.bitwise_count(rows["mask"])).sum())
        assert grid.mean() / 100 == pytest.approx(area / end_s / 32, abs=0.005)


def test_one_job_fills_its_part_of_the_map():
    trace = gs.Trace.from_columns([0.0, 0.0], [80.0, 160.0], [4, 8])
    chart = gs.plot.servers(compare(trace, gs.Cluster.uniform(2, 8), ["fifo"]))
    (grid,) = grids_of(chart, 2)
    half, full = sorted(grid.tolist())
    assert set(full) == {100}
    assert half[0] == 50
    assert half[-1] == 0
    assert half.count(50) == pytest.approx(len(half) / 2, abs=2)


def test_many_servers_share_rows():
    trace = gs.Trace.from_columns([0.0], [80.0], [1])
    chart = gs.plot.servers(compare(trace, gs.Cluster.uniform(101, 8), ["fifo"]))
    names = ends_of(chart, "y")
    assert len(names) <= 48
    assert names[0] == "servers 0-2"
    assert names[-1] == "servers 99-100"
    assert "a row is 3 neighbouring servers" in caption_of(chart)
    assert grids_of(chart, len(names))[0].size <= 2_000


@given(st.floats(-3, 7.5), st.floats(0.005, 4))
def test_ticks_of_times_lie_on_the_axis_and_are_three_at_least(begin, length):
    low, high = 10**begin, 10 ** (begin + length)
    made = duration_scale(low, high, title="wait")
    assert made["scale"].to_dict()["domain"] == [low, high]
    axis = made["axis"].to_dict()
    # Where people's times are too far apart, Vega chooses.
    ticks = axis.get("values")
    assert ticks is None or (len(ticks) >= 3 and all(low <= at <= high for at in ticks))
    assert (ticks is None) == ("tickCount" in axis)


def test_an_axis_of_one_time_has_room_around_it():
    low, high = duration_scale(60.0, 60.0, title="wait")["scale"].to_dict()["domain"]
    assert low < 60 < high


@each(("seconds", "text"), [
        (0.05, "50 ms"), (1, "1 s"), (10, "10 s"), (60, "1 min"), (3_600, "1 h"), (25_560, "7.1 h"),
        (86_400, "1 d"), (86_400_000, "1,000 d"),
    ])  # fmt: skip
def test_times_are_written_as_people_write_them(seconds, text):
    vl_convert = pytest.importorskip("vl_convert")
    spec = {
        "data": {"values": [{"at": seconds}]},
        "transform": [{"calculate": DURATION.format("datum.at"), "as": "text"}],
        "mark": "text",
        "encoding": {"text": {"field": "text"}},
    }
    assert f">{text}</text>" in vl_convert.vegalite_to_svg(spec)


OF_STUDIES = {
    "cdf_over_seeds", "forest_plot", "heat_map", "lines", "pareto", "sensitivity",
}  # fmt: skip
EVERYWHERE = sorted(
    set(gs.plot.__all__) - OF_STUDIES - {"contention", "save", "slowdown_cdf", "tuning"}
)
every_picture = pytest.mark.parametrize("name", EVERYWHERE)


def test_there_is_a_function_for_every_picture_of_the_report(page):
    assert set(re.findall(r'<div class="chart" id="(\w+)"', page)) == set(EVERYWHERE)


@every_picture
def test_a_picture_is_a_chart_of_altair_that_says_what_it_shows(name, comparison):
    chart = getattr(gs.plot, name)(comparison)
    assert type(chart).__module__.startswith("altair.")
    spec = chart.to_dict()  # which checks it
    assert spec["title"]
    assert spec["description"].startswith(f"{spec['title']}. ")
    assert all(f"{label}: " in spec["description"] for label in LABELS)
    assert list(rows_of_chart(chart)) == LABELS
    assert list(rows_of_chart(getattr(gs.plot, name)(comparison.results["srtf"]))) == ["srtf †"]


@every_picture
def test_a_picture_is_a_file_and_names_are_no_markup(name, comparison, tmp_path):
    pytest.importorskip("vl_convert")
    results = {r"$\frac$": comparison.results["fifo"], "$x$ <b>": comparison.results["srtf"]}
    odd = Comparison(comparison.trace, comparison.cluster, results)
    gs.plot.save(getattr(gs.plot, name)(odd), tmp_path / "a.svg", width="text")
    svg = (tmp_path / "a.svg").read_text()
    assert 500 < float(re.search(r'width="([\d.]+)pt"', svg)[1]) < 509
    if name not in ("gantt", "servers"):
        assert "$x$ &lt;b&gt;" in svg


PIXELS = struct.Struct(">II")


WIDTHS = {"column": 238, "text": 504.6, 120: 340}
FILED = itertools.product(["jct_cdf", "queue", "wait_by_user", "gantt"], WIDTHS)


@pytest.mark.parametrize(
    ("name", "width"),
    [pytest.param(*one, marks=pytest.mark.long if at % 4 else ()) for at, one in enumerate(FILED)],
)
def test_files_have_the_width_that_was_asked_for(name, width, comparison, tmp_path):
    pytest.importorskip("vl_convert")
    points = WIDTHS[width]
    chart = getattr(gs.plot, name)(comparison)
    for ending in ("svg", "pdf", "png"):
        gs.plot.save(chart, tmp_path / f"a.{ending}", width)
    svg = (tmp_path / "a.svg").read_text()
    assert float(re.search(r'width="([\d.]+)pt"', svg)[1]) == pytest.approx(points, abs=6)
    box = re.search(rb"MediaBox \[0 0 ([\d.]+) ([\d.]+)", (tmp_path / "a.pdf").read_bytes())
    assert float(box[1]) == pytest.approx(points, abs=6)
    across, _ = PIXELS.unpack((tmp_path / "a.png").read_bytes()[16:24])
    assert across == pytest.approx(points / 72 * 300, abs=26)
    assert (tmp_path / "a.pdf").read_bytes().count(b"/FontFile") >= 1
    assert 'font-size="8px"' in svg


@pytest.mark.parametrize(
    ("path", "width", "message"),
    [
        ("a.jpg", "column", r"path: must end in \.pdf, \.svg or \.png, not '.*a\.jpg'"),
        ("a", "column", "path: must end in"),
        ("a.pdf", "page", "width: must be 'column', 'text' or positive millimetres, not 'page'"),
        ("a.pdf", 0, "width: must be"),
        ("a.pdf", float("nan"), "width: must be"),
    ],
)
def test_what_is_no_file_of_a_chart_is_refused(path, width, message, comparison, tmp_path):
    with pytest.raises(ValueError, match=message):
        gs.plot.save(gs.plot.queue(comparison), tmp_path / path, width)
    assert not list(tmp_path.iterdir())


def test_pages_name_the_colours_that_files_have():
    in_page, alone = config(in_page=True), config()
    for name, colours in alone["range"].items():
        assert len(in_page["range"][name]) == len(colours)
        assert all(re.fullmatch(r"var\(--\w+-\d+\)", colour) for colour in in_page["range"][name])
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_steps_of_colours_begin_and_end_with_the_ends():
    steps = palette.steps(("#000000", "#808080", "#ff0000"), 5)
    assert steps == ("#000000", "#404040", "#808080", "#c04040", "#ff0000")


def test_too_few_points_and_what_is_no_result_are_named(comparison):
    for draw in (gs.plot.queue, gs.plot.wait_cdf):
        with pytest.raises(ValueError, match="points: must be at least 8, not 7"):
            draw(comparison, points=7)
    with pytest.raises(TypeError, match="expected a Result or a Comparison, not int"):
        gs.plot.queue(3)


def test_a_missing_library_of_files_is_named(comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    message = r'a file of a chart needs vl_convert: pip install "gpusched-core\[plot\]"'
    with pytest.raises(ImportError, match=message):
        gs.plot.save(gs.plot.queue(comparison), "a.pdf")


def test_every_function_takes_the_same_first_argument():
    for name in EVERYWHERE:
        assert next(iter(inspect.signature(getattr(gs.plot, name)).parameters)) == "source"
