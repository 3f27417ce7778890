"""Runs with jobs that wait for others, are held or are cancelled, by every way into a run."""

from __future__ import annotations

import warnings
from typing import Any

import msgspec
import pytest

import gpusched as gs
from gpusched.specs.case import save_case
from tests.each import each

NAN, INF = float("nan"), float("inf")
CLUSTER = gs.Cluster.uniform(1, 2)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)
        yield


def built(service_s: list[float], dependency: Any = "", **more: Any) -> gs.Trace:
    size = len(service_s)
    given = [dependency] * size if isinstance(dependency, str) else dependency
    columns = {"submit_s": [0] * size, "gpus": [1] * size, "dependency": given} | more
    return gs.Trace.from_columns(service_s=service_s, **columns)


FAILED = built(
    [10, 10, 10, 10, 3, 3],
    ["", "afterok:0", "afterany:0", "afternotok:0", "afterok:1", "afterany:1"],
    status=["failed", *["ok"] * 5],
)
ARRAY = built([10, 11, 12, 13, 14, 7], array=[*["x"] * 5, ""], array_limit=[*[2] * 5, NAN])
HELD = built(
    [10, 10, 10, 10], eligible_s=[NAN, 4, INF, NAN], cancel_at_s=[NAN, NAN, 30, 5],
    gpus=[1, 1, 1, 2],
)  # fmt: skip


def times(result: gs.Result) -> list[tuple[float, float] | str]:
    jobs = result.to_polars()
    return [
        (start, end) if status == "finished" else status
        for start, end, status in zip(
            jobs["start_s"], jobs["finish_s"], jobs["status"], strict=True
        )
    ]


@each(
    "trace, gpus, kills, expected",
    [
        # L03: a chain.
        (built([10] * 3, ["", "afterok:0", "afterok:1"]), 2, False, [(0, 10), (10, 20), (20, 30)]),
        # L04 and L05: a failed target.
        (
            FAILED, 2, False,
            [(0, 10), "unfinished", (10, 20), (10, 20), "unfinished", "unfinished"],
        ),
        (FAILED, 2, True, [(0, 10), "cancelled", (10, 20), (10, 20), "cancelled", (20, 23)]),
        # L06: one of several.
        (
            built([10, 20, 5], ["", "", "afterok:0?afterok:1"], status=["failed", "ok", "ok"]),
            2, False, [(0, 10), (0, 20), (20, 25)],
        ),
        # L08: an array of which two tasks run.
        (ARRAY, 4, False, [(0, 10), (0, 11), (10, 22), (11, 24), (22, 36), (0, 7)]),
        # L13: some time after a start.
        (built([30, 5], ["", "after:0+0.1"]), 2, False, [(0, 30), (6, 11)]),
        # Times: one job is eligible later, one never, and two are cancelled.
        (HELD, 2, False, [(0, 10), (4, 14), "cancelled", "cancelled"]),
    ],
)  # fmt: skip
def test_jobs_run_when_nothing_holds_them(trace, gpus, kills, expected):
    cluster = gs.Cluster.uniform(1, gpus)
    result = gs.simulate(trace, cluster, policy="fifo", kill_invalid_depend=kills)
    assert times(result) == expected


@each("kills", [False, True])
def test_a_specification_holds_the_option_where_it_is_set(kills):
    result = gs.simulate(FAILED, CLUSTER, policy="fifo", kill_invalid_depend=kills)
    spec = result.spec
    for text in (spec.to_toml(), spec.to_json()):
        assert ("kill_invalid_depend" in text) == kills
    for again in (spec, gs.RunSpec.from_toml(spec.to_toml()), gs.RunSpec.from_json(spec.to_json())):
        assert again == spec
        assert gs.run(again, FAILED).digest == result.digest
    assert bool(spec.kill_invalid_depend) == kills
    other = msgspec.structs.replace(spec, kill_invalid_depend=not kills)
    assert other != spec
    assert gs.run(other, FAILED).digest != result.digest
    said_no = spec.to_json().replace('"policy"', '"kill_invalid_depend": false, "policy"')
    assert kills or gs.RunSpec.from_json(said_no) == spec


def test_the_option_is_true_or_false():
    for call in (gs.simulate, gs.Simulation):
        with pytest.raises(TypeError, match="kill_invalid_depend: 1 must be True or False"):
            call(FAILED, CLUSTER, kill_invalid_depend=1)


@each("trace", [FAILED, ARRAY, HELD])
def test_a_run_by_steps_saved_and_forked_is_the_run(trace, tmp_path):
    options: dict[str, Any] = {"policy": "fifo", "kill_invalid_depend": True}
    digest = gs.simulate(trace, CLUSTER, **options).digest
    run = gs.Simulation(trace, CLUSTER, **options)
    while not run.done:
        run.save(tmp_path / "run")
        for other in (gs.resume(tmp_path / "run"), run.fork()):
            assert other.state.held.tolist() == run.state.held.tolist()
            other.run()
            assert other.result().digest == digest
        run.step()
    assert run.result().digest == digest


def test_held_jobs_are_in_the_state_and_their_releases_are_events():
    run = gs.Simulation(ARRAY, gs.Cluster.uniform(1, 4), policy="fifo")
    seen: list[tuple[Any, float]] = []
    run.on("release", lambda event: seen.append((event.job, event.time_s)))
    run.step()
    assert run.state.held.tolist() == [2, 3, 4]
    assert run.state.waiting.tolist() == []
    run.run()
    assert seen == [(2, 10), (3, 11), (4, 22)]
    with pytest.raises(ValueError, match=r"unknown 'hold'; known: .*release, instant"):
        run.on("hold", print)


def test_jobs_submitted_later_may_wait_for_those_of_the_run():
    run = gs.Simulation(built([10, 10], id=["a", "b"]), CLUSTER, policy="fifo")
    run.step()
    run.submit(built([5], ["afterok:b"], id=["c"], submit_s=[3]))
    run.run()
    assert times(run.result()) == [(0, 10), (0, 10), (10, 15)]


def test_jobs_that_came_first_cannot_wait_for_those_submitted_later():
    run = gs.Simulation(built([10, 10], ["", "afterok:c"], id=["a", "b"]), CLUSTER, policy="fifo")
    run.step()
    with pytest.raises(ValueError, match="a dependency of a job that has arrived"):
        run.submit(built([5], id=["c"], submit_s=[3]))


def test_bad_dependencies_are_refused_before_a_run():
    for call in (gs.simulate, gs.Simulation):
        with pytest.raises(ValueError, match="jobs 0 -> 1 -> 0 wait for each other"):
            call(built([1, 1], ["afterok:1", "afterok:0"]), CLUSTER)


def test_decisions_hold_jobs_and_do_not_cancel_them():
    held = built([9] * 4, ["", "", "afterok:0", ""], eligible_s=[NAN, NAN, NAN, INF],
                 array=["m", "m", "", ""], array_limit=[1, 1, NAN, NAN],
                 cancel_at_s=[1] * 4)  # fmt: skip
    state = gs.online.ClusterState(CLUSTER, held, 5)
    decided = gs.decide(state, policy="fifo")
    assert (decided.what.tolist(), decided.job.tolist()) == (["start"], [0])
    assert [decided.why(row) for row in (1, 2, 3)] == [
        "is held: array_limit is 1, which is reached", "is held: waits for afterok:0",
        "is held: for good",
    ]  # fmt: skip


def test_a_state_of_a_run_has_no_held_jobs():
    trace = built(
        [9, 9, 9, 9], ["", "afterok:0", "", "afterok:1"], eligible_s=[INF, NAN, NAN, NAN],
        gpus=[1, 1, 2, 1], submit_s=[0, 0, 1, 1],
    )  # fmt: skip
    run = gs.Simulation(trace, CLUSTER, policy="fifo")
    run.run_until(2)
    state = gs.online.ClusterState.of(run)
    assert (state.jobs.id.tolist(), state.is_running.tolist()) == ([2], [True])
    assert state.held_job.tolist() == [0]
    freed = trace.with_columns(eligible_s=[4, NAN, NAN, NAN])
    released = gs.Simulation(freed, CLUSTER, policy="fifo")
    released.run_until(5)
    later = gs.online.ClusterState.of(released)
    assert (later.jobs.id.tolist(), later.is_running.tolist()) == ([0, 2], [False, True])
    assert later.held_job.tolist() == [1]


def test_predictors_that_learn_see_runs_with_holds():
    trace = built(
        [10, 10, 5], ["", "afterok:0", "afterok:1"], user=["u"] * 3, cancel_at_s=[NAN, NAN, 15]
    )
    result = gs.simulate(trace, CLUSTER, policy="sjf", predictor="group-mean")
    assert times(result) == [(0, 10), (10, 20), "cancelled"]


def test_a_condition_that_never_binds_changes_no_digest():
    plain = built([10, 10, 10, 10])
    never = plain.with_columns(
        dependency="afterok:x", eligible_s=plain.submit_s, array="m", array_limit=4, cancel_at_s=99
    )
    for policy in ("fifo", "srtf", "easy"):
        one = gs.simulate(plain, CLUSTER, policy=policy)
        assert gs.simulate(never, CLUSTER, policy=policy).digest == one.digest


def test_a_case_for_the_replay_tool_has_no_such_option(tmp_path):
    result = gs.simulate(FAILED, CLUSTER, policy="fifo", kill_invalid_depend=True)
    with pytest.raises(ValueError, match="kill_invalid_depend: the replay tool has none"):
        save_case(FAILED, CLUSTER, result.spec, tmp_path / "case", predicted=None)


def test_every_run_of_a_study_has_the_option():
    study: dict[str, Any] = {
        "name": "held", "traces": [{"trace": FAILED}], "clusters": [CLUSTER],
        "policies": ["fifo", "srtf"], "warm_up_s": 0,
    }  # fmt: skip
    runs = {}
    for kills in (False, True):
        asked = gs.Study.of(study | {"kill_invalid_depend": kills})
        found = gs.sweep(asked).runs
        runs[kills] = found["run"].to_list()
        for policy, digest in zip(found["policy"], found["digest"], strict=True):
            made = gs.simulate(FAILED, CLUSTER, policy=policy, kill_invalid_depend=kills)
            assert made.digest == digest
    assert not {*runs[False]} & {*runs[True]}  # runs that are kept are not confused
    of_file = {
        "name": "held",
        "traces": [{"file": "a.csv"}],
        "clusters": [{"servers": 1, "gpus": 2}],
    }
    for kills in (False, True):
        written = gs.Study.of(of_file | {"kill_invalid_depend": kills}).to_toml()
        assert ("kill_invalid_depend = true" in written) == kills
        assert ("kill_invalid_depend" in written) == kills
        assert gs.Study.from_toml(written).kill_invalid_depend == kills


def test_comparisons_and_changes_have_the_option():
    compared = gs.compare(FAILED, CLUSTER, ["fifo", "srtf"], kill_invalid_depend=True)
    for policy, result in compared.results.items():
        made = gs.simulate(FAILED, CLUSTER, policy=policy, kill_invalid_depend=True)
        assert result.digest == made.digest
    for kills in (False, True):
        answer = gs.whatif(FAILED, CLUSTER, "fifo", ["policy=srtf"], kill_invalid_depend=kills)
        told = " ".join(answer.remarks)
        assert ("cancelled" in told) == kills
