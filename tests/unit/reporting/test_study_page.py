"""The page of a study and of a search: what they say, what they carry, and what they never do."""

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.reporting.page import asset
from gpusched.reporting.sizing_page import (
    enough_by_servers,
    metric_by_servers,
    mixes_of_two,
    render_sizing,
)
from gpusched.reporting.sweeps.sweep_page import render_sweep
from gpusched.results.shown_metrics import main_metrics
from tests.unit.reporting.chart_rows import unfolded
from tests.unit.reporting.example_study import CLUSTERS, ERROR, LOADS, POLICIES, REPEAT
from tests.unit.reporting.example_study import runs as example_runs
from tests.unit.studies.studies import tuned

METRICS = ["mean_jct_s", "p99_jct_s", "p50_jct_s", "p95_jct_s", "utilisation"]
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def page() -> str:
    return render_sweep(example_runs(), ["the sun is assumed"], metrics=METRICS)


def spec_of(page: str, name: str) -> dict[str, Any]:
    """The specification of a chart as the page carries it."""
    pattern = rf'<script type="application/json" id="{name}-chart">(.*?)</script>'
    found = re.search(pattern, page, re.DOTALL)
    assert found
    decoded: dict[str, Any] = json.loads(found[1])
    return decoded


def rows_of(page: str, name: str) -> list[dict[str, Any]]:
    """The points of a chart as the page carries them."""
    return unfolded(spec_of(page, name))


def table_of(page: str, label: str) -> str:
    """The table of a metric."""
    start = page.index(f"<caption>{label} <")
    return page[start : page.index("</table>", start)]


def metrics_of(page: str) -> list[str]:
    return re.findall(r'<section data-metric="(\w+)">', page)


def test_the_file_is_one_page_that_needs_no_network(tmp_path):
    gs.reporting.write_sweep(example_runs(), tmp_path / "study.html", metrics=METRICS)
    text = (tmp_path / "study.html").read_text()
    script = str(asset("vega.js"))
    assert text.count(script) == 1
    own = text.replace(script, "")
    assert len(own.encode()) < 250_000
    assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="', own)


def test_the_page_says_what_was_run_and_what_came_of_it(page):
    assert "108 runs, 3 policies, 2 values of cluster, 3 values of load." in page
    assert "over 6 seeds; 1 failed run left out. Baseline: fifo." in page
    assert "the sun is assumed" in page
    headline = page[page.index('<div id="headline">') :].partition("</div>")[0]
    assert (
        "6 seeds cannot distinguish policies; at least 9 are needed for 12 comparisons." in headline
    )
    assert "lowest" not in headline


def test_without_a_script_the_tables_have_every_metric_and_setting(page):
    assert metrics_of(page) == METRICS
    table = table_of(page, "mean JCT")
    assert table.count("<tr") == 1 + len(POLICIES) * len(CLUSTERS) * len(LOADS)
    assert table.count("baseline") == len(CLUSTERS) * len(LOADS)
    frame = example_runs()
    chosen = frame.filter(policy="sjf", cluster="large", load=0.7)["mean_jct_s"]
    span = gs.studies.typical(chosen.drop_nulls().to_numpy())
    assert f'<td data-value="{span.value!r}">{span.value / 3600:.2f} h</td>' in table
    assert f"{span.low / 3600:.2f} h to {span.high / 3600:.2f} h" in table
    assert "srtf †" in table
    # The script shows the rows of one setting.
    assert len(set(re.findall(r'data-at="(\d,\d)"', table))) == len(CLUSTERS) * len(LOADS)


def test_failed_runs_have_their_errors_and_the_lines_that_repeat_them(page):
    table = page[page.index('<table class="text" id="failed">') :].partition("</table>")[0]
    assert table.count("<tr>") == 2
    assert "ValueError: jobs.csv:7: &lt;b&gt;bad&lt;/b&gt;" in table
    assert f"<code>{REPEAT}</code>" in table
    assert "small &lt;8&gt;, load 0.9, seed 3" in table
    assert ERROR not in page
    whole = render_sweep(example_runs(failed=False), metrics=METRICS)
    assert 'id="failed"' not in whole
    assert "failed run" not in whole.replace(str(asset("vega.js")), "")


def test_warnings_of_runs_and_of_the_comparison_are_remarks(page):
    remarks = page[page.index("<h2>Remarks</h2>") :].partition("</ul>")[0]
    assert "the moon is assumed (36 runs)" in remarks
    assert "overloaded at load 1.1" in remarks


def test_a_page_begins_at_the_load_that_is_nearest_to_nine_tenths(page):
    loads = page[page.index('<select data-axis="load">') :].partition("</select>")[0]
    assert re.findall(r"<option[^>]* selected>([^<]*)<", loads) == ["0.9"]
    assert {"name": "at", "value": "0,1"} in spec_of(page, "pareto-mean_jct_s")["params"]


CHARTS = ["lines", "forest_plot", "heat_map", "pareto", "sensitivity"]


def test_every_figure_has_a_heading_words_and_is_reached_by_keys(page):
    charts = re.findall(
        r'<div class="chart" id="([\w-]+)" role="img" tabindex="0" aria-label="([^"]*)"', page
    )
    expected = [f"{name}-{key}" for key in METRICS for name in CHARTS]
    assert [name for name, _ in charts] == [*expected, "cdf_over_seeds-jct_s"]
    for name, words in charts:
        assert f'<h3 id="{name}-title">' in page
        assert len(words) > 60
    words = dict(charts)
    assert "sjf: 0.5" in words["forest_plot-mean_jct_s"]
    assert "on the front" in words["pareto-mean_jct_s"]
    labels = re.findall(r"<label>.*?</label>", page, re.DOTALL)
    assert len(labels) == len(re.findall(r"<select |<input ", page.partition("<main>")[0]))


def test_a_page_has_one_legend_and_its_charts_have_none_of_policies(page):
    assert page.count('<div class="legend"') == 1
    assert re.findall(r'data-policy="([^"]*)"', page.partition("<main>")[0]) == [
        "fifo", "sjf", "srtf †"
    ]  # fmt: skip
    for name in CHARTS:
        for layer in spec_of(page, f"{name}-mean_jct_s")["layer"]:
            colour = layer["encoding"].get("color", {})
            assert colour.get("legend") is None or colour["field"] == "share"


def test_charts_have_all_settings_and_show_the_one_that_is_chosen(page):
    rows = rows_of(page, "lines-p99_jct_s")
    spec = spec_of(page, "lines-p99_jct_s")
    assert {"name": "free", "value": "0,*"} in spec["params"]
    assert {"filter": "datum.at === free"} in spec["transform"]
    frame = gs.studies.compare_runs(
        example_runs(), "p99_jct_s", by=("cluster", "load"), baseline="fifo"
    ).frame
    assert len(rows) == len(frame) == 18
    for row in rows:
        cluster = [*CLUSTERS][int(row["at"].partition(",")[0])]
        policy = row["policy"].partition(" ")[0]
        (own,) = frame.filter(policy=policy, cluster=cluster, load=float(row["x"])).to_dicts()
        for column, name in (("value", "typical"), ("low", "low"), ("high", "high")):
            assert float(row[column]) * 86_400 == pytest.approx(own[name], rel=1e-4)
    # A picture at one load has the settings of both axes.
    assert {row["at"] for row in rows_of(page, "pareto-mean_jct_s")} == {
        f"{cluster},{load}" for cluster in range(2) for load in range(3)
    }
    swings = [row for row in rows_of(page, "sensitivity-mean_jct_s") if row["policy"] == "fifo"]
    assert len(swings) == 6 * 2 * 2


@pytest.mark.parametrize(
    "name",
    [
        "</script><script>alert(1)</script>",
        pytest.param("<b>&amp;", marks=pytest.mark.long),
        pytest.param("a" * 300, marks=pytest.mark.long),
    ],
)
def test_names_are_text_and_not_markup(name):
    odd = example_runs().with_columns(
        pl.col("policy").replace("sjf", name), pl.col("cluster").replace("large", name)
    )
    page = render_sweep(odd, metrics=METRICS)
    assert "<script>alert" not in page
    assert "<b>&amp;" not in page
    assert name in {row["policy"] for row in rows_of(page, "pareto-mean_jct_s")}


def study_of(count: int) -> pl.DataFrame:
    """Runs at so many loads, with all metrics of tables."""
    frame = pl.DataFrame({
        "policy": ["fifo", "sjf", "srtf", "las"] * count * 2,
        "load": [load / 1_000 for load in range(count) for _ in range(8)],
        "seed": [seed for _ in range(count) for seed in (1, 2) for _ in range(4)],
    })  # fmt: skip
    values = (pl.int_range(pl.len()) * 7919 % 1_000 + 1).cast(pl.Float64) / 3
    keys = [key for key, metric in gs.metrics().items() if metric.table != "none"]
    return frame.with_columns(*(values.alias(key) for key in keys))


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.long)])
def test_many_settings_do_not_make_the_page_large(count):
    page = render_sweep(study_of(count)).replace(str(asset("vega.js")), "")
    assert len(page.encode()) < MOST_BYTES
    shown = len(metrics_of(page))
    assert 1 <= shown < len(gs.metrics())
    assert f"Limited to {shown} metrics for lack of space; left out: " in page
    for name in re.findall(r'id="([\w-]+)-chart"', page):
        assert len(rows_of(page, name)) <= 2_000


def test_a_study_that_is_too_large_for_a_page_is_refused():
    with pytest.raises(ValueError, match="2,004 settings and policies do not fit on one page"):
        render_sweep(study_of(501).select("policy", "load", "seed", "mean_jct_s"))


def test_a_study_of_one_policy_at_one_setting_has_a_page():
    frame = example_runs(failed=False).filter(policy="fifo", load=0.7, cluster="large")
    page = render_sweep(frame, metrics=METRICS)
    assert re.findall(r'<div class="chart" id="([\w-]+)"', page) == ["cdf_over_seeds-jct_s"]
    with pytest.raises(ValueError, match="do not differ in any metric of tables"):
        render_sweep(frame.head(1))


def test_the_result_of_a_sweep_has_its_name_and_its_metrics():
    found = gs.sweep({
        "name": "my <study>", "seeds": [1, 2], "policies": ["fifo", "sjf"], "baseline": "sjf",
        "traces": [{"generate": "philly", "jobs": 300, "loads": [0.7, 1.3]}],
        "clusters": [{"servers": 8, "gpus": 8}], "metrics": ["p95_wait_s", "mean_jct_s"],
    })  # fmt: skip
    page = render_sweep(found)
    assert "<h1>Study: my &lt;study&gt;</h1>" in page
    assert metrics_of(page) == ["p95_wait_s", "mean_jct_s"]
    assert "Baseline: sjf." in page
    assert re.findall(r'<select data-axis="([^"]*)"', page) == ["load"]
    assert "overloaded (load" in page


pytest.importorskip("optuna", reason="the extra tune is not installed")


@pytest.fixture(scope="module")
def found() -> gs.studies.Tuning:
    return tuned(trials=8, name="<b>tuned</b>")


def test_the_page_has_search_and_held_out_jobs(found, tmp_path):
    path = tmp_path / "tuning.html"
    gs.reporting.write_tuning(found, path, ["assumed & told"])
    text = path.read_text().replace(str(asset("vega.js")), "")
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
    spec = gs.plot.tuning(found).to_dict()
    series: dict[str, list[tuple[int, float]]] = {}
    for row in spec["datasets"][spec["data"]["name"]]:
        series.setdefault(row["series"], []).append((row["trial"], row["value"]))
    done = found.trials.drop_nulls("value")
    scale = done["value"][0] / series["a trial"][0][1]
    assert [at for at, _ in series["a trial"]] == done["trial"].to_list()
    values = [value * scale for _, value in series["a trial"]]
    assert values == pytest.approx(done["value"].to_list())
    best = [value for _, value in series["best so far"]]
    assert (np.diff(best) <= 0).all()
    assert best[-1] * scale == pytest.approx(found.held_out["search_value"][0])
    base = [value * scale for _, value in series["2d-las (baseline)"]]
    assert base == pytest.approx([found.default_value] * 2)
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["line", "point"]


def test_another_source_is_refused():
    with pytest.raises(TypeError, match="expected a Tuning, not int"):
        gs.plot.tuning(3)


@pytest.fixture(scope="module")
def sizing() -> gs.studies.Sizing:
    rng = np.random.default_rng(5)
    submit = np.sort(rng.uniform(0, 30 * 86_400, 400))
    jobs = gs.Trace.from_columns(submit, rng.lognormal(9.5, 1, 400), rng.choice([1, 4, 16], 400))
    return gs.size(jobs, "p95_wait_s < 20 min and utilisation > 1%", resamples=10)


def test_the_page_says_what_was_found_and_fetches_nothing(sizing, tmp_path):
    gs.reporting.write_sizing(sizing, tmp_path / "size.html", ["the moon is assumed"])
    page = (tmp_path / "size.html").read_text()
    own = page.replace(str(asset("vega.js")), "")
    assert f"You need {sizing.servers} servers x 8 GPUs" in own
    assert "the moon is assumed" in own
    for note in sizing.notes():
        assert note in own
    assert own.count('role="img"') == 3
    assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="', own)
    assert own.count("<tr") == 1 + len(sizing.runs)
    assert own.count("class=answer") == 1


def table(chart: Any, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the table of a chart that has all of them."""
    tables = chart.to_dict()["datasets"].values()
    rows = max((rows for rows in tables if set(columns) <= set(rows[0])), key=len)
    return [tuple(row[name] for name in columns) for row in rows]


def upright(chart: Any) -> dict[str, Any]:
    """The vertical axis of a chart."""
    encoding: dict[str, Any] = chart.to_dict()["layer"][-1]["encoding"]["y"]
    return encoding


def test_the_goal_stands_at_its_value_and_zero_at_the_floor(sizing):
    wait, used = sizing.goals.goals
    drawn = metric_by_servers(sizing, wait)
    axis = upright(drawn)
    assert axis["scale"]["type"] == "log"
    assert {rows[0]["y"] for rows in drawn.to_dict()["datasets"].values() if len(rows) == 1} == {
        1200
    }
    floor = axis["axis"]["values"][0]
    assert axis["axis"]["labelExpr"].startswith(f"datum.value <= {floor} ? '0' : ")
    points = table(drawn, "x", "y", "outcome")
    assert len(points) == len(sizing.runs)
    for run in sizing.runs:
        met = "goal met" if run.is_met else "goal missed"
        outcome = "answer" if run.counts == sizing.counts else met
        assert (run.counts[0], max(run.values["p95_wait_s"], floor), outcome) in points
    assert "type" not in upright(metric_by_servers(sizing, used))["scale"]


def test_the_share_of_the_resamples_rises_to_all(sizing):
    sure = sizing.confidence
    assert sure is not None
    shares = [share for _, share in table(enough_by_servers(sure, 5), "x", "share")]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1


def test_a_mix_of_two_types_shows_which_counts_met_the_goal():
    jobs = gs.Trace.from_columns([0, 0, 0, 9], [9, 9, 9, 9], [4, 4, 4, 4])
    found = gs.size(jobs, "p95_wait_s < 5", prices={"A100": 2, "V100": 1}, gpus_per_server=4)
    page = render_sizing(found)
    assert "Mixes that were run" in page
    assert page.count("class=answer") == 1
    points = table(mixes_of_two(found), "x", "y", "outcome")
    assert [point[:2] for point in points if point[2] == "answer"] == [found.counts]


def test_without_an_answer_the_page_says_so():
    jobs = gs.Trace.from_columns([0], [10], [1])
    assert "No size found" in render_sizing(gs.size(jobs, "mean_jct_s < 1"))


def test_a_page_of_a_study_has_its_main_metrics_and_both_distributions():
    cluster = {"servers": 4, "gpus": 8}
    traces = [{"generate": "philly", "jobs": 80, "loads": [0.9]}]
    study = {"name": "s", "traces": traces, "clusters": [cluster], "policies": ["fifo", "sjf"]}
    page = render_sweep(gs.sweep(study | {"seeds": [1, 2]}))
    sections = re.findall(r'<section data-metric="(\w+)"', page)
    assert sections[0] == "mean_jct_s"
    assert set(sections) <= {metric.key for metric in main_metrics()}
    for quantity in ("jct_s", "wait_s"):
        assert f'id="cdf_over_seeds-{quantity}"' in page
