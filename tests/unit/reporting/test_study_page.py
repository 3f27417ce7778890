"""The page of a study and of a search: what they say, what they carry, and what they never do."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.reporting import sizing_figures
from gpusched.reporting.sizing_page import render_sizing
from gpusched.reporting.sweeps.sweep_page import render_sweep
from gpusched.reporting.tuning_figure import chart
from tests.unit.reporting.example_study import CLUSTERS, ERROR, LOADS, POLICIES, REPEAT
from tests.unit.reporting.example_study import runs as example_runs
from tests.unit.studies.studies import tuned

METRICS = ["mean_jct_s", "p99_jct_s", "p50_jct_s", "p95_jct_s", "utilisation"]
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def page() -> str:
    return render_sweep(example_runs(), ["the sun is assumed"], metrics=METRICS, plotly="plotly.js")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="study">(.*?)</script>', page, re.DOTALL)
    assert found
    decoded: dict[str, Any] = json.loads(found[1])
    return decoded


def test_the_file_is_one_page_with_one_copy_of_the_chart_library(tmp_path):
    from plotly.offline import get_plotlyjs

    gs.reporting.write_sweep(example_runs(), tmp_path / "study.html", metrics=METRICS)
    text = (tmp_path / "study.html").read_text()
    library = get_plotlyjs()
    assert text.count(library[:200]) == 1
    assert len(text.encode()) - len(library.encode()) < 100_000
    own = text.replace(library, "")
    assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="', own)


def test_the_library_may_be_linked():
    page = render_sweep(example_runs(), metrics=METRICS[:1], plotly="cdn")
    assert len(page.encode()) < 100_000
    assert re.search(r'<script src="https://[^"]+" integrity="sha256-', page)
    with pytest.raises(ValueError, match="plotly: must be 'inline', 'cdn'"):
        render_sweep(example_runs(), plotly="x")


def test_the_page_says_what_was_run_and_what_came_of_it(page):
    assert "108 runs, 3 policies, 2 values of cluster, 3 values of load." in page
    assert "over 6 seeds; 1 failed run left out. Baseline: fifo." in page
    assert "the sun is assumed" in page
    headline = page[page.index('<div id="headline">') :].partition("</div>")[0]
    assert "6 seeds cannot tell policies apart; 9 can for 12 comparisons." in headline
    assert "lowest" not in headline


def test_without_a_script_the_table_has_every_setting(page):
    table = page[page.index('<table id="metrics">') :].partition("</table>")[0]
    assert table.count("<tr>") == 1 + len(POLICIES) * len(CLUSTERS) * len(LOADS)
    assert table.count("baseline") == len(CLUSTERS) * len(LOADS)
    frame = example_runs()
    chosen = frame.filter(policy="sjf", cluster="large", load=0.7)["mean_jct_s"]
    span = gs.studies.typical(chosen.drop_nulls().to_numpy())
    assert f'<td data-value="{span.value!r}">{span.value / 3600:.2f} h</td>' in table
    assert f"{span.low / 3600:.2f} h to {span.high / 3600:.2f} h" in table
    assert "srtf †" in table


def test_failed_runs_have_their_errors_and_the_lines_that_repeat_them(page):
    table = page[page.index('<table class="text" id="failed">') :].partition("</table>")[0]
    assert table.count("<tr>") == 2
    assert "ValueError: jobs.csv:7: &lt;b&gt;bad&lt;/b&gt;" in table
    assert f"<code>{REPEAT}</code>" in table
    assert "small &lt;8&gt;, load 0.9, seed 3" in table
    assert ERROR not in page
    whole = render_sweep(example_runs(failed=False), metrics=METRICS, plotly="a.js")
    assert 'id="failed"' not in whole
    assert "failed run" not in whole


def test_warnings_of_runs_and_of_the_comparison_are_remarks(page):
    remarks = page[page.index("<h2>Remarks</h2>") :].partition("</ul>")[0]
    assert "the moon is assumed (36 runs)" in remarks
    assert "not stable at load 1.1" in remarks


def test_every_figure_has_a_heading_and_is_reached_by_keys(page):
    charts = re.findall(r'<div class="chart" id="(\w+)" role="img" tabindex="0"', page)
    assert charts == [
        "lines", "heat_map", "forest_plot", "pareto", "cdf_over_seeds", "sensitivity"
    ]  # fmt: skip
    for name in charts:
        assert f'<h3 id="{name}-title">' in page
    labels = re.findall(r"<label>.*?</label>", page)
    assert len(labels) == len(re.findall(r"<select |<input ", page))


def test_the_cells_are_those_of_the_statistics(page):
    data = data_of(page)
    frame = gs.studies.compare_runs(
        example_runs(), "p99_jct_s", by=("cluster", "load"), baseline="fifo"
    ).frame
    metric = next(m for m in data["metrics"] if m["key"] == "p99_jct_s")
    assert len(data["cells"]) == len(frame) == 18
    for row, cell in enumerate(data["cells"]):
        policy = data["policies"][cell["policy"]]["name"]
        cluster, load = (
            axis["texts"][at] for axis, at in zip(data["axes"], cell["at"], strict=True)
        )
        (own,) = frame.filter(policy=policy, cluster=cluster, load=float(load)).to_dicts()
        names = ["typical", "low", "high", "ratio", "ratio_low", "ratio_high", "mean", "worst"]
        names += ["num_better", "num_pairs"]
        for column, name in zip(metric["values"], names, strict=False):
            expected = own[name]
            if expected is None:
                assert column[row] is None
            else:
                assert column[row] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "<b>&amp;", "a" * 300])
def test_names_are_text_and_not_markup(name):
    odd = example_runs().with_columns(
        pl.col("policy").replace("sjf", name), pl.col("cluster").replace("large", name)
    )
    page = render_sweep(odd, metrics=METRICS, plotly="a.js")
    assert "<script>alert" not in page
    assert "<b>&amp;" not in page
    assert name in [policy["name"] for policy in data_of(page)["policies"]]


def test_many_settings_do_not_make_the_page_large():
    count = 700
    frame = pl.DataFrame({
        "policy": ["fifo", "sjf", "srtf", "las"] * count * 2,
        "load": [load / 1_000 for load in range(count) for _ in range(8)],
        "seed": [seed for _ in range(count) for seed in (1, 2) for _ in range(4)],
    })  # fmt: skip
    values = (pl.int_range(pl.len()) * 7919 % 1_000 + 1).cast(pl.Float64) / 3
    keys = [key for key, metric in gs.metrics().items() if metric.table != "none"]
    frame = frame.with_columns(*(values.alias(key) for key in keys))
    page = render_sweep(frame, plotly="a.js")
    assert len(page.encode()) < MOST_BYTES
    shown = len(data_of(page)["metrics"])
    assert 1 <= shown < len(keys)
    assert f"For lack of room there are {shown} metrics; without: " in page


@pytest.mark.long
def test_a_study_that_is_too_large_for_a_page_is_refused():
    frame = pl.DataFrame({
        "policy": ["fifo"] * 20_000, "load": range(20_000), "seed": [1] * 20_000,
        "mean_jct_s": [float(value) for value in range(20_000)],
    })  # fmt: skip
    with pytest.raises(ValueError, match="20,000 settings and policies are too many for one page"):
        render_sweep(frame, plotly="a.js")


def test_a_study_of_one_policy_at_one_setting_has_a_page():
    frame = example_runs(failed=False).filter(policy="fifo", load=0.7, cluster="large")
    page = render_sweep(frame, metrics=METRICS, plotly="a.js")
    charts = re.findall(r'<div class="chart" id="(\w+)"', page)
    assert charts == ["cdf_over_seeds"]
    with pytest.raises(ValueError, match="no metric of tables in which they differ"):
        render_sweep(frame.head(1), plotly="a.js")


def test_the_result_of_a_sweep_has_its_name_and_its_metrics():
    found = gs.sweep({
        "name": "my <study>", "seeds": [1, 2], "policies": ["fifo", "sjf"], "baseline": "sjf",
        "traces": [{"generate": "philly", "jobs": 300, "loads": [0.7, 1.3]}],
        "clusters": [{"servers": 8, "gpus": 8}], "metrics": ["p95_wait_s", "mean_jct_s"],
    })  # fmt: skip
    page = render_sweep(found, plotly="a.js")
    assert "<h1>Study: my &lt;study&gt;</h1>" in page
    data = data_of(page)
    assert [metric["key"] for metric in data["metrics"]] == ["p95_wait_s", "mean_jct_s"]
    assert data["baseline"] == "sjf"
    assert [axis["name"] for axis in data["axes"]] == ["load"]
    assert "more work arrives than it can do" in page


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


@pytest.fixture(scope="module")
def sizing() -> gs.studies.Sizing:
    rng = np.random.default_rng(5)
    submit = np.sort(rng.uniform(0, 30 * 86_400, 400))
    jobs = gs.Trace.from_columns(submit, rng.lognormal(9.5, 1, 400), rng.choice([1, 4, 16], 400))
    return gs.size(jobs, "p95_wait_s < 20 min and utilisation > 1%", resamples=10)


def test_the_page_says_what_was_found_and_fetches_nothing(sizing, tmp_path):
    gs.reporting.write_sizing(sizing, tmp_path / "size.html", ["the moon is assumed"])
    page = (tmp_path / "size.html").read_text()
    own = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.DOTALL)
    assert f"You need {sizing.servers} servers x 8 GPUs" in own
    assert "the moon is assumed" in own
    for note in sizing.notes():
        assert note in own
    assert own.count('role="img"') == 3
    assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="', page)
    assert own.count("<tr") == 1 + len(sizing.runs)
    assert own.count("class=answer") == 1


def test_the_goal_stands_at_its_value_and_zero_at_the_floor(sizing):
    wait, used = sizing.goals.goals
    drawn = sizing_figures.metric_by_servers(sizing, wait)
    assert drawn.layout.yaxis.type == "log"
    assert drawn.layout.shapes[0].y0 == 1200
    assert drawn.layout.annotations[0].y == pytest.approx(np.log10(1200))
    floor = drawn.layout.yaxis.tickvals[0]
    assert drawn.layout.yaxis.ticktext[0] == "0"
    for run in sizing.runs:
        shown = max(run.values["p95_wait_s"], floor)
        assert any((run.counts[0], shown) in zip(t.x, t.y, strict=True) for t in drawn.data[1:])
    assert sizing_figures.metric_by_servers(sizing, used).layout.shapes[0].y0 == 0.01


def test_the_share_of_the_resamples_rises_to_all(sizing):
    sure = sizing.confidence
    assert sure is not None
    (curve,) = sizing_figures.enough_by_servers(sure, 5).data
    assert curve.y[0] == 0
    assert curve.y[-1] == 1


def test_a_mix_of_two_types_shows_which_counts_met_the_goal():
    jobs = gs.Trace.from_columns([0, 0, 0, 9], [9, 9, 9, 9], [4, 4, 4, 4])
    found = gs.size(jobs, "p95_wait_s < 5", prices={"A100": 2, "V100": 1}, gpus_per_server=4)
    page = render_sizing(found)
    assert "Mixes that were run" in page
    drawn = sizing_figures.mixes_of_two(found)
    star = next(trace for trace in drawn.data if trace.name == "answer")
    assert (star.x[0], star.y[0]) == found.counts


def test_without_an_answer_the_page_says_so():
    jobs = gs.Trace.from_columns([0], [10], [1])
    assert "No number of servers was found" in render_sizing(gs.size(jobs, "mean_jct_s < 1"))
