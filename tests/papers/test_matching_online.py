"""The study of the policy matching online, on workloads as small as can be."""

import dataclasses

import numpy as np
import pytest

import gpusched as gs
from gpusched_papers.matching_online import (
    ALLOX,
    ARMS,
    ELASTIC,
    FIFO,
    GAVEL,
    LARGE,
    LOADS,
    OWN,
    PAIRS,
    PLACEMENTS,
    RESTART_S,
    SEEDS,
    SERVICE,
    SMALL,
    SPEEDS,
    TUNED,
    WORKLOADS,
    Arm,
    Online,
    OnlineRun,
    Setting,
    Summary,
    capacity,
    finish_time_fairness,
    reproduce,
    requests,
    run_arms,
    workload,
)
from gpusched_papers.study import running
from gpusched_papers.unequal_gpus import GENERATED_ITP, MAX_GPUS, jobs_of
from tests.papers.patching import patch_paper
from tests.unit.real_data import DATA, needs_real_data

TINY = dataclasses.replace(SMALL, jobs=20)


def fake_run(setting: Setting, arm: Arm, seed: int, mean_jct_s: float) -> OnlineRun:
    numbers = dict.fromkeys(
        ("p99_jct_s", "mean_service_s", "mean_wait_s", "mean_slower_s", "fairness", "allocation",
         "preemptions", "resizes", "decision_s", "run_s"), 1.0
    )  # fmt: skip
    facts = {"place": setting.place.name, "workload": setting.workload.name, "load": setting.load}
    facts |= {"speed": setting.speed, "placement": setting.placement, "arm": arm.name}
    facts |= {"policy": arm.policy, "seed": seed, "jobs": setting.place.jobs}
    return OnlineRun(**(numbers | facts | {"mean_jct_s": mean_jct_s}))


@pytest.fixture(scope="module")
def made_up():
    """All settings: matching takes 0.9 of gavel's mean JCT on each seed, and 1.05 of allox's."""
    found = Online()
    for setting, arms in requests(quick=False).items():
        for arm in arms:
            part = {OWN: 0.9, ALLOX: 0.9 / 1.05}.get(arm, 1.0)
            found.runs[setting, arm] = [
                fake_run(setting, arm, seed, part * 3600 * 2**row)
                for row, seed in enumerate(SEEDS[:5])
            ]
    return found


def nothing(*_: object) -> None:
    pass


def test_no_seed_is_reported_on_which_anything_was_tuned():
    assert len(SEEDS) >= 5
    assert not set(SEEDS) & set(TUNED)


def test_every_setting_has_the_policies_that_are_compared():
    wanted = requests(quick=False)
    for speed in SPEEDS:
        for of in WORKLOADS:
            for load in LOADS:
                arms = set(wanted[Setting(of, load, speed)])
                assert {ELASTIC, OWN, ALLOX} <= arms
                assert GAVEL in arms or (speed != SPEEDS[0] and load != 1.0)
    assert any(setting.place == LARGE for setting in wanted)
    assert {setting.placement for setting in wanted} == set(PLACEMENTS)
    assert all(ours.keeps_widths for ours, theirs in PAIRS if theirs == ALLOX and ours == OWN)


def test_intervals_are_of_pairs(made_up):
    # Seeds differ by a factor of 16, pairs not at all.
    summary = Summary(made_up.runs)
    setting = summary.main()[0]
    less = summary.reduction(setting, OWN, GAVEL)
    assert less.value == pytest.approx(0.1)
    assert less.half_width == pytest.approx(0.0, abs=1e-12)
    assert summary.mean(setting, OWN).half_width > summary.mean(setting, OWN).value


def test_the_tables_tell_who_is_ahead_who_is_not_and_what_is_missing(made_up):
    tables = dataclasses.replace(made_up, missing=("x/y.csv",)).tables()
    assert "x/y.csv" in tables[0].notes[-1]
    tally = {row[:2]: row[2:] for row in tables[0].texts}
    settings = len(Summary(made_up.runs).main())
    ran = sum(
        GAVEL in arms for s, arms in requests(quick=False).items() if s.placement == "consolidated"
    )
    assert tally["matching own", "gavel"] == ("10.0", f"{ran} / 0 / 0", "10.0", "10.0")
    assert tally["matching own", "allox"][:2] == ("-5.0", f"0 / 0 / {settings}")
    assert len(tables[1].texts) == settings
    assert tables[1].texts[0][1] == "10.0 ± 0.0 %"
    titles = " ".join(table.title for table in tables)
    assert all(of.name in titles for of in WORKLOADS)
    assert tables[2].texts[-1][0] == SERVICE
    assert [row[1] for row in tables[2].texts if row[0] == "gavel"] == ["6.20 ± 7.57"]


def test_without_the_tables_nothing_is_run(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSCHED_DATA", str(tmp_path))
    found = reproduce(seeds=2, quick=False, exact=False, progress=nothing)
    assert isinstance(found, Online)
    assert found.missing == ("gavel/simulation_throughputs.json",)
    assert found.tables() == found.rows() == []
    assert found.figures() == {}


def test_fairness_is_the_time_over_that_in_an_equal_share():
    # Two jobs share the time on one GPU: alone each takes 10 s, in half of it 20 s.
    samples = {"V100": 1.0, "P100": 1.0, "K80": 1.0}
    profile = gs.model.JobProfile(
        "p", throughput={"V100": {1: 1.0}}, samples_per_s=samples, global_batch=1
    )
    trace = gs.Trace.from_columns([0, 0], [10, 10], [1, 1], profiles=[profile], profile=[0, 0])
    cluster = gs.Cluster.uniform(servers=1, gpus=1, gpu_type="V100")
    result = gs.simulate(trace, cluster, policy="fifo", speed="table")
    # The first: 10 s, two jobs all the while. The second: 20 s, 1.5 jobs on average.
    np.testing.assert_allclose(finish_time_fairness(result), [10 / 20, 20 / 15])


class TestWithData:
    @pytest.fixture(autouse=True)
    def _data(self, monkeypatch):
        monkeypatch.setenv("GPUSCHED_DATA", str(DATA))

    @pytest.mark.parametrize("of", WORKLOADS, ids=lambda of: of.name)
    def test_jobs_are_as_the_setting_says(self, of):
        jobs, others = (workload(Setting(of, 1.4, place=TINY), seed) for seed in SEEDS[:2])
        assert len(jobs) == len(others) == 20
        assert jobs.gpus.max() <= MAX_GPUS
        assert 0.3 < capacity(jobs) < 1
        assert jobs.offered_load(48) == pytest.approx(1.4 * capacity(jobs), rel=1e-3)
        assert jobs.restart_us is not None
        assert set(jobs.restart_us.tolist()) == {RESTART_S * 1e6}
        assert not np.array_equal(jobs.service_us, others.service_us)

    @needs_real_data
    @pytest.mark.parametrize("of", [of for of in WORKLOADS if of.trace], ids=lambda of: of.name)
    def test_windows_of_seeds_overlap_only_where_the_trace_is_too_short(self, of):
        rows = [workload(Setting(of), seed).row for seed in SEEDS]
        wanted = min(len(SEEDS) * SMALL.jobs, len(jobs_of(of)))
        assert len(np.unique(np.concatenate(rows))) == wanted

    def test_time_adds_up_to_the_jct(self):
        for run in run_arms(Setting(GENERATED_ITP, place=TINY), (OWN, ELASTIC, FIFO), SEEDS[0]):
            parts = run.mean_service_s + run.mean_wait_s + run.mean_slower_s
            assert parts == pytest.approx(run.mean_jct_s, rel=1e-6)
            assert 1 / run.jobs <= run.fairness <= 1

    def test_a_quick_study_has_every_policy(self, monkeypatch):
        wanted = {
            dataclasses.replace(setting, place=TINY): arms
            for setting, arms in requests(quick=True).items()
        }
        patch_paper(monkeypatch, "matching", requests=lambda _: wanted)
        with running("threads:1"):  # where the patches are
            found = reproduce(seeds=2, quick=True, exact=False, progress=nothing)
        assert {setting.speed for setting, _ in found.runs} == set(SPEEDS)
        for speed in SPEEDS:
            assert {arm for setting, arm in found.runs if setting.speed == speed} == set(ARMS)
        assert all(len(runs) == 2 for runs in found.runs.values())
        assert found.missing == ()
        if pytest.importorskip("vl_convert"):
            assert list(found.figures()) == ["online.png"]
