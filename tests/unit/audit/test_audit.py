"""The audit by mutation: each way in which a schedule can be wrong is named."""

from dataclasses import replace
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.audit import AuditError, audit, log
from gpusched.audit.log import Occupancy
from gpusched.plugins.identity import PythonObject
from gpusched.reference import PLACEMENTS, POLICIES
from gpusched.results.audited_names import declared
from gpusched.schedules.schedule import REJECTED, digest_of
from gpusched.specs.run_spec import TraceSource
from tests.each import each
from tests.examples import examples
from tests.reference.cases import SECOND, cases
from tests.unit.small_runs import job, simulated

SERVERS = ((4, "V100"), (4, "V100"), (2, "T4"), (2, "T4"))
V100 = frozenset({"V100"})
# Job 0 is preempted under srtf, 3 spans two servers, 5 to 7 are rejected.
JOBS = (
    job(0, 10, 4, restart_us=SECOND, allowed=V100),
    job(1, 5, 4),
    job(1, 6, 4),
    job(2, 3, 8, allowed=V100),
    job(3, 3, 2, allowed=frozenset({"T4"})),
    job(4, 1, 13),
    job(4, 1, 1, allowed=frozenset({"A100"})),
    job(4, 1, 11),
    job(4, 1, 4, allowed=V100),
)


def preemptive(**params):
    return simulated(JOBS, SERVERS, "srtf", policy_params={"cost_s": 1.0, **params})


def non_preemptive(placement="consolidated"):
    jobs = [replace(one, allowed=None) for one in JOBS] if placement == "count" else JOBS
    return simulated(jobs, SERVERS, "sjf", placement)


def problems(result, rows=None, summary=None, *, keep_digest=False, **columns):
    """Audit ``result`` with ``rows``, ``columns`` and ``summary`` entries replaced.

    Unless ``keep_digest``, the digest follows, so that it is not what gives the change away.
    """
    schedule = replace(result.schedule, **columns)
    log = result.intervals if rows is None else rows
    if not keep_digest:
        digest = digest_of(log, schedule.status, schedule.reason)
        schedule = replace(schedule, digest=digest)
    metrics = result.summary() | (summary or {})
    spec = msgspec.structs.replace(result.spec, trace=TraceSource.of(result.trace))
    flags = declared(result.spec)
    return audit(
        result.trace, result.cluster, spec, schedule, log, schedule.digest, lambda: metrics, flags
    ).problems


def changed(result, row, **values):
    """The interval rows with ``values`` written into one of them."""
    rows = {name: column.copy() for name, column in result.intervals.items()}
    for name, value in values.items():
        rows[name][row] = value
    return rows


def with_value(column, index, value):
    column = np.array(column)
    column[index] = value
    return column


def rows_of(result, one):
    return np.flatnonzero(result.intervals["job"] == one)


def named(found, rule, detail=""):
    assert any(p.startswith(f"{rule}: ") and detail in p for p in found), found


any_case = st.tuples(st.sampled_from(POLICIES), st.sampled_from(PLACEMENTS)).flatmap(
    lambda pair: cases(*pair)
)


def replayed(case):
    return simulated(
        case.jobs, case.servers, case.policy, case.placement, policy_params=case.policy_params,
        placement_params=case.placement_params, seed=case.seed,
    )  # fmt: skip


@given(any_case)
@examples(150)
def test_a_correct_schedule_has_no_problems(case):
    report = replayed(case.at(SECOND)).audit()
    assert report.ok, str(report)
    report.raise_if_bad()


@given(any_case, st.data())
def test_every_change_of_a_start_or_an_end_is_noticed(case, data):
    result = replayed(case.at(SECOND))
    num_rows = len(result.intervals["job"])
    if num_rows == 0:
        return
    row = data.draw(st.integers(0, num_rows - 1))
    name = data.draw(st.sampled_from(["start_us", "end_us"]))
    shift = data.draw(st.integers(-3, 3).filter(bool)) * data.draw(st.sampled_from([1, SECOND]))
    assert problems(result, changed(result, row, **{name: result.intervals[name][row] + shift}))


@pytest.mark.parametrize("lead_us", [0, SECOND])
def test_a_log_that_takes_no_time_is_a_problem_and_not_an_error(lead_us):
    result = simulated([job(5, 1, 1)], SERVERS, "fifo", "first-fit")
    submit_us = int(result.trace.submit_us[0])
    found = problems(result, changed(result, 0, end_us=submit_us - lead_us))
    named(found, "wrong metric", "the last job ends")


def test_the_schedules_under_test_are_correct_and_rich():
    for result in (preemptive(), preemptive(restart="work"), non_preemptive()):
        assert problems(result) == []
        assert set(result.schedule.reason.tolist()) == {0, 1, 2, 3}
    assert preemptive().schedule.preemptions.tolist() == [1] + [0] * 8
    assert problems(non_preemptive("count")) == []


def test_a_report_raises_with_all_its_problems():
    result = non_preemptive()
    bad = {"status": with_value(result.schedule.status, 0, 2)}
    report = audit(
        result.trace, result.cluster, result.spec, replace(result.schedule, **bad),
        result.intervals, result.digest, result.summary, declared(result.spec),
    )  # fmt: skip
    assert not report.ok
    assert str(report) == "\n".join(report.problems)
    with pytest.raises(AuditError, match="job 0 is neither finished nor rejected"):
        report.raise_if_bad()


def test_the_result_audits_its_own_schedule():
    result = non_preemptive()
    held_us = result.schedule.held_us.copy()
    held_us[0] += 1
    result.schedule = replace(result.schedule, held_us=held_us)
    named(result.audit().problems, "wrong held_us", "job 0")


# Space


def test_a_gpu_used_twice_is_named():
    result = preemptive()
    (row,), (other, *_) = rows_of(result, 1), rows_of(result, 0)
    place = {name: result.intervals[name][other] for name in ("server", "mask")}
    found = problems(result, changed(result, row, **place))
    named(found, "GPU used twice", f"of server {place['server']} by job 0 until")


@each(("jobs", "servers"), [([job(0, 5, 4)] * 2, [(4, "V100")]), ([job(0, 1, 64)], [(64, "V100")])])
def test_a_gpu_may_be_passed_on_within_an_instant_and_there_may_be_64(jobs, servers):
    assert problems(simulated(jobs, servers)) == []


def test_a_pool_that_holds_more_than_all_gpus_is_named():
    result = non_preemptive("count")
    rows = changed(result, slice(None), start_us=4 * SECOND, end_us=9 * SECOND)
    named(problems(result, rows), "GPUs used twice", "of 12 GPUs held at 4000000 us")


def test_a_server_under_count_is_named():
    result = non_preemptive("count")
    named(problems(result, changed(result, 0, server=0)), "server under count", "job 0")
    named(problems(result, changed(result, 0, mask=1)), "server under count", "job 0")


# Which row of which job becomes wrong in what way, and what is said of it.
WRONG_ROWS = {
    "a server is lost early": (3, 1, lambda row: {"end_us": row["end_us"] - 1},
                               "job not whole: job 3 loses GPUs between"),
    "a server comes late": (3, 1, lambda row: {"start_us": row["start_us"] + 1},
                            "job not whole: job 3 holds 4 of 8 GPUs"),
    "too narrow": (1, 0, lambda row: {"mask": 0b0111}, "job not whole: job 1 holds 3 of 4 GPUs"),
    "too wide": (1, 0, lambda row: {"mask": 0b11111}, "job not whole: job 1 holds 5 of 4 GPUs"),
    "GPUs beyond": (1, 0, lambda row: {"mask": 0b11110000}, "no such GPU: job 1"),
    "no GPU": (1, 0, lambda row: {"mask": 0}, "no such GPU: job 1"),
    "a server below": (1, 0, lambda row: {"server": -1}, "no such server: job 1"),
    "a server beyond": (1, 0, lambda row: {"server": 4}, "no such server: job 1"),
    "another type": (4, 0, lambda row: {"server": 0},
                     "GPU type not allowed: job 4 on V100 of server 0"),
    "before its submit": (4, 0, lambda row: {"start_us": 2 * SECOND}, "start before submit: job 4"),
    "of no length": (4, 0, lambda row: {"end_us": row["start_us"]}, "empty interval: job 4"),
    "twice at a time": (0, 0, lambda row: {"end_us": row["next_us"] + 1},
                        "job runs twice at a time: job 0"),
    # The policy's second and the job's own are not paid.
    "a restart unpaid": (0, -1, lambda row: {"end_us": row["end_us"] - 2 * SECOND},
                         f"work lost: job 0 did {8 * SECOND} us of {10 * SECOND} us"),
}  # fmt: skip


@each(("one", "which", "change", "said"), named=WRONG_ROWS)
@each("restart", ["time", "work"])
def test_a_row_of_the_log_that_is_wrong_is_named(restart, one, which, change, said):
    result = preemptive(restart=restart)
    row = rows_of(result, one)[which]
    values = {name: column[row] for name, column in result.intervals.items()}
    values["next_us"] = result.intervals["start_us"][rows_of(result, one)[-1]]
    named(problems(result, changed(result, row, **change(values))), *said.split(": "))


# Time


# Work and restart costs


@each(("shift", "rule"), [(-1, "work lost"), (1, "work invented")])
@each("restart", ["time", "work"])
def test_work_lost_or_invented_is_named_to_the_tick(restart, shift, rule):
    result = preemptive(restart=restart)
    for one in (0, 1, 2):
        last = rows_of(result, one)[-1]
        end_us = result.intervals["end_us"][last] + shift
        named(problems(result, changed(result, last, end_us=end_us)), rule, f"job {one} did")


@each(
    ("policy", "params"),
    [
        ("srtf", {"cost_s": 3.0, "wide_cost_s": 2.0, "narrow_gpus": 2}),
        ("srtf", {"cost_s": 3.0, "narrow_gpus": 1}),
        ("2d-las", {"preset": "lucid", "period_s": 1.0, "limits": [4.0]}),
        ("2d-las", {"preset": "lucid", "period_s": 1.0, "limits": [4.0], "cost_s": 2.0}),
        ("2d-las", {"preset": "lucid", "period_s": 1.0, "limits": [4.0], "overrun_s": 3.0}),
        ("2d-las", {"preset": "tiresias", "limits": [4.0], "cost_s": 2.0}),
        ("srtf", {"cost_s": 3.0, "overrun_s": 2.0}),
    ],
)
def test_costs_come_from_the_text_of_the_policy(policy, params):
    jobs = [job(0, 30, 9), job(1, 1, 2), job(2, 20, 9), job(9, 2, 4)]
    result = simulated(jobs, [(4, "V100")] * 3, policy, policy_params=params)
    assert result.schedule.preemptions.sum() > 0
    assert problems(result) == []


def test_a_job_that_ends_inside_its_restart_is_named():
    result = simulated(
        [job(0, 10, 4), job(2, 1, 4)], [(4, "V100")], "srtf", policy_params={"cost_s": 3.0}
    )
    first, last = rows_of(result, 0)
    rows = changed(result, first, start_us=-8 * SECOND)  # all work in the first interval
    rows["end_us"][last] = rows["start_us"][last] + 3 * SECOND
    named(problems(result, rows), "restart cost not paid", "job 0 ends before")


def test_who_never_restarted_owes_nothing_for_it():
    result = simulated([job(5, 1, 1, restart_us=SECOND)], SERVERS, "srtf")
    start_us = result.intervals["start_us"][0]
    found = problems(result, changed(result, 0, end_us=start_us))
    named(found, "work lost", "job 0 did 0 us")
    assert not any(p.startswith("restart cost not paid") for p in found)


def test_preemption_by_a_non_preemptive_policy_is_named():
    result = preemptive()
    result.spec = type(result.spec).from_json(
        result.spec.to_json().replace("srtf:cost_s=1.0", "sjf")
    )
    named(problems(result), "non-preemptive policy preempts", "job 0 has 2 intervals under sjf")


# Ends


@each(
    ("columns", "said"),
    [
        ({"status": (1, 2)}, ["job never ends: job 1"]),
        ({"reason": (0, 3)}, ["wrong reason: job 0 is not rejected"]),
        (
            {"status": (1, 1), "reason": (1, 2)},
            ["rejected job runs: job 1",
             "false reject: 'needs more GPUs than the cluster has', expected 'it fits'"],
        ),
    ],
)  # fmt: skip
def test_a_job_that_ended_in_another_way_is_named(columns, said):
    result = non_preemptive()
    wrong = {
        name: with_value(getattr(result.schedule, name), job, value)
        for name, (job, value) in columns.items()
    }
    for problem in said:
        named(problems(result, **wrong), *problem.split(": "))
    rows = {n: c[result.intervals["job"] != 1] for n, c in result.intervals.items()}
    named(problems(result, rows), "job lost", "job 1 finished but never ran")


@pytest.mark.parametrize("one", [5, 6, 7])
def test_a_reject_for_the_wrong_reason_is_named(one):
    result = non_preemptive()
    wrong = result.schedule.reason[one] % 3 + 1
    reason = with_value(result.schedule.reason, one, wrong)
    named(problems(result, reason=reason), "false reject", f"job {one} of")


def test_the_refusals_of_an_unknown_placement_are_believed_but_not_its_arithmetic():
    result = non_preemptive()
    thing = PythonObject("placement", "Mine", "elsewhere", "0" * 64, "0" * 64)
    result.spec = msgspec.structs.replace(result.spec, placement="mine", python=(thing,))
    assert problems(result) == []
    reason = with_value(result.schedule.reason, 5, 3)
    named(problems(result, reason=reason), "false reject", "job 5 of 13 GPUs")


@each("policy", ["sjf-bco", "ff:mode=queue", "ls", "rand"])
def test_a_policy_that_chooses_gpus_itself_refuses_no_placement(policy):
    result = non_preemptive()
    spec = result.spec.to_json().replace('"sjf"', f'"{policy}"')
    result.spec = type(result.spec).from_json(spec)
    result.clairvoyant = policy in {"sjf-bco", "ls"}
    found = problems(result)
    assert len(found) == 1
    named(
        found, "false reject", "job 7 of 11 GPUs: 'the placement refuses it on an empty cluster', "
    )


# Books


@each("name", ["start_us", "finish_us", "held_us", "paid_us", "preemptions", "num_servers"])
def test_a_column_that_disagrees_with_the_log_is_named(name):
    result = preemptive()
    column = np.array(getattr(result.schedule, name))
    column[0] += 1
    named(problems(result, **{name: column}), f"wrong {name}", f"job 0: {column[0]}, the log has ")
    every = {name: np.array(getattr(result.schedule, name)) + 1}
    named(problems(result, **every), f"wrong {name}", "(and ")


def test_a_wrong_digest_is_named():
    result = non_preemptive()
    assert problems(result, keep_digest=True) == []
    found = problems(result, keep_digest=True, digest="0" * 64)
    named(found, "wrong digest", "0" * 64)


def test_rows_out_of_order_are_named():
    result = non_preemptive()
    rows = {name: column[::-1] for name, column in result.intervals.items()}
    assert [p.split(":")[0] for p in problems(result, rows)] == ["log out of order"]


def test_columns_that_cannot_be_read_are_named():
    result = non_preemptive()
    last = len(result.intervals["job"]) - 1
    named(problems(result, changed(result, last, job=99)), "malformed log", "beyond the 9")
    short = dict(result.intervals) | {"mask": result.intervals["mask"][1:]}
    with pytest.raises(ValueError, match="shape"):
        digest_of(short, result.schedule.status, result.schedule.reason)
    named(problems(result, short, keep_digest=True), "malformed log", "mask")
    named(problems(result, held_us=result.schedule.held_us[1:]), "malformed columns", "held_us")
    reason = with_value(result.schedule.reason, 5, 9)
    named(problems(result, reason=reason), "malformed columns", "reason 9")


@each(
    "key",
    [
        "num_jobs", "num_finished", "num_rejected", "mean_jct_s", "max_jct_s", "mean_wait_s",
        "mean_queueing_delay_s", "makespan_s", "preemptions", "allocation",
    ],
)  # fmt: skip
def test_a_wrong_metric_is_named(key):
    result = preemptive()
    value = result.summary()[key]
    found = problems(result, summary={key: value + max(1e-6, value * 1e-6)})
    named(found, "wrong metric", f"{key} is")
    assert len(found) == 1


@pytest.mark.parametrize("key", ["gap", "makespan_gap"])
def test_a_lower_bound_above_the_schedule_is_named(key):
    named(problems(preemptive(), summary={key: -1e-6}), "wrong metric", key)


@pytest.mark.parametrize(("sizes", "is_rejected"), [((4, 2, 1, 1, 1), True), ((4, 2, 2, 1), False)])
def test_a_gang_may_span_whole_servers_alone_up_to_kappa_times_the_fewest(sizes, is_rejected):
    # Three servers of four GPUs would hold it; 1.5 times as many, rounded down, are four.
    servers = tuple((size, "V100") for size in sizes)
    result = simulated(
        (job(0, 1, 9),), servers, "fifo", "consolidated-relaxed", placement_params={"kappa": 1.5}
    )
    assert bool(result.schedule.status[0] == REJECTED) == is_rejected
    assert not problems(result)


log_rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(1, 5), st.integers(1, 15)),
    max_size=12,
)


@given(
    log_rows, st.sampled_from([1, 2**59]), st.sampled_from([0, 60]), st.sampled_from([0, log.FEW])
)
def test_an_overlap_is_found_as_by_a_look_at_every_pair(drawn, unit, first_gpu, few):
    table = np.array(drawn, dtype=np.int64).reshape(-1, 4)
    server, start, length, mask = table.T
    rows = {
        "job": np.arange(len(table)),
        "server": server,
        "start_us": start * unit,
        "end_us": (start + length) * unit,
        "mask": mask.astype(np.uint64) << np.uint64(first_gpu),
    }
    both = [(i, j) for i in range(len(table)) for j in range(i)]
    overlap = any(
        server[i] == server[j]
        and mask[i] & mask[j]
        and rows["start_us"][i] < rows["end_us"][j]
        and rows["start_us"][j] < rows["end_us"][i]
        for i, j in both
    )
    with patch.object(log, "FEW", few):
        found = Occupancy(rows, np.full(4, 64))
        assert found.any_shared == overlap
    times = {*zip(server, rows["start_us"], strict=True), *zip(server, rows["end_us"], strict=True)}
    assert list(zip(found.server, found.us, strict=True)) == sorted(times)
    for where, when, free in zip(found.server, found.us, found.free, strict=True):
        holds = (server == where) & (rows["start_us"] <= when) & (when < rows["end_us"])
        assert free == 64 - np.bitwise_count(rows["mask"][holds]).sum(dtype=int)
