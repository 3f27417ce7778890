"""The study of matching markets: its baselines, and a tiny run of everything."""

import dataclasses
import json

import numpy as np
import pytest

from gpusched_papers.matching import (
    BASELINES,
    DRAWS,
    MEASURED,
    OURS,
    count,
    draw,
    drawn,
    num_best,
    reproduce,
    theory,
)
from gpusched_papers.matching_online import ARMS, Online, Setting
from gpusched_papers.study import running
from gpusched_papers.unequal_gpus import GENERATED_ITP
from tests.each import each
from tests.papers.patching import patch_paper
from tests.papers.test_matching_online import fake_run
from tests.unit.real_data import needs_real_data


@pytest.fixture(scope="module")
def tiny():
    """All runs of two seeds on small instances."""
    with pytest.MonkeyPatch.context() as patch:
        patch_paper(
            patch, "matching",
            MAIN=(3, 8), SIZES=((3, 8), (3, 9)), TIMED=((3, 8), (4, 10)), ENUMERATED=((3, 8),),
            SWEPT=(1, 59), COVERED=((3, 8),), COVERED_DRAWS=2, CLUSTERS=((4, 4),),
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as data, running("threads:1"):  # where the patches are
            # What is run online has tests of its own. Tests that need data come while this lasts.
            data.setenv("GPUSCHED_DATA", "/nowhere")
            found = reproduce(seeds=2, quick=False, exact=True, progress=lambda *_: None)
        yield found


@each("name", BASELINES)
def test_a_baseline_gives_every_worker_to_one_job(name):
    for size in ((3, 9), (4, 15)):
        instance = drawn(*size, 0)
        counts = BASELINES[name](instance)
        assert counts.sum(axis=0).tolist() == [1] * instance.num_workers
        assert counts.sum(axis=1).min() >= 1
        assert np.isfinite(instance.mean_s(counts))


def test_nothing_beats_the_proven_optimum(tiny):
    assert {run.seed for run in tiny.runs} == {0, 1}
    for run in tiny.runs:
        assert run.mean_s >= run.optimum_s * (1 - 1e-9), run.arm
        assert not run.bound_s > run.optimum_s * (1 + 1e-9), run.arm


def test_the_program_of_highs_agrees(tiny):
    for check in tiny.checks:
        assert check.milp_bound_s <= check.optimum_s * (1 + 1e-6)
        assert check.milp_bound_s >= check.optimum_s * (1 - 1e-3)
        assert check.milp_s >= check.optimum_s * (1 - 1e-9)


def test_all_categories_take_longer_than_a_few(tiny):
    for timing in tiny.timings:
        assert timing.categories > 1
        assert timing.per_category_s > 0
        assert timing.is_extrapolated == ((timing.jobs, timing.workers) != (3, 8))


def test_tables_figures_and_results_are_written(tiny, tmp_path):
    pytest.importorskip("vl_convert")
    files = {path.name for path in tiny.write(tmp_path)}
    assert files == {"gap.png", "time.png", "tables.md", "runs.csv", "results.json"}
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(results["runs"]) == len(tiny.runs) + len(tiny.large)
    assert len(tiny.tables()) == 9
    assert OURS in (tmp_path / "tables.md").read_text(encoding="utf-8")


def test_without_the_measured_throughputs_the_note_says_so(tiny):
    assert "gavel/simulation_throughputs.json" in tiny.tables()[0].notes[-1]


def test_what_is_run_online_is_written(tiny, tmp_path):
    pytest.importorskip("vl_convert")
    runs = {
        (Setting(GENERATED_ITP), arm): [
            fake_run(Setting(GENERATED_ITP), arm, s, 9.0) for s in (1, 2)
        ]
        for arm in ARMS
    }
    both = dataclasses.replace(tiny, online=Online(runs))
    files = {path.name for path in both.write(tmp_path)}
    assert {"online.png", "online.csv", "runs.csv"} <= files
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(results["online"]) == 2 * len(ARMS)
    assert len((tmp_path / "online.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * len(
        ARMS
    )


def test_theory_is_the_chance_that_not_all_draws_miss():
    # (4, 12): 165 categories, of which 8 are the best 5 %.
    assert num_best(165) == 8
    assert theory(165) == pytest.approx(1 - (157 / 165) ** 59)
    assert round(theory(165), 3) == 0.947
    random = np.random.default_rng(1)
    held = (random.integers(0, 165, size=(20_000, DRAWS)) < 8).any(axis=1)
    assert held.mean() == pytest.approx(theory(165), abs=4 * 0.0016)


@needs_real_data
def test_59_draws_hold_one_of_the_best_as_often_as_theory_says():
    # Where equal shares, which every search begins with, are among the best no draw is needed.
    counted = [count(draw(MEASURED, 4, 12, seed), 50) for seed in range(5000, 5024)]
    open_ones = [one for one in counted if one.is_open]
    samples = sum(one.samples for one in open_ones)
    share, chance = sum(one.hits for one in open_ones) / samples, theory(165)
    assert samples >= 500
    assert abs(share - chance) <= 4 * np.sqrt(chance * (1 - chance) / samples)
    assert all(one.hits == one.samples for one in counted if not one.is_open)
