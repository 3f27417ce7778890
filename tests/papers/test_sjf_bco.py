"""The reproduction of SJF-BCO: its workload, its statistics, a short run, and how it reads."""

import json
import math
import sys
from itertools import compress

import numpy as np
import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.base.tables import table
from gpusched.cli import app
from gpusched_papers import intervals, sjf_bco
from gpusched_papers import registry as papers
from gpusched_papers.sjf_bco import BASE, ESTIMATE_ERROR, MAIN, PAPER, SjfBco, Summary, reproduce
from gpusched_papers.study import Interrupted, running
from tests.each import each
from tests.papers.patching import patch_paper


@pytest.fixture(scope="module")
def short():
    """The main comparison on two seeds."""
    with running("threads:2"):
        return reproduce(seeds=2, quick=True, exact=False, progress=lambda *_: None)


def drawn(seed: int = 3, servers: int = 20) -> sjf_bco.Instance:
    return sjf_bco.instance(seed, servers, sjf_bco.CALIBRATION)


def test_the_workload_has_the_published_counts_and_ranges():
    trace, cluster = drawn().trace, drawn().cluster
    widths, counts = np.unique(trace.gpus, return_counts=True)
    assert dict(zip(widths.tolist(), counts.tolist(), strict=True)) == sjf_bco.JOBS_OF_WIDTH
    assert len(trace) == 160
    assert trace.submit_us.max() == 0
    assert trace.service_s.min() >= 50
    assert trace.service_s.max() <= 300
    assert set(cluster.server_gpus.tolist()) <= {4, 8, 16, 32}
    iterations = trace.service_s / drawn().iteration_s
    assert 1000 <= iterations.min() <= iterations.max() <= 6000.001


@each("width", sorted(sjf_bco.JOBS_OF_WIDTH))
def test_a_job_alone_takes_its_service_in_the_core(width):
    one = drawn()
    job = int(np.flatnonzero(one.trace.gpus == width)[0])
    result = gs.simulate(
        one.trace.filter(np.arange(len(one.trace)) == job),
        one.cluster,
        policy="sjf-bco:mode=queue,kappa=32",
        speed=sjf_bco.CALIBRATION.speed,
        contention=sjf_bco.CALIBRATION.contention,
    )
    assert result.schedule.held_us[0] == pytest.approx(one.trace.service_us[job], abs=1)


def test_one_seed_gives_the_same_jobs_on_any_number_of_servers():
    few, many = drawn(servers=10), drawn(servers=20)
    np.testing.assert_array_equal(few.trace.service_us, many.trace.service_us)
    np.testing.assert_array_equal(few.trace.gpus, many.trace.gpus)
    np.testing.assert_array_equal(few.cluster.server_gpus, many.cluster.server_gpus[:10])
    assert (drawn(seed=4).trace.service_us != many.trace.service_us).any()


@pytest.mark.parametrize(("degrees", "expected"), [(1, 12.706), (5, 2.571), (19, 2.093)])
def test_means_have_the_quantiles_of_student_s_tables(degrees, expected):
    values = np.arange(degrees + 1.0)
    error = values.std(ddof=1) / math.sqrt(degrees + 1)
    assert intervals.mean(values).half_width / error == pytest.approx(expected, abs=0.0005)


def test_a_paired_reduction_ignores_what_is_common_to_the_pairs():
    baseline = np.array([100.0, 200.0, 400.0])
    found = intervals.reduction(0.9 * baseline, baseline)
    assert found.value == pytest.approx(0.1)
    assert found.half_width == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(intervals.mean([1.0]).half_width)
    with pytest.raises(ValueError, match="at least one is needed"):
        intervals.mean([])


def test_the_published_reductions_follow_from_the_published_makespans():
    found = [
        round(100 * sjf_bco.reduction(name, servers), 1)
        for name in sjf_bco.BASELINES
        for servers in sjf_bco.SERVERS
    ]
    assert found == [19.1, 17.8, 10.1, 33.1, 25.8, 25.6, 36.9, 43.3, 52.6]
    assert sjf_bco.KAPPA_MAKESPAN[8] == sjf_bco.MAKESPAN["sjf-bco"][20]


def test_the_order_of_the_policies_and_the_lower_bound_hold(short):
    summary = Summary(short.runs, BASE.name)
    for servers in sjf_bco.SERVERS:
        makespan_s = [summary.makespan(name, servers).value for name in sjf_bco.POLICIES]
        assert makespan_s == sorted(makespan_s)
        assert summary.over_bound("sjf-bco", servers).max() < 1.5
    assert all(run.lower_bound_s <= run.makespan_s for run in short.runs)


def test_contention_and_overhead_stay_within_the_published_limit(short):
    lost = [run.lost_to_contention + run.lost_to_overhead for run in short.runs]
    assert 0.05 < max(lost) <= sjf_bco.MOST_LOST


def test_more_servers_are_never_slower_and_sjf_bco_takes_its_best_kappa(short):
    chosen = {
        (run.reading, run.seed, run.servers): run.makespan_s
        for run in short.runs
        if run.policy == "sjf-bco"
    }
    for how in (reading.name for reading in MAIN):
        for seed in (0, 1):
            assert chosen[how, seed, 10] > chosen[how, seed, 15] > chosen[how, seed, 20]
            kappa_runs = [run for run in short.kappa_runs if (run.reading, run.seed) == (how, seed)]
            assert chosen[how, seed, 20] == min(run.best_s for run in kappa_runs)
            assert all(run.best_s <= run.tightest_s for run in kappa_runs)


def test_by_the_paper_s_rules_caps_are_their_own_and_all_packed_is_ls(short):
    paper = {
        (run.policy, run.seed): run
        for run in short.runs
        if run.reading == PAPER.name and run.servers == 20
    }
    for seed in (0, 1):
        whole_s = drawn(seed).trace.service_s.sum() / ESTIMATE_ERROR
        assert paper["rand", seed].theta_s == pytest.approx(whole_s, abs=1e-5)
        assert paper["ff", seed].theta_s != paper["ls", seed].theta_s < whole_s / 10
        widest = next(
            run
            for run in short.kappa_runs
            if (run.reading, run.seed, run.kappa) == (PAPER.name, seed, 32)
        )
        assert widest.tightest_s == paper["ls", seed].makespan_s


def test_curves_have_an_instance_for_each_kappa_and_one_for_all_lambdas():
    runs = sjf_bco.run_curves(0, PAPER)
    by_kappa = sjf_bco.points(runs, PAPER, "kappa")
    assert list(by_kappa) == sorted(sjf_bco.KAPPA_MAKESPAN)
    assert by_kappa[8] != by_kappa[10]  # which pack alike
    by_lambda = sjf_bco.points(runs, PAPER, "lambda")
    assert list(by_lambda) == sorted(sjf_bco.LAMBDA_MAKESPAN)
    alone = sjf_bco.least_makespan_s(drawn(0), PAPER, 1)
    assert by_lambda[1] == [alone]


def test_chances_are_those_of_all_curves():
    flat = {kappa: [500.0] for kappa in sjf_bco.KAPPA_MAKESPAN}
    assert sjf_bco.chance(flat) == sjf_bco.Chance(0.0, 0.0, 0.0, 0.0)
    as_published = {kappa: [float(value)] for kappa, value in sjf_bco.KAPPA_MAKESPAN.items()}
    assert sjf_bco.chance(as_published) == sjf_bco.Chance(1.0, 1.0, 1.0, 1.0)
    half = as_published | {32: [736.0, 600.0]}
    assert sjf_bco.chance(half).as_high == pytest.approx(0.5, abs=0.01)
    assert sjf_bco.chance(half).is_u == 1.0


def test_a_paper_s_figure_stands_beside_both_of_ours(short):
    found = [(one.claim.key, one.what) for one in short.comparisons()]
    assert {what for key, what in found if key == "below-ff-20"} == {one.name for one in MAIN}
    assert ("lambda-falls", "") not in found  # a quick run has no curves
    widest = next(one for one in short.comparisons() if one.claim.key == "kappa-widest")
    assert widest.mean is not None
    assert widest.mean.value <= 0 < widest.claim.value
    assert widest.verdict == "weaker"


def test_the_anchor_is_met_by_the_core_to_the_microsecond():
    solved = {anchor.model: anchor for anchor in sjf_bco.anchors()}
    reference = solved["resnet50, batch 64"]
    assert reference.alone_s == pytest.approx(295.0, abs=2e-6)
    assert reference.together_s == pytest.approx(675.0, abs=1e-5)
    assert reference.degradation == pytest.approx(sjf_bco.CALIBRATION.degradation, abs=0.005)
    for anchor in solved.values():
        fits = anchor.ring_share <= sjf_bco.LARGEST_RING_SHARE
        assert (anchor.degradation >= 0) == fits
        assert math.isnan(anchor.alone_s) != fits


def test_a_paper_needs_two_seeds_and_a_known_name():
    with pytest.raises(ValueError, match="seeds: 1 must be at least 2"):
        papers.paper("sjf-bco").reproduce(seeds=1)
    with pytest.raises(ValueError, match=r"unknown paper 'sjf-bc'.*sjf-bco"):
        papers.paper("sjf-bc")
    with pytest.raises(ValueError, match="does not have 2 cells"):
        table("title", ("a", "b"), [("1",)])


def test_an_interrupt_keeps_the_seeds_that_were_done(short, monkeypatch):
    def interrupted(_: str, run: object, tasks: list, *rest: object, **more: object) -> object:
        for task in tasks:
            seed, servers, reading = task
            if seed == 2:
                raise KeyboardInterrupt
            mine = (seed, servers, reading.name)
            runs = [one for one in short.runs if (one.seed, one.servers, one.reading) == mine]
            by_kappa = [(one.seed, 20, one.reading) == mine for one in short.kappa_runs]
            yield task, (runs, list(compress(short.kappa_runs, by_kappa)))

    patch_paper(monkeypatch, "sjf_bco", run_stage=interrupted)
    with pytest.raises(Interrupted) as interruption:
        reproduce(seeds=5, quick=True, exact=False, progress=lambda *_: None)
    kept = interruption.value.reproduction
    assert isinstance(kept, SjfBco)
    assert kept.runs == short.runs
    assert [table.title for table in kept.tables()] == [table.title for table in short.tables()]


def test_the_files_hold_all_runs(short, tmp_path):
    pytest.importorskip("vl_convert")
    files = short.write(tmp_path)
    assert all(path.stat().st_size > 0 for path in files)
    read = json.loads((tmp_path / "results.json").read_text())
    assert len(read["runs"]) == len(short.runs) == 2 * 2 * 3 * 4
    assert "| sjf-bco |" in (tmp_path / "tables.md").read_text()


def test_the_command_prints_tables_or_json(monkeypatch, short):
    monkeypatch.setattr(papers.Paper, "reproduce", lambda *_, **__: short)
    shown = CliRunner().invoke(app, ["reproduce", "sjf-bco", "--quick"])
    assert shown.exit_code == 0
    assert "Figure 4" in shown.stdout
    assert "535" in shown.stdout
    plain = CliRunner().invoke(app, ["reproduce", "sjf-bco", "--quick", "--json"])
    assert json.loads(plain.stdout)["published"]["mean-jct-ff"]["value"] == 452
    assert "sjf-bco" in CliRunner().invoke(app, ["reproduce"]).stdout
    assert CliRunner().invoke(app, ["reproduce", "shockwave"]).exit_code == 2


def test_figures_without_vl_convert_name_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    out = ["--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, ["reproduce", "sjf-bco", "--quick", *out])
    assert refused.exit_code == 2
    assert "gpusched-core[plot]" in refused.output
    assert not (tmp_path / "out").exists()
