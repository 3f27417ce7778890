"""The pictures of studies show what the runs and their statistics say, or are refused by name."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.run_warning import RunWarning
from gpusched.reporting.sweeps.measures import measure
from gpusched.reporting.sweeps.pictures import front_of
from gpusched.reporting.sweeps.study_runs import varying
from tests.each import each
from tests.unit.reporting.chart_rows import unfolded
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


Rows = list[dict[str, Any]]


def rows_of(chart: Any) -> Rows:
    """The points of a chart."""
    return unfolded(chart.to_dict())


def by_policy(chart: Any, *columns: str) -> dict[str, list[Any]]:
    """Some columns of the rows of each policy; of one column its values."""
    found: dict[str, list[Any]] = {}
    for row in rows_of(chart):
        values = tuple(row[name] for name in columns)
        found.setdefault(row["policy"], []).append(values if len(values) > 1 else values[0])
    return found


def encodings(chart: Any, channel: str) -> list[dict[str, Any]]:
    """What the layers of a chart say of a channel, where they say more than its column."""
    spec = chart.to_dict()
    layers = spec.get("spec", spec)["layer"]
    own = [layer["encoding"][channel] for layer in layers if channel in layer["encoding"]]
    return [encoding for encoding in own if "scale" in encoding]


def values_drawn(chart: Any, name: str = "at") -> list[float]:
    """The values of a table of a single column, such as that of a reference line."""
    tables = [table for table in chart.to_dict()["datasets"].values() if [*table[0]] == [name]]
    return [row[name] for table in tables for row in table]


@every_picture
def test_a_picture_is_a_chart_of_few_rows_with_a_title_and_words(name, runs):
    chart = getattr(gs.plot, name)(runs, **PICTURES[name])
    assert type(chart).__module__.startswith("altair")
    spec = chart.to_dict()  # checked against the schema of Vega-Lite
    assert spec["title"]
    assert len(spec["description"]) > len(spec["title"]) + 20
    assert 0 < len(rows_of(chart)) <= 2_000
    assert "#" not in str([spec.get("layer"), spec.get("spec")])  # colours are those of the style


@every_picture
def test_a_picture_is_a_file_without_a_browser(name, runs, tmp_path):
    pytest.importorskip("vl_convert")
    odd = runs.with_columns(pl.col("cluster").replace("large", r"$\frac$ <b>"))
    gs.plot.save(getattr(gs.plot, name)(odd, **PICTURES[name]), tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    width = float(re.findall(r'width="([0-9.]+)', drawn)[0])
    assert width * 25.4 / 72 == pytest.approx(84, rel=0.02)
    assert "NaN" not in drawn
    assert "undefined" not in drawn


def test_lines_are_typical_runs_and_bands_are_intervals_over_the_seeds(runs):
    chart = gs.plot.lines(runs, where=SMALL)
    drawn = by_policy(chart, "x", "value", "low", "high")
    assert list(drawn) == ["fifo", "sjf", "srtf †"]
    for policy in POLICIES:
        name = f"{policy} †" if policy == "srtf" else policy
        spans = [
            gs.studies.typical(jct_h(runs, policy=policy, load=load, **SMALL)) for load in LOADS
        ]
        assert [row[0] for row in drawn[name]] == [*LOADS]
        expected = [(span.value, span.low, span.high) for span in spans]
        np.testing.assert_allclose([row[1:] for row in drawn[name]], expected, rtol=1e-5)
    (upright,) = encodings(chart, "y")
    assert upright["title"] == "mean JCT (h)"
    marks = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert marks == ["area", "line"]


def test_times_over_decades_have_ticks_in_several_units(runs):
    wide = runs.with_columns(
        pl.when(pl.col("load") > 1).then(100 * pl.col("mean_jct_s")).otherwise("mean_jct_s")
        .alias("mean_jct_s")
    )  # fmt: skip
    (upright,) = encodings(gs.plot.lines(wide, where=SMALL), "y")
    assert upright["title"] == "mean JCT (log scale)"
    assert "' min'" in upright["axis"]["labelExpr"]
    assert {21_600, 86_400} <= set(upright["axis"]["values"])


def test_an_axis_over_a_decade_is_logarithmic(runs):
    def scale(loads):
        few = runs.with_columns(pl.col("load").replace_strict(dict(zip(LOADS, loads, strict=True))))
        return encodings(gs.plot.lines(few, where=SMALL), "x")[0]["scale"]["type"]

    assert scale([0.7, 0.9, 1.1]) == "linear"
    assert scale([1.0, 4.0, 16.0]) == "log"


def test_ratios_stand_on_a_logarithmic_axis_and_shares_do_not(runs):
    for metric, scale in (("mean_jct_s", "log"), ("utilisation", "linear")):
        for show in ("typical", "change"):
            (upright,) = encodings(gs.plot.lines(runs, metric, where=SMALL, show=show), "y")
            assert upright["scale"]["type"] == scale
        (across,) = encodings(gs.plot.forest_plot(runs, metric), "x")
        assert across["scale"]["type"] == scale
    with pytest.raises(ValueError, match="show: must be 'typical' or 'change', not 'ratio'"):
        gs.plot.lines(runs, where=SMALL, show="ratio")


def test_a_ratio_is_one_number_for_each_pair(runs):
    chart = gs.plot.lines(runs, where=SMALL, show="change", baseline="sjf")
    drawn = by_policy(chart, "value")
    assert set(drawn) == {"fifo", "srtf †"}
    np.testing.assert_allclose(drawn["fifo"], 2.0, rtol=0.02)
    np.testing.assert_allclose(drawn["srtf †"], 0.5, rtol=0.02)
    assert "ratio to sjf" in chart.to_dict()["title"]


def test_names_on_an_axis_have_points_with_bars_side_by_side(runs):
    chart = gs.plot.lines(runs, x="cluster", where={"load": 0.7})
    layers = chart.to_dict()["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["rule", "point"]
    assert all(layer["encoding"]["xOffset"]["field"] == "policy" for layer in layers)
    assert layers[0]["encoding"]["x"]["sort"] == ["small <8>", "large"]
    span = gs.studies.typical(jct_h(runs, policy="fifo", load=0.7, **SMALL))
    first = by_policy(chart, "x", "low", "high")["fifo"][0]
    assert first == ("small <8>", pytest.approx(span.low), pytest.approx(span.high))


def test_panels_show_one_value_each(runs):
    chart = gs.plot.lines(runs, panels="cluster")
    assert chart.to_dict()["facet"]["row"]["sort"] == ["cluster small <8>", "cluster large"]
    drawn: dict[str, list[float]] = {}
    for row in rows_of(chart):
        drawn.setdefault(row["panel"], []).append(row["value"])
    upper, lower = drawn.values()
    np.testing.assert_allclose(np.array(lower), 0.8 * np.array(upper), rtol=1e-5)


def test_a_field_of_a_heat_map_is_the_ratio_to_the_baseline(runs):
    chart = gs.plot.heat_map(runs, where=SMALL, show="change")
    drawn = by_policy(chart, "value")
    assert list(drawn) == ["sjf", "srtf †"]
    np.testing.assert_allclose([*drawn.values()], [[0.5] * 3, [0.25] * 3], rtol=0.02)
    (colour,) = encodings(chart, "color")
    assert colour["scale"] == {"type": "quantize", "domain": [0, 1], "range": "diverging"}
    # No change is in the middle of the colours, and as much less is as far from it as more.
    shares = {row["value"]: row["share"] for row in rows_of(chart)}
    for value, share in shares.items():
        assert share < 0.5
        assert (0.5 - share) / -np.log(value) == pytest.approx(0.5 / np.log(1 / 0.246), rel=0.01)
    chart = gs.plot.heat_map(runs, where=SMALL)
    assert len(by_policy(chart, "value")) == len(POLICIES)
    assert encodings(chart, "color")[0]["scale"]["range"] == "heatmap"
    for row in rows_of(chart):
        assert row["field"] == measure("mean_jct_s").text(3_600 * row["value"])


def test_a_field_on_a_strong_colour_is_written_in_the_colour_of_the_paper(runs):
    chart = gs.plot.heat_map(runs, where=SMALL)
    layers = chart.to_dict()["layer"]
    tests = [layer["transform"][0]["filter"] for layer in layers if "transform" in layer]
    assert tests == ["!datum.strong", "datum.strong"]
    assert layers[2]["mark"]["style"] == "strong"
    assert {row["strong"] for row in rows_of(chart) if row["share"] > 0.7} == {1}
    assert {row["strong"] for row in rows_of(chart) if row["share"] < 0.5} == {0}


def test_a_forest_plot_has_a_row_for_each_setting_and_policy_but_the_baseline(runs):
    chart = gs.plot.forest_plot(runs)
    rows = rows_of(chart)
    assert len({row["line"] for row in rows}) == len(rows) == 2 * len(CLUSTERS) * len(LOADS)
    assert rows[0]["line"] == "sjf, small <8>, load 0.7"
    mine = jct_h(runs, policy="sjf", load=0.7, **SMALL)
    base = jct_h(runs, policy="fifo", load=0.7, **SMALL)
    span = gs.studies.ratio(mine, base)
    ends = (rows[0]["value"], rows[0]["low"], rows[0]["high"])
    assert ends == pytest.approx((span.value, span.low, span.high), rel=1e-5)
    assert values_drawn(chart) == [1.0]
    assert values_drawn(gs.plot.forest_plot(runs, "utilisation", where=AT)) == [0.0]
    (across,) = encodings(chart, "x")
    low, high = across["scale"]["domain"]
    assert low < rows[0]["low"] < 1.0 < high


def test_the_front_leaves_out_what_is_beaten_in_both(runs):
    chart = gs.plot.pareto(runs, "mean_jct_s", "p99_jct_s", where=AT)
    # srtf beats sjf in both.
    assert by_policy(chart, "front") == {"fifo": [1], "sjf": [0], "srtf †": [1]}
    front = chart.to_dict()["layer"][0]
    assert front["mark"]["type"] == "line"
    assert front["transform"] == [{"filter": "datum.front"}]


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
    chart = gs.plot.sensitivity(runs, base={"load": 0.9, "policy": "sjf"}, where=SMALL)

    def typical(load):
        return gs.studies.typical(jct_h(runs, policy="sjf", load=load, **SMALL)).value

    rows = rows_of(chart)
    assert [row["line"].partition(":")[0] for row in rows[::2]] == ["policy", "load"]
    low, base, high = map(typical, LOADS)
    assert all(row["middle"] == pytest.approx(base, rel=1e-5) for row in rows)
    ends = [(row["side"], row["value"], row["end"]) for row in rows[2:]]
    assert ends == [
        ("less", pytest.approx(low, rel=1e-5), pytest.approx(base, rel=1e-5)),
        ("more", pytest.approx(base, rel=1e-5), pytest.approx(high, rel=1e-5)),
    ]


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
    curve = by_policy(gs.plot.cdf_over_seeds(results, quantity), "share", "value", "low")["fifo"]
    shares, values, lows = zip(*curve, strict=True)
    assert [*shares] == sorted(shares)
    assert [*values] == sorted(values)
    assert len(values) == 102
    place = shares.index(0.9)
    each = [
        np.quantile(getattr(r.jobs, quantity), 0.9, method="inverted_cdf") for r in results["fifo"]
    ]
    span = gs.studies.typical(np.maximum(each, 1.0 if quantity == "wait_s" else 1e-6))
    assert values[place] == pytest.approx(span.value, rel=1e-5)
    assert lows[place] == pytest.approx(span.low, rel=1e-5)


def test_many_policies_have_fewer_shares_each(results):
    many = {f"{name} {copy}": own for copy in range(20) for name, own in results.items()}
    curves = by_policy(gs.plot.cdf_over_seeds(many), "share")
    assert len(curves) == 40
    assert sum(map(len, curves.values())) <= 2_000
    assert all(curve[-1] == 1.0 for curve in curves.values())


def test_a_distribution_of_runs_stands_at_the_quantiles_they_have(runs):
    curve = by_policy(gs.plot.cdf_over_seeds(runs, where=AT), "share", "value")["sjf"]
    assert [share for share, _ in curve] == [0.5, 0.95, 0.99]
    own = runs.filter(policy="sjf", **AT)
    np.testing.assert_allclose(
        [value for _, value in curve],
        [gs.studies.typical(own[name]).value for name in ("p50_jct_s", "p95_jct_s", "p99_jct_s")],
        rtol=1e-5,
    )
    with pytest.raises(ValueError, match="no quantiles such as 'p95_wait_s'"):
        gs.plot.cdf_over_seeds(runs, "wait_s", where=AT)


def test_a_policy_keeps_its_colour_when_others_are_left_out(runs):
    every, some = (
        encodings(gs.plot.lines(runs, where=SMALL | more), "color")[0]
        for more in ({}, {"policy": ["srtf"]})
    )
    assert some["scale"] == every["scale"] == {"domain": ["fifo", "sjf", "srtf †"]}
    assert some["legend"]["values"] == ["srtf †"]


def test_failed_runs_are_warned_of_and_left_out():
    frame = example_runs(failed=True)
    with pytest.warns(RunWarning, match="1 failed run left out"):
        chart = gs.plot.lines(frame, where=SMALL)
    left = frame.filter(policy="sjf", load=0.9, **SMALL)["mean_jct_s"].drop_nulls()
    assert len(left) == len(SEEDS) - 1
    typical = gs.studies.typical(left).value / 3600
    assert by_policy(chart, "value")["sjf"][1] == pytest.approx(typical, rel=1e-5)


def test_a_single_seed_has_no_band(runs):
    chart = gs.plot.lines(runs.filter(seed=1), where=SMALL)
    assert {(row["low"], row["high"]) for row in rows_of(chart)} == {(None, None)}


def test_the_result_of_a_sweep_has_every_picture():
    found = gs.sweep({
        "name": "loads", "seeds": [1, 2], "policies": ["fifo", "sjf"], "baseline": "sjf",
        "traces": [{"generate": "philly", "jobs": 300, "loads": [0.7, 1.3]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    })  # fmt: skip
    assert "to sjf" in gs.plot.forest_plot(found).to_dict()["title"]
    for name, options in PICTURES.items():
        where = {} if name in ("lines", "forest_plot", "sensitivity") else {"where": {"load": 0.7}}
        if name == "heat_map":
            where = {"show": options["show"]}
        assert rows_of(getattr(gs.plot, name)(found, **where))


def test_axes_that_were_zipped_are_one(runs):
    servers = {"small <8>": 8, "large": 10}
    sized = runs.with_columns(pl.col("cluster").replace_strict(servers).alias("servers"))
    assert varying(runs) == ["cluster", "load"]
    assert varying(sized) == ["load", "servers"]
    drawn = by_policy(gs.plot.lines(sized, x="servers", where={"load": 0.7}), "x")
    assert all(x == [8, 10] for x in drawn.values())


def test_a_trace_that_each_seed_has_of_its_own_is_no_axis(runs):
    named = runs.with_columns(pl.format("draw {}", "seed").alias("trace"))
    assert "trace" not in varying(named)
    assert rows_of(gs.plot.lines(named, where=SMALL)) == rows_of(gs.plot.lines(runs, where=SMALL))
    # Two traces with seeds of their own are not draws of one.
    two = runs.with_columns(
        pl.when(pl.col("seed") > 3).then(pl.lit("b")).otherwise(pl.lit("a")).alias("trace")
    )
    assert "trace" in varying(two)
    with pytest.raises(ValueError, match="differ in axes that this chart does not show"):
        gs.plot.lines(two, x="load", where=SMALL)


def test_a_number_of_jobs_that_a_seed_draws_is_no_axis(runs):
    drawn = runs.with_columns(jobs=pl.col("seed") + 10 * (pl.col("load") * 10).cast(pl.Int64))
    assert varying(drawn) == ["cluster", "load"]
    assert rows_of(gs.plot.lines(drawn, where=SMALL)) == rows_of(gs.plot.lines(runs, where=SMALL))
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
        ("lines", {"metric": "mean_jtc_s"}, "no numeric column 'mean_jtc_s'; did you mean 'mean"),
        ("lines", {"source": MIXED, "metric": "cluster", "where": SMALL}, "numeric column 'clus"),
        ("lines", {"x": "lod"}, "x: no axis 'lod'; did you mean 'load'"),
        ("lines", {"baseline": "fifi"}, "no run under 'fifi'; did you mean 'fifo'"),
        ("lines", {"show": "share"}, "show: must be"),
        ("lines", {"level": 2.0}, "level"),
        ("lines", {"method": "x"}, "method"),
        ("lines", {"source": 3}, "expected a SweepResult or a Polars frame"),
        ("lines", {"source": few_runs().drop("policy")}, "no column 'policy'"),
        ("lines", {"source": few_runs().clear()}, "there is no run"),
        ("lines", {"source": ALIKE.drop("load")}, "x: the runs do not differ in any axis"),
        ("lines", {"source": MIXED, "x": "load"}, r"axes that this chart does not show \(cluster"),
        ("pareto", {}, "load: "),
        ("sensitivity", {"base": {"lode": 1}}, "do not differ in 'lode'"),
        ("sensitivity", {"source": ALIKE}, "the runs do not differ in any parameter"),
        ("sensitivity", {"base": {"load": 0.8}}, r"base: no successful run is at \{'load'"),
        ("sensitivity", {"where": {"load": 0.8}}, r"where: no run has load 0.8; .* \[0.7, 0.9\]"),
        ("sensitivity", {"where": {"load": []}}, r"where: no run matches \{'load': \[\]\}"),
        ("sensitivity", {"where": {"lod": 1}}, "no column 'lod'; did you mean"),
        ("forest_plot", {"source": ALIKE, "baseline": "las"}, "only the baseline 'las' has runs"),
        ("forest_plot", {"baseline": "fifo", "by": ["x"]}, "by: no axis 'x'"),
        ("cdf_over_seeds", {"source": {"fifo": [3]}}, "fifo: expected results"),
        ("cdf_over_seeds", {"quantity": "x"}, "quantity: must be"),
        ("cdf_over_seeds", {"source": {"fifo": []}, "quantity": "jct"}, "quantity: must be 'jct"),
        (
            "cdf_over_seeds", {"source": {"fifo": []}, "where": {"load": 1}},
            "where: applies to studies only; select among the results instead",
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
    with pytest.raises(ValueError, match=r"399 rows, at most .* choose settings with"):
        gs.plot.forest_plot(many, baseline="fifo")


def test_more_points_than_a_chart_has_room_for_are_refused():
    many = pl.DataFrame({
        "policy": ["las", "fifo"] * 1_001, "seed": [1] * 2_002,
        "load": [load / 1_000 for load in range(1_001) for _ in range(2)],
        "mean_jct_s": [1.0 + i for i in range(2_002)],
    })  # fmt: skip
    with pytest.raises(ValueError, match=r"2,002 points, at most 2,000 are possible; select with"):
        gs.plot.lines(many)
