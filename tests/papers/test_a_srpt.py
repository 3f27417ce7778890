"""The study of A-SRPT: its workload, shared predictions, and a tiny run of everything."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched_papers import a_srpt
from gpusched_papers.a_srpt import (
    A_SRPT,
    BASELINES,
    BY_WORK,
    Place,
    Setting,
    Summary,
    reproduce,
    run_arms,
)
from gpusched_papers.study import running
from tests.papers.patching import patch_paper


def jct(run: Any) -> float:
    return float(run.mean_jct_s)


TINY = Place("2 x 4", 2, 4, 10.0, 96.0, 70)


@pytest.fixture(scope="module")
def tiny():
    """All runs of two seeds, on few jobs and without the real traces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUSCHED_DATA", "/nowhere")
        for name in ("TESTBED", "LARGE"):
            small = dataclasses.replace(TINY, name=f"tiny {name}, 10 Gbit/s")
            patch_paper(patch, "a_srpt", **{name: small})
        patch_paper(patch, "a_srpt", OTHERS=(), PROFILES=(), HEAVY_SHARES=(0.5, 1.0), NOISES=(1.0,))
        with running("threads:1"):  # where the patches are
            found = reproduce(seeds=2, quick=False, exact=False, progress=lambda *_: None)
        yield found


def test_the_jobs_have_the_load_and_no_more_gpus_than_the_paper():
    trace = a_srpt.workload(a_srpt.LARGE, 0.8, None, 1)
    assert trace.gpus.max() == 32
    limits = gs.bounds.iteration_limits(trace, a_srpt.LARGE.cluster())
    run_s = trace.service_s * limits["min"] / limits["low"]
    span_s = trace.submit_s[-1] - trace.submit_s[0]
    assert float(np.dot(trace.gpus, run_s)) / (512 * span_s) == pytest.approx(0.8, rel=1e-3)


def test_all_policies_get_the_predictions_of_the_run_of_a_srpt_by_work():
    setting = Setting(TINY)
    ours, theirs = run_arms(setting, (BY_WORK, BASELINES[0]), 0)
    assert ours.r2_log is not None
    assert (theirs.r2_log, theirs.rank_correlation) == (ours.r2_log, ours.rank_correlation)
    own = dataclasses.replace(setting, shares_predictions=False)
    (alone,) = run_arms(own, (BY_WORK,), 0)
    assert alone.mean_jct_s == ours.mean_jct_s  # to record changes nothing


def test_one_thing_is_changed_at_a_time():
    for base in (BY_WORK, A_SRPT):
        texts = {(arm.policy, arm.placement) for arm in a_srpt.ablations(base)}
        assert len(texts) == len(a_srpt.ablations(base))
        assert (base.policy, base.placement) not in texts
        assert gs.Policy.parse(a_srpt.by_tau(base, 2.0).policy).parameters["tau"] == 2.0


@pytest.mark.long
def test_no_run_beats_the_bound_and_every_seed_is_there(tiny):
    for runs in tiny.runs.values():
        assert [run.seed for run in runs] == [1000, 1001]
        assert all(run.completion_ratio >= 1 for run in runs)


@pytest.mark.long
def test_the_best_baseline_has_the_least_mean(tiny):
    summary = Summary(tiny.runs)
    setting = next(iter(summary.settings()))
    best = summary.best(setting, BASELINES)
    means = [summary.mean(setting, arm, jct).value for arm in BASELINES]
    assert summary.mean(setting, best, jct).value == min(means)
    below = summary.below(setting, best, best, jct)
    assert (below.value, below.half_width) == (0.0, 0.0)
    assert summary.closed(dataclasses.replace(setting, predictor="oracle", contention="none"),
                          a_srpt.SRTF) == 1.0  # fmt: skip


@pytest.mark.long
def test_tables_figures_and_results_are_written(tiny, tmp_path):
    pytest.importorskip("vl_convert")
    files = {path.name for path in tiny.write(tmp_path)}
    assert files >= {"policies.png", "tables.md", "runs.csv", "results.json"}
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(results["runs"]) == 2 * len(tiny.runs)
    markdown = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert "Left out: itp/cluster02.csv" in markdown
    assert "a-srpt-by-work: tau=0" in markdown
