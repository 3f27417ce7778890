"""What a picture of a study cannot show is refused by the name of what was asked."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import gpusched as gs
from gpusched.reporting.charts.bars import bars
from gpusched.reporting.charts.chart import Axis, Chart
from gpusched.reporting.charts.occupancy import occupancy
from gpusched.reporting.drawing import matplotlib_figures, plotly_figures
from tests.each import each


def runs(**columns: Any) -> pl.DataFrame:
    """Two policies and two seeds, at two loads."""
    table: dict[str, Any] = {
        "policy": ["las", "fifo"] * 4,
        "seed": [1, 1, 2, 2] * 2,
        "load": [0.7] * 4 + [0.9] * 4,
        "mean_jct_s": [60.0, 62, 90, 95, 55, 59, 80, 81],
    }
    return pl.DataFrame(table | columns)


ALIKE = runs().filter(policy="las", load=0.7)


@each(
    ("draw", "message"),
    [
        (lambda: gs.plot.sensitivity(runs(), base={"lode": 1}), "do not differ in 'lode'"),
        (lambda: gs.plot.sensitivity(ALIKE), "the runs differ in no parameter"),
        (
            lambda: gs.plot.sensitivity(runs(), base={"load": 0.8}),
            r"base: no run that did not fail is at \{'load': 0.8",
        ),
        (
            lambda: gs.plot.sensitivity(runs(), where={"load": 0.8}),
            r"where: no run has load 0.8; there are \[0.7, 0.9\]",
        ),
        (
            lambda: gs.plot.sensitivity(runs(), where={"load": []}),
            r"where: no run is left by \{'load': \[\]\}",
        ),
        (lambda: gs.plot.sensitivity(runs(), where={"lod": 1}), "no column 'lod'; did you mean"),
        (lambda: gs.plot.lines(ALIKE.drop("load")), "x: the runs have no axis to draw along"),
        (lambda: gs.plot.lines(runs(), x="lod"), "x: no axis 'lod'; did you mean 'load'"),
        (
            lambda: gs.plot.forest_plot(ALIKE, baseline="las"),
            "there is no policy beside the baseline 'las'",
        ),
        (lambda: gs.plot.forest_plot(runs(), baseline="fifo", show="x"), "show: must be 'differ"),
        (lambda: gs.plot.forest_plot(runs(), baseline="fifo", by=["x"]), "by: no axis 'x'"),
        (
            lambda: gs.plot.cdf_over_seeds({"fifo": []}, where={"load": 1}),
            "where: results have no axes; choose among them yourself",
        ),
        (lambda: gs.plot.cdf_over_seeds({"fifo": []}, "jct"), "quantity: must be 'jct_s'"),
    ],
)
def test_what_runs_do_not_have_is_not_drawn(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


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
