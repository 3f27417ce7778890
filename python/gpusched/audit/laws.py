"""Rules for a possible and complete schedule: properties of the log, by name.

The audit checks all of them; gpusched.testing checks single ones on small cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.declarations import Flags, values_of, widths
from gpusched.audit.holds import Ends, Holds
from gpusched.audit.readable_run import room_of, servers_of
from gpusched.audit.rules import OWN_FITS
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import Memo
from gpusched.model.outages import NEVER_US, core_outages
from gpusched.reference import Job, make_engine, make_scheduler
from gpusched.reference.model import CANCELLED, FAILED, REJECT_REASONS, UNFINISHED, Active

if TYPE_CHECKING:
    from gpusched.reference.engine import Engine
    from gpusched.traces.workload import Trace


Check = Callable[[Case, Course], None]
"""Records the problems of a case."""


@dataclass(frozen=True)
class Law:
    """A property of the log of every run."""

    sentence: str
    check: Check


LAWS: Final[dict[str, Law]] = {}
"""By name, in the order of an audit."""


def _law(name: str, sentence: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        LAWS[name] = Law(sentence, check)
        return check

    return register


@_law("proper-intervals", "Intervals are not empty, and those of a job do not overlap.")
def _proper_intervals(case: Case, course: Course) -> None:
    rows = case.rows
    case.report(
        "empty interval",
        rows["end_us"] <= rows["start_us"],
        lambda i: f"job {rows['job'][i]} from {rows['start_us'][i]} to {rows['end_us'][i]} us",
    )
    if len(case.resumed):
        case.report(
            "job runs twice at a time",
            case.resumes & (case.start_us[1:] < case.end_us[:-1]),
            lambda i: (
                f"job {case.job[i]} again from {case.start_us[i + 1]} us, "
                f"but its interval before ends at {case.end_us[i]} us"
            ),
        )


@_law("after-submit", "No job starts before it is submitted.")
def _after_submit(case: Case, course: Course) -> None:
    case.report(
        "start before submit",
        case.start_us < case.trace.submit_us[case.job],
        lambda i: (
            f"job {case.job[i]} runs from {case.start_us[i]} us, "
            f"submitted at {case.trace.submit_us[case.job[i]]} us"
        ),
    )


@_law("eligible", "No job starts before its time, its dependencies and its array allow it.")
def _eligible(case: Case, course: Course) -> None:
    holds = case.holds
    if holds is None:
        return
    for what, us in (
        ("its eligible time", holds.begin_us),
        ("its dependencies are met", holds.ready_us),
        ("its array has room for it", holds.queued_us),
    ):
        early = (case.first_start_us >= 0) & (case.first_start_us < us)
        if case.report(
            f"start before {what}",
            early,
            lambda j, us=us: (  # type: ignore[misc]
                f"job {j} runs from {case.first_start_us[j]} us, but that is "
                f"{f'at {us[j]} us' if us[j] < NEVER_US else 'never'}"
            ),
        ):
            return
    wrong = case.claimed["eligible_us"] != holds.eligible_us
    _report_column(case, "eligible_us", wrong, holds.eligible_us)


@_law(
    "cancellations",
    "A job is cancelled when it is due unless it is over, and never without a reason.",
)
def _cancellations(case: Case, course: Course) -> None:
    holds = case.holds
    if holds is None:
        return
    is_cancelled = case.claimed["status"] == CANCELLED
    at_us = np.minimum(holds.due_us, holds.gone_us)
    case.report(
        "not cancelled",
        ~is_cancelled & ((at_us < holds.over_us) | (holds.gone_us < NEVER_US)),
        lambda j: f"job {j} is not over at {at_us[j]} us, when it is cancelled",
    )
    case.report(
        "cancelled without a reason",
        is_cancelled & (holds.gone_us == NEVER_US),
        lambda j: f"job {j}: no time, dependency or call cancels it",
    )
    jobs, gone_us = course.taken_back(case)
    end_us, is_cut = case.last_end_us[jobs], np.isin(jobs, course.cut_off(case))
    if all(flags.preempts is False for _, flags in case.policies):  # only a failure interrupts it
        is_cut |= case.has_run[jobs] & ~case.of_jobs(case.is_hit[case.closes])[jobs]
    case.report(
        "cancelled at another time",
        (end_us > gone_us) | is_cut & (end_us < gone_us),
        lambda i: f"job {jobs[i]} runs until {end_us[i]} us, and is cancelled at {gone_us[i]} us",
    )


def known_holds(case: Case, course: Course) -> Holds | None:
    """Return when jobs were held and cancelled, by the log and the warnings; None: none may be."""
    if not case.has_holds:
        return None
    submit_us = case.trace.submit_us
    ended_us = np.where(case.finished | case.over, case.last_end_us, NEVER_US)
    if case.num_rejected:
        _, at_us = rejects(case, course)
        ended_us = np.where(case.rejected, np.maximum(submit_us, at_us), ended_us)
    stopped_us = np.full(case.num_jobs, NEVER_US)
    for job, us in course.cancelled.items():
        if job < case.num_jobs:
            stopped_us[job] = us
    failed = case.hold_columns.get("exit_failed", ())
    is_ok = case.finished & (np.asarray(failed) == 0) if len(failed) else case.finished
    ends = Ends(case.first_start_us, ended_us, is_ok, stopped_us)
    kills = bool(case.spec.kill_invalid_depend)
    return Holds.of(case.hold_columns, submit_us, ends, kills=kills)


@_law("whole-gangs", "A running job holds all its GPUs.")
def _whole_gangs(case: Case, course: Course) -> None:
    if not len(case.job):
        return
    end_us = case.rows["end_us"]
    if not case.has_one_row_each and np.count_nonzero(case.continues & (end_us[1:] != end_us[:-1])):
        latest = np.maximum.reduceat(end_us, case.first)
        earliest = np.minimum.reduceat(end_us, case.first)
        case.report(
            "job not whole",
            latest != earliest,
            lambda i: f"job {case.job[i]} loses GPUs between {earliest[i]} and {latest[i]} us",
        )
    if case.pooled:
        return
    held, wanted = case.width, case.trace.gpus[case.job]
    if not case.flags.is_elastic:
        case.report(
            "job not whole",
            held != wanted,
            lambda i: (
                f"job {case.job[i]} holds {held[i]} of {wanted[i]} GPUs from {case.start_us[i]} us"
            ),
        )
        return
    least, most = widths(case.trace)
    case.report(
        "number of GPUs outside its limits",
        (held < least[case.job]) | (held > most[case.job]),
        lambda i: (
            f"job {case.job[i]} holds {held[i]} GPUs from {case.start_us[i]} us, "
            f"but runs on {least[case.job[i]]} to {most[case.job[i]]}"
        ),
    )


@_law("gpus-per-node", "A job with GPUs per node holds that many on each of its servers.")
def _gpus_per_node(case: Case, course: Course) -> None:
    if case.pooled or case.trace.gpus_per_node is None:
        return
    rows = case.rows
    held = np.bitwise_count(rows["mask"])
    wanted = case.trace.gpus_per_node[rows["job"]]
    case.report(
        "not its GPUs per node",
        (wanted > 0) & (held != wanted),
        lambda i: (
            f"job {rows['job'][i]} holds {held[i]} GPUs of server {rows['server'][i]} from "
            f"{rows['start_us'][i]} us, but its gpus_per_node is {wanted[i]}"
        ),
    )


@_law("real-gpus", "Each held GPU exists on its server.")
def _real_gpus(case: Case, course: Course) -> None:
    rows = case.rows
    if case.pooled:
        case.report(
            "server under count",
            (rows["server"] != -1) | (rows["mask"] != 0),
            lambda i: f"job {rows['job'][i]} on server {rows['server'][i]}",
        )
        return
    job, server, mask = (rows[name] for name in ("job", "server", "mask"))
    missing = case.servers.lack(server, mask)
    if not np.count_nonzero(missing):
        return
    unknown = (server < 0) | (server >= case.cluster.num_servers)
    if case.report("no such server", unknown, lambda i: f"job {job[i]} on server {server[i]}"):
        return
    case.report(
        "no such GPU",
        missing,
        lambda i: (
            f"job {job[i]} holds GPUs {int(mask[i]):#x} "
            f"of the {case.servers.gpus[server[i]]} on server {server[i]}"
        ),
    )


@_law("closed-servers", "No job starts on a server that has failed, is drained or maintained.")
def _closed_servers(case: Case, course: Course) -> None:
    if not case.has_outages:
        return
    rows = case.rows
    case.report(
        "start on a closed server",
        case.closed.cover(rows["server"], rows["start_us"]),
        lambda i: (
            f"job {rows['job'][i]} from {rows['start_us'][i]} us on server {rows['server'][i]}"
        ),
    )


@_law("known-maintenance", "No job starts that its length carries into known maintenance.")
def _known_maintenance(case: Case, course: Course) -> None:
    if case.outages is None or not case.outages.is_known_ahead:
        return
    rows, columns = case.rows, core_outages(case.outages, case.cluster)
    ends_us = rows["start_us"] + case.length_us[rows["job"]]
    begins_us = np.full(len(ends_us), NEVER_US)  # the known maintenance that each row runs into
    for server, start_us, known_us in zip(
        *(columns[f"outage_{name}"] for name in ("server", "start_us", "known_us")), strict=True
    ):
        meets = (known_us <= rows["start_us"]) & (rows["start_us"] < start_us)
        meets &= (rows["server"] == server) & (ends_us > start_us)
        begins_us[meets] = start_us
    case.report(
        "start before maintenance",
        begins_us < NEVER_US,
        lambda i: (
            f"job {rows['job'][i]} from {rows['start_us'][i]} us on server {rows['server'][i]} may "
            f"run until {ends_us[i]} us, and maintenance begins at {begins_us[i]} us"
        ),
    )


@_law("failures", "A job whose server fails or is maintained releases all its GPUs then.")
def _failures(case: Case, course: Course) -> None:
    if not case.has_outages:
        return
    rows = case.rows
    failed_us = case.fails.next_us(rows["server"], rows["start_us"])
    case.report(
        "runs through a failure",
        failed_us < rows["end_us"],
        lambda i: (
            f"job {rows['job'][i]} until {rows['end_us'][i]} us on server {rows['server'][i]}, "
            f"down from {failed_us[i]} us"
        ),
    )


@_law("requeues", "A job fails if its servers failed more often than max_requeues, and only then.")
def _requeues(case: Case, course: Course) -> None:
    if not (case.has_faults or case.over.any()):
        return
    most = case.trace.max_requeues
    allowed = np.full(case.num_jobs, -1) if most is None else most.astype(np.int64)
    fails = (allowed >= 0) & (case.failures > allowed)
    case.report(
        "wrong requeue",
        fails != (case.claimed["status"] == FAILED),
        lambda j: (
            f"job {j} {'goes on' if fails[j] else 'fails'} after {case.failures[j]} failures of "
            f"its servers, its max_requeues is {allowed[j] if allowed[j] >= 0 else 'not given'}"
        ),
    )
    last = case.closes
    case.report(
        "ends without a failure",
        (case.claimed["status"][case.job[last]] == FAILED) & ~case.is_failure[last],
        lambda i: f"job {case.job[last[i]]} fails at {case.end_us[last[i]]} us: no server did",
    )


@_law("limits", "A run is killed when its time limit has passed, unless its work is done.")
def _limits(case: Case, course: Course) -> None:
    if not (case.has_faults or case.over.any()):
        return
    limits = case.trace.time_limit_us
    if limits is None:
        limits = np.full(case.num_jobs, -1)
    limit_us = np.where(limits < 0, NEVER_US, limits)[case.job]
    case.report(
        "runs beyond its limit",
        case.lasts_us > limit_us,
        lambda i: (
            f"job {case.job[i]} from {case.start_us[i]} us for {case.lasts_us[i]} us, its limit is "
            f"{limit_us[i]} us"
        ),
    )
    case.report(
        "not killed at its limit",
        (case.lasts_us == limit_us) & ~case.is_finish & ~case.is_killed,
        lambda i: f"job {case.job[i]} at {case.end_us[i]} us",
    )
    case.report(
        "killed before its limit",
        case.is_killed & (case.lasts_us < limit_us),
        lambda i: f"job {case.job[i]} at {case.end_us[i]} us",
    )


@_law("allowed-types", "A job holds only GPUs of the types it allows.")
def _allowed_types(case: Case, course: Course) -> None:
    rows, trace, cluster = case.rows, case.trace, case.cluster
    if case.pooled or trace.type_set is None or not case.names_servers:
        return
    server = rows["server"]
    allowed = np.array(
        [[not types or t in types for t in cluster.gpu_types] for types in trace.type_sets]
    )
    kind = case.servers.type[server]
    case.report(
        "GPU type not allowed",
        ~allowed[trace.type_set[rows["job"]], kind],
        lambda i: f"job {rows['job'][i]} on {cluster.gpu_types[kind[i]]} of server {server[i]}",
    )


@_law("one-type", "On servers with GPUs of several types a job has GPUs of one type.")
def _one_type(case: Case, course: Course) -> None:
    if case.pooled or case.cluster.server_part_of is None or not case.names_servers:
        return
    if not len(case.job):
        return
    kind = case.servers.type[case.rows["server"]]
    least, most = (of.reduceat(kind, case.first) for of in (np.minimum, np.maximum))
    case.report(
        "GPUs of several types",
        least != most,
        lambda i: f"job {case.job[i]} from {case.start_us[i]} us",
    )


@_law("capacity", "No GPU is held by two jobs at a time.")
def _capacity(case: Case, course: Course) -> None:
    if case.pooled:
        _check_pool(case)
    elif not case.names_servers:
        return
    elif case.trace.share_milli is None:
        _check_overlap(case)
    else:
        _check_shares(case)


def _check_pool(case: Case) -> None:
    """Check that no more GPUs of a pool are held than it has."""
    gpus = case.trace.gpus[case.job].astype(np.int64)
    time_us = np.concatenate((case.start_us, case.end_us))
    change = np.concatenate((gpus, -gpus))
    order = np.lexsort((change, time_us))  # within an instant releases come first
    in_use = np.cumsum(change[order])
    case.report(
        "GPUs used twice",
        in_use > case.cluster.num_gpus,
        lambda i: f"{in_use[i]} of {case.cluster.num_gpus} GPUs held at {time_us[order[i]]} us",
    )


def _check_overlap(case: Case) -> None:
    """Check that on each GPU no interval starts before the previous one has ended."""
    if not case.occupancy.any_shared:
        return
    order = np.lexsort((case.rows["start_us"], case.rows["server"]))
    rows = {name: column[order] for name, column in case.rows.items()}
    for gpu in range(int(case.servers.gpus.max())):
        _check_gpu(case, rows, gpu)


def _check_gpu(case: Case, rows: Mapping[str, AnyArray], gpu: int) -> None:
    server, job = rows["server"], rows["job"]
    users = np.flatnonzero(rows["mask"] >> np.uint64(gpu) & np.uint64(1))
    before, after = users[:-1], users[1:]
    start_us, end_us = rows["start_us"][after], rows["end_us"][before]
    case.report(
        "GPU used twice",
        (server[before] == server[after]) & (start_us < end_us),
        lambda i: (
            f"GPU {gpu} of server {server[before[i]]} by job {job[before[i]]} until "
            f"{end_us[i]} us and by job {job[after[i]]} from {start_us[i]} us"
        ),
    )


def _check_shares(case: Case) -> None:
    """Check that shares of each GPU add up to at most one."""
    for gpu in range(int(case.servers.gpus.max())):
        users = np.flatnonzero(case.rows["mask"] >> np.uint64(gpu) & np.uint64(1))
        assert case.trace.share_milli is not None
        share = case.trace.share_milli[case.rows["job"][users]].astype(np.int64)
        _check_sums(case, "GPU used twice", f"thousandths of GPU {gpu}", users, share, None)


@_law("room", "The CPU and memory held on a server are at most what it has.")
def _room(case: Case, course: Course) -> None:
    rows, trace, cluster = case.rows, case.trace, case.cluster
    if case.pooled or not case.names_servers:
        return
    if trace.cpu_milli is None and trace.memory_mib is None:
        return
    for what, asked, limits in (
        ("thousandths of CPU cores", trace.cpu_milli, cluster.server_cpu_milli),
        ("MiB of memory", trace.memory_mib, cluster.server_memory_mib),
    ):
        if asked is None or limits is None:
            continue
        workers = np.maximum(np.bitwise_count(rows["mask"]).astype(np.int64), 1)
        of_row = workers * asked[rows["job"]]
        users = np.flatnonzero((of_row > 0) & (limits[rows["server"]] >= 0))
        _check_sums(case, "server overcommitted", what, users, of_row[users], limits)


def _check_sums(
    case: Case, rule: str, what: str, users: Int64, amount: Int64, limits: Int64 | None
) -> None:
    """Add up what the rows ``users`` hold on each server; None: a limit of a thousand."""
    server = case.rows["server"][users]
    if limits is not None and (part_of := case.cluster.server_part_of) is not None:
        server = part_of[server]  # the part with the CPU and the memory
    end_us, start_us = case.rows["end_us"][users], case.rows["start_us"][users]
    change = np.concatenate((-amount, amount))
    time_us, where = np.concatenate((end_us, start_us)), np.concatenate((server, server))
    job = np.tile(case.rows["job"][users], 2)
    order = np.lexsort((change, time_us, where))  # within an instant releases come first
    in_use = np.cumsum(change[order])  # all is released in the end: 0 between servers
    limit = np.full(len(order), 1000) if limits is None else limits[where[order]]
    case.report(
        rule,
        in_use > limit,
        lambda i: (
            f"{in_use[i]} {what} of server {where[order[i]]} are held at {time_us[order[i]]} us, "
            f"but it has {limit[i]}; job {job[order[i]]} is one of the users"
        ),
    )


@_law(
    "ends",
    "Every job finishes, is rejected, cancelled or killed, or fails, unless servers never return "
    "or it stays held.",
)
def _ends(case: Case, course: Course) -> None:
    if case.all_finished:
        return
    may_wait = (case.queued_us == NEVER_US) | course.stays_held(case)
    may_wait |= (case.closed.end_us == NEVER_US).any()  # jobs may wait for such a server
    case.report(
        "job never ends",
        ~course.ends(case) & ~(may_wait & (case.claimed["status"] == UNFINISHED)),
        lambda j: f"job {j} is neither finished nor rejected, nor was it cancelled",
    )
    case.report(
        "job lost",
        (case.finished | case.over) & ~case.has_run,
        lambda j: f"job {j} {'finished' if case.finished[j] else 'was stopped'} but never ran",
    )


@_law("accounts", "Time from submit to finish is time with GPUs plus time without.")
def _accounts(case: Case, course: Course) -> None:
    expected = {
        "start_us": case.first_start_us,
        "finish_us": _finish_us(case),
        "held_us": case.held_us,
        "preemptions": _preemptions(case),
        "resizes": case.num_resizes,
        "num_servers": case.of_jobs(case.last_servers),
        "paid_us": case.per_job(case.paid_us),
    }
    if case.has_faults:
        expected["failures"] = case.failures
        if case.flags.is_steady:
            expected["lost_us"] = case.per_job(case.progress.lost_us)
            expected["written_us"] = case.per_job(case.progress.written_us)
    for name, truth in expected.items():
        wrong = case.claimed[name] != truth
        if np.count_nonzero(wrong):
            _report_column(case, name, wrong, truth)


def _finish_us(case: Case) -> Int64:
    if case.all_finished:
        return case.last_end_us
    return np.where(case.finished, case.last_end_us, -1)


def _preemptions(case: Case) -> Int64:
    """Return the preemptions of each job; as claimed if the log does not show them."""
    preemptions = case.num_breaks
    if case.all_finished:
        return preemptions
    was_hit = case.of_jobs(case.is_hit[case.closes])
    # A job rejected after it ran was preempted by the change of policy, or hit just before.
    preemptions = preemptions + (case.rejected & case.has_run & ~was_hit)
    # The log does not record the work left by a job that did not end: a cut run does not count.
    claimed = case.claimed["preemptions"]
    is_cut = case.has_run & ~case.finished & ~case.rejected & ~case.over & ~was_hit
    if np.count_nonzero(is_cut):
        is_cut &= np.isin(claimed - preemptions, (0, 1))
    return np.where(is_cut, claimed, np.maximum(preemptions, 0))


def _report_column(case: Case, name: str, wrong: Bool, truth: AnyArray) -> None:
    claimed = case.claimed[name]
    case.report(f"wrong {name}", wrong, lambda j: f"job {j}: {claimed[j]}, the log has {truth[j]}")


@_law("keeps-gpus", "Under a policy that does not preempt, a running job keeps its GPUs.")
def _keeps_gpus(case: Case, course: Course) -> None:
    """A policy that replaces another finds no running job."""
    if not any(flags.preempts is False for _, flags in case.policies):
        return
    ends = case.resumed - 1
    ends = ends[~case.is_resize[case.resumed] & ~case.is_hit[ends]]
    if case.num_rejected:
        ends = np.append(ends, case.closes[case.rejected[case.ran]])
        ends = ends[~case.is_hit[ends]]
    ends = ends[~np.isin(case.end_us[ends], case.handed_over_us)]
    if not len(ends):
        return
    keeps = np.array([flags.preempts is False for _, flags in case.policies])
    era = case.era(case.start_us[ends])
    broken = np.zeros(case.num_jobs, np.int64)
    np.maximum.at(broken, case.job[ends], np.where(keeps[era], era + 1, 0))
    case.report(
        "non-preemptive policy preempts",
        broken > 0,
        lambda j: (
            f"job {j} has {case.num_intervals[j]} intervals under {case.policies[broken[j] - 1][0]}"
        ),
    )


@_law(
    "full-service",
    "At a fixed speed a finished job held GPUs exactly for its service, restarts, lost work and "
    "checkpoints.",
)
def _full_service(case: Case, course: Course) -> None:
    """For other speeds see :mod:`gpusched.audit.rates`; restarts are paid under all."""
    fixed = case.flags.is_steady
    if fixed:
        done_us = case.held_us - case.per_job(case.paid_us) - redo_us(case)
        if case.has_faults:
            progress = case.progress
            done_us = done_us - case.per_job(progress.lost_us + progress.written_us)
            case.report(
                "goes on after its work",
                ~case.is_finish & (progress.ran_us >= progress.due_us),
                lambda i: (
                    f"job {case.job[i]} from {case.start_us[i]} us needs {progress.due_us[i]} us "
                    f"without restarts, but runs for {progress.ran_us[i]} us and does not finish"
                ),
            )
        off = done_us - case.trace.service_us
        if np.count_nonzero(off):
            _report_work(case, done_us, off)
    if not len(case.resumed):
        return
    last = case.closes[case.closes > case.opens]
    # With varying rates the remainder may be smaller than rounding errors.
    cost_us = case.restart_us[last]
    idle = case.end_us[last] - case.start_us[last] < cost_us + fixed
    case.report(
        "restart cost not paid",
        idle & case.finished[case.job[last]],
        lambda i: f"job {case.job[last[i]]} ends before the {cost_us[i]} us of its last resume",
    )


def _report_work(case: Case, done_us: Int64, off: Int64) -> None:
    for name, wrong in (("work lost", off < 0), ("work invented", off > 0)):
        case.report(
            name,
            case.finished & wrong,
            lambda j: (
                f"job {j} did {done_us[j]} us of {case.trace.service_us[j]} us without restarts"
            ),
        )


def redo_us(case: Case) -> Int64 | int:
    """Return the work of each job of the trace beyond its service, in microseconds."""
    if not len(case.resumed):
        return case.overrun_us
    return case.per_job(case.added_us) + case.overrun_us


@_law("reasons", "Exactly the rejected jobs have a reason, and they hold no GPU.")
def _rejects(case: Case, course: Course) -> None:
    """Check that the reason is true, and that jobs that can never run are rejected."""
    reason = case.claimed["reason"]
    truth, at_us = rejects(case, course)
    if not (case.num_rejected or np.count_nonzero(truth) or np.count_nonzero(reason)):
        return
    rejected = case.rejected
    case.report(
        "rejected job runs",
        rejected & (case.last_end_us > at_us),
        lambda j: f"job {j} is in the log",
    )
    wrong = np.where(rejected, reason, 0) != truth
    case.report(
        "false reject",
        wrong,
        lambda j: (
            f"job {j} of {case.trace.gpus[j]} GPUs: "
            f"{REJECT_REASONS[reason[j]] if rejected[j] else 'not rejected'!r}, "
            f"expected {REJECT_REASONS[truth[j]] or 'it fits'!r}"
        ),
    )
    case.report("wrong reason", ~rejected & (reason != 0), lambda j: f"job {j} is not rejected")


UInt8 = npt.NDArray[np.uint8]


def rejects(case: Case, course: Course) -> tuple[UInt8, Int64]:
    """Return the reject reason of each job (an index in ``REJECT_REASONS``), 0 if accepted.

    Also return when, for a job that may have run before: at the change of policy under which it
    can never run; -1 if it is judged on arrival.
    """
    reason, at_us = np.zeros(case.num_jobs, np.uint8), np.full(case.num_jobs, -1, np.int64)
    if len(case.policies) == 1:
        return rejects_for_good(case, case.flags, np.ones(case.num_jobs, np.bool_)), at_us
    arrived = case.era(case.trace.submit_us)
    over_us = np.where(case.finished, case.last_end_us, np.iinfo(np.int64).max)
    jobs, cancelled_us = course.taken_back(case)
    over_us[jobs] = cancelled_us
    starts_us = [-1, *case.handed_over_us.tolist()]
    for era, (us, (_, flags)) in enumerate(zip(starts_us, case.policies, strict=True)):
        is_new = arrived == era
        is_found = (arrived < era) & (us < over_us) & (case.era(np.array([us])) == era)
        found = rejects_for_good(case, flags, case.last_end_us <= np.where(is_new, -1, us))
        judged = (is_new | is_found) & (reason == 0) & (found > 0)
        reason[judged] = found[judged]
        at_us[judged & is_found] = us
    return reason, at_us


def rejects_for_good(case: Case, flags: Flags, may_be: Bool) -> UInt8:
    """Return why each job can never run (an index in ``REJECT_REASONS``), 0 if it can.

    Under an unknown placement, refusals on an empty cluster are accepted as true where they
    ``may_be``.
    """
    key = (case.cluster, case.spec.placement, case.measured, flags.places, flags.scatters,
           flags.consolidates)  # fmt: skip
    reason, is_open = _refusals.of(case.trace, key, lambda: _reasons(case, flags))
    if is_open is None:
        return reason
    return np.where(is_open & may_be & (case.claimed["reason"] == 3), np.uint8(3), reason)


def _reasons(case: Case, flags: Flags) -> tuple[UInt8, Bool | None]:
    """Return the reasons, and for which jobs a placement may have another one; None: for none.

    The reference engine finds them, with as many servers of each kind as the job could use. A
    placement described by flags has a substitute; an unknown one has none.
    """
    alike = case.alike
    name, given = values_of(case.spec.placement)
    has_own = not flags.places and name in OWN_FITS
    is_known = has_own or flags.places or flags.scatters or flags.consolidates
    stand_in = name if has_own else "consolidated" if flags.consolidates else "first-fit"
    if flags.places:  # it takes any GPUs that the job fits on
        stand_in = "first-fit"
    has_demands = is_known and alike.has_demands and not flags.places
    servers = servers_of(case.cluster)
    room = room_of(case.cluster) or [(None, None)] * len(servers)
    kinds = Counter(zip(servers, room, strict=True))

    @cache
    def idle(gpus: int) -> Engine:
        some = [kind for kind, count in kinds.items() for _ in range(min(count, max(1, gpus)))]
        return make_engine(
            [], [server for server, _ in some], make_scheduler("fifo", {}), stand_in,
            placement_params=given if has_own else {}, room=[has for _, has in some],
            has_demands=has_demands,
            # Alone on a server a job shares nothing with its other parts.
            part_of=list(range(len(some))) if case.cluster.server_part_of is not None else [],
        )  # fmt: skip

    def reason_of(kind: list[int]) -> int:
        types = frozenset(compress(case.cluster.gpu_types, alike.allowed[kind[0]]))
        gpus, share_milli, cpu_milli, memory_mib, gpus_per_node = kind[1:]
        job = Job(
            0, 1, gpus, allowed=types, share_milli=share_milli, cpu_milli=cpu_milli,
            memory_mib=memory_mib, gpus_per_node=gpus_per_node,
        )  # fmt: skip
        return idle(gpus).reject_reason(Active(0, job)) if types else 1

    reason = np.array([reason_of(kind) for kind in alike.kinds], np.uint8)[alike.of_job]
    is_open = None if is_known else reason == 0
    if case.measured is not None:
        cannot_run = ~case.measured.can_run[case.measured.of_job]
        reason[(reason == 0) & cannot_run] = 4
    return reason, is_open


_refusals: Memo[Trace, tuple[UInt8, Bool | None]] = Memo(2)
