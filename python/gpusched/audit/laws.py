"""What a schedule must keep to be possible, complete and honestly reported."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpusched.audit.case import Case, Flags, parameters, widths
from gpusched.audit.course import Course
from gpusched.audit.log import REJECT_REASONS, log_digest
from gpusched.audit.orders import order_of
from gpusched.audit.rules import FITS, WIDE_FITS, Holds, fits_on_fewest
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import Memo
from gpusched.specs.fingerprints import fingerprint

if TYPE_CHECKING:
    from gpusched.audit.case import Case, Flags
    from gpusched.audit.course import Course
    from gpusched.traces.workload import Trace


def check_well_formed(case: Case) -> None:
    """Check lengths, job ids and codes."""
    problems, job = case.problems, case.columns["job"]
    num_jobs, num_rows = case.num_jobs, len(job)
    for name, column in case.columns.items():
        if column.shape != (num_rows,):
            problems.append(f"malformed log: {name} has shape {column.shape}")
    for name, column in case.claimed.items():
        if column.shape != (num_jobs,):
            problems.append(f"malformed columns: {name} is not one value per job")
    low, high = case.job_range if num_rows else (0, 0)
    if not 0 <= low <= high < num_jobs:
        problems.append(f"malformed log: it names a job beyond the {num_jobs:,} of the trace")
    if problems or not np.count_nonzero(case.claimed["reason"]):
        return
    if (most := int(case.claimed["reason"].max())) >= len(REJECT_REASONS):
        problems.append(f"malformed columns: reason {most} is not known")


_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(\w*)")
_SEEDS: Final = 2**64
_FACTS: Final = ("name", "source", "num_jobs", "first_submit_us", "sha256")
_facts_of = attrgetter(*_FACTS)


def check_shape(case: Case) -> None:
    """Check that times without contention are there if and only if run times are not fixed."""
    claimed_us = np.asarray(case.schedule.uncontended_us)
    wanted = 0 if case.flags.is_steady else case.num_jobs
    if claimed_us.shape != (wanted,):
        case.problems.append(f"malformed columns: uncontended_us has shape {claimed_us.shape}")


def check_claims(case: Case) -> None:
    """Check the specification against the jobs, the cluster and the names that there are."""
    spec, trace, problems = case.spec, case.trace, case.problems
    problems += [f"no such run: {fault}" for fault in case.flags.faults]
    if not 0 <= spec.seed < _SEEDS:
        problems.append(f"no such run: seed {spec.seed} is not below 2^64")
    if spec.cluster != case.cluster:
        problems.append("another cluster: the specification has other servers than the result")
    first_submit_us = int(trace.submit_us[0])
    truth = (trace.name, trace.source, case.num_jobs, first_submit_us, fingerprint(trace))
    claimed = _facts_of(spec.trace)
    if claimed != truth:
        problems += [
            f"other jobs: {name} is {said!r}, of these jobs {value!r}"
            for name, said, value in zip(_FACTS, claimed, truth, strict=True)
            if said != value
        ]
    _check_version(case)


def _check_version(case: Case) -> None:
    """The version is one that these rules are of, or an earlier one, which is noted."""
    claimed, known = case.spec.version, case.flags.version
    if not known or claimed == known:
        return
    parts, own = _VERSION.fullmatch(claimed), _VERSION.fullmatch(known)
    if parts is None or own is None:
        case.problems.append(f"no such version: {claimed!r}, the rules are those of {known}")
        return
    if [*map(int, parts.groups()[:3])] > [*map(int, own.groups()[:3])]:
        case.problems.append(f"no such version: {claimed} is to come, this is {known}")
    else:
        case.notes.append(f"version {claimed}: the rules are those of {known}")


def fits_when_empty(flags: Flags, placement: str, sizes: Sequence[int], gpus: int) -> bool | None:
    """Whether the placement takes a gang of whole GPUs; None if it is not known."""
    if flags.scatters:
        return True
    if flags.consolidates:
        return fits_on_fewest(sizes, gpus)
    name, given = parameters(placement)
    rule = FITS.get(name)
    return None if rule is None else rule(sizes, gpus, given)


def has_room(flags: Flags, placement: str, sizes: Int64, holds: Holds, gpus: int) -> bool | None:
    """Whether the placement takes a gang that asks for more than GPUs; None if it is not known.

    One server must hold what the largest server has the GPUs for. Wider gangs get whole servers of
    that size and another one for what is left over, unless the placement has a rule of its own.
    """
    size = int(sizes.max())
    if gpus <= size:
        return bool(holds(gpus).any())
    name, _ = parameters(placement)
    rule = WIDE_FITS.get(name)
    if rule is not None:
        return rule(sizes, holds, gpus)
    if not (flags.scatters or flags.consolidates or name in FITS):
        return None
    num_whole, rest = divmod(gpus, size)
    wholes = holds(size)
    if int(wholes.sum()) < num_whole:
        return False
    others = holds(rest) if int(wholes.sum()) > num_whole else holds(rest) & ~wholes
    return rest == 0 or bool(others.any())


UInt8 = npt.NDArray[np.uint8]


def rejects(case: Case, course: Course) -> tuple[UInt8, Int64]:
    """Return for each job why it is rejected (an index in ``REJECT_REASONS``), 0 if it is not.

    And when, as far as it may have run before: at a change of policy that finds it waiting or
    running, and under which it can never run; -1 where it is judged as it arrives.
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
    """Return for each job why it can never run (an index in ``REJECT_REASONS``), 0 if it can.

    Of a placement that is not known, the refusals on an empty cluster are taken for true where they
    ``may_be``.
    """
    key = (case.cluster, case.spec.placement, case.measured, flags.places, flags.scatters,
           flags.consolidates)  # fmt: skip
    reason, is_open = _refusals.of(case.trace, key, lambda: _reasons(case, flags))
    if is_open is None:
        return reason
    return np.where(is_open & may_be & (case.claimed["reason"] == 3), np.uint8(3), reason)


def _reasons(case: Case, flags: Flags) -> tuple[UInt8, Bool | None]:
    """Return the reasons, and for which jobs a placement may have another one; None: for none."""
    alike = case.alike
    known = [
        _reason(case, flags, alike.allowed[kind[0]], kind, alike.has_demands)
        for kind in alike.kinds
    ]
    reason = np.array([reason or 0 for reason in known], np.uint8)[alike.of_job]
    if case.measured is not None:
        cannot_run = ~case.measured.can_run[case.measured.of_job]
        reason[(reason == 0) & cannot_run] = 4
    if None not in known:
        return reason, None
    return reason, np.array([reason is None for reason in known])[alike.of_job]


_refusals: Memo[Trace, tuple[UInt8, Bool | None]] = Memo(2)


def _reason(
    case: Case, flags: Flags, allowed: Bool, kind: list[int], has_demands: bool
) -> int | None:
    _, gpus, _, cpu_milli, memory_mib = kind
    may_use = allowed[case.server_type]
    sizes = case.server_gpus[may_use]
    if not len(sizes):
        return 1
    if gpus > sizes.sum():
        return 2
    # Who chooses GPUs itself takes any that the gang fits on.
    if flags.places:
        return 0
    placement = case.spec.placement
    if has_demands:
        holds = _host(case, may_use, cpu_milli, memory_mib)
        fits = has_room(flags, placement, sizes, holds, gpus)
    else:
        fits = fits_when_empty(flags, placement, sizes.tolist(), gpus)
    return None if fits is None else 0 if fits else 3


def _host(case: Case, may_use: Bool, cpu_milli: int, memory_mib: int) -> Holds:
    """Say which allowed servers hold how many workers that each ask for so much."""
    sizes = case.server_gpus[may_use]

    def holds(workers: int) -> Bool:
        room: Bool = sizes >= workers
        for asked, limits in (
            (cpu_milli, case.cluster.server_cpu_milli),
            (memory_mib, case.cluster.server_memory_mib),
        ):
            if limits is not None:
                room &= (limits[may_use] < 0) | (limits[may_use] >= asked * workers)
        return room

    return holds


def check_capacity(case: Case) -> None:
    """Check the log as a movie of the cluster."""
    _check_times(case)
    _check_gangs(case)
    if case.pooled:
        _check_pool(case)
    else:
        _check_servers(case)


def _check_times(case: Case) -> None:
    """Intervals are proper, of one job one after the other, and never before its submit."""
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
                f"its interval before ends at {case.end_us[i]} us"
            ),
        )
    early = case.start_us < case.trace.submit_us[case.job]
    case.report(
        "start before submit",
        early,
        lambda i: (
            f"job {case.job[i]} runs from {case.start_us[i]} us, "
            f"submitted at {case.trace.submit_us[case.job[i]]} us"
        ),
    )


def _check_gangs(case: Case) -> None:
    """A gang holds exactly its GPUs, all of them for the same time."""
    if not len(case.job):
        return
    end_us = case.rows["end_us"]
    if not case.has_one_row_each and np.count_nonzero(case.continues & (end_us[1:] != end_us[:-1])):
        latest = np.maximum.reduceat(end_us, case.first)
        earliest = np.minimum.reduceat(end_us, case.first)
        case.report(
            "gang not whole",
            latest != earliest,
            lambda i: f"job {case.job[i]} loses GPUs between {earliest[i]} and {latest[i]} us",
        )
    if case.pooled:
        return
    held, wanted = case.width, case.trace.gpus[case.job]
    if not case.flags.is_elastic:
        case.report(
            "gang not whole",
            held != wanted,
            lambda i: (
                f"job {case.job[i]} holds {held[i]} of {wanted[i]} GPUs from {case.start_us[i]} us"
            ),
        )
        return
    least, most = widths(case.trace)
    case.report(
        "width outside its limits",
        (held < least[case.job]) | (held > most[case.job]),
        lambda i: (
            f"job {case.job[i]} holds {held[i]} GPUs from {case.start_us[i]} us, "
            f"it runs on {least[case.job[i]]} to {most[case.job[i]]}"
        ),
    )


def _check_pool(case: Case) -> None:
    """Of one pool no more GPUs are held than there are."""
    rows, num_gpus = case.rows, case.cluster.num_gpus
    case.report(
        "server under count",
        (rows["server"] != -1) | (rows["mask"] != 0),
        lambda i: f"job {rows['job'][i]} on server {rows['server'][i]}",
    )
    gpus = case.trace.gpus[case.job].astype(np.int64)
    time_us = np.concatenate((case.start_us, case.end_us))
    change = np.concatenate((gpus, -gpus))
    order = np.lexsort((change, time_us))  # within an instant GPUs are released before
    in_use = np.cumsum(change[order])
    case.report(
        "GPUs used twice",
        in_use > num_gpus,
        lambda i: f"{in_use[i]} of {num_gpus} GPUs held at {time_us[order[i]]} us",
    )


def _check_servers(case: Case) -> None:
    """Every GPU held exists, is of an allowed type and has one user at a time."""
    rows, trace, cluster = case.rows, case.trace, case.cluster
    server, mask = rows["server"], rows["mask"]
    missing = case.servers.lack(server, mask)
    if np.count_nonzero(missing):
        unknown = (server < 0) | (server >= cluster.num_servers)
        if _report_missing(case, unknown, missing):
            return
    if trace.type_set is not None:
        allowed = np.array(
            [[not types or t in types for t in cluster.gpu_types] for types in trace.type_sets]
        )
        kind = case.server_type[server]
        case.report(
            "GPU type not allowed",
            ~allowed[trace.type_set[rows["job"]], kind],
            lambda i: f"job {rows['job'][i]} on {cluster.gpu_types[kind[i]]} of server {server[i]}",
        )
    if trace.share_milli is None:
        _check_overlap(case)
    else:
        _check_shares(case)
    _check_room(case)


def _report_missing(case: Case, unknown: Bool, missing: Bool) -> bool:
    """Tell of rows on servers or GPUs that there are not; return whether of servers."""
    job, server, mask = (case.rows[name] for name in ("job", "server", "mask"))
    if case.report("no such server", unknown, lambda i: f"job {job[i]} on server {server[i]}"):
        return True
    case.report(
        "no such GPU",
        missing,
        lambda i: (
            f"job {job[i]} holds GPUs {int(mask[i]):#x} "
            f"of the {case.server_gpus[server[i]]} on server {server[i]}"
        ),
    )
    return False


def _check_overlap(case: Case) -> None:
    """On each GPU, in order of time, nobody starts before the one before has ended."""
    if not case.occupancy.any_shared:
        return
    order = np.lexsort((case.rows["start_us"], case.rows["server"]))
    rows = {name: column[order] for name, column in case.rows.items()}
    for gpu in range(int(case.server_gpus.max())):
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
    """Of each GPU no more than a thousand thousandths are held."""
    for gpu in range(int(case.server_gpus.max())):
        users = np.flatnonzero(case.rows["mask"] >> np.uint64(gpu) & np.uint64(1))
        assert case.trace.share_milli is not None
        share = case.trace.share_milli[case.rows["job"][users]].astype(np.int64)
        _check_sums(case, "GPU used twice", f"thousandths of GPU {gpu}", users, share, None)


def _check_room(case: Case) -> None:
    """Of each server no more CPU and memory is held than it has."""
    rows, trace, cluster = case.rows, case.trace, case.cluster
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
    """Add up what the rows ``users`` hold of each server; None: at most a thousand."""
    server = case.rows["server"][users]
    end_us, start_us = case.rows["end_us"][users], case.rows["start_us"][users]
    change = np.concatenate((-amount, amount))
    time_us, where = np.concatenate((end_us, start_us)), np.concatenate((server, server))
    job = np.tile(case.rows["job"][users], 2)
    order = np.lexsort((change, time_us, where))  # within an instant things are given back before
    in_use = np.cumsum(change[order])  # whoever takes something gives it back: 0 between servers
    limit = np.full(len(order), 1000) if limits is None else limits[where[order]]
    case.report(
        rule,
        in_use > limit,
        lambda i: (
            f"{in_use[i]} {what} of server {where[order[i]]} are held at {time_us[order[i]]} us, "
            f"it has {limit[i]}; job {job[order[i]]} is one of those"
        ),
    )


def check_accounts(
    case: Case, course: Course, digest: str, summary: Callable[[], Mapping[str, Any]]
) -> None:
    """Check what the schedule, its digest and the summary claim against the log."""
    _check_ends(case, course)
    _check_columns(case)
    _check_work(case)
    _check_rejects(case, course)
    _check_digest(case, digest)
    try:
        figures = summary()
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        case.problems.append(f"no metrics: they cannot be computed of this run: {error}")
    else:
        _check_metrics(case, figures)


def _check_ends(case: Case, course: Course) -> None:
    """Every job is finished or rejected, or the run tells that it was cancelled."""
    if case.all_finished:
        return
    case.report(
        "job never ends",
        ~course.ends(case),
        lambda j: f"job {j} is neither finished nor rejected, nor was it cancelled",
    )
    case.report(
        "job lost", case.finished & ~case.has_run, lambda j: f"job {j} finished but never ran"
    )


def _check_columns(case: Case) -> None:
    """The schedule's columns say what the log says."""
    expected = {
        "start_us": case.first_start_us,
        "finish_us": _finish_us(case),
        "held_us": case.held_us,
        "preemptions": _preemptions(case),
        "resizes": case.num_resizes,
        "num_servers": case.of_jobs(case.last_servers),
        "paid_us": case.per_job(case.paid_us),
    }
    for name, truth in expected.items():
        wrong = case.claimed[name] != truth
        if np.count_nonzero(wrong):
            _report_column(case, name, wrong, truth)
    if any(flags.preempts is False for _, flags in case.policies):
        _check_breaks(case)


def _check_breaks(case: Case) -> None:
    """Policies that do not preempt take no GPUs back; one that takes over finds no job running."""
    ends = case.resumed - 1
    ends = ends[~case.is_resize[case.resumed]]
    if case.num_rejected:
        ends = np.append(ends, case.closes[case.rejected[case.ran]])
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


def _finish_us(case: Case) -> Int64:
    if case.all_finished:
        return case.last_end_us
    return np.where(case.finished, case.last_end_us, -1)


def _preemptions(case: Case) -> Int64:
    """Return how often each job was; what the log does not say as it is claimed."""
    preemptions = case.num_breaks
    if case.all_finished:
        return preemptions
    # Who is rejected after it ran was preempted by the policy that took over.
    preemptions = preemptions + (case.rejected & case.has_run)
    # The log does not say what a job that did not end was left with: a run cut off counts not.
    claimed = case.claimed["preemptions"]
    is_cut = case.has_run & ~case.finished & ~case.rejected
    if np.count_nonzero(is_cut):
        is_cut &= np.isin(claimed - preemptions, (0, 1))
    return np.where(is_cut, claimed, np.maximum(preemptions, 0))


def _report_column(case: Case, name: str, wrong: Bool, truth: AnyArray) -> None:
    claimed = case.claimed[name]
    case.report(f"wrong {name}", wrong, lambda j: f"job {j}: {claimed[j]}, the log says {truth[j]}")


def _check_work(case: Case) -> None:
    """Restarts are paid; under fixed run times the rest of the time with GPUs is the service."""
    fixed = case.flags.is_steady  # see gpusched.audit.rates for all others
    if fixed:
        done_us = case.held_us - case.per_job(case.paid_us) - redo_us(case)
        off = done_us - case.trace.service_us
        if np.count_nonzero(off):
            _report_work(case, done_us, off)
    if not len(case.resumed):
        return
    last = case.closes[case.closes > case.opens]
    # Where rates vary, what is left may be less than rounding tells from nothing.
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
                f"job {j} did {done_us[j]} us of {case.trace.service_us[j]} us, restart costs apart"
            ),
        )


def redo_us(case: Case) -> Int64 | int:
    """Return the work that each job of the trace has beyond its service, in microseconds."""
    if not len(case.resumed):
        return case.overrun_us
    return case.per_job(case.added_us) + case.overrun_us


def _check_rejects(case: Case, course: Course) -> None:
    """A job is rejected if and only if it can never run, for that reason, and runs no more."""
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
            f"in truth {REJECT_REASONS[truth[j]] or 'it fits'!r}"
        ),
    )
    case.report("wrong reason", ~rejected & (reason != 0), lambda j: f"job {j} is not rejected")


def _check_digest(case: Case, digest: str) -> None:
    """The log is in its order, and has the digest that is named."""
    if not case.is_in_order:
        case.report(
            "log out of order",
            case.order != np.arange(len(case.order)),
            lambda i: f"row {i} is not in its place",
        )
    truth = log_digest(case.log, case.claimed["status"], case.claimed["reason"])
    if truth != digest:
        case.problems.append(f"wrong digest: {digest}, the log has {truth}")


def _check_metrics(case: Case, summary: Mapping[str, Any]) -> None:
    """The metrics follow from the log, and no lower bound is above them."""
    trace = case.trace
    without_estimates = trace.estimate_us is None
    sees = {"always": True, "never": False, "without estimates": without_estimates}
    is_clairvoyant = sees.get(case.flags.clairvoyant, summary["clairvoyant"])
    if summary["clairvoyant"] != is_clairvoyant:
        case.problems.append(
            f"wrong claim: clairvoyant is {summary['clairvoyant']}, in truth {is_clairvoyant}"
        )
    num_finished = case.num_finished
    resizes = int(np.count_nonzero(case.is_resize)) if len(case.resumed) else 0
    preemptions = len(case.resumed) - resizes
    if not case.all_finished:
        # What an unfinished job was left with, an interval cut off or a preemption, the log does
        # not say: there the schedule's own count stands.
        breaks = np.where(case.finished, case.num_breaks, case.claimed["preemptions"])
        preemptions = int(breaks.sum())
    truth: dict[str, float] = {
        "num_jobs": case.num_jobs,
        "num_finished": num_finished,
        "num_rejected": case.num_rejected,
        "preemptions": preemptions,
        "resizes": resizes,
        **_deadline_metrics(case),
    }
    if num_finished:
        columns = [trace.submit_us, case.first_start_us, case.last_end_us, case.held_us]
        if not case.all_finished:
            columns = [column[case.finished] for column in columns]
        submit_us, start_us, end_us, held_us = columns
        jct_us = end_us - submit_us
        window_us = int(np.maximum.reduce(end_us)) - int(submit_us[0])
        truth |= {
            "mean_jct_s": _mean_s(jct_us),
            "max_jct_s": int(np.maximum.reduce(jct_us)) / 1e6,
            "mean_wait_s": _mean_s(jct_us - held_us),
            "mean_queueing_delay_s": _mean_s(start_us - submit_us),
            "makespan_s": window_us / 1e6,
        }
        if window_us <= 0:
            case.problems.append(
                f"wrong metric: the last job ends {-window_us / 1e6:g} s before the first submit"
                if window_us < 0
                else "wrong metric: the last job ends as the first one is submitted"
            )
        elif case.all_finished or case.finished[case.ran].all():
            gpus: AnyArray = case.width
            if trace.share_milli is not None:
                gpus = gpus * (trace.share_milli / 1000.0)[case.job]
            gpu_us = float(np.dot(gpus, case.lasts_us.astype(np.float64)))
            truth["allocation"] = gpu_us / (case.cluster.num_gpus * window_us)
    for name, value in truth.items():
        if summary[name] != value and not _is_near(summary[name], value):
            case.problems.append(f"wrong metric: {name} is {summary[name]}, in truth {value}")
    for gap in ("gap", "makespan_gap"):
        if summary[gap] < -1e-12:
            case.problems.append(f"wrong metric: {gap} is {summary[gap]}, below the lower bound")
    if summary.get("dsr_gap", 0.0) < -1e-12:
        case.problems.append(f"wrong metric: dsr_gap is {summary['dsr_gap']}, above the bound")


def _mean_s(values_us: Int64) -> float:
    return float(np.add.reduce(values_us, dtype=np.float64)) / len(values_us) / 1e6


def _is_near(claimed: float, truth: float) -> bool:
    """Whether a figure is right but for rounding; NaN stands for NaN."""
    if math.isnan(truth):
        return math.isnan(claimed)
    return abs(claimed - truth) <= 1e-9 + 1e-9 * abs(truth)


def _deadline_metrics(case: Case) -> dict[str, float]:
    """How many deadlines were met: a job that did not finish misses its own."""
    deadline_us = case.trace.deadline_us
    if deadline_us is None:
        return {}
    asked, finish_us = deadline_us >= 0, case.last_end_us
    met = asked & case.finished & (finish_us <= deadline_us)
    late_us = np.where(asked & case.finished, np.maximum(finish_us - deadline_us, 0), 0)
    value = np.ones(len(asked)) if case.trace.value is None else case.trace.value
    truth: dict[str, float] = {
        "num_deadlines": int(asked.sum()),
        "deadlines_met": int(met.sum()),
        "dsr": met.sum() / asked.sum() if asked.any() else np.nan,
        "value_met": value[met].sum() / value[asked].sum() if asked.any() else np.nan,
        "tardiness_s": float(late_us.sum()) / 1e6,
    }
    decisions = case.schedule.decisions()
    if len(decisions["job"]):
        last = dict(zip(decisions["job"].tolist(), decisions["admitted"].tolist(), strict=True))
        admitted = np.array([bool(last.get(job, 0)) for job in range(len(asked))])
        truth["num_admitted"] = int(admitted.sum())
        truth["broken_promises"] = int((admitted & asked & ~met).sum())
    return truth


KNOWN = ("events", "instants", "max_running", "rates_changed", "rates_computed")


def check_counters(case: Case, course: Course) -> None:
    """Check the counters of a schedule that has any: none of them can be what it says alone."""
    counters = dict(case.schedule.counters)
    if not counters:
        return
    if counters.keys() != set(KNOWN):
        case.problems.append(f"wrong counters: {sorted(counters)}, there are {list(KNOWN)}")
        return
    wrong = partial(_wrong, case, counters)
    num_finished, num_arrived = case.num_finished, case.num_jobs - case.num_rejected
    num_open = num_arrived - num_finished
    if not course.is_handed_over:
        events = num_arrived + num_finished + len(course.cut_off(case))
        wrong("events", events, events)
        running = case.moments.most_running
        wrong("max_running", running, running)
    least = case.moments.num_instants
    order = None if course.changes else order_of(case)
    is_exact = order is not None and not order.has_timers and num_open == 0
    wrong("instants", least, least if is_exact else 2**63)
    if case.flags.is_steady:
        wrong("rates_computed", 0, 0)
        wrong("rates_changed", 0, 0)
        return
    # Each start is a rate, and so is each change of one.
    num_starts, changed = len(case.first), int(counters["rates_changed"])
    wrong("rates_computed", num_starts + changed, 2**63)
    if not case.interacts:
        wrong("rates_changed", 0, 0)
        wrong("rates_computed", num_starts, num_starts)


def _wrong(case: Case, counters: dict[str, int], name: str, least: int, most: int) -> None:
    claimed = counters[name]
    if not least <= claimed <= most:
        truth = f"{least}" if least == most else f"at least {least}"
        case.problems.append(f"wrong counter: {name} is {claimed}, in truth {truth}")
