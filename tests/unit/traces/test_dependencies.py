"""Dependencies in the grammar of Slurm, arrays with limits, and holds, as the core gets them."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched.specs import case
from gpusched.specs.case import job_columns
from gpusched.traces import dependencies
from gpusched.traces.dependencies import Condition, holds_of, parsed
from gpusched.traces.job_columns import HELD
from tests.each import each

NAN, INF = float("nan"), float("inf")
MINUTE = 60_000_000
AFTER, ANY, OK, NOT_OK, CORR, SINGLETON = range(6)


def built(dependency: Any = None, **more: Any) -> gs.Trace:
    """Jobs a, b, c ... submitted one after the other."""
    size = len(next(iter(more.values())) if dependency is None else dependency)
    more.setdefault("id", [*"abcdefgh"][:size])
    return gs.Trace.from_columns(range(size), [9] * size, [1] * size, dependency=dependency, **more)


def pairs(trace: gs.Trace) -> list[tuple[Any, ...]]:
    """Each condition with the names of both jobs, its kind, and its minutes if it has some."""
    found = holds_of(trace).columns
    if "dependency_begin" not in found:
        return []
    job = np.repeat(np.arange(len(trace)), np.diff(found["dependency_begin"]))
    ends = (trace.id[job].tolist(), trace.id[found["dependency_target"]].tolist())
    columns = [*ends, found["dependency_kind"].tolist()]
    if "dependency_delay_us" in found:
        columns.append((found["dependency_delay_us"] / MINUTE).tolist())
    return [*zip(*columns, strict=True)]


@each(
    "text, conditions",
    {
        "afterok:7": [(OK, "7")],
        " AfterOK : 7 : my job ": [(OK, "7"), (OK, "my job")],
        "after:7+5:8 + 0.5": [(AFTER, "7", 5), (AFTER, "8", 0.5)],
        "afterany:a,afternotok:b , singleton": [(ANY, "a"), (NOT_OK, "b"), (SINGLETON, "")],
        "aftercorr:m?after:x": [(CORR, "m"), (AFTER, "x")],
        "afterok:7(unfulfilled):8(fulfilled),after:9+5(failed),singleton(unfulfilled)": [
            (OK, "7"), (AFTER, "9", 5), (SINGLETON, ""),
        ],
        "afterok:7?afterok:8(fulfilled)": [],
    }.items(),
)  # fmt: skip
def test_a_text_has_conditions(text, conditions):
    found = parsed(text)
    assert found.is_any == ("?" in text)
    expected = [(*one, 0)[:3] for one in conditions]
    assert found.conditions == tuple(
        Condition(kind, target, minutes * MINUTE) for kind, target, minutes in expected
    )


@each(
    "text, rule",
    {
        "afterok:a,afterany:a?singleton": "must join conditions by ',' (all) or by '?' (any), not "
        "by both",
        "afterko:a": "unknown kind 'afterko'; did you mean 'afterok'?",
        "7": "unknown kind '7'; known: after, afterany, afterok, afternotok, aftercorr, singleton",
        "afterok:a,": "unknown kind ''; known: after, afterany, afterok, afternotok, aftercorr, "
        "singleton",
        "afterok": "afterok must have a target",
        "afterok:a:": "afterok must have a target",
        "after:+5": "after must have a target",
        "singleton:a": "singleton must not have a target",
        "singleton?afterok:a": "singleton must not be joined by '?'",
        "afterok:a+5": "+5: only after has minutes, not afterok",
        "after:a+": "+: minutes must be a number from 0 to 38430716820",
        "after:a+-1": "+-1: minutes must be a number from 0 to 38430716820",
        "after:a+nan": "+nan: minutes must be a number from 0 to 38430716820",
        "after:a+1e11": "+1e11: minutes must be a number from 0 to 38430716820",
        "afterok:m?afterok:a": "m is an array of several tasks, which '?' does not define",
    }.items(),
)
def test_a_text_that_is_no_dependency_is_refused_with_its_job(text, rule):
    trace = built(["", "", text], array=["m", "m", ""])
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        holds_of(trace)
    assert str(caught.value) == f"dependency: job c (row 2): {text!r}: {rule}"


@each("ids", [["a", "b", "c"], [7, -3, 12]])
def test_a_target_is_an_id_of_either_type(ids):
    first, _, last = ids
    trace = built(["", f"afterok:{first}", f"after:{first}+2:{ids[1]}"], id=ids)
    assert pairs(trace) == [
        (ids[1], first, OK, 0), (last, first, AFTER, 2), (last, ids[1], AFTER, 0),
    ]  # fmt: skip


def test_a_target_that_is_no_id_is_an_array_with_all_of_its_tasks():
    trace = built(["", "", "afterok:m", "afternotok:m_*"], array=["m", "m", "n", ""])
    tasks = [("c", "a", OK), ("c", "b", OK), ("d", "a", NOT_OK), ("d", "b", NOT_OK)]
    assert pairs(trace) == tasks
    named = trace.with_columns(id=["m", "b", "c", "d"])
    assert pairs(named) == [("c", "m", OK), ("d", "m", NOT_OK), ("d", "b", NOT_OK)]
    assert pairs(trace[1:]) == [("c", "b", OK), ("d", "b", NOT_OK)]


def test_a_task_waits_for_the_task_of_the_same_place():
    corr = "aftercorr:m"
    trace = built(["", corr, "", corr, corr, corr], array=["m", "n", "m", "n", "n", ""])
    assert pairs(trace) == [("b", "a", OK), ("d", "c", OK), ("f", "a", OK)]
    assert not holds_of(trace).remarks
    # Of conditions of which one suffices, one that is met makes all others needless.
    other = trace.with_columns(
        dependency=["", "aftercorr:m?afterok:a", "", "", "aftercorr:m?afterok:a", ""]
    )
    assert pairs(other) == [("b", "a", OK), ("b", "a", OK)]
    assert pairs(trace.with_columns(dependency=["", "aftercorr:a", *[""] * 4])) == [("b", "a", OK)]


def test_a_singleton_waits_for_all_earlier_jobs_of_its_user_and_group():
    trace = built(
        ["singleton", "", "singleton", "singleton", "singleton,afterok:a", "singleton"],
        user=["u", "u", "u", "v", "u", ""], group=["g", "h", "g", "g", "g", ""],
    )  # fmt: skip
    assert sorted(pairs(trace)) == [
        ("c", "a", ANY), ("e", "a", ANY), ("e", "a", OK), ("e", "c", ANY),
    ]  # fmt: skip
    alone = trace.with_columns(user=None, group=None, dependency=["", "", "", "singleton", "", ""])
    assert pairs(alone) == [("d", "a", ANY), ("d", "b", ANY), ("d", "c", ANY)]


def test_targets_that_are_not_there_are_met_and_remarked_once():
    trace = built(["", "afterok:x:a", "afterok:y?afterok:a", "afterany:x"])
    held = holds_of(trace)
    assert pairs(trace) == [("b", "a", OK)]
    assert held.remarks == (
        "dependency: 2 targets not found in the trace, counted as met (first: 'x' of job b "
        "(row 1))",
    )
    with pytest.warns(gs.RunWarning, match="2 targets not found in the trace"):
        result = gs.simulate(trace, gs.Cluster.uniform(1, 4), policy="fifo")
    assert held.remarks[0] in result.warnings
    assert "not found" not in " ".join(
        gs.simulate(trace[:1], gs.Cluster.uniform(1, 4), policy="fifo").warnings
    )


@each(
    "dependency, told",
    [
        (["afterok:a"], "job a (row 0) waits for itself"),
        (["", "after:a:b+1"], "job b (row 1) waits for itself"),
        (["afterok:b", "afterok:a"], "jobs a -> b -> a wait for each other (first: row 0)"),
        (
            ["", "afterok:d", "afterok:b", "afterany:a:c"],
            "jobs b -> d -> c -> b wait for each other (first: row 1)",
        ),
        (["afterok:b?afterok:c", "afterok:a", ""], "jobs a -> b -> a wait for each other (first: "
         "row 0)"),
        (["afterok:b", "singleton"], "jobs a -> b -> a wait for each other (first: row 0)"),
    ],
)  # fmt: skip
def test_jobs_that_wait_for_each_other_are_refused_by_name(dependency, told):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        holds_of(built(dependency))
    assert str(caught.value) == f"dependency: {told}"


def test_a_task_cannot_wait_for_its_own_array():
    with pytest.raises(ValueError, match=r"job b \(row 1\) waits for itself"):
        holds_of(built(["", "afterok:m"], array=["m", "m"]))


def test_a_long_chain_backwards_is_no_circle():
    size = 30_000
    trace = gs.Trace.from_columns(
        range(size), [1] * size, [1] * size,
        dependency=[*(f"afterok:{job + 1}" for job in range(size - 1)), ""],
    )  # fmt: skip
    assert len(holds_of(trace).columns["dependency_target"]) == size - 1
    with pytest.raises(ValueError, match=r"jobs 0 -> 1 -> 2 .* -> 29999 -> 0 wait for each other"):
        holds_of(trace.with_columns(dependency=[*trace.dependency.values()[:-1], "afterok:0"]))


def test_too_many_pairs_are_refused_before_they_are_made():
    size = 6_000
    trace = gs.Trace.from_columns(range(size), [1] * size, [1] * size, array=["m"] * size)
    told = "dependency: more than 16,777,216 pairs of jobs"
    with pytest.raises(ValueError, match=told):
        holds_of(trace.with_columns(dependency="singleton"))
    with pytest.raises(ValueError, match=told):
        holds_of(trace.with_columns(dependency="afterok:m"))


def test_limits_are_those_of_arrays():
    trace = built(array=["n", "", "m", "n"], array_limit=[3, NAN, NAN, 3])
    found = holds_of(trace).columns
    assert found["array"].tolist() == [0, -1, 1, 0]
    assert found["array_limit"].tolist() == [3, -1]
    assert holds_of(trace[1:3]).columns == {}  # no limit is left
    for limits, told in (
        ([3, 2, NAN, 3], "job b (row 1): 2 needs an array"),
        ([3, NAN, NAN, 2], "job d (row 3): 2 must be equal for all tasks of array 'n'; the first "
         "has 3"),
        ([NAN, NAN, 2, 3], "job d (row 3): 3 must be equal for all tasks of array 'n'; the first "
         "has none"),
    ):  # fmt: skip
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            holds_of(trace.with_columns(array_limit=limits))
        assert str(caught.value) == f"array_limit: {told}"
    with pytest.raises(ValueError, match=r"array_limit'?: 0 must be at least 1"):
        trace.with_columns(array_limit=[0, 0, 0, 0])


def test_times_are_handed_over_only_where_they_hold_or_cancel():
    trace = built(eligible_s=[0, 5, NAN, INF], cancel_at_s=[NAN, 9, NAN, NAN])
    found = holds_of(trace).columns
    assert found["eligible_us"].tolist() == [0, 5_000_000, -1, HELD]
    assert found["cancel_at_us"].tolist() == [-1, 9_000_000, -1, -1]
    assert holds_of(trace[[0, 2]]).columns == {}


def test_exits_are_handed_over_to_those_that_wait_for_them():
    statuses = ["failed", "killed", "ok", "unknown"]
    trace = built(["", "", "", "afterok:a:b:c"], status=statuses)
    assert holds_of(trace).columns["exit_failed"].tolist() == [True, True, False, False]
    assert "exit_failed" not in holds_of(trace.with_columns(status="ok")).columns
    assert holds_of(trace.with_columns(dependency=None)).columns == {}


def test_only_runs_get_the_columns_in_the_types_of_the_core():
    trace = built(
        ["", "after:a+1?afterok:a", ""], array=["m", "", ""], array_limit=[1, NAN, NAN],
        eligible_s=[5, NAN, NAN], cancel_at_s=[9, 9, 9], status=["failed", "ok", "ok"],
    )  # fmt: skip
    cluster = gs.Cluster.uniform(1, 4)
    of_run = job_columns(trace, cluster, uses_estimates=False, holds=True)
    other = job_columns(trace, cluster, uses_estimates=False)
    types = {column.name: column.dtype for column in _core.JOB_COLUMNS}
    held = of_run.keys() - other.keys()
    assert held == {
        "eligible_us", "cancel_at_us", "exit_failed", "dependency_begin", "dependency_target",
        "dependency_kind", "dependency_delay_us", "dependency_any", "array", "array_limit",
    }  # fmt: skip
    assert {name: of_run[name].dtype.name for name in held} == {name: types[name] for name in held}
    assert of_run["dependency_begin"].tolist() == [0, 0, 2, 2]
    assert of_run["dependency_any"].tolist() == [0, 1, 0]
    _core.JobTable(**of_run)


def test_distinct_texts_are_parsed_once_and_others_cost_nothing(monkeypatch):
    size = 1_000_000
    ones = np.ones(size)
    trace = gs.Trace.from_columns(np.arange(size), ones, ones)
    assert case.holds_of(trace) is None
    asked: list[str] = []

    def counted(text: str) -> dependencies.Dependency:
        asked.append(text)
        return parsed(text)

    monkeypatch.setattr(dependencies, "parsed", counted)
    blank = trace.with_columns(dependency="", eligible_s=NAN, array="", cancel_at_s=NAN)
    assert holds_of(blank).columns == {}
    assert not asked
    some = np.zeros(size, np.int64)
    some[5::10] = 1 + np.arange(len(some[5::10])) % 2
    texts = np.array(["", "afterok:0", "afterany:1:2"], object)
    found = holds_of(trace.with_columns(dependency=texts[some])).columns
    assert sorted(asked) == ["afterany:1:2", "afterok:0"]
    assert len(found["dependency_target"]) == 150_000
    assert found["dependency_target"][:3].tolist() == [0, 1, 2]
