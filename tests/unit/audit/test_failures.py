"""Runs with outages, checkpoints and time limits: each forgery of a log is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import gpusched as gs
from gpusched.audit.downtimes import Downtimes
from gpusched.model.outages import NEVER_US
from gpusched.reference import (
    CANCELLED,
    FAILED,
    FINISHED,
    KILLED,
    PLACEMENTS,
    UNFINISHED,
    Outage,
)
from gpusched.reference.packing import OWN
from gpusched.results.result import Result
from gpusched.schedules.schedule import FAILURE_COLUMNS, digest_of
from gpusched.specs.run_spec import OutageSource
from tests.each import each
from tests.examples import examples
from tests.parity.core import choice_text, make_cluster, make_trace, predictor_of
from tests.reference.cases import Case
from tests.reference.outage_cases import ADOPTING, outage_cases
from tests.unit.small_runs import SECOND, cluster_of, job, outages_of, simulated, trace_of

TWO = ((4, "V100"), (4, "V100"))
DOWN = (Outage(1, 30 * SECOND, 60 * SECOND),)


def ran() -> Result:
    """Job 0 on two servers checkpoints and is hit at 30 s, 2 is killed, 3 fails, 4 is drained."""
    jobs = (
        job(0, 40, 8, restart_us=3 * SECOND, checkpoint_every_us=10 * SECOND,
            checkpoint_write_us=2 * SECOND),
        job(100, 50, 4, time_limit_us=60 * SECOND),
        job(100, 50, 4, time_limit_us=20 * SECOND),
        job(160, 50, 4, max_requeues=0),
        job(160, 50, 4, max_requeues=1),
    )  # fmt: skip
    outages = (
        *DOWN,
        Outage(1, 170 * SECOND, 190 * SECOND, "drain"),
        Outage(0, 180 * SECOND, 181 * SECOND),
    )
    return simulated(jobs, TWO, "fifo", "first-fit", outages=outages)


def rebuilt(result: Result, **parts: Any) -> Result:
    """Return a result with other parts; metrics are computed anew."""
    names = ("trace", "cluster", "spec", "schedule", "outages")
    kept = {name: getattr(result, name) for name in names}
    return Result(wall_s=0.0, clairvoyant=result.clairvoyant, **kept | parts)


def told(result: Result, rows: Mapping[str, Any] | None = None, **columns: Any) -> list[str]:
    """Audit a result with other rows and columns; digest and metrics follow."""
    rows = result.intervals if rows is None else rows
    schedule = replace(result.schedule, rows=rows, **columns)
    schedule = replace(schedule, digest=digest_of(rows, schedule.status, schedule.reason))
    return rebuilt(result, schedule=schedule).audit().problems


def test_the_run_under_test_is_correct_and_rich():
    result = ran()
    assert told(result) == []
    assert result.schedule.status.tolist() == [FINISHED, FINISHED, KILLED, FAILED, FINISHED]
    assert result.schedule.failures.tolist() == [1, 0, 0, 1, 0]
    # 30 s hold two periods of 12 s and 6 s more; then 3 + 20 + 2 s.
    assert result.schedule.lost_us[0] == 6 * SECOND
    assert result.schedule.written_us[0] == 6 * SECOND
    assert result.schedule.held_us[0] == (30 + 3 + 20 + 2) * SECOND
    assert result.audit(level="decisions").ok


@dataclass(frozen=True)
class Change:
    """Values of a row of a job, and of columns of the schedule."""

    of_job: int
    row: int | slice = 0
    values: Mapping[str, int] | None = None
    columns: Mapping[str, int] | None = None


def changed(result: Result, change: Change) -> list[str]:
    rows = {name: column.copy() for name, column in result.intervals.items()}
    for name, value in (change.values or {}).items():
        rows[name][np.flatnonzero(rows["job"] == change.of_job)[change.row]] = value
    columns = {name: np.array(getattr(result.schedule, name)) for name in change.columns or {}}
    for name, values in columns.items():
        values[change.of_job] = (change.columns or {})[name]
    return told(result, rows, **columns)


S = SECOND
LAST = slice(2, None)  # rows of the last run of job 0
FORGED = {
    "a start on a server that is down": (
        Change(0, 3, {"start_us": 59 * S}), "start on a closed server: job 0 from 59000000 us on"
    ),
    "a start on a server that is drained": (
        Change(4, 0, {"start_us": 175 * S}), "start on a closed server: job 4 from 175000000 us"
    ),
    "a run that goes on when its server fails": (
        Change(0, 1, {"end_us": 31 * S}),
        "runs through a failure: job 0 until 31000000 us on server 1, down from 30000000 us",
    ),
    "a job that is hit and keeps its other GPUs": (
        Change(0, 0, {"end_us": 31 * S}), "job not whole: job 0 loses GPUs between 30000000"
    ),
    "a kill a microsecond late": (
        Change(2, 0, {"end_us": 120 * S + 1}),
        "runs beyond its limit: job 2 from 100000000 us for 20000001 us, its limit is 20000000 us",
    ),
    "a kill a microsecond early": (
        Change(2, 0, {"end_us": 120 * S - 1}), "killed before its limit: job 2 at 119999999 us"
    ),
    "a kill that is called a finish": (
        Change(2, 0, columns={"status": FINISHED, "finish_us": 120 * S}),
        "work lost: job 2 did 20000000 us of 50000000 us",
    ),
    "a kill that is called the end of a run": (
        Change(2, 0, columns={"status": CANCELLED}), "not killed at its limit: job 2 at 120000000"
    ),
    "a finish that is called a kill": (
        Change(1, 0, columns={"status": KILLED, "finish_us": -1}),
        "goes on after its work: job 1 from 100000000 us needs 50000000 us",
    ),
    "a kill of a job without a limit": (
        Change(4, 0, columns={"status": KILLED}), "killed before its limit: job 4"
    ),
    "less lost than the checkpoints leave": (
        Change(0, columns={"lost_us": 0}), "wrong lost_us: job 0: 0, the log has 6000000"
    ),
    "a checkpoint that was not complete": (
        Change(0, LAST, {"end_us": 79 * S}), "work lost: job 0 did"
    ),
    "a checkpoint that is not used": (
        Change(0, LAST, {"end_us": 97 * S}), "work invented: job 0 did"
    ),
    "too many writes": (
        Change(0, columns={"written_us": 8 * S}), "wrong written_us: job 0: 8000000, the log has"
    ),
    "a write after the last work": (
        Change(0, LAST, {"end_us": 87 * S}), "work invented: job 0 did"
    ),
    "a restart without its overhead": (
        Change(0, LAST, {"end_us": 82 * S}), "work lost: job 0 did"
    ),
    "too few failures": (Change(0, columns={"failures": 0}), "wrong failures: job 0: 0"),
    "a failure that is called a preemption": (
        Change(0, columns={"failures": 0, "preemptions": 1}), "wrong preemptions: job 0: 1"
    ),
    "a job that fails though it could wait": (
        Change(0, columns={"status": FAILED, "finish_us": -1}), "wrong requeue: job 0 fails after 1"
    ),
    "a job that waits though it has failed": (
        Change(3, columns={"status": UNFINISHED}), "wrong requeue: job 3 goes on after 1 failures"
    ),
    "a job that fails without a failure": (
        Change(4, columns={"status": FAILED, "finish_us": -1}), "ends without a failure: job 4"
    ),
    "a job that waits for ever for servers that return": (
        Change(3, columns={"status": UNFINISHED}), "job never ends: job 3"
    ),
}  # fmt: skip


@each(("change", "said"), named=FORGED)
def test_a_forgery_is_named(change: Change, said: str):
    found = changed(ran(), change)
    assert any(problem.startswith(said) for problem in found), found


def late(result: Result, of_job: int, start_s: int) -> list[str]:
    """Let the last run of a job begin later, with all that follows from it."""
    rows = {name: column.copy() for name, column in result.intervals.items()}
    last = (rows["job"] == of_job) & (
        rows["start_us"] == rows["start_us"][rows["job"] == of_job].max()
    )
    shift_us = start_s * SECOND - rows["start_us"][last][0]
    rows["start_us"][last] += shift_us
    rows["end_us"][last] += shift_us
    finish_us = result.schedule.finish_us.copy()
    finish_us[of_job] += shift_us
    return told(result, rows, finish_us=finish_us)


WIDE = job(0, 30, 4)
WAITING = {
    # Job 0 could go on at the instant at which the other server is free, or its own one returns.
    "behind others": (
        "sjf",
        {"scan": "skip"},
        [WIDE, job(2, 6, 4)],
        0,
        9,
        "from 8000000 us on job 0",
    ),
    "for the other server": ("sjf", {"scan": "skip"}, [WIDE], 0, 6, "from 5000000 us on job 0"),
    "first in line": (
        "fifo",
        {},
        [job(0, 30, 8), job(60, 1, 1)],
        0,
        21,
        "from 20000000 us on job 0",
    ),
}


@each(("policy", "params", "jobs", "of_job", "start_s", "said"), named=WAITING)
def test_a_job_is_not_left_waiting_after_a_failure(policy, params, jobs, of_job, start_s, said):
    outages = [Outage(0, 5 * S, 20 * S)]
    result = simulated(jobs, TWO, policy, "first-fit", policy_params=params, outages=outages)
    assert result.schedule.failures[of_job] == 1
    assert told(result) == []
    (problem,) = late(result, of_job, start_s)
    assert problem.startswith(f"left waiting: {said}")


def test_a_job_that_is_hit_keeps_its_place_in_a_strict_line():
    jobs = [job(0, 100, 8), job(5, 20, 4)]
    skips = simulated(jobs, TWO, "fifo", "first-fit", policy_params={"scan": "skip"}, outages=DOWN)
    assert skips.schedule.start_us.tolist() == [0, 30 * S]
    assert told(skips) == []
    lie = rebuilt(skips, spec=msgspec.structs.replace(skips.spec, policy="fifo"))
    assert told(lie) == [
        "out of order: job 1 starts at 30000000 us, while job 0 waits and goes first under fifo"
    ]


def test_nobody_overtakes_a_job_that_waits_again_before_it_is_cancelled():
    jobs = gs.Trace.from_columns([0, 1], [30, 10], [8, 2])
    outages = gs.Outages.from_columns([0], [5], [20])
    run = gs.Simulation(
        jobs, cluster_of(TWO), policy="fifo", placement="first-fit", outages=outages
    )
    run.run_until(10)
    assert run.state.waiting.tolist() == [0, 1]
    run.cancel(0)
    run.run()
    result = run.result()
    assert result.schedule.start_us.tolist() == [0, 10 * S]
    assert result.schedule.failures.tolist() == [1, 0]
    report = result.audit(level="decisions")
    assert report.ok, str(report)


def test_a_server_that_is_drained_is_not_free():
    """Job 1 waits for the whole drain, and would be left waiting without it."""
    drain = [Outage(0, 5 * SECOND, 40 * SECOND, "drain"), Outage(1, 0, 50 * SECOND, "drain")]
    result = simulated([WIDE, job(6, 10, 4)], TWO, "sjf", "first-fit", outages=drain)
    assert result.schedule.start_us.tolist() == [0, 40 * SECOND]
    assert told(result) == []
    source = OutageSource.of(None)
    whole = rebuilt(result, spec=msgspec.structs.replace(result.spec, outages=source), outages=None)
    empty = dict.fromkeys(FAILURE_COLUMNS, np.empty(0, np.int64))
    found = told(whole, **empty)
    assert [problem.split(" of ")[0] for problem in found] == [
        "left waiting: from 6000000 us on job 1"
    ]


def test_a_job_may_wait_for_ever_for_a_server_that_is_gone_but_not_beside_one_that_fits():
    gone = [Outage(0, 5 * SECOND)]
    result = simulated([job(0, 30, 8), job(0, 3, 4)], TWO, "sjf", "first-fit", outages=gone)
    assert result.schedule.status.tolist() == [UNFINISHED, FINISHED]
    assert told(result) == []
    alone = simulated([job(0, 30, 4)], TWO, "sjf", "first-fit", outages=gone)
    assert told(alone) == []
    first = {name: column[:1] for name, column in alone.intervals.items()}
    waits = "1 job waits forever, the first is job 0: GPUs are down"
    columns = {"status": UNFINISHED, "finish_us": -1, "held_us": 5 * SECOND}
    forged = {name: np.array([value]) for name, value in columns.items()}
    found = told(alone, first, warnings=(waits,), **forged)
    assert any(problem.startswith("left waiting: from 5000000 us on job 0") for problem in found)


def test_outages_that_the_specification_does_not_name_are_found():
    result = ran()
    for outages in (None, outages_of(DOWN)):
        other = rebuilt(result, outages=outages)
        assert any(problem.startswith("other outages: ") for problem in other.audit().problems)


def test_failures_without_outages_limits_and_checkpoints_are_found():
    result = simulated([WIDE], TWO)
    found = told(result, **{name: np.zeros(1, np.int64) for name in FAILURE_COLUMNS})
    assert len(found) == 3
    assert all("in a run without outages or limits" in problem for problem in found)


# Server, start and length of each time: tiny, so that they meet.
TIMES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(1, 3)), max_size=8)


@given(TIMES)
def test_times_of_servers_are_found_as_in_a_plain_list(drawn):
    columns = np.array(drawn, np.int64).reshape(-1, 3).T
    outages = gs.Outages.from_columns(columns[0], columns[1] / 1e6, columns[1:].sum(0) / 1e6)
    times = Downtimes.of(gs.Cluster.uniform(servers=3, gpus=1), outages)
    for server in range(4):
        covers = {us for of, start, length in drawn for us in range(start, start + length)
                  if of == server}  # fmt: skip
        starts = sorted(us for us in covers if us - 1 not in covers)
        for us in range(-1, 14):
            at = np.array([server]), np.array([us])
            assert times.cover(*at)[0] == (us in covers)
            assert times.next_us(*at)[0] == min((s for s in starts if s > us), default=NEVER_US)


REFUSED = r"gpu_share: not supported|does not support outages|^policy easy\S* does not plan "


@given(st.sampled_from(ADOPTING), st.sampled_from([*PLACEMENTS, *OWN]), st.data())
@examples(60)
def test_a_correct_schedule_has_no_problems(policy, placement, data):
    speed = data.draw(st.sampled_from(["fixed", "fixed", "ring", "table"]))
    assume(placement != "count" and (speed == "fixed" or placement not in OWN))
    case = data.draw(outage_cases(policy, placement, speed)).at(SECOND)
    try:
        result = simulate(case)
    except ValueError as error:
        if not re.search(REFUSED, str(error)):
            raise
        reject()
    report = result.audit(level="decisions")
    assert report.ok, str(report)


def simulate(case: Case) -> Result:
    return gs.simulate(
        make_trace(case.jobs),
        make_cluster(case.servers, case.network, case.room, case.part_of),
        policy=gs.Policy(case.policy, **case.policy_params),
        placement=choice_text(case.placement, case.placement_params),
        predictor=predictor_of(case.jobs),
        speed=choice_text(case.speed, case.speed_params),
        contention=choice_text(case.contention, case.contention_params),
        seed=case.seed,
        outages=outages_of(case.outages),
    )


def test_a_start_that_known_maintenance_forbids_is_found():
    jobs = gs.Trace.from_columns([0, 0], [40, 20], [4, 4], estimate_s=[60, 20])
    columns = ([0, 1], [50, 20], [80, 30], "maint")
    run = {"policy": "fifo", "placement": "first-fit"}
    unknown = gs.Outages.from_columns(*columns, [50, 20])
    result = gs.simulate(jobs, cluster_of(TWO), outages=unknown, **run)
    assert result.audit().ok
    known = gs.Outages.from_columns(*columns, [0, 0])
    source = OutageSource.of(known)
    forged = rebuilt(
        result, spec=msgspec.structs.replace(result.spec, outages=source), outages=known
    )
    assert forged.audit().problems == [
        "start before maintenance: job 0 from 0 us on server 0 may run until 60000000 us, and "
        "maintenance begins at 50000000 us"
    ]


def kept_and_moved(jobs: gs.Trace, policy: str, down: gs.Outages) -> list[Result]:
    """Runs in which job 0 keeps its place in the queue, and in which it goes to the back."""
    runs = [
        gs.simulate(each, cluster_of(TWO), policy=policy, placement="first-fit", outages=down)
        for each in (jobs, jobs.with_columns(requeue_back=[1, *[0] * (len(jobs) - 1)]))
    ]
    for run in runs:
        assert run.audit().problems == run.audit(level="decisions").problems == []
    return runs


@each("policy", ["fifo", "fifo-skip", "easy", "2d-las"])
def test_a_hit_job_at_the_wrong_place_of_the_queue_is_named(policy):
    # Job 0 is hit at 4 s; job 1 has waited since 1 s, and job 2 comes at 4 s.
    jobs = trace_of([job(0, 9, 8), job(1, 5, 8), job(4, 3, 8)])
    found = kept_and_moved(jobs, policy, gs.Outages.from_columns([0], [4], [6]))
    assert [run.schedule.finish_us[0] for run in found] == [15 * SECOND, 20 * SECOND]
    for run, other in (found, found[::-1]):
        forged = rebuilt(run, schedule=other.schedule)
        if policy != "easy":  # behind its head jobs may pass others
            assert forged.audit().problems[0].startswith("out of order")
        named = [what.partition(":")[0] for what in forged.audit(level="decisions").problems]
        assert "decided otherwise" in named


def test_who_is_first_in_the_queue_once_a_hit_job_is_behind_does_not_wait():
    # Job 0 does not fit on server 0 alone, and job 1 does, from 4 s on.
    jobs = trace_of([job(0, 9, 8), job(1, 50, 4)])
    kept, moved = kept_and_moved(jobs, "fifo", gs.Outages.from_columns([1], [4], [20]))
    assert [kept.schedule.start_us[1], moved.schedule.start_us[1]] == [29 * SECOND, 4 * SECOND]
    problems = rebuilt(moved, schedule=kept.schedule).audit().problems
    assert any(
        what.startswith("left waiting: from 4000000 us on job 1 of 4 GPUs") for what in problems
    )
