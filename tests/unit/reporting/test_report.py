"""The report: complete, self-contained, safe, not too large; its headline, tables and marks."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.base.wording import duration
from gpusched.plugins.registry import describe
from gpusched.reporting.notes import footnotes, policy_name
from gpusched.reporting.page import asset
from gpusched.reporting.report import headline, render_report, write_report
from gpusched.reporting.tables import MOST_GROUPS, policy_html, wait_tables
from gpusched.studies.comparison import Comparison, compare
from tests.each import each
from tests.unit.reporting.chart_rows import rows_of_chart

MEGABYTE = 1_000_000


def own_size(page: str) -> int:
    """Bytes beside the script of the charts."""
    return len(page.replace(asset("vega.js"), "").encode())


def figure(page: str, name: str) -> dict:
    """The specification of a figure."""
    found = re.search(rf'<script type="application/json" id="{name}-chart">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def names_of_figures(page: str) -> list[str]:
    return re.findall(r'<div class="chart" id="(\w+)"', page)


def test_the_file_is_one_page_with_one_copy_of_the_script_of_charts(comparison, tmp_path):
    write_report(comparison, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    text = (tmp_path / "report.html").read_text()
    assert text.count(asset("vega.js")) == 1
    assert own_size(text) < 0.5 * MEGABYTE
    assert len(text) < 1.6 * MEGABYTE


def test_a_checkout_without_the_script_says_how_to_make_it(comparison, tmp_path, monkeypatch):
    assets = files("gpusched.reporting").joinpath("assets")
    shutil.copytree(assets, tmp_path / "assets", ignore=shutil.ignore_patterns("vega.js"))
    monkeypatch.setattr("gpusched.reporting.page.files", lambda package: tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"vega\.js, .*make it with: python cmake/vega\.py$"
    ):
        write_report(comparison, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_page_leaves_nothing_with_the_results(tmp_path):
    cluster = gs.Cluster.uniform(2)
    fresh = gs.compare(gs.generate("philly", 50, cluster=cluster), cluster, ["fifo", "sjf"])
    known = [sorted(vars(result)) for result in fresh.results.values()]
    write_report(fresh, tmp_path / "report.html")
    assert [sorted(vars(result)) for result in fresh.results.values()] == known


def test_the_page_fetches_nothing_and_sends_nothing(page):
    assert not re.findall(r'<(?:script|link|img|iframe|a)[^>]*(?:src|href)="([^"]*)"', page)
    assert "http" not in page
    assert "actions: false" in page


def test_no_chart_is_drawn_from_more_than_2000_rows(page, many):
    for name in names_of_figures(page):
        spec = figure(page, name)
        rows = [
            max(len(values) for values in row.values() if isinstance(values, list))
            for table in spec["datasets"].values()
            for row in table
        ]
        assert max(rows) <= 2_000, name
        if name not in ("gantt", "servers"):  # of which one policy is drawn
            assert sum(rows) <= 2_010, name
    for spec in (gs.plot.jct_cdf(many).to_dict(), gs.plot.queue(many).to_dict()):
        for table in spec["datasets"].values():
            assert sum(len(row["x"]) for row in table) <= 2_000


def test_a_page_takes_colours_from_its_style_alone(page):
    assert re.search(r"#[0-9a-f]{6}", page.partition("<body>")[0])
    for name in names_of_figures(page):
        assert not re.search(r"#[0-9a-f]{6}\b", json.dumps(figure(page, name))), name


def test_there_is_one_legend_with_all_policies(page):
    (legend,) = re.findall(r'<div class="legend".*?</div>', page)
    assert re.findall('data-policy="([^"]*)"', legend) == [
        "fifo",
        "srtf †",
        "2d-las:preset=lucid ≈",
    ]
    for name in names_of_figures(page):
        for encoding in encodings(figure(page, name)):
            assert encoding.get("field") != "policy" or encoding.get("legend") is None


def encodings(spec: Any) -> Iterator[dict]:
    for part in spec.values() if isinstance(spec, dict) else spec:
        if isinstance(part, dict | list):
            yield from encodings(part)
    if isinstance(spec, dict) and "field" in spec:
        yield spec


def test_the_page_names_what_was_run(page, comparison):
    for label, result in comparison.results.items():
        assert label in page
        assert result.digest in page
    for fact in ("3,000 jobs", "4 servers x 8", "consolidated", "seed 0", "the moon is assumed"):
        assert fact in page
    assert f"<td>{gs.__version__}</td>" in page
    assert comparison.results["fifo"].spec.trace.sha256 in page


def test_the_table_has_a_row_per_policy_and_marks(page):
    body = re.search(r"<tbody>(.*?)</tbody>", page, flags=re.DOTALL)
    fifo, srtf, las = body[1].split("</tr>")[:-1]
    assert re.search(
        r'<th scope="row">srtf&nbsp;<abbr title="clairvoyant: [^"]+">†</abbr></th>'
        r'<td data-value="[\d.]+">[\d.]+ (?:h|min)</td>',
        srtf,
    )
    # It sees the truth, and wins nothing.
    assert "best" not in srtf
    assert re.search(r'<td class="best" data-value="[\d.]+">[\d.]+ (?:h|min)\*</td>', fifo + las)
    assert (
        '<tr class="chosen"><th scope="row">2d-las:preset=lucid&nbsp;'
        '<abbr title="default parameters deviate from the publication">≈</abbr> '
        "<small>lowest deployable"
    ) in las
    assert "†" not in las
    assert "small" not in fifo


def test_the_table_tells_the_numbers_by_which_it_is_sorted(page, comparison):
    for row in comparison.summaries.values():
        assert f'data-value="{row["mean_jct_s"]!r}"' in page
    heads = re.findall(r'<th scope="col" aria-sort="none"[^>]*><button type="button"', page)
    assert len(heads) > 10


def test_every_figure_is_told_in_words_and_reached_by_keys(page):
    names = names_of_figures(page)
    assert names == [
        "jct_cdf", "wait_cdf", "jct_by_width", "wait_by_width", "jct_by_user", "wait_by_user",
        "allocation", "queue", "servers", "gantt",
    ]  # fmt: skip
    texts = re.findall(r'role="img" tabindex="0" aria-label="([^"]+)"', page)
    assert len(texts) == len(names)
    for text in texts:
        for label in ("fifo: ", "srtf †: ", "2d-las:preset=lucid ≈: "):
            assert label in text, text


def test_what_was_left_out_is_said():
    cluster = gs.Cluster.uniform(1, 8)
    trace = gs.Trace.from_columns([0.0, 1.0, 2.0], [5.0, -1.0, 5.0], [1, 1, 9], on_bad="reject")
    page = render_report(compare(trace, cluster, ["fifo", "sjf"]))
    assert "1 job rejected: needs more GPUs than the cluster has" in page
    assert "left out of the trace: service_s" in page


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>",
    "<a href='javascript:alert(1)'>x</a>", "&lt;i&gt;", "$title ${script}", "-->",
]  # fmt: skip


@each("name", HOSTILE)
def test_names_are_text_and_not_markup(name):
    trace = gs.Trace.from_columns([0.0, 1.0], [5.0, 6.0], [1, 1], name=name, user=[name, "other"])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 8), policy="fifo")
    other = gs.simulate(trace, gs.Cluster.uniform(1, 8), policy="srtf")
    page = render_report(Comparison(trace, result.cluster, {name: result, "b": other}), [name])
    plain = render_report(Comparison(trace, result.cluster, {"fifo": result, "b": other}))
    page, plain = (text.replace(asset("vega.js"), "") for text in (page, plain))
    tags = re.compile(r"<(?!/?(?:br|small|abbr|p)\b)/?\w+")
    assert len(tags.findall(page)) == len(tags.findall(plain))
    for danger in ("<script>alert", "<img", "<a ", "<i>", "<b>"):
        assert danger not in page
    spec = figure(page, "wait_by_user")
    assert f"{name} (1 job)" in spec["encoding"]["y"]["scale"]["domain"]
    (table,) = spec["datasets"].values()
    assert name in [row["policy"] for row in table]


def test_there_may_be_no_policy_at_all(comparison):
    page = render_report(comparison.select(()))
    assert names_of_figures(page) == []


def test_a_single_result_has_a_report(comparison, tmp_path):
    result = comparison.results["fifo"]
    gs.write_report(result, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<h1>A scheduling policy</h1>" in text
    assert "fifo: mean JCT" in text
    assert result.digest in text
    with pytest.raises(TypeError, match="expected a Result or a Comparison, not str"):
        gs.write_report("fifo", tmp_path / "other.html")


@pytest.mark.parametrize("copies", [12, pytest.param(60, marks=pytest.mark.long)])
def test_many_policies_do_not_make_the_page_large(copies, comparison):
    results = {f"copy {i}": comparison.results["srtf"] for i in range(copies)}
    many = Comparison(comparison.trace, comparison.cluster, results)
    assert own_size(render_report(many)) < MEGABYTE


@pytest.mark.long
def test_many_jobs_do_not_make_the_page_large():
    cluster = gs.Cluster.uniform(100, 8)
    trace = gs.generate("philly", 60_000, load=0.9, cluster=cluster, seed=2)
    result = gs.simulate(trace, cluster, policy="las")
    results = {f"copy {i}": result for i in range(12)}
    page = render_report(Comparison(trace, cluster, results))
    assert own_size(page) < MEGABYTE
    assert "32 of 100 servers" in page


def test_a_pool_has_no_servers_to_show():
    trace = gs.Trace.from_columns([0.0, 1.0], [5.0, 5.0], [1, 2])
    pooled = next(name for name, info in gs.placements().items() if info.has("pooled"))
    result = gs.simulate(trace, gs.Cluster.uniform(1, 8), placement=pooled)
    page = render_report(result)
    assert "gantt" not in names_of_figures(page)
    assert "Where jobs ran" not in page


def test_the_window_of_the_gantt_chart_may_be_chosen(comparison):
    page = render_report(comparison, window_s=(3_600, 7_200))
    assert "From 1 h to 2 h after the first submission; " in page


@pytest.fixture(scope="module")
def crowded() -> Comparison:
    """Gangs that share links under one policy, and the same gangs under another."""
    cluster = gs.Cluster.uniform(8, 4, nic_gbps=10.0, intra_gbps=100.0)
    profile = gs.model.JobProfile("model", 4e8, 1.0, 0.1, 0.1)
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


def test_a_report_shows_contention_where_there_is_any(crowded, page):
    shown = render_report(crowded)
    told = ("speed ring, contention shared", ">contention</th>", "<td>shared</td>")
    for fact in (*told, "lost to contention", "slowdown"):
        assert fact in shown
    assert {"slowdown_cdf", "contention"} <= set(names_of_figures(shown))
    assert "contention" not in page
    assert "rings" not in page


def test_the_figures_of_contention_show_its_figures(crowded):
    slowdown, rings = gs.plot.slowdown_cdf(crowded), gs.plot.contention(crowded)
    of_rings, of_jobs = rows_of_chart(rings), rows_of_chart(slowdown)
    for label, result in zip(of_rings, crowded.results.values(), strict=True):
        summary = result.summary()
        assert max(of_rings[label]["y"]) == summary["max_contention_level"] > 2
        x, share = of_jobs[label]["x"], of_jobs[label]["share"]
        assert max(x) == pytest.approx(summary["max_slowdown_contention"], rel=1e-5)
        rows = zip(
            result.intervals["job"].tolist(), result.intervals["start_us"].tolist(), strict=True
        )
        spread = sorted({job for (job, _), servers in Counter(rows).items() if servers > 1})
        assert x[0] == pytest.approx(min(result.jobs.slowdown_contention[spread]), rel=1e-5)
        assert x[0] > 1.0
        assert share[0] == pytest.approx(1 / len(spread), rel=1e-5)
    left, right = slowdown.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert left < 1.0 < max(next(iter(of_jobs.values()))["x"]) < right
    few = rows_of_chart(gs.plot.contention(crowded, points=50))
    assert all(len(row["x"]) <= 50 for row in few.values())


@each(
    ("chosen", "begin", "end"),
    [
        (
            ("fifo", "srtf", "2d-las:preset=lucid"),
            "Of the deployable policies, 2d-las:preset=lucid has the lowest mean JCT "
            "in this trace: ",
            r"srtf †, which uses true run times, has [\d.]+ h\.$",
        ),
        (("fifo", "srtf"), "fifo, the only deployable one of these, has", "†.*$"),
        (
            ("fifo", "2d-las:preset=lucid"),
            "2d-las:preset=lucid has the lowest mean JCT in this trace: ",
            "^[^†]*$",
        ),
    ],
)
def test_the_best_that_could_be_deployed_comes_first(comparison, chosen, begin, end):
    (line,) = headline(comparison.select(chosen))
    assert line.startswith(begin)
    assert re.search(end, line)


def test_the_headline_never_claims_too_much(comparison):
    row = comparison.summaries["2d-las:preset=lucid"]
    (line,) = headline(comparison)
    claim = re.search(r"No schedule of these jobs can lower it by more than ([\d.]+)%", line)
    bound, mean = row["lower_bound_mean_jct_s"], row["mean_jct_s"]
    assert float(claim[1]) / 100 >= 1 - bound / mean > float(claim[1]) / 100 - 0.0011


def test_where_none_could_be_deployed_that_is_said():
    trace = gs.Trace.from_columns([0, 0, 0], [8, 1, 4], [1, 1, 1])
    (line,) = headline(compare(trace, gs.Cluster.uniform(1, 1), ["srtf", "sjf"]))
    assert line.startswith("None of these policies is deployable: all use true run")
    assert "Of them, srtf † has the lowest mean JCT in this trace" in line


def test_a_policy_with_predictions_that_are_no_truth_could_be_deployed():
    trace = gs.generate("philly", 200, seed=1)
    cluster = gs.Cluster.uniform(64, 8)
    for predictor, is_clairvoyant in (("oracle", True), ("noise", True), ("group-mean", False)):
        found = compare(trace, cluster, ["srtf", "sjf"], predictor=predictor)
        (line,) = headline(found)
        assert line.startswith("None of these") == is_clairvoyant, predictor


def test_the_headline_bounds_the_deadlines_met():
    # On one GPU the first meets one of three deadlines, the second two, and nobody all.
    trace = gs.Trace.from_columns([0, 0, 0], [8, 1, 4], [1, 1, 1], deadline_s=[20, 3, 2])
    _, line = headline(compare(trace, gs.Cluster.uniform(1, 1), ["fifo", "sjf"]))
    assert line == (
        "fifo, the only deployable one of these, has the most deadlines met: 33.3%. "
        "No schedule of these jobs meets more than 66.7%. "
        "sjf †, which uses true run times, meets 66.7%."
    )


def test_nothing_is_said_of_jobs_that_never_finish():
    trace = gs.Trace.from_columns([0.0, 1.0], [5.0, 5.0], [64, 64])
    found = compare(trace, gs.Cluster.uniform(1, 8), ["fifo", "sjf"])
    assert headline(found) == headline(found.select(("fifo",))) == []
    assert "2 jobs rejected" in render_report(found)


def rows_of(page: str, by: str) -> dict[str, list[str]]:
    """Return the cells of each group of a table."""
    table = page.split(f"<summary>Waits by {by}</summary>")[1].split("</table>")[0]
    found = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table)
    return {name: re.findall(r"<td[^>]*>(.*?)</td>", cells) for name, cells in found}


@pytest.fixture(scope="module")
def compared() -> Comparison:
    types = gs.Cluster((gs.ServerGroup(2, 8, "V100"), gs.ServerGroup(2, 8, "A100")))
    trace = gs.generate("philly", 600, load=1.2, cluster=types, seed=2)
    return gs.compare(trace, types, ["fifo", "srtf"])


@pytest.mark.parametrize(
    ("by", "title"),
    [("gpus", "number of GPUs"), ("queue", "queue"), ("type", "GPU type of the job")],
)
def test_a_table_has_the_percentiles_of_each_group_under_each_policy(compared, by, title):
    rows = rows_of(wait_tables(compared), title)
    for number, (label, result) in enumerate(compared.results.items()):
        frame = result.by(by)
        assert set(rows) >= set(frame[by].to_list()), label
        for row in frame.iter_rows(named=True):
            waits = (row[f"p{percent}_wait_s"] for percent in (50, 95, 99))
            wanted = " / ".join(duration(wait) if wait else "0" for wait in waits)
            assert rows[row[by]][1 + number] == wanted
    counts = compared.by(by).group_by(by).agg(low=pl.col("num_jobs").min(), high=pl.max("num_jobs"))
    for name, low, high in counts.iter_rows():
        assert rows[name][0].replace(",", "") == (str(low) if low == high else f"{low}-{high}")


def test_what_all_jobs_share_has_no_table_and_many_users_are_cut():
    users = [f"<u{index % 50}>" for index in range(100)]
    trace = gs.Trace.from_columns(range(100), [60] * 100, [8] * 100, user=users)
    page = wait_tables(gs.compare(trace, gs.Cluster.uniform(2, 8), ["fifo"]))
    assert len(rows_of(page, "user")) == MOST_GROUPS
    assert "20 more with less GPU time are not shown." in page
    assert "<u1>" not in page
    assert "&lt;u1&gt;" in page
    for absent in ("queue", "group", "GPU type", "month"):
        assert f"Waits by {absent}" not in page


class Idle(gs.Scheduler):
    """Starts nothing."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None: ...


@pytest.mark.filterwarnings("ignore::gpusched.RunWarning")
def test_a_group_of_which_no_job_finished_has_no_waits():
    trace = gs.Trace.from_columns([0, 1], [60, 60], [8, 8], queue=["a", "b"])
    compared = gs.compare(trace, gs.Cluster.uniform(1, 8), ["fifo", Idle()])
    assert rows_of(wait_tables(compared), "queue")["b"] == ["1", "59 s / 59 s / 59 s", "-"]


TRACE = gs.Trace.from_columns([0.0, 1.0, 2.0], [5.0, 4.0, 3.0], [1, 2, 1])
CLUSTER = gs.Cluster.uniform(1, 2)


def test_policies_that_depart_from_what_was_published_are_marked():
    compared = gs.compare(TRACE, CLUSTER, ["fifo", "srtf", "themis-greedy"])
    names = [policy_name(label, result) for label, result in compared.results.items()]
    assert names == ["fifo", "srtf †", "themis-greedy †≈"]
    said = [note for note in footnotes(compared) if note.startswith("≈")]
    assert said[0] == "≈ default parameters deviate from the publication"
    assert said[1:] == [f"≈ themis-greedy: {gs.policies()['themis-greedy'].differs}"]
    assert not any("≈" in note for note in footnotes(compared.select(("fifo", "srtf"))))


def test_tables_of_the_report_have_the_same_marks():
    compared = gs.compare(TRACE, CLUSTER, ["fifo", "srtf", "themis-greedy", "gandiva"])
    shown = [policy_html(label, result) for label, result in compared.results.items()]
    plain = [re.sub("<[^>]*>", "", name).replace("&nbsp;", " ") for name in shown]
    assert plain == [policy_name(label, result) for label, result in compared.results.items()]
    assert [re.findall('title="([^"]*)"', name)[-1:] for name in shown[2:]] == [
        ["default parameters deviate from the publication"]
    ] * 2


def test_what_differs_is_said_once_for_each_policy():
    compared = gs.compare(TRACE, CLUSTER, ["optimus:period_s=0", "chronus", "optimus:period_s=60"])
    said = [note.partition(":")[0] for note in footnotes(compared) if note.startswith("≈ ")]
    assert said[1:] == ["≈ optimus", "≈ chronus"]


def test_the_approximations_are_those_that_say_what_differs():
    approximate = {name for name, info in gs.policies().items() if info.has("approximate")}
    assert approximate == {name for name, info in gs.policies().items() if info.differs}
    assert {"allox", "chronus", "optimus", "themis-greedy"} <= approximate


def test_a_policy_of_python_that_says_what_differs_is_an_approximation():
    class Lazy(gs.Order):
        """First come, first served, more or less."""

        differs = "It is lazier than that of the paper."

        def rank(self, view, jobs):
            return view.submit_s[jobs]

    info = describe(Lazy, "order", "lazy")
    assert info.has("approximate")
    assert info.differs == Lazy.differs
