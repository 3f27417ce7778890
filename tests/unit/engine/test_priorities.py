"""Runs whose jobs have priorities, by every way into a run."""

from __future__ import annotations

import warnings
from typing import Any

import msgspec
import pytest

import gpusched as gs
from gpusched.results.run_remarks import of_results
from gpusched.traces.job_columns import precedence_of
from tests.each import each

NAN = float("nan")
ONE = gs.Cluster.uniform(1, 1)
ONE_BY_ONE = {"servers": 1, "gpus": 1}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)
        yield


def built(**more: Any) -> gs.Trace:
    columns: dict[str, Any] = {
        "submit_s": [0, 1, 2], "service_s": [10, 6, 5], "gpus": [1, 1, 1], "priority": [0, NAN, 4],
    }  # fmt: skip
    return gs.Trace.from_columns(**columns | more)


class Idle(gs.Scheduler):
    """Starts no job."""

    def decide(self, state, finished, arrived, actions):
        pass


JOBS = built()
PLAIN = JOBS.with_columns(priority=None)


def starts(result: gs.Result) -> list[float]:
    return result.jobs.start_s.tolist()


def simulated(trace: gs.Trace = JOBS, **options: Any) -> gs.Result:
    return gs.simulate(trace, ONE, **{"policy": "fifo"} | options)


@each(
    "policy, more, expected",
    [
        ("fifo", {}, [0, 15, 10]),
        ("fifo-skip", {}, [0, 15, 10]),
        ("sjf", {"service_s": [10, 2, 5]}, [0, 15, 10]),
        ("easy", {}, [0, 15, 10]),
        ("srtf", {}, [0, 1, 2]),
        ("fifo", {"nice": [NAN, NAN, 5]}, [0, 10, 16]),  # -1 in all
        ("fifo", {"priority": None, "nice": [0, 5, 1]}, [0, 15, 10]),
    ],
)
def test_jobs_of_higher_priority_go_first(policy, more, expected):
    assert starts(simulated(built(**more), policy=policy)) == expected


def test_a_job_of_higher_priority_preempts():
    result = simulated(policy="srtf")
    assert result.jobs.finish_s.tolist() == [21, 12, 7]
    later = simulated(built(service_s=[10, 6, 50]), policy="srtf")
    assert later.jobs.finish_s.tolist() == [66, 57, 52]


@each("age_s, expected", [(None, [0, 15, 10]), (0.3, [0, 15, 10]), (0.2, [0, 10, 16])])
def test_a_wait_is_worth_points(age_s, expected):
    assert starts(simulated(priority_age_s=age_s)) == expected


def test_with_age_alone_jobs_go_by_submission():
    short_first = PLAIN.with_columns(service_s=[10, 6, 1])
    assert starts(simulated(short_first, policy="sjf")) == [0, 11, 10]
    assert starts(simulated(short_first, policy="sjf", priority_age_s=60)) == [0, 10, 16]


@each("policy", ["fifo", "fifo-skip", "srtf", "las", "easy", "conservative", "a-srpt"])
def test_equal_priorities_change_no_digest(policy):
    expected = simulated(PLAIN, policy=policy)
    for more in ({"priority": [7, 7, 7]}, {"priority": [1, 2, 3], "nice": [0, 1, 2]}):
        result = simulated(built(**more), policy=policy)
        assert result.digest == expected.digest
        assert result.warnings == expected.warnings


@each("policy", ["a-srpt", "gavel", "conservative", "a-srpt:tau=0.5"])
def test_what_does_not_use_priorities_says_so(policy):
    result = simulated(policy=policy)
    assert f"policy={policy} does not use priorities" in result.warnings
    assert result.digest == simulated(PLAIN, policy=policy).digest
    assert "priorit" not in str(simulated(PLAIN, policy=policy).warnings)
    assert "priorit" not in str(simulated().warnings)
    run = gs.Simulation(JOBS, ONE, policy=policy)
    run.run_until(3)
    assert f"policy={policy} does not use priorities" in run.result().warnings
    if policy == "gavel":
        assert "priorit" not in str(simulated(policy=Idle()).warnings)  # it may look at them


def test_a_comparison_says_once_which_do_not_use_them():
    told = of_results(gs.compare(JOBS, ONE, ["fifo", "a-srpt"]).results)
    assert told.count("policy=a-srpt does not use priorities") == 1


def test_an_explanation_has_the_priority_where_it_decides():
    said = "Job 2 (id 2) was submitted at 00:00:02: 1 GPU, run time 5 s"
    assert simulated().explain(2).lines[0] == f"{said}, priority 4."
    nice = built(nice=[0, 0, 1.5])
    assert simulated(nice).explain(2).lines[0] == f"{said}, priority 2.5."
    assert simulated(policy="a-srpt").explain(2).lines[0] == f"{said}."
    assert simulated(PLAIN).explain(2).lines[0] == f"{said}."


@each("age_s", [None, 60, 0.5])
def test_a_specification_holds_the_option_where_it_is_set(age_s):
    result = simulated(priority_age_s=age_s)
    spec = result.spec
    for text in (spec.to_toml(), spec.to_json()):
        assert ("priority_age_s" in text) == (age_s is not None)
    for again in (spec, gs.RunSpec.from_toml(spec.to_toml()), gs.RunSpec.from_json(spec.to_json())):
        assert again == spec
        assert gs.run(again, JOBS).digest == result.digest
    other = msgspec.structs.replace(spec, priority_age_s=0.1)
    assert other != spec
    assert gs.run(other, JOBS).digest == simulated(priority_age_s=0.1).digest


@each(
    "value, error, rule",
    [
        (0, ValueError, "0 must be finite and positive"),
        (-1.5, ValueError, "-1.5 must be finite and positive"),
        (NAN, ValueError, "nan must be finite and positive"),
        (float("inf"), ValueError, "inf must be finite and positive"),
        (True, TypeError, "True must be a number"),
        ("1h", TypeError, "'1h' must be a number"),
    ],
)
def test_the_option_is_a_positive_number(value, error, rule):
    for call in (gs.simulate, gs.Simulation):
        with pytest.raises(error, match=f"priority_age_s: {rule}"):
            call(JOBS, ONE, priority_age_s=value)
    study = {"name": "x", "traces": [{"trace": JOBS}], "clusters": [ONE]}
    with pytest.raises((ValueError, TypeError), match="priority_age_s"):
        gs.Study.of(study | {"priority_age_s": value})


@each("age_s", [None, 0.2])
def test_a_run_by_steps_saved_and_forked_is_the_run(age_s, tmp_path):
    digest = simulated(priority_age_s=age_s).digest
    run = gs.Simulation(JOBS, ONE, policy="fifo", priority_age_s=age_s)
    while not run.done:
        run.save(tmp_path / "run")
        for other in (gs.resume(tmp_path / "run"), run.fork()):
            other.run()
            assert other.result().digest == digest
        run.step()
    assert run.result().digest == digest


@each("age_s", [None, 0.2])
def test_jobs_submitted_later_rank_among_those_of_the_run(age_s):
    first, later = JOBS[:2], JOBS[2:]
    run = gs.Simulation(first, ONE, policy="fifo", priority_age_s=age_s)
    run.run_until(1)
    run.submit(later)
    run.run()
    assert run.result().digest == simulated(priority_age_s=age_s).digest


def test_saved_results_keep_the_option_and_the_warning(tmp_path):
    result = simulated(policy="a-srpt", priority_age_s=60)
    result.save(tmp_path / "run.npz")
    loaded = gs.load_result(tmp_path / "run.npz")
    assert loaded.spec == result.spec
    assert loaded.warnings == result.warnings
    assert loaded.trace.priority.tolist() == [0, 0, 4]


def test_every_run_of_a_study_has_the_option():
    study: dict[str, Any] = {
        "name": "aged", "traces": [{"trace": JOBS}], "clusters": [ONE],
        "policies": ["fifo", "srtf"], "warm_up_s": 0,
    }  # fmt: skip
    runs = {}
    for age_s in (None, 0.2):
        asked = gs.Study.of(study | ({} if age_s is None else {"priority_age_s": age_s}))
        found = gs.sweep(asked).runs
        runs[age_s] = found["run"].to_list()
        for policy, digest in zip(found["policy"], found["digest"], strict=True):
            assert simulated(policy=policy, priority_age_s=age_s).digest == digest
    assert not {*runs[None]} & {*runs[0.2]}  # runs that are kept are not confused
    of_file = {"name": "aged", "traces": [{"file": "a.csv"}], "clusters": [ONE_BY_ONE]}
    written = gs.Study.of(of_file | {"priority_age_s": 60}).to_toml()
    assert "priority_age_s = 60" in written
    assert gs.Study.from_toml(written).priority_age_s == 60
    assert "priority_age_s" not in gs.Study.of(of_file).to_toml()


def test_a_study_leaves_columns_out():
    study: dict[str, Any] = {
        "name": "left-out", "clusters": [ONE], "warm_up_s": 0, "policies": ["fifo"],
        "traces": [
            {"trace": JOBS, "label": "all"},
            {"trace": JOBS, "label": "less", "filter": "priority > 1", "ignore": ["priority"]},
            {"trace": JOBS, "label": "plain", "ignore": ["priority"]},
        ],
    }  # fmt: skip
    found = gs.sweep(gs.Study.of(study)).runs
    expected = [simulated().digest, simulated(PLAIN[2:].rebased()).digest, simulated(PLAIN).digest]
    assert found["digest"].to_list() == expected
    wrong = {**study, "traces": [{"trace": JOBS, "ignore": ["priorty"]}]}
    with pytest.raises(ValueError, match="ignore: unknown column 'priorty'; did you mean 'priori"):
        gs.Study.of(wrong)


def test_comparisons_and_changes_have_the_option():
    compared = gs.compare(JOBS, ONE, ["fifo", "srtf"], priority_age_s=0.2)
    for policy, result in compared.results.items():
        assert result.digest == simulated(policy=policy, priority_age_s=0.2).digest
    for age_s in (None, 0.2):
        answer = gs.whatif(JOBS, ONE, "fifo", ["policy=fifo-skip"], priority_age_s=age_s)
        expected = simulated(priority_age_s=age_s).metric("mean_wait_s")
        assert answer.base.measures["mean_wait_s"] == expected


def test_predictors_that_learn_see_runs_with_priorities():
    trace = built(user=["u"] * 3)
    result = simulated(trace, policy="sjf", predictor="group-mean")
    assert starts(result) == [0, 15, 10]


def test_decisions_are_by_priority():
    held = {"start_s": [0, NAN, NAN], "held_job": [0], "held_server": [0], "held_mask": [1]}
    for priority, first in (([0, 0, 4], 2), ([0, 4, 0], 1)):
        state = gs.online.ClusterState(ONE, built(priority=priority), 5, **held)
        decided = gs.decide(state, policy="srtf")
        told = dict(zip(decided.what.tolist(), decided.job.tolist(), strict=True))
        assert told == {"preempt": 0, "start": first}


def test_a_state_that_is_written_keeps_them(tmp_path):
    state = gs.online.ClusterState(ONE, built(nice=[1, 2, 3]), 5)
    gs.online.write_state(state, tmp_path / "state.json")
    jobs = gs.online.read_state(tmp_path / "state.json").jobs
    assert (jobs.priority.tolist(), jobs.nice.tolist()) == ([0, 0, 4], [1, 2, 3])
    assert precedence_of(jobs).tolist() == precedence_of(state.jobs).tolist()
