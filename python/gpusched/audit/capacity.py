"""Rules of space and time: who may hold which GPUs when."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched.audit.declarations import widths
from gpusched.audit.evidence import Case
from gpusched.base.arrays import AnyArray, Bool, Int64


def check(case: Case) -> None:
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
