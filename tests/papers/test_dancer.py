"""The study of Dancer, on workloads as small as can be."""

import dataclasses
import json
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest

from gpusched_papers import unequal_gpus as workloads
from gpusched_papers.dancer import (
    ARMS,
    COMPARED,
    DANCER,
    EDF,
    FIRST_SEED,
    GAVEL_DEADLINES,
    LARGE,
    LOADS,
    MIDDLE,
    ONE_TAKEN_AWAY,
    ORDERED,
    PINNED,
    PLAIN,
    SERIES,
    SMALL,
    TAKEN_AWAY,
    TUNING_SEEDS,
    WORKLOADS,
    Dancer,
    Gap,
    Run,
    Setting,
    Summary,
    gap,
    requests,
    run_arms,
    workload,
)
from gpusched_papers.unequal_gpus import GENERATED_ITP, MAX_GPUS, Workload
from tests.papers.patching import patch_paper
from tests.unit.real_data import DATA

TINY = dataclasses.replace(SMALL, jobs=30)


def fake_run(setting: Setting, arm: str, seed: int, dsr: float) -> Run:
    facts = {"dsr": dsr, "bound": 0.8, "seed": seed, "arm": arm, "jobs": setting.place.jobs}
    facts |= {"admitted": dsr, "broken": 0.01} if arm.startswith("dancer") else {}
    names = {"place": setting.place.name, "workload": setting.workload.name}
    texts = ("recipe", "tightness", "slot_s", "restart_s", "error", "policy", "bound_name")
    blank = dict.fromkeys((*texts, "admitted", "broken"))
    numbers = dict.fromkeys(
        ("mean_jct_s", "changes", "utilisation", "decision_s", "run_s", "load"), 1.0
    )
    return Run(**(blank | numbers | names | facts))


@pytest.fixture(scope="module")
def study():
    """All settings, with made-up figures."""
    found = Dancer(gaps=[Gap(seed, 10, 10.0, 11.5, 11, {"dancer": 9}) for seed in range(2)])
    for setting, arms in requests(quick=False).items():
        for arm in arms:
            dsr = {DANCER: 0.6, ORDERED: 0.7, ONE_TAKEN_AWAY[0]: 0.8}.get(arm, 0.3)
            found.runs[setting, arm] = [
                fake_run(setting, arm.name, seed, dsr + seed / 100) for seed in range(2)
            ]
    return found


@pytest.fixture(scope="module")
def tables(study):
    """Those of a study from which a workload is missing."""
    return dataclasses.replace(study, missing=(Workload("X", trace="x/y.csv"),)).tables()


def test_every_policy_runs_at_every_load_of_every_workload():
    wanted = requests(quick=False)
    everyone = {*ARMS, *ONE_TAKEN_AWAY, *TAKEN_AWAY}
    for of in WORKLOADS:
        assert set(wanted[Setting(of, MIDDLE)]) == everyone
        for load in LOADS:
            assert everyone - set(wanted[Setting(of, load)]) <= {GAVEL_DEADLINES}
        assert set(COMPARED) <= set(wanted[Setting(of, place=LARGE)])
    for series in SERIES:
        for setting in series.settings.values():
            assert set(series.arms) <= set(wanted[setting])


def test_slots_reach_the_policies_that_have_them():
    setting = Setting(GENERATED_ITP, slot_s=60)
    texts = [arm.text(setting) for arm in (DANCER, PINNED, EDF)]
    assert texts == ["dancer:slot_s=60", "elasticflow:types=pinned,slot_s=60", "edf"]
    assert PINNED.text(Setting(GENERATED_ITP)) == "elasticflow:types=pinned"


def test_the_tables_tell_gains_and_what_is_possible(tables):
    leads, gains, parts = tables[:3]
    assert len(leads.texts) == 16
    assert {row[3:5] for row in leads.texts} == {("elasticflow", "-10.0 ± 0.0")}
    rows = {row[0]: row for row in gains.texts}
    assert list(rows)[: len(COMPARED)] == [arm.name for arm in COMPARED]
    # 0.605 over 0.305, and 0.8 over 0.305.
    assert rows["edf"][1:3] == ("98.4", "162.3")
    assert rows["elasticflow"][1] == "-14.2"
    assert "up to 58.9 to 74.2 %" in gains.notes[0]
    assert {row[0]: row[-1] for row in parts.texts}["elasticflow"] == "0 of 16"
    titles = " ".join(table.title for table in tables)
    assert all(workload.name in titles for workload in WORKLOADS)
    assert all(series.title in titles for series in SERIES)
    errors = next(table for table in tables if "errors" in table.title)
    assert ("dancer: broken promises", *["1.0 ± 0.0"] * 4) in errors.texts
    program = next(table for table in tables if "integer program" in table.title)
    assert program.texts[-1][-1] == "90.0 %"


def test_what_is_ours_is_taken_away_down_to_the_primal_dual_form(tables):
    one, more = (table for table in tables if "taken away" in table.title)
    assert [row[0] for row in one.texts] == ["dancer", *(arm.name for arm in ONE_TAKEN_AWAY)]
    assert [row[0] for row in more.texts] == ["dancer", *(arm.name for arm in TAKEN_AWAY)]
    assert one.texts[0][1:] == ("60.5", "", "0 of 16", "0", "16")  # elasticflow has 70.5
    assert one.texts[1][1:] == ("80.5", "20.0 ± 0.0", "16 of 16", "16", "0")
    assert more.texts[-1] == (PLAIN.name, "30.5", "-30.0 ± 0.0", "0 of 16", "0", "16")


def test_every_step_takes_away_one_addition_more():
    options = [set(arm.policy.partition(":")[2].split(",")) for arm in TAKEN_AWAY[:-1]]
    assert [len(some) for some in options] == [1, 2, 3, 4, 5]
    assert all(some < others for some, others in pairwise(options))
    assert {arm.policy.partition(":")[2] for arm in ONE_TAKEN_AWAY} == options[-1]
    assert PLAIN.policy == "dancer:preset=theory"


def test_the_seeds_that_are_told_are_not_those_on_which_the_policy_was_made():
    assert max(TUNING_SEEDS) < FIRST_SEED


@pytest.mark.long
def test_tables_figures_and_results_are_written(study, tmp_path):
    pytest.importorskip("vl_convert")
    few = {pair: runs for pair, runs in study.runs.items() if pair[1] in (DANCER, ORDERED, EDF)}
    quick = Dancer({pair: runs for pair, runs in few.items() if pair[0].place == SMALL})
    files = {path.name for path in quick.write(tmp_path)}
    assert {"load.png", "tables.md", "runs.csv", "results.json"} <= files
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(results["runs"]) == 2 * len(quick.runs)
    assert results["runs"][0]["gap"] == pytest.approx(0.8 / 0.6 - 1)


def test_what_is_missing_is_left_out_and_said(tables):
    assert "x/y.csv" in tables[0].notes[-1]


class TestWithData:
    @pytest.fixture(autouse=True)
    def _data(self, monkeypatch):
        monkeypatch.setenv("GPUSCHED_DATA", str(DATA))

    @pytest.mark.parametrize("of", WORKLOADS, ids=lambda of: of.name)
    def test_jobs_are_as_the_setting_says(self, of):
        setting = Setting(of, 2.0, TINY, recipe="constant", tightness=2.0, restart_s=7.0)
        jobs, others = workload(setting, 0), workload(setting, 1)
        assert len(jobs) == len(others) == 30
        assert jobs.gpus.max() <= MAX_GPUS
        assert jobs.offered_load(48) == pytest.approx(2.0, rel=1e-3)
        assert jobs.deadline_us is not None
        assert (jobs.deadline_us - jobs.submit_us == 2 * jobs.service_us).all()
        assert jobs.restart_us is not None
        assert set(jobs.restart_us.tolist()) == {7_000_000}
        assert not np.array_equal(jobs.service_us, others.service_us)

    def test_errors_are_within_bounds_and_not_known_to_the_run(self):
        jobs = workload(Setting(GENERATED_ITP, place=TINY, error=0.2), 0)
        assert jobs.estimate_us is not None
        wrong = jobs.estimate_us / jobs.service_us - 1
        assert 0.1 < np.abs(wrong).max() <= 0.2 + 1e-6
        without = workload(Setting(GENERATED_ITP, place=TINY), 0)
        assert np.array_equal(jobs.service_us, without.service_us)

    def test_runs_are_the_same_in_any_process_and_below_the_bound(self):
        task = (Setting(GENERATED_ITP, place=TINY), (DANCER, EDF), 0)
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            again = pool.submit(run_arms, *task).result()
        runs = run_arms(*task)
        assert [run.dsr for run in runs] == [run.dsr for run in again]
        assert all(0 <= run.dsr <= run.bound <= 1 and run.gap >= 0 for run in runs)
        assert runs[0].broken == 0
        assert runs[1].admitted is None

    def test_nothing_passes_the_bound_where_slots_are_solved_exactly(self, monkeypatch):
        pytest.importorskip("scipy")
        patch_paper(monkeypatch, "dancer", NUM_JOBS=7, WITHIN_SLOTS=4)
        for seed in range(2):
            one = gap(seed)
            assert one.optimum <= one.proven + 1e-6 <= one.relaxed + 2e-6
            assert max(one.optimum, one.met["dancer"]) <= one.bound

    def test_quick_is_one_generated_workload(self):
        assert {setting.workload for setting in requests(quick=True)} == {GENERATED_ITP}
        assert workloads.absent(WORKLOADS) == ()


def test_the_summary_knows_the_main_settings(study):
    main = Summary(study.runs).main()
    assert len(main) == len(set(main)) == 4 * len(LOADS) + 4
