"""A search from end to end."""

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.progress import Progress
from gpusched.studies.sweep import run_batch
from tests.unit.studies.studies import study, tuned

pytestmark = pytest.mark.long

optuna = pytest.importorskip("optuna", reason="the extra tune is not installed")


def test_search_and_held_out_jobs_stand_side_by_side():
    found = tuned(trials=10)
    assert len(found.trials) == 10
    assert set(found.trials["state"]) == {"finished", "pruned"}
    done = found.trials.filter(state="finished")
    first = done.sort("value", "trial").row(0, named=True)
    assert str(found.best) == first["policy"]
    rows = {row["policy"]: row for row in found.held_out.iter_rows(named=True)}
    best = rows[str(found.best)]
    assert (best["trial"], best["search_value"]) == (first["trial"], first["value"])
    assert found.baseline == "2d-las"
    base = rows[found.baseline]
    assert base["trial"] is None
    assert best["search_ratio"] == pytest.approx(best["search_value"] / base["search_value"])
    held_out = found.runs.runs.group_by("policy", "seed").agg(pl.col("mean_jct_s").mean())
    mine, other = (
        held_out.filter(policy=name).sort("seed")["mean_jct_s"]
        for name in (str(found.best), found.baseline)
    )
    assert best["ratio"] == pytest.approx(gs.studies.ratio(mine, other).value)
    assert found.recommended == found.baseline  # three seeds are too few to be certain
    assert best["num_seeds"] == best["num_pairs"] == 3
    assert sorted(set(found.runs.runs["seed"])) == [3, 4, 5]
    assert found.trials["num_runs"].sum() == sum(2 * len(v) for v in found.trials["values"])
    assert str(found.best) in found.table()
    assert "search: mean JCT" in found.table()
    assert "held out: mean JCT" in found.table()
    assert "<table>" in found._repr_html_()


def test_values_are_those_of_plain_sweeps():
    found = tuned(trials=4, rungs=1)
    for row in found.trials.iter_rows(named=True):
        runs = gs.sweep(study(policies=[row["policy"]])).runs
        assert row["value"] == pytest.approx(runs["mean_jct_s"].mean(), rel=1e-12)
        assert row["num_runs"] == 2
    held_out = gs.sweep(study(policies=[str(found.best)], seeds=[3, 4, 5])).runs["mean_jct_s"]
    assert found.held_out["mean"][0] == pytest.approx(held_out.mean(), rel=1e-12)


def test_a_trial_that_is_pruned_has_seen_short_windows_alone(monkeypatch):
    seen: list[tuple[int, int, str]] = []

    def spied(context: Any, batch: Any) -> Any:
        for _, run in batch.runs:
            policy = context.choices[0][run.choices[0], run.values]
            seen.append((run.recipe.jobs, run.seed, str(policy)))
        return run_batch(context, batch)

    monkeypatch.setattr("gpusched.studies.sweep.run_batch", spied)
    found = tuned(trials=12)
    pruned = found.trials.filter(state="pruned")
    assert len(pruned)
    finished = set(found.trials.filter(state="finished")["policy"])
    for row in pruned.iter_rows(named=True):
        assert len(row["values"]) < 3
        if row["policy"] not in finished:
            assert (90, 1, row["policy"]) not in seen
    # No window is run twice with one policy.
    assert len(seen) == len(set(seen))
    assert {jobs for jobs, seed, _ in seen if seed in (1, 2)} == {10, 30, 90}
    assert {jobs for jobs, seed, _ in seen if seed not in (1, 2)} == {90}


@pytest.mark.parametrize("options", [{}, {"batch": 3}, {"sampler": "random", "pruner": "none"}])
def test_equal_arguments_give_equal_trials(options):
    first, again = tuned(**options), tuned(**options, executor="threads:2")
    assert first.trials.equals(again.trials)
    assert first.held_out.equals(again.held_out)
    other = tuned(**options, seed=1)
    assert not first.trials["policy"].equals(other.trials["policy"])


def test_processes_give_what_threads_do():
    assert tuned(trials=3).held_out.equals(tuned(trials=3, executor="processes:2").held_out)


@pytest.mark.parametrize("pruner", ["hyperband", "none", "halving"])
def test_pruners_by_name(pruner):
    found = tuned(pruner=pruner)
    assert pruner != "none" or set(found.trials["state"]) == {"finished"}


def test_a_sampler_of_optuna_is_taken():
    space = {"policy": "las", "period_s": [10, 60, 600]}
    grid = optuna.samplers.GridSampler({"las period_s": [0, 1, 2]}, seed=0)
    found = tuned(space, sampler=grid, pruner="none", trials=3)
    assert sorted(found.trials["period_s"]) == [10, 60, 600]
    # It says when it has tried all, and the search ends.
    grid = optuna.samplers.GridSampler({"las period_s": [0, 1, 2]}, seed=0)
    assert len(tuned(space, sampler=grid, pruner="none", trials=9).trials) == 3


def test_it_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = tuned(trials=8)
    done: list[str] = []

    def counted(context: Any, batch: Any) -> Any:
        done.extend(name for name, _ in batch.runs)
        return run_batch(context, batch)

    monkeypatch.setattr("gpusched.studies.sweep.run_batch", counted)
    stop = threading.Event()

    def until(progress: Progress) -> None:
        if progress.done == 4:
            stop.set()

    with pytest.raises(gs.Cancelled):
        tuned(trials=8, folder=tmp_path, progress=until, stop=stop)
    before = list(done)
    assert before
    found = tuned(trials=8, folder=tmp_path)
    assert found.trials.equals(whole.trials)
    assert found.held_out.equals(whole.held_out)
    assert len(done) == len(set(done))
    assert tuned(trials=8, folder=tmp_path).held_out.equals(whole.held_out)
    assert len(done) == len(set(done))
    more = tuned(trials=10, folder=tmp_path)
    assert more.trials.head(8).equals(whole.trials)


def test_ctrl_c_ends_it(tmp_path):
    def interrupt(progress: Progress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuned(folder=tmp_path, progress=interrupt)
    assert list((tmp_path / "search" / "runs").glob("*.parquet"))


def test_the_baseline_of_the_study_is_taken():
    found = tuned(policies=["fifo", {"policy": "sjf", "label": "short"}], baseline="short")
    assert found.baseline == "short"
    row = found.held_out.filter(policy="short").row(0, named=True)
    runs = gs.sweep(study(policies=["sjf"], seeds=[3, 4, 5])).runs["mean_jct_s"]
    assert row["mean"] == pytest.approx(runs.mean(), rel=1e-12)
    with pytest.raises(ValueError, match=r"'shrot': not a policy of the study.*baseline"):
        tuned(policies=["sjf"], baseline="shrot")


def test_higher_is_better_where_the_metric_says_so():
    options: dict[str, Any] = {"metric": "utilisation", "trials": 6, "rungs": 1}
    found, turned = tuned(**options), tuned(**options, better="lower")
    assert found.better == "higher"
    assert found.trials["value"].max() == found.held_out["search_value"][0]
    assert turned.trials["value"].min() == turned.held_out["search_value"][0]


@pytest.fixture
def _known_for_a_test() -> Iterator[None]:
    yield
    for name in ("by-width-or-age", "fails-above", "leaves-above"):
        with suppress(ValueError, KeyError):
            gs.unregister(name)


@pytest.mark.usefixtures("_known_for_a_test")
def test_policies_of_python_are_searched():
    @gs.register_order("by-width-or-age")
    class ByWidthOrAge(gs.Order):
        """Jobs by width, or by age."""

        lifetime = "fixed"

        def __init__(self, weight: float = 0.5) -> None:
            super().__init__()
            self.weight = weight

        def rank(self, view: Any, jobs: Any) -> Any:
            return self.weight * view.gpus[jobs] + jobs

    space = {"policy": "by-width-or-age", "weight": {"low": 0, "high": 100}}
    found = tuned(space, trials=3, rungs=1)
    assert found.best.name == "by-width-or-age"
    assert found.trials["weight"].n_unique() == 3
    assert found.best.parameters["weight"] == found.trials.sort("value", "trial")["weight"][0]


@pytest.mark.usefixtures("_known_for_a_test")
def test_a_trial_that_leaves_more_jobs_than_the_baseline_is_no_better():
    @gs.register_scheduler("leaves-above")
    class LeavesAbove(gs.Scheduler):
        """Starts no wider jobs."""

        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.width = width

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            for job in state.waiting.tolist():
                if state.gpus[job] <= self.width:
                    allocation = state.place(job)
                    if allocation is not None:
                        actions.start(job, allocation)

    space = {"policy": "leaves-above", "width": [1, 64]}
    found = tuned(space, trials=8, rungs=1, sampler="random")
    assert set(found.trials["width"]) == {1, 64}
    left, kept = (found.trials.filter(width=width).row(0, named=True) for width in (1, 64))
    assert (left["state"], kept["state"]) == ("failed", "finished")
    assert re.search(r"does not finish \d.*% of .* GPU time: more than the baseline", left["error"])
    assert found.best.parameters["width"] == 64


@pytest.mark.usefixtures("_known_for_a_test")
def test_a_trial_that_fails_costs_itself_alone():
    @gs.register_order("fails-above")
    class FailsAbove(gs.Order):
        """Fails at some values."""

        lifetime = "fixed"

        def __init__(self, weight: int = 0) -> None:
            super().__init__()
            self.weight = weight

        def rank(self, view: Any, jobs: Any) -> Any:
            if self.weight > 1:
                raise RuntimeError("out of ideas")
            return view.gpus[jobs] * (1 - 2 * self.weight)

    space = {"policy": "fails-above", "weight": [0, 1, 2, 3]}
    found = tuned(space, trials=10, sampler="random", pruner="none")
    failed = found.trials.filter(state="failed")
    assert set(failed["weight"]) <= {2, 3}
    assert len(failed) == (found.trials["weight"] > 1).sum() > 0
    assert "out of ideas" in failed["error"][0]
    assert any("trials failed" in line and "out of ideas" in line for line in found.warnings)
    with pytest.raises(ValueError, match=r"no trial of 2 finished: .*out of ideas"):
        tuned(space | {"weight": [2, 3]}, trials=2)
    with pytest.raises(ValueError, match=r"baseline fails-above:weight=2: .*out of ideas"):
        tuned([space["policy"] + ":weight=2", space], trials=2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rungs": 0}, ValueError, "rungs: 0"),
        ({"batch": 1.5}, TypeError, "batch: 1.5 must be an integer"),
        ({"held_out": [1]}, ValueError, "held_out: seed 1 is of the search"),
        ({"sampler": "tpee"}, ValueError, "sampler: unknown 'tpee'; did you mean"),
        ({"pruner": 3}, TypeError, "pruner: expected a name or an Optuna pruner"),
        ({"executor": "dusk"}, ValueError, "executor: 'dusk'"),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        tuned(**options)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("gpusched.base.libraries.find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r'tune needs optuna: pip install "gpusched-core\[tune\]"'
    ):
        tuned()


def test_optuna_keeps_its_voice():
    before = optuna.logging.get_verbosity()
    tuned(trials=1)
    assert optuna.logging.get_verbosity() == before


@pytest.mark.parametrize(
    ("space", "first"),
    [
        ({"policy": "las", "period_s": {"low": 10, "high": 3600}}, 60.0),
        ({"policy": "las", "period_s": [600, 60, 10]}, 60.0),
        ([{"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}, "fifo"], 60.0),
        ({"policy": "las", "period_s": [600, 10]}, None),
        ({"policy": "las", "period_s": {"low": 100, "high": 3600}}, None),
        ({"policy": "las", "period_s": {"low": 10, "high": 3510, "step": 70}}, None),
    ],
)
def test_the_first_trial_has_the_default_options_if_the_space_holds_them(space, first):
    assert gs.policies()["las"].parameters[0]["default"] == 60.0
    found = tuned(space, pruner="none", trials=2).trials
    if first is None:
        assert 60.0 not in found["period_s"].to_list()
    else:
        column = "las.period_s" if isinstance(space, list) else "period_s"
        assert found[column][0] == first
