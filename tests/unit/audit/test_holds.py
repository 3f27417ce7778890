"""Runs in which jobs are held and cancelled: each forgery of a log is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, reject
from hypothesis import strategies as st

import gpusched as gs
from gpusched.audit import decisions
from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.holds import Ends, Holds
from gpusched.audit.laws import known_holds
from gpusched.audit.readable_run import array_limits, jobs_of
from gpusched.model.outages import NEVER_US
from gpusched.reference import (
    CANCELLED,
    FAILED,
    FINISHED,
    KILLED,
    REJECTED,
    UNFINISHED,
    make_engine,
    make_scheduler,
)
from gpusched.results.audited_names import declared
from gpusched.results.result import Result
from gpusched.schedules.schedule import StoredSchedule
from gpusched.specs.run_spec import TraceSource
from gpusched.testing.strategies import outages, traces, workloads
from gpusched.traces.dependencies import holds_of
from tests.each import each
from tests.examples import examples
from tests.unit.audit.test_failures import Change, changed, rebuilt, told
from tests.unit.small_runs import SECOND as S

NAN, INF = float("nan"), float("inf")
NEVER = -2
JOBS: dict[str, tuple[Any, ...]] = {
    # name: submit, service, dependency, more
    "ok": (0, 10, ""),
    "bad": (0, 10, ""),  # its exit is not ok
    "if-ok": (0, 5, "afterok:ok"),
    "lost": (1, 5, "afterok:bad"),  # never
    "if-bad": (0, 5, "afternotok:bad"),
    "delayed": (0, 5, "after:ok+0.05"),
    "just-after": (0, 5, "after:ok"),
    "begins": (0, 5, ""),  # at 7 s
    "a1": (0, 6, ""),
    "a2": (0, 6, ""),
    "a3": (0, 6, ""),
    "stopped": (0, 20, ""),  # at 4 s, when it runs
    "after-it": (0, 3, "afterany:stopped"),
    "off": (0, 5, ""),  # eligible at 8 s, and cancelled at 5 s
    "off-bad": (0, 5, "afterok:bad"),  # cancelled at 5 s, before its dependency is hopeless
    "either": (0, 3, "afterok:bad?afterok:if-ok"),
    "chained": (0, 3, "afterok:lost"),
    "kept": (0, 3, ""),  # held for good
}  # fmt: skip


def of(name: str) -> int:
    """The JobId of a job above."""
    return ran().trace.id.tolist().index(name)


@cache
def ran(*, kills: bool = False, policy: str = "sjf") -> Result:
    """Each job waits for its hold alone: there are GPUs for all."""
    submit_s, service_s, dependency = (list(column) for column in zip(*JOBS.values(), strict=True))

    def told_of(fill: Any, **given: Any) -> list[Any]:
        return [given.get(name.replace("-", "_"), fill) for name in JOBS]

    trace = gs.Trace.from_columns(
        submit_s,
        service_s,
        [1] * len(JOBS),
        id=list(JOBS),
        dependency=dependency,
        status=told_of("ok", bad="failed"),
        eligible_s=told_of(NAN, begins=7, off=8, kept=INF),
        cancel_at_s=told_of(NAN, stopped=4, off=5, off_bad=5),
        array=told_of("", a1="a", a2="a", a3="a"),
        array_limit=told_of(NAN, a1=2, a2=2, a3=2),
    )
    result = gs.simulate(
        trace, gs.Cluster.uniform(2, 8), policy=policy, placement="first-fit",
        kill_invalid_depend=kills,
    )  # fmt: skip
    return rebuilt(result, schedule=StoredSchedule.of(result.schedule))


def test_the_run_under_test_is_correct_and_rich():
    result = ran()
    assert told(result) == []
    report = result.audit(level="decisions")
    assert report.ok, str(report)
    assert not report.notes
    eligible_s = {
        name: us if us < 0 else us / S
        for name, us in zip(result.trace.id, result.schedule.eligible_us.tolist(), strict=True)
    }
    assert eligible_s == {
        "ok": 0, "bad": 0, "if-ok": 10, "lost": NEVER, "if-bad": 10, "delayed": 3,
        "just-after": 1e-6, "begins": 7, "a1": 0, "a2": 0, "a3": 6, "stopped": 0, "after-it": 4,
        "off": -1, "off-bad": -1, "either": 15, "chained": -1, "kept": -1,
    }  # fmt: skip
    killed = ran(kills=True)
    assert told(killed) == []
    assert killed.audit(level="decisions").ok
    gone = [result.trace.id[job] for job in np.flatnonzero(killed.schedule.status == CANCELLED)]
    assert gone == ["stopped", "off", "off-bad", "chained", "lost"]


def starts(name: str, at_s: float) -> Callable[[Result], list[str]]:
    """Let the only run of a job begin at another time, as long as it is."""

    def forge(result: Result) -> list[str]:
        rows = {column: values.copy() for column, values in result.intervals.items()}
        (row,) = np.flatnonzero(rows["job"] == of(name))
        length = rows["end_us"][row] - rows["start_us"][row]
        start_us = round(at_s * S)
        rows["start_us"][row], rows["end_us"][row] = start_us, start_us + length
        start, finish = (np.array(getattr(result.schedule, n)) for n in ("start_us", "finish_us"))
        start[of(name)] = start_us
        finish[of(name)] = start_us + length if finish[of(name)] >= 0 else -1
        return told(result, rows, start_us=start, finish_us=finish)

    return forge


def runs(name: str, at_s: int) -> Callable[[Result], list[str]]:
    """Add a run to a job without one."""

    def forge(result: Result) -> list[str]:
        job, start_us, service_us = of(name), at_s * S, JOBS[name][1] * S
        row = {"job": job, "start_us": start_us, "end_us": start_us + service_us, "server": 1,
               "mask": 1 << 7}  # fmt: skip
        place = int(np.searchsorted(result.intervals["job"], job))
        rows = {n: np.insert(values, place, row[n]) for n, values in result.intervals.items()}
        values = {"start_us": start_us, "finish_us": start_us + service_us, "num_servers": 1,
                  "held_us": service_us, "status": FINISHED}  # fmt: skip
        columns = {n: np.array(getattr(result.schedule, n)) for n in values}
        for n, column in columns.items():
            column[job] = values[n]
        return told(result, rows, **columns)

    return forge


def has(name: str, *, kills: bool = False, **columns: int) -> Callable[[Result], list[str]]:
    """Change what the schedule says of a job; ``kills``: in the other run."""

    def forge(result: Result) -> list[str]:
        return changed(ran(kills=kills), Change(of(name), columns=columns))

    return forge


def ends(name: str, at_us: int, **columns: int) -> Callable[[Result], list[str]]:
    """Let the run of a job end at another time."""

    def forge(result: Result) -> list[str]:
        start_us = int(result.schedule.start_us[of(name)])
        held = {"held_us": at_us - start_us}
        return changed(result, Change(of(name), 0, {"end_us": at_us}, held | columns))

    return forge


def says(*warnings: str) -> Callable[[Result], list[str]]:
    return lambda result: told(result, warnings=warnings)


def dropped(name: str, **columns: int) -> Callable[[Result], list[str]]:
    """Leave out the only run of a job."""

    def forge(result: Result) -> list[str]:
        job = of(name)
        values = {"start_us": -1, "finish_us": -1, "held_us": 0, "num_servers": 0,
                  "preemptions": 0, "status": UNFINISHED} | columns  # fmt: skip
        changed_columns = {n: np.array(getattr(result.schedule, n)) for n in values}
        for n, column in changed_columns.items():
            column[job] = values[n]
        keeps = result.intervals["job"] != job
        rows = {n: column[keeps] for n, column in result.intervals.items()}
        return told(result, rows, **changed_columns)

    return forge


FORGED: dict[str, tuple[Callable[[Result], list[str]], str]] = {
    "a start a microsecond before a target has ended": (
        starts("if-ok", 10 - 1e-6),
        "start before its dependencies are met: job {if-ok} runs from 9999999 us, but that is at "
        "10000000 us",
    ),
    "a run of a job whose dependencies can never be met": (
        runs("lost", 10),
        "start before its dependencies are met: job {lost} runs from 10000000 us, but that is "
        "never",
    ),
    "a run of a job whose target never runs": (
        runs("chained", 16), "start before its dependencies are met: job {chained}"
    ),
    "a start with that of the target": (
        starts("just-after", 0), "start before its dependencies are met: job {just-after} runs"
    ),
    "a start before the delay is over": (
        starts("delayed", 2), "start before its dependencies are met: job {delayed} runs from "
    ),
    "a start after the wrong one of two targets": (
        starts("either", 10), "start before its dependencies are met: job {either} runs from "
    ),
    "a start before the eligible time": (
        starts("begins", 6), "start before its eligible time: job {begins} runs from 6000000 us"
    ),
    "a run of a job that is held for good": (
        runs("kept", 9), "start before its eligible time: job {kept} runs from 9000000 us, but "
        "that is never"
    ),
    "three tasks of an array that allows two": (
        starts("a3", 5), "start before its array has room for it: job {a3} runs from 5000000 us"
    ),
    "a task that overtakes a smaller one of its array": (
        lambda result: swapped(result, "a2", "a3"),
        "start before its array has room for it: job {a3} runs from 0 us, but that is at 6000000",
    ),
    "a run that goes on when it is cancelled": (
        ends("stopped", 4 * S + 1),
        "cancelled at another time: job {stopped} runs until 4000001 us, and is cancelled at",
    ),
    "a run that ends before it is cancelled": (
        ends("stopped", 4 * S - 1), "cancelled at another time: job {stopped} runs until 3999999"
    ),
    "the same, called a preemption": (
        ends("stopped", 4 * S - 1, preemptions=1),
        "cancelled at another time: job {stopped} runs until 3999999",
    ),
    "a cancellation that is called a finish": (
        has("stopped", status=FINISHED, finish_us=4 * S), "work lost: job {stopped} did 4000000 us"
    ),
    "a finish after the cancellation": (
        ends("stopped", 20 * S, status=FINISHED, finish_us=20 * S),
        "not cancelled: job {stopped} is not over at 4000000 us",
    ),
    "a cancellation that is called the end of the run": (
        has("stopped", status=UNFINISHED), "not cancelled: job {stopped} is not over at 4000000 us"
    ),
    "a held job that is not cancelled": (
        has("off", status=UNFINISHED), "not cancelled: job {off} is not over at 5000000 us"
    ),
    "a finish that is called a cancellation": (
        has("begins", status=CANCELLED, finish_us=-1), "cancelled without a reason: job {begins}"
    ),
    "a held job that is cancelled for no reason": (
        has("lost", status=CANCELLED), "cancelled without a reason: job {lost}"
    ),
    "a hopeless job that stays under kill_invalid_depend": (
        has("lost", kills=True, status=UNFINISHED), "not cancelled: job {lost} is not over at 100"
    ),
    "the next one of the chain": (
        has("chained", kills=True, status=UNFINISHED),
        "not cancelled: job {chained} is not over at 10000000 us",
    ),
    "an eligible time that is too early": (
        has("if-ok", eligible_us=9 * S), "wrong eligible_us: job {if-ok}: 9000000, the log has 10"
    ),
    "an eligible time of a job that was never in the queue": (
        has("off", eligible_us=8 * S), "wrong eligible_us: job {off}: 8000000, the log has -1"
    ),
    "a hopeless job that is called held": (
        has("lost", eligible_us=-1), "wrong eligible_us: job {lost}: -1, the log has -2"
    ),
    "a held job that is called hopeless": (
        has("kept", eligible_us=-2), "wrong eligible_us: job {kept}: -2, the log has -1"
    ),
    "a job that waits longer than it is held": (
        starts("begins", 8), "left waiting: from 7000000 us on job {begins}"
    ),
    "a released task that waits": (starts("a3", 7), "left waiting: from 6000000 us on job {a3}"),
    "a job that is lost when it is released": (dropped("begins"), "job never ends: job {begins}"),
    "no word on jobs that stay held": (says(), "wrong warning: on waiting jobs it has []"),
    "a word on fewer jobs": (
        says("2 jobs stay held, the first is job 9: it is held for good"),
        "wrong warning: on waiting jobs it has ['2 jobs stay held",
    ),
    "held jobs that are said to wait": (
        says("3 jobs wait forever, the first is job 15: nothing"), "wrong warning: on waiting jobs"
    ),
    "no eligible times": (
        lambda result: told(result, eligible_us=np.empty(0, np.int64)),
        "malformed columns: eligible_us is not one value per job",
    ),
}  # fmt: skip


def swapped(result: Result, one: str, other: str) -> list[str]:
    """Exchange the runs of two tasks that are alike."""
    rows = {name: column.copy() for name, column in result.intervals.items()}
    places = [int(np.flatnonzero(rows["job"] == of(name))[0]) for name in (one, other)]
    for name in ("start_us", "end_us", "server", "mask"):
        rows[name][places] = rows[name][places[::-1]]
    jobs = [of(one), of(other)]
    columns = {n: np.array(getattr(result.schedule, n)) for n in ("start_us", "finish_us")}
    for column in columns.values():
        column[jobs] = column[jobs[::-1]]
    return told(result, rows, **columns)


@each(("forge", "said"), named=FORGED)
def test_a_forgery_is_named(forge: Callable[[Result], list[str]], said: str):
    numbers = {f"{{{name}}}": str(of(name)) for name in JOBS}
    for mark, number in numbers.items():
        said = said.replace(mark, number)
    found = forge(ran())
    assert any(problem.startswith(said) for problem in found), (said, found)


def test_eligible_times_of_jobs_that_are_never_held_are_found():
    trace = gs.Trace.from_columns([0, 0], [3, 3], [1, 1], dependency=["", "afterok:unknown"])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="fifo")
    result = rebuilt(result, schedule=StoredSchedule.of(result.schedule))
    assert told(result) == []
    assert told(result, eligible_us=np.zeros(2, np.int64)) == [
        "malformed columns: eligible_us in a run without jobs that are held"
    ]


def test_a_held_job_holds_up_nobody_and_a_released_one_does():
    """Job 1 is larger than what is free when it is released, and from then on job 3 waits, too."""
    trace = gs.Trace.from_columns(
        [0, 1, 4, 2], [10, 5, 5, 1], [3, 4, 1, 1], eligible_s=[NAN, 3, NAN, NAN]
    )
    cluster = gs.Cluster.uniform(1, 4)
    strict, skips = (
        rebuilt(result, schedule=StoredSchedule.of(result.schedule))
        for result in (gs.simulate(trace, cluster, policy=name) for name in ("fifo", "fifo-skip"))
    )
    assert (strict.schedule.start_us / S).tolist() == [0, 10, 2, 15]
    assert (skips.schedule.start_us / S).tolist() == [0, 10, 2, 4]
    assert told(strict) == told(skips) == []
    lie = rebuilt(skips, spec=msgspec.structs.replace(skips.spec, policy="fifo"))
    assert told(lie) == [
        "out of order: job 3 starts at 4000000 us, while job 1 waits and goes first under fifo"
    ]
    # Had job 1 been in the queue at 2 s, job 2 would have overtaken it.
    other = gs.Trace.from_columns([0, 1, 4, 2], [10, 5, 5, 1], [3, 4, 1, 1])
    source = TraceSource.of(other)
    spec = msgspec.structs.replace(strict.spec, trace=source)
    found = told(rebuilt(strict, trace=other, spec=spec), eligible_us=np.empty(0, np.int64))
    assert found == [
        "out of order: job 2 starts at 2000000 us, while job 1 waits and goes first under fifo"
    ]


def test_calls_that_cancel_held_jobs_are_reasons():
    trace = gs.Trace.from_columns(
        [0, 0, 0, 0], [10, 5, 5, 5], [1] * 4,
        dependency=["", "afterok:0", "afternotok:1", "afterok:2"],
    )  # fmt: skip
    run = gs.Simulation(trace, gs.Cluster.uniform(1, 4), policy="fifo")
    run.run_until(2)
    run.cancel(1)
    run.run()
    result = rebuilt(run.result(), schedule=StoredSchedule.of(run.result().schedule))
    assert (result.schedule.eligible_us / S).tolist() == [0, -1 / S, 2, 7]
    report = result.audit(level="decisions")
    assert report.ok, str(report)
    assert "cancelled without a reason: job 1: no time, dependency or call cancels it" in told(
        result, warnings=()
    )


def test_only_the_first_jobs_of_a_long_run_are_repeated_with_all_that_they_wait_for():
    trace = gs.Trace.from_columns(
        np.arange(40), np.full(40, 3), np.ones(40), dependency=["afterany:39", *[""] * 38, ""]
    )
    result = gs.simulate(trace, gs.Cluster.uniform(1, 4), policy="fifo")
    case = Case(
        result.trace, result.cluster, result.spec, result.schedule, result.intervals,
        declared(result.spec),
    )  # fmt: skip
    course = Course.of(case)
    case.holds = known_holds(case, course)
    decisions.check(case, course, most_looks=400)
    assert case.problems == []
    (note,) = case.notes
    assert note.startswith("decisions shown: those before ")


HOLDS = ("eligible_s", "cancel_at_s", "array", "dependency")
LIMITS = ("time_limit_s", "deadline_s", "estimate_s", "max_requeues")


@given(
    traces(max_gpus=3, columns=(*HOLDS, "time_limit_s")),
    st.booleans(),
    st.sampled_from(["fifo", "sjf", "srtf"]),
)
@examples(150)
def test_holds_by_the_log_are_those_of_the_readable_engine(trace, kills, policy):
    columns = holds_of(trace).columns
    engine = make_engine(
        jobs_of(trace, slice(None), "service_us", "fixed"), [(2, "gpu")],
        make_scheduler(policy, {}), "first-fit", array_limits=array_limits(trace),
        kill_invalid_depend=kills,
    )  # fmt: skip
    outcome = engine.run()
    status = np.array(outcome.status)
    last_us = np.full(len(trace), -1)
    for job, _, end_us, _, _ in outcome.rows:
        last_us[job] = max(last_us[job], end_us)
    ended_us = np.where(np.isin(status, (FINISHED, KILLED, FAILED)), last_us, NEVER_US)
    ended_us = np.where(status == REJECTED, trace.submit_us, ended_us)
    is_ok = (status == FINISHED) & ~columns.get("exit_failed", np.False_)
    ends = Ends(np.array(outcome.start_us), ended_us, is_ok, np.full(len(trace), NEVER_US))
    holds = Holds.of(columns, trace.submit_us, ends, kills=kills)
    if columns:
        assert holds.eligible_us.tolist() == outcome.eligible_us
    over_us = np.array([job.ended for job in engine.jobs.values()])
    assert np.where(holds.over_us == NEVER_US, -1, holds.over_us).tolist() == over_us.tolist()


REFUSED = "does not support outages|only one reads estimates|a single pool has no servers"


@given(
    workloads(columns=(*HOLDS, *LIMITS), is_fitting=False),
    st.sampled_from(sorted(gs.policies())),
    st.sampled_from(["first-fit", "consolidated", "count"]),
    st.booleans(),
    st.data(),
)
@examples(80)
def test_a_correct_schedule_has_no_problems(workload, policy, placement, kills, data):
    trace, cluster = workload
    way = data.draw(st.sampled_from(["plain", "outages", "changed"]))
    down = None
    if way == "outages" and placement != "count":
        down = data.draw(outages(cluster))
    try:
        run = gs.Simulation(
            trace, cluster, policy=policy, placement=placement, kill_invalid_depend=kills,
            outages=down,
        )  # fmt: skip
        if way == "changed":
            change(run, data)
        run.run()
    except ValueError as error:
        if not re.search(REFUSED, str(error)):
            raise
        reject()
    report = run.result().audit(level="decisions")
    assert report.ok, str(report)


def change(run: gs.Simulation, data: st.DataObject) -> None:
    """Cancel a job that is there, and perhaps go on under another policy."""
    run.run_until(data.draw(st.integers(0, 20)))
    here = [*run.state.waiting.tolist(), *run.state.running.tolist()]
    if here:
        run.cancel(data.draw(st.sampled_from(here)))
    if data.draw(st.booleans()):
        run.set(policy=data.draw(st.sampled_from(["fifo", "srtf", "edf"])))
