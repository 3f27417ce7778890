"""The report: complete, self-contained, and not too large."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.reporting import plotting
from gpusched.reporting.plotting import distribution, over_time
from gpusched.reporting.report import render_report, write_report
from gpusched.studies.comparison import Comparison, compare

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    cluster = gs.Cluster.uniform(4, 8)
    trace = gs.generate("philly", 3_000, load=1.1, cluster=cluster, seed=3)
    return compare(trace, cluster, ["fifo", "srtf", "2d-las:preset=lucid"])


@pytest.fixture(scope="module")
def page(comparison: Comparison) -> str:
    return render_report(comparison, ["the moon is assumed"])


def own_part(page: str) -> str:
    """The page without Plotly's source."""
    head, rest = page.split('<div class="figures">')
    return re.sub(r"<script>.*</script>", "", head, flags=re.DOTALL) + rest


def test_the_file_is_one_page_below_six_megabytes(comparison: Comparison, tmp_path: Path) -> None:
    write_report(comparison, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").stat().st_size < 6 * MEGABYTE


def test_the_page_fetches_nothing(page: str) -> None:
    assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="', page)
    assert "http" not in own_part(page)


def test_plotly_is_embedded_once(page: str) -> None:
    assert page.count("plotly.js v") == 1


def test_no_button_sends_the_data_away(page: str) -> None:
    assert own_part(page).count('"modeBarButtons": [["toImage"], ["zoom2d", "pan2d"]') == 4
    assert "cloud" not in own_part(page).lower()


def test_the_page_names_what_was_run(page: str, comparison: Comparison) -> None:
    for label, result in comparison.results.items():
        assert label in page
        assert result.digest in page
    for fact in ("3,000 jobs", "4 servers x 8", "consolidated", "seed 0", "the moon is assumed"):
        assert fact in page
    assert gs.__version__ in own_part(page)
    assert comparison.results["fifo"].spec.trace.sha256 in page


def test_the_table_has_a_row_per_policy_and_marks_the_best(page: str) -> None:
    body = re.search(r"<tbody>(.*?)</tbody>", page, flags=re.DOTALL)
    assert body is not None
    rows = body[1].split("</tr>")[:-1]
    assert len(rows) == 3
    assert re.search(r'<th>srtf †</th><td class="best">[\d.]+\*</td>', rows[1])


def test_the_headline_never_claims_too_much(comparison: Comparison, page: str) -> None:
    best = comparison.summaries["srtf"]
    claim = re.search(r"No schedule of these jobs can lower that by more than ([\d.]+) %", page)
    assert claim is not None
    bound, mean = best["lower_bound_mean_jct_s"], best["mean_jct_s"]
    assert float(claim[1]) / 100 >= 1 - bound / mean > float(claim[1]) / 100 - 0.0011


def test_the_headline_bounds_the_deadlines_met() -> None:
    # On one GPU the first meets one of three deadlines, the second two, and nobody all.
    trace = gs.Trace.from_columns([0, 0, 0], [8, 1, 4], [1, 1, 1], deadline_s=[20, 3, 2])
    page = own_part(render_report(compare(trace, gs.Cluster.uniform(1, 1), ["fifo", "sjf"])))
    assert "sjf meets the most deadlines: 66.7 %." in page
    assert "No schedule of these jobs meets more than 66.7 %." in page
    assert "<dt>bound on deadlines met</dt>" in page
    assert "<dt>gap of deadlines met</dt>" in page


def test_what_was_left_out_is_said() -> None:
    cluster = gs.Cluster.uniform(1, 8)
    trace = gs.Trace.from_columns([0.0, 1.0, 2.0], [5.0, -1.0, 5.0], [1, 1, 9], on_bad="reject")
    page = render_report(compare(trace, cluster, ["fifo", "sjf"]))
    assert "1 job rejected: needs more GPUs than the cluster has" in page
    assert "left out of the trace: service_s" in page


def test_names_from_a_trace_are_text_and_not_markup() -> None:
    trace = gs.Trace.from_columns([0.0], [5.0], [1], name="<script>alert(1)</script>")
    page = render_report(compare(trace, gs.Cluster.uniform(1, 8), ["fifo"]))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_every_job_may_be_rejected() -> None:
    trace = gs.Trace.from_columns([0.0, 1.0], [5.0, 5.0], [64, 64])
    page = render_report(compare(trace, gs.Cluster.uniform(1, 8), ["fifo", "sjf"]))
    assert "2 jobs rejected" in page


def test_many_policies_have_thinner_curves_and_not_a_larger_page(comparison: Comparison) -> None:
    results = {f"copy {i}": comparison.results["srtf"] for i in range(60)}
    many = Comparison(comparison.trace, comparison.cluster, results)
    assert len(render_report(many).encode()) < 6 * MEGABYTE


@pytest.fixture(scope="module")
def crowded() -> Comparison:
    """Gangs that share links under one policy, and the same gangs under another."""
    cluster = gs.Cluster.uniform(8, 4, nic_gbps=10.0, intra_gbps=100.0)
    profile = gs.models.JobProfile("model", 4e8, 1.0, 0.1, 0.1)
    rng = np.random.default_rng(5)
    submit, service = np.sort(rng.uniform(0, 500, 300)), rng.uniform(1, 60, 300)
    trace = gs.Trace.from_columns(submit, service, rng.integers(1, 9, 300), profiles=profile)
    results = {
        policy: gs.simulate(
            trace, cluster, policy=policy, placement="spread", speed="ring", contention="shared"
        )
        for policy in ("fifo", "srtf")
    }
    return Comparison(trace, cluster, results)


def test_a_report_shows_contention_where_there_is_any(crowded: Comparison) -> None:
    shown = own_part(render_report(crowded))
    for fact in ("speed ring, contention shared", "<th>contention</th>", "<td>shared</td>"):
        assert fact in shown
    for figure in ("slowdown_cdf", "contention"):
        assert f'<div id="{figure}"' in shown
    assert shown.count('"modeBarButtons"') == 6
    assert "lost to contention" in shown
    assert "most rings on a link" in shown


def test_a_report_of_fixed_run_times_says_nothing_of_contention(page: str) -> None:
    assert "contention" not in own_part(page)
    assert "rings" not in own_part(page)


def test_the_figures_of_contention_show_its_figures(crowded: Comparison) -> None:
    slowdown, rings = plotting.slowdown_cdf(crowded), plotting.contention(crowded)
    for index, result in enumerate(crowded.results.values()):
        summary = result.summary()
        assert max(rings.data[index].y) == summary["max_contention_level"] > 2
        assert max(slowdown.data[index].x) == pytest.approx(
            summary["max_slowdown_contention"], rel=1e-6
        )
        rows = zip(
            result.intervals["job"].tolist(), result.intervals["start_us"].tolist(), strict=True
        )
        spread = sorted({job for (job, _), servers in Counter(rows).items() if servers > 1})
        least = min(result.jobs.slowdown_contention[spread])
        assert slowdown.data[index].x[0] == np.float32(least) > 1.0
        assert slowdown.data[index].y[0] == pytest.approx(1 / len(spread))
    left, right = slowdown.layout.xaxis.range
    assert left < 1.0 < max(slowdown.data[0].x) < right
    assert all(len(curve.x) <= 50 for curve in plotting.contention(crowded, 50).data)


@pytest.mark.parametrize(
    "draw", [plotting.jct_cdf, plotting.wait_cdf, plotting.allocation, plotting.queue]
)
def test_a_figure_has_a_bounded_curve_per_policy(draw, comparison: Comparison) -> None:
    figure = draw(comparison, 100)
    assert [curve.name for curve in figure.data] == ["fifo", "srtf †", "2d-las:preset=lucid"]
    assert all(1 < len(curve.x) == len(curve.y) <= 100 for curve in figure.data)


def test_a_thinned_distribution_stays_on_the_distribution() -> None:
    values = np.random.default_rng(0).integers(0, 50, 1_000).astype(float)
    x, y = distribution.thin_distribution(values, 20)
    assert len(x) <= 20
    assert x[0] == values.min()
    assert x[-1] == values.max()
    assert y.tolist() == [float(np.mean(values <= at)) for at in x]


def test_the_time_axis_ends_with_most_jobs_and_not_with_the_last() -> None:
    submit = np.arange(200.0)
    service = np.full(200, 10.0)
    service[50] = 1e7
    trace = gs.Trace.from_columns(submit, service, np.ones(200, dtype=int))
    figure = plotting.queue(compare(trace, gs.Cluster.uniform(4, 8), ["fifo"]))
    assert figure.layout.xaxis.range[1] * 86_400 < 300
    assert max(figure.data[0].x) * 86_400 == pytest.approx(1e7 + 50, rel=1e-6)


def test_a_curve_has_most_of_its_points_where_most_jobs_are(comparison: Comparison) -> None:
    series = comparison.results["fifo"].series
    end_s = float(np.median(series.time_s))
    thinned = over_time.thin(series, end_s, 100)
    assert len(thinned) <= 100
    assert np.count_nonzero(thinned.time_s <= end_s) >= 80
    assert (np.diff(thinned.time_s) > 0).all()
