"""The pictures of studies show what the runs and their statistics say, or are refused by name."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.run_warning import RunWarning
from gpusched.reporting.charts.bars import bars
from gpusched.reporting.charts.chart import Axis, Chart
from gpusched.reporting.charts.occupancy import occupancy
from gpusched.reporting.drawing import matplotlib_figures, palette, plotly_figures
from gpusched.reporting.sweeps.measures import measure
from gpusched.reporting.sweeps.pareto import front_of
from gpusched.reporting.sweeps.study_runs import varying
from tests.each import each
from tests.unit.reporting.example_study import CLUSTERS, LOADS, POLICIES, SEEDS
from tests.unit.reporting.example_study import runs as example_runs

SMALL = {"cluster": "small <8>"}
AT = {**SMALL, "load": 0.7}
PICTURES: dict[str, dict[str, Any]] = {
    "lines": {"panels": "cluster"},
    "heat_map": {"where": SMALL, "show": "change"},
    "forest_plot": {},
    "pareto": {"where": AT},
    "cdf_over_seeds": {"where": AT},
    "sensitivity": {},
}
every_picture = pytest.mark.parametrize("name", sorted(PICTURES))


@pytest.fixture(scope="module")
def runs() -> pl.DataFrame:
    return example_runs(failed=False)


def jct_h(runs: pl.DataFrame, **where: Any) -> list[float]:
    """The mean JCT of some runs by seed, in hours."""
    chosen = runs.filter(**where).sort("seed")
    return [value / 3600 for value in chosen["mean_jct_s"]]


def test_there_is_a_case_for_every_picture_of_a_study():
    from tests.unit.reporting.test_charts import OF_STUDIES

    assert set(PICTURES) == OF_STUDIES


@every_picture
def test_a_picture_is_a_figure_of_plotly(name, runs):
    figure = getattr(gs.plot, name)(runs, **PICTURES[name])
    assert type(figure).__module__.startswith("plotly.graph_objs")
    assert figure.layout.title.text
    assert len(figure.data)
    assert "NaN" not in figure.to_json()


@every_picture
def test_a_picture_is_a_file_of_matplotlib(name, runs, tmp_path):
    pytest.importorskip("matplotlib")
    odd = runs.with_columns(pl.col("cluster").replace("large", r"$\frac$"))
    figure = getattr(gs.plot, name)(odd, library="matplotlib", **PICTURES[name])
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 8_000
    plotly = getattr(gs.plot, name)(odd, **PICTURES[name])
    assert figure.get_suptitle() == plotly.layout.title.text


def test_lines_are_typical_runs_and_bands_are_intervals_over_the_seeds(runs):
    figure = gs.plot.lines(runs, where=SMALL)
    lines = {trace.name: trace for trace in figure.data if trace.mode == "lines+markers"}
    bands = {trace.name: trace for trace in figure.data if trace.fill == "toself"}
    assert list(lines) == ["fifo", "sjf", "srtf †"]
    for policy in POLICIES:
        name = f"{policy} †" if policy == "srtf" else policy
        spans = [
            gs.studies.typical(jct_h(runs, policy=policy, load=load, **SMALL)) for load in LOADS
        ]
        assert lines[name].x == LOADS
        np.testing.assert_allclose(lines[name].y, [span.value for span in spans], rtol=1e-6)
        edge = [span.low for span in spans] + [span.high for span in spans][::-1]
        np.testing.assert_allclose(bands[name].y, edge, rtol=1e-6)
        assert bands[name].x == (*LOADS, *LOADS[::-1])
    assert figure.layout.yaxis.title.text == "mean JCT (h)"


def test_both_libraries_draw_the_same_estimates(runs):
    pytest.importorskip("matplotlib")
    plotly = [t for t in gs.plot.lines(runs, where=SMALL).data if t.mode == "lines+markers"]
    axes = gs.plot.lines(runs, where=SMALL, library="matplotlib").axes[0]
    assert len(axes.lines) == len(plotly) == len(axes.collections)
    for line, trace in zip(axes.lines, plotly, strict=True):
        np.testing.assert_allclose(line.get_ydata(), trace.y, rtol=1e-6)
        assert line.get_label() == trace.name


def test_ratios_stand_on_a_logarithmic_axis_and_shares_do_not(runs):
    for metric, scale in (("mean_jct_s", "log"), ("utilisation", None)):
        for show in ("typical", "change"):
            figure = gs.plot.lines(runs, metric, where=SMALL, show=show)
            assert figure.layout.yaxis.type == scale
        assert gs.plot.forest_plot(runs, metric).layout.xaxis.type == scale
    with pytest.raises(ValueError, match="show: must be 'typical' or 'change', not 'ratio'"):
        gs.plot.lines(runs, where=SMALL, show="ratio")


def test_a_ratio_is_one_number_for_each_pair(runs):
    figure = gs.plot.lines(runs, where=SMALL, show="change", baseline="sjf")
    lines = {t.name: t.y for t in figure.data if t.mode == "lines+markers"}
    assert set(lines) == {"fifo", "srtf †"}
    np.testing.assert_allclose(lines["fifo"], 2.0, rtol=0.02)
    np.testing.assert_allclose(lines["srtf †"], 0.5, rtol=0.02)
    assert "ratio to sjf" in figure.layout.title.text


def test_names_on_an_axis_have_points_with_bars_side_by_side(runs):
    figure = gs.plot.lines(runs, x="cluster", where={"load": 0.7})
    assert [trace.mode for trace in figure.data] == ["markers"] * 3
    assert list(figure.layout.xaxis.ticktext) == ["small &lt;8&gt;", "large"]
    first = [trace.x[0] for trace in figure.data]
    assert first == sorted(set(first))
    assert all(abs(x) < 0.5 for x in first)
    span = gs.studies.typical(jct_h(runs, policy="fifo", load=0.7, **SMALL))
    assert figure.data[0].error_y.array[0] == pytest.approx(span.high - span.value, rel=1e-4)


def test_panels_show_one_value_each(runs):
    figure = gs.plot.lines(runs, panels="cluster")
    titles = [note.text for note in figure.layout.annotations]
    assert titles == ["cluster small &lt;8&gt;", "cluster large"]
    lower = [t.y for t in figure.data if t.yaxis == "y2" and t.mode == "lines+markers"]
    upper = [t.y for t in figure.data if t.yaxis == "y" and t.mode == "lines+markers"]
    np.testing.assert_allclose(np.array(lower), 0.8 * np.array(upper), rtol=1e-6)


def test_a_field_of_a_heat_map_is_the_ratio_to_the_baseline(runs):
    figure = gs.plot.heat_map(runs, where=SMALL, show="change")
    (field,) = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["sjf", "srtf †"]
    assert list(figure.layout.xaxis.ticktext) == ["0.7", "0.9", "1.1"]
    np.testing.assert_allclose(np.array(field.z, float), [[0.5] * 3, [0.25] * 3], rtol=0.02)
    assert (field.zmin + field.zmax) / 2 == pytest.approx(1.0)
    (field,) = gs.plot.heat_map(runs, where=SMALL).data
    assert len(field.z) == len(POLICIES)
    assert field.text[0][0] == measure("mean_jct_s").text(3_600 * field.z[0][0])


def test_names_that_are_cut_to_the_same_keep_their_fields(runs):
    names = {"sjf": "x" * 40 + "1", "srtf": "x" * 40 + "2"}
    long = runs.with_columns(pl.col("policy").replace(names))
    (field,) = gs.plot.heat_map(long, where=SMALL).data
    assert np.shape(field.z) == (3, 3)
    assert field.y is None


def test_a_forest_plot_has_a_row_for_each_setting_and_policy_but_the_baseline(runs):
    figure = gs.plot.forest_plot(runs)
    rows = [note.text for note in figure.layout.annotations]
    assert len(rows) == len(figure.data) == 2 * len(CLUSTERS) * len(LOADS)
    assert rows[0] == "sjf, small &lt;8&gt;, load 0.7"
    assert [trace.y[0] for trace in figure.data] == list(range(12))
    mine = jct_h(runs, policy="sjf", load=0.7, **SMALL)
    base = jct_h(runs, policy="fifo", load=0.7, **SMALL)
    span = gs.studies.ratio(mine, base)
    assert figure.data[0].x[0] == pytest.approx(span.value, rel=1e-6)
    assert figure.data[0].error_x.array[0] == pytest.approx(span.high - span.value, rel=1e-3)
    assert figure.layout.shapes[0].x0 == 1
    shares = gs.plot.forest_plot(runs, "utilisation", where=AT)
    assert shares.layout.shapes[0].x0 == 0


def test_the_front_leaves_out_what_is_beaten_in_both(runs):
    figure = gs.plot.pareto(runs, "mean_jct_s", "p99_jct_s", where=AT)
    front = figure.data[0]
    names = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data[1:]}
    assert len(names) == 3
    on_it = {name for name, at in names.items() if at in set(zip(front.x, front.y, strict=True))}
    assert on_it == {"srtf †", "fifo"}  # sjf is beaten by srtf


LOWER, HIGHER = measure("mean_jct_s"), measure("utilisation")


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8),
    st.sampled_from([LOWER, HIGHER]),
    st.sampled_from([LOWER, HIGHER]),
)
def test_nothing_beats_the_front_and_the_front_beats_the_rest(means, of_x, of_y):
    front = front_of(means, of_x, of_y)

    def beats(a: tuple[int, int], b: tuple[int, int]) -> bool:
        x = a[0] - b[0] if of_x.better == "higher" else b[0] - a[0]
        y = a[1] - b[1] if of_y.better == "higher" else b[1] - a[1]
        return x >= 0 and y >= 0 and (x, y) != (0, 0)

    for index, mean in enumerate(means):
        beaten = any(beats(means[other], mean) for other in front)
        assert beaten != (index in front)
    assert all(means[a] <= means[b] for a, b in pairwise(front))


def test_a_swing_is_from_the_least_to_the_largest_mean_and_the_widest_is_first(runs):
    figure = gs.plot.sensitivity(runs, base={"load": 0.9, "policy": "sjf"}, where=SMALL)

    def typical(load):
        return gs.studies.typical(jct_h(runs, policy="sjf", load=load, **SMALL)).value

    names = [note.text.partition(":")[0] for note in figure.layout.annotations]
    assert names == ["policy", "load"]
    base = typical(0.9)
    assert figure.layout.shapes[0].x0 == pytest.approx(base)
    ends = [(t.base, t.base + t.x[0]) for t in figure.data if t.y[0] == 1]
    low, high = typical(0.7), typical(1.1)
    assert ends == [pytest.approx((low, base)), pytest.approx((base, high))]


@pytest.fixture(scope="module")
def results() -> dict[str, list[gs.Result]]:
    cluster = gs.Cluster.uniform(2, 8)
    traces = [gs.generate("philly", 150, load=0.9, cluster=cluster, seed=s) for s in (1, 2, 3)]
    return {
        policy: [gs.simulate(trace, cluster, policy=policy) for trace in traces]
        for policy in ("fifo", "srtf")
    }


@pytest.mark.parametrize("quantity", ["jct_s", "wait_s"])
def test_a_distribution_over_seeds_is_typical_of_their_quantiles(quantity, results):
    figure = gs.plot.cdf_over_seeds(results, quantity)
    curve = next(t for t in figure.data if t.name == "fifo" and t.mode == "lines")
    band = next(t for t in figure.data if t.name == "fifo" and t.fill == "toself")
    assert list(curve.y) == sorted(curve.y)
    assert list(curve.x) == sorted(curve.x)
    assert len(curve.x) == 102
    place = list(curve.y).index(0.9)
    each = [
        np.quantile(getattr(r.jobs, quantity), 0.9, method="inverted_cdf") for r in results["fifo"]
    ]
    span = gs.studies.typical(np.maximum(each, 1.0 if quantity == "wait_s" else 1e-6))
    assert curve.x[place] == pytest.approx(span.value, rel=1e-6)
    assert band.x[place] == pytest.approx(span.low, rel=1e-6)


def test_a_distribution_of_runs_stands_at_the_quantiles_they_have(runs):
    figure = gs.plot.cdf_over_seeds(runs, where=AT)
    curve = next(t for t in figure.data if t.name == "sjf" and t.mode == "lines+markers")
    assert list(curve.y) == [0.5, 0.95, 0.99]
    own = runs.filter(policy="sjf", **AT)
    np.testing.assert_allclose(
        curve.x,
        [gs.studies.typical(own[name]).value for name in ("p50_jct_s", "p95_jct_s", "p99_jct_s")],
        rtol=1e-6,
    )
    with pytest.raises(ValueError, match="no quantiles such as 'p95_wait_s'"):
        gs.plot.cdf_over_seeds(runs, "wait_s", where=AT)


def test_a_policy_keeps_its_colour_when_others_are_left_out(runs):
    some = gs.plot.lines(runs, where={**SMALL, "policy": ["srtf"]})
    assert {trace.marker.color for trace in some.data if trace.mode == "lines+markers"} == {
        palette.colour_of(2)
    }


def test_failed_runs_are_warned_of_and_left_out():
    frame = example_runs(failed=True)
    with pytest.warns(RunWarning, match="1 failed run left out"):
        figure = gs.plot.lines(frame, where=SMALL)
    line = next(t for t in figure.data if t.name == "sjf" and t.mode == "lines+markers")
    left = frame.filter(policy="sjf", load=0.9, **SMALL)["mean_jct_s"].drop_nulls()
    assert len(left) == len(SEEDS) - 1
    assert line.y[1] == pytest.approx(gs.studies.typical(left).value / 3600, rel=1e-6)


def test_a_single_seed_has_no_band(runs):
    figure = gs.plot.lines(runs.filter(seed=1), where=SMALL)
    assert all(len(trace.x) == 0 for trace in figure.data if trace.fill == "toself")


def test_the_result_of_a_sweep_has_every_picture():
    found = gs.sweep({
        "name": "loads", "seeds": [1, 2], "policies": ["fifo", "sjf"], "baseline": "sjf",
        "traces": [{"generate": "philly", "jobs": 300, "loads": [0.7, 1.3]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    })  # fmt: skip
    figure = gs.plot.forest_plot(found)
    assert "to sjf" in figure.layout.title.text
    for name, options in PICTURES.items():
        where = {} if name in ("lines", "forest_plot", "sensitivity") else {"where": {"load": 0.7}}
        if name == "heat_map":
            where = {"show": options["show"]}
        assert len(getattr(gs.plot, name)(found, **where).data)


def test_axes_that_were_zipped_are_one(runs):
    servers = {"small <8>": 8, "large": 10}
    sized = runs.with_columns(pl.col("cluster").replace_strict(servers).alias("servers"))
    assert varying(runs) == ["cluster", "load"]
    assert varying(sized) == ["load", "servers"]
    figure = gs.plot.lines(sized, x="servers", where={"load": 0.7})
    assert all(trace.x == (8, 10) for trace in figure.data if trace.mode == "lines+markers")


def test_a_trace_that_each_seed_has_of_its_own_is_no_axis(runs):
    named = runs.with_columns(pl.format("draw {}", "seed").alias("trace"))
    assert "trace" not in varying(named)
    assert gs.plot.lines(named, where=SMALL) == gs.plot.lines(runs, where=SMALL)
    # Two traces with seeds of their own are not draws of one.
    two = runs.with_columns(
        pl.when(pl.col("seed") > 3).then(pl.lit("b")).otherwise(pl.lit("a")).alias("trace")
    )
    assert "trace" in varying(two)
    with pytest.raises(ValueError, match="differ in what this picture does not show"):
        gs.plot.lines(two, x="load", where=SMALL)


def test_a_number_of_jobs_that_a_seed_draws_is_no_axis(runs):
    drawn = runs.with_columns(jobs=pl.col("seed") + 10 * (pl.col("load") * 10).cast(pl.Int64))
    assert varying(drawn) == ["cluster", "load"]
    assert gs.plot.lines(drawn, where=SMALL) == gs.plot.lines(runs, where=SMALL)
    crossed = pl.concat([runs, runs.with_columns(jobs=pl.lit(200, pl.Int64))])
    assert varying(crossed) == ["cluster", "load", "jobs"]


def test_the_window_that_is_measured_is_no_axis(runs):
    found = gs.sweep({
        "name": "warm", "seeds": [1, 2], "policies": ["fifo", "sjf"], "warm_up_s": 3600,
        "traces": [{"generate": "philly", "jobs": 300, "loads": [0.7, 1.3]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    })  # fmt: skip
    assert found.runs["window_end_s"].n_unique() > 1
    assert varying(found.runs) == ["load"]


def few_runs(**columns: Any) -> pl.DataFrame:
    """Two policies and two seeds, at two loads."""
    table: dict[str, Any] = {
        "policy": ["las", "fifo"] * 4,
        "seed": [1, 1, 2, 2] * 2,
        "load": [0.7] * 4 + [0.9] * 4,
        "mean_jct_s": [60.0, 62, 90, 95, 55, 59, 80, 81],
    }
    return pl.DataFrame(table | columns)


ALIKE = few_runs().filter(policy="las", load=0.7)
MIXED = example_runs(failed=False)


@each(
    ("picture", "arguments", "message"),
    [
        ("lines", {"metric": "mean_jtc_s"}, "no numbers 'mean_jtc_s'; did you mean 'mean_jct_s'"),
        ("lines", {"source": MIXED, "metric": "cluster", "where": SMALL}, "no numbers 'cluster'"),
        ("lines", {"x": "lod"}, "x: no axis 'lod'; did you mean 'load'"),
        ("lines", {"baseline": "fifi"}, "no run is under 'fifi'; did you mean 'fifo'"),
        ("lines", {"show": "share"}, "show: must be"),
        ("lines", {"library": "x"}, "library: must be"),
        ("lines", {"level": 2.0}, "level"),
        ("lines", {"method": "x"}, "method"),
        ("lines", {"source": 3}, "expected a SweepResult or a Polars frame"),
        ("lines", {"source": few_runs().drop("policy")}, "no column 'policy'"),
        ("lines", {"source": few_runs().clear()}, "there is no run"),
        ("lines", {"source": ALIKE.drop("load")}, "x: the runs have no axis to draw along"),
        ("lines", {"source": MIXED, "x": "load"}, r"what this picture does not show \(cluster"),
        ("pareto", {}, "load: "),
        ("sensitivity", {"base": {"lode": 1}}, "do not differ in 'lode'"),
        ("sensitivity", {"source": ALIKE}, "the runs differ in no parameter"),
        ("sensitivity", {"base": {"load": 0.8}}, r"base: no run that did not fail is at \{'load'"),
        ("sensitivity", {"where": {"load": 0.8}}, r"where: no run has load 0.8; .* \[0.7, 0.9\]"),
        ("sensitivity", {"where": {"load": []}}, r"where: no run is left by \{'load': \[\]\}"),
        ("sensitivity", {"where": {"lod": 1}}, "no column 'lod'; did you mean"),
        ("forest_plot", {"source": ALIKE, "baseline": "las"}, "policy beside the baseline 'las'"),
        ("forest_plot", {"baseline": "fifo", "by": ["x"]}, "by: no axis 'x'"),
        ("cdf_over_seeds", {"source": {"fifo": [3]}}, "fifo: expected results"),
        ("cdf_over_seeds", {"quantity": "x"}, "quantity: must be"),
        ("cdf_over_seeds", {"source": {"fifo": []}, "quantity": "jct"}, "quantity: must be 'jct"),
        (
            "cdf_over_seeds", {"source": {"fifo": []}, "where": {"load": 1}},
            "where: results have no axes; choose among them yourself",
        ),
    ],
)  # fmt: skip
def test_what_runs_do_not_have_is_not_drawn(picture, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(gs.plot, picture)(**({"source": few_runs()} | arguments))


def test_a_picture_of_too_many_settings_is_refused():
    loads = [load / 1_000 for load in range(1, 400) for _ in range(4)]
    many = pl.DataFrame(
        {
            "policy": ["las", "fifo"] * (len(loads) // 2),
            "seed": [1, 1, 2, 2] * (len(loads) // 4),
            "load": loads,
            "mean_jct_s": [1.0 + i for i in range(len(loads))],
        }
    )
    with pytest.raises(ValueError, match=r"399 rows are more than .* choose some settings with"):
        gs.plot.forest_plot(many, baseline="fifo")


@pytest.mark.parametrize("chart", [lambda pooled: bars(pooled, None, None, 9), occupancy])
def test_a_pool_has_no_servers_to_draw(chart):
    cluster = gs.Cluster.uniform(2, 2)
    trace = gs.Trace.from_columns(submit_s=[0, 1], service_s=[5, 5], gpus=[1, 1])
    pooled = gs.compare(trace, cluster, policies=["fifo"], placement="count")
    with pytest.raises(ValueError, match="no result tells on which servers jobs ran"):
        chart(pooled)


@pytest.mark.parametrize("draw", [matplotlib_figures.figure, plotly_figures.figure])
def test_what_is_no_chart_is_not_drawn(draw):
    with pytest.raises(TypeError, match="no drawing of a Chart"):
        draw(Chart(name="", title="", caption="", x=Axis("")))
