"""Convert columns of Slurm's accounting to jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.field_checks import check_integer
from gpusched.base.labels import Labels
from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import MIB_PER_GIB
from gpusched.base.wording import plural
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.intake.text_schema import ReadColumns, TextColumn, trace_of
from gpusched.traces.job_columns import NOT_A_TIME
from gpusched.traces.workload import Trace

JOB_ID: Final = r"^\d+(?:_\d+|\+\d+)?$"
"""A job, a task of an array, or a component of a heterogeneous job."""
_ARRAY: Final = r"^(\d+)_\d"


@dataclass
class Attempts:
    """One attempt per row; joining writes the whole job into the row of the last attempt.

    ``submit_us``, ``start_us``, ``service_us``: int64: arrival, start, and run time; 0 where
        unknown.
    ``held_us``: int64: time from the arrival until the job is eligible.
    ``has_start``, ``has_end``: whether the attempt started, and whether it ended.
    """

    submit_us: Int64
    start_us: Int64
    service_us: Int64
    held_us: Int64
    has_start: Bool
    has_end: Bool


def joined(
    screen: Screen, ids: polars.Series, attempts: Attempts, users: polars.Series | None = None
) -> polars.Series:
    """Merge the rows of one id into the last of them, in order of submission.

    The job keeps its first arrival and start, and adds the run times of all started attempts. A job
    with an unreadable attempt, or one that started and has no end, is rejected. Slurm reuses ids:
    rows of other ``users`` are another job, ``ID#2``.
    """
    ids = _of_users(screen, ids, attempts, users)
    is_earlier = np.zeros(len(ids), dtype=np.bool_)
    is_whole = np.ones(len(ids), dtype=np.bool_)
    for rows in _repeated(screen, ids):
        rows = rows[np.argsort(attempts.submit_us[rows], kind="stable")]
        last, started = rows[-1], attempts.has_start[rows]
        earlier = rows[:-1]
        is_earlier[earlier] = True
        ran = rows[started]
        is_whole[last] = bool(attempts.has_end[earlier[started[:-1]]].all()) and not bool(
            screen.bad[earlier].any()
        )
        if not attempts.has_start[last]:
            continue
        attempts.submit_us[last] = attempts.submit_us[rows[0]]
        attempts.held_us[last] = attempts.held_us[rows[0]]
        attempts.start_us[last] = attempts.start_us[ran[0]]
        attempts.service_us[last] = attempts.service_us[ran].sum()
    rule = "must be the last attempt (earlier attempts of a requeued job are merged into it)"
    screen.require(~is_earlier, "id", rule)
    screen.require(is_whole, "end", "must be known for every attempt")
    return ids


def _of_users(
    screen: Screen, ids: polars.Series, attempts: Attempts, users: polars.Series | None
) -> polars.Series:
    """Give rows with one id but different users different ids."""
    if users is None:
        return ids
    names = None
    for rows in _repeated(screen, ids):
        rows = rows[np.argsort(attempts.submit_us[rows], kind="stable")]
        numbers: dict[str, int] = {}
        for row in rows.tolist():
            number = numbers.setdefault(users[row], len(numbers) + 1)
            if number > 1:
                names = names or ids.to_list()
                names[row] = f"{names[row]}#{number}"
    return ids if names is None else type(ids)(ids.name, names)


def separated(
    screen: Screen, ids: polars.Series, attempts: Attempts, users: polars.Series | None = None
) -> polars.Series:
    """Make every row a job; repeated ids become ``ID#2`` and so on."""
    rows_of = _repeated(screen, ids)
    if not rows_of:
        return ids
    names = ids.to_list()
    for rows in rows_of:
        rows = rows[np.argsort(attempts.submit_us[rows], kind="stable")]
        for number, row in enumerate(rows[1:].tolist(), 2):
            names[row] = f"{names[row]}#{number}"
    return type(ids)(ids.name, names)


def _repeated(screen: Screen, ids: polars.Series) -> list[Int64]:
    """Return the rows of each job id that occurs several times, including rows with bad times."""
    is_job = ids.str.contains(JOB_ID).to_numpy() | ids.str.contains("#", literal=True).to_numpy()
    rows = np.flatnonzero(is_job)
    rows_of: dict[str, list[int]] = {}
    names = ids.to_list()
    if len({names[row] for row in rows.tolist()}) == len(rows):
        return []
    for row in rows.tolist():
        rows_of.setdefault(names[row], []).append(row)
    return [np.array(found, dtype=np.int64) for found in rows_of.values() if len(found) > 1]


TRES: Final = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
"""Columns with GPUs; the first that has some for a job counts."""
CPUS: Final = ("AllocCPUS", "NCPUS", "ReqCPUS")
NODES: Final = ("AllocNodes", "NNodes", "ReqNodes")
COLUMNS: Final = (*TRES, *CPUS, *NODES, "ReqMem")


def demand_of(
    read: ReadColumns, gpu_types: str, gpus_per_node: int | None, shards_per_gpu: int | None
) -> None:
    """Read each job's resources and allowed GPU types."""
    screen, text = read.screen, read.data
    given = [(name, _resources(screen, text, name)) for name in TRES if name in text]
    if not given:  # only the number of nodes is known
        given = [("ReqTRES", [slurm.Resources()] * len(screen.rows))]
    # For each job, the first column with GPUs counts.
    chosen = given[-1][1]
    for _, first in reversed(given[:-1]):
        chosen = [own if own.gpus != 0 else last for own, last in zip(first, chosen, strict=True)]
    gpus = np.array([asked.gpus for asked in chosen], dtype=np.float64)
    shards = np.array([asked.shards for asked in chosen], dtype=np.float64)
    nodes = _first(*(numbers_of(text[name]) for name in NODES if name in text), np.nan * gpus)
    if gpus_per_node is not None:
        is_counted = (gpus == 0) & (shards == 0) & (nodes > 0)
        gpus = np.where(is_counted, nodes * gpus_per_node, gpus)
        read.notes += (
            f"{plural(int(is_counted.sum()), 'row')} without GPUs: {gpus_per_node} on each node",
        )
    if shards_per_gpu is not None:
        has_shards = (gpus == 0) & (shards > 0)
        read.numeric["gpu_share"] = np.where(has_shards, shards / shards_per_gpu, np.nan)
        gpus = np.where(has_shards, 1.0, gpus)
    screen.show("gpus", given[0][0], text.get(given[0][0], nodes))
    rule = "must name GPUs, not shards (or set shards_per_gpu)"
    screen.require((gpus != 0) | (shards == 0), "gpus", rule)
    screen.require(gpus != 0, "gpus", "must name GPUs (a job without GPUs)")
    screen.require(~np.isnan(gpus), "gpus", "must give the number of GPUs")
    cpus = _first(
        np.array([asked.cpus for asked in chosen]),
        *(numbers_of(text[name]) for name in CPUS if name in text),
    )
    memory = np.array([asked.memory_mib for asked in chosen])
    if "ReqMem" in text:
        sizes = zip(text["ReqMem"], cpus.tolist(), nodes.tolist(), strict=True)
        memory = _first(
            memory, np.array([slurm.memory_mib(t, cpus=c, nodes=n) for t, c, n in sizes])
        )
    read.numeric["gpus"] = gpus
    for column, amount in (("cpu", cpus), ("memory_gib", memory / MIB_PER_GIB)):
        if not np.isnan(amount).all():
            read.numeric[column] = amount
            read.of_job.add(column)
    if gpu_types != "allocated":
        ran_on = [asked.types[0] if len(asked.types) == 1 else "" for asked in chosen]
        if any(ran_on):
            read.labels["ran_on"] = Labels.of(ran_on)
    if gpu_types == "any":
        return
    if gpu_types == "requested":
        chosen = next(asked for name, asked in given if name.startswith("Req"))
    # One text for each distinct request.
    names = {asked.types: "|".join(asked.types) for asked in {id(a): a for a in chosen}.values()}
    if any(names):
        read.gpu_types = [names[asked.types] for asked in chosen]


def _resources(
    screen: Screen, text: Mapping[str, polars.Series], name: str
) -> list[slurm.Resources]:
    if name.endswith("TRES"):
        return each(text[name], slurm.of_tres)
    # The older columns count GPUs per node.
    found = [text[column] for column in NODES if column in text]
    read: list[slurm.Resources] = each(text[name], slurm.of_gres)
    if not found:
        if any(resources.gpus for resources in read):
            raise ValueError(
                f"{screen.source}, line 1: {name} counts GPUs per node, but {', '.join(NODES)} "
                "are missing (run sacct --format=...,NNodes)"
            )
        return read
    nodes = numbers_of(found[0]).tolist()
    return [
        slurm.Resources(resources.gpus * count if resources.gpus else 0.0, resources.types)
        for resources, count in zip(read, nodes, strict=True)
    ]


def each(values: polars.Series, read: Callable[[str], Any]) -> list[Any]:
    """Apply ``read`` to every value, once per distinct value."""
    known = {value: read(value) for value in values.unique().to_list()}
    return [known[value] for value in values.to_list()]


def numbers_of(values: polars.Series) -> Float64:
    """Return numbers; NaN for other texts."""
    return values.cast(polars.Float64, strict=False).fill_null(np.nan).to_numpy()


def _first(*columns: AnyArray) -> Float64:
    """Return for each row the first positive number, or NaN."""
    chosen = np.array(columns[0], dtype=np.float64)
    for other in columns[1:]:
        chosen = np.where(chosen > 0, chosen, other)
    return np.where(chosen > 0, chosen, np.nan)


IDS: Final = ("JobID", "JobIDRaw")
STATUS: Final = {
    "COMPLETED": "ok",
    "FAILED": "failed",
    "NODE_FAIL": "failed",
    "BOOT_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "LAUNCH_FAILED": "failed",
    "CANCELLED": "killed",
    "TIMEOUT": "killed",
    "DEADLINE": "killed",
    "PREEMPTED": "killed",
    "REVOKED": "killed",
}
_ABSENT: Final = ("unknown", "none", "n/a")
TIMES: Final = (
    TextColumn("Submit", "submit_s", "time", may_count=True, is_part=True),
    *(
        TextColumn(name, ours, "time", may_count=True, may_miss=True, absent=_ABSENT, is_part=True)
        for name, ours in (("Eligible", "eligible"), ("Start", "start"), ("End", "end"))
    ),
)
_HOUR_US: Final = 3_600 * US_PER_S
_WEEK_US: Final = 7 * 24 * _HOUR_US
_SUNDAY_US: Final = 3 * 24 * _HOUR_US  # 1970-01-04
ARRIVALS: Final = ("submit", "eligible")
REQUEUES: Final = ("join", "separate")
TYPES: Final = ("allocated", "requested", "any")
OPTIONS: Final = (
    "arrival", "requeues", "gpu_types", "queue", "group", "gpus_per_node", "shards_per_gpu",
)  # fmt: skip
"""Options of :func:`jobs_of`."""


def jobs_of(
    source: Source,
    screen: Screen,
    text: dict[str, polars.Series],
    where: str,
    on_bad: OnBad,
    *,
    arrival: str | None = None,
    requeues: str = "join",
    gpu_types: str = "allocated",
    queue: str = "Partition",
    group: str = "Account",
    gpus_per_node: int | None = None,
    shards_per_gpu: int | None = None,
) -> Trace:
    """Build a trace from text columns under the names of sacct.

    ``where``: place of the columns for messages: the file, and the line of its header if it has
        one.
    ``arrival``: a job arrives at its ``"submit"`` time, and is held until it is eligible (begin
        times and dependencies met), or when it is ``"eligible"``; its wait counts from then.
        Default: eligible, if that column exists, since no scheduler could have started the job
        before.
    ``requeues``: ``"join"``: rows of one JobID are one job, which arrives with the first and adds
        up all run times; ``"separate"``: each row is a job.
    ``gpu_types``: a job may run on the types it was ``"allocated"``, the types it ``"requested"``,
        or ``"any"``.
    ``queue``, ``group``: the columns for queue and group.
    ``gpus_per_node``: GPUs per node for jobs with nodes but no GPUs, at sites that allocate whole
        nodes.
    ``shards_per_gpu``: number of shards per GPU; default: jobs with shards are rejected.
    """
    for option, number in (("gpus_per_node", gpus_per_node), ("shards_per_gpu", shards_per_gpu)):
        if number is not None:
            check_integer(option, number, 1, 2**20)
    is_told = arrival is not None
    arrival = arrival or ("eligible" if "Eligible" in text else "submit")
    for option, value, allowed in (
        ("arrival", arrival, ARRIVALS),
        ("requeues", requeues, REQUEUES),
        ("gpu_types", gpu_types, TYPES),
    ):
        if value not in allowed:
            raise ValueError(f"{option}: {value!r} must be one of {', '.join(allowed)}")
    _check_options(where, list(text), arrival, gpu_types, {"queue": queue, "group": group})
    read = ReadColumns(screen, text)
    ids = next(text[name] for name in IDS if name in text)
    _require_jobs(screen, ids)
    attempts = _attempts(read, arrival)
    if arrival == "eligible" and not is_told:
        num_later = int((attempts.submit_us > read.values["Submit"]).sum())
        if num_later:
            read.notes += (
                f"{plural(num_later, 'row')} eligible after the submission (begin times, "
                "dependencies): these jobs arrive when eligible (arrival=submit: when submitted)",
            )
    users = _owners(text)
    ids = (joined if requeues == "join" else separated)(screen, ids, attempts, users)
    if requeues == "join" and "State" in text:
        num_resized = int(text["State"].str.starts_with("RESIZING").sum())
        if num_resized:
            read.notes += (
                f"{plural(num_resized, 'row')} of jobs that were resized while running (RESIZING): "
                "run times of all rows are added, the last row gives the number of GPUs",
            )
    _require_ended(screen, attempts)
    demand_of(read, gpu_types, gpus_per_node, shards_per_gpu)
    read.numeric |= {
        "submit_us": attempts.submit_us,
        "service_s": attempts.service_us / US_PER_S,
        "source_wait_s": (attempts.start_us - attempts.submit_us) / US_PER_S,
    }
    if attempts.held_us.any():
        eligible_s = (attempts.submit_us + attempts.held_us) / US_PER_S
        read.numeric["eligible_s"] = np.where(attempts.held_us > 0, eligible_s, np.nan)
    _take_estimates(read)
    labels = (
        TextColumn("User", "user", "label"),
        TextColumn(queue, "queue", "label"),
        TextColumn(group, "group", "label"),
        TextColumn("Partition", "partition", "label"),
        TextColumn("Account", "account", "label"),
        TextColumn("QOS", "qos", "label"),
        TextColumn("Priority", "priority", "number", may_miss=True),
        TextColumn("State", "status", "status", states=STATUS, within=r"^([A-Z_]+)"),
    )
    for column in labels:
        if column.name in text and (text[column.name] != "").any():
            read.take(column)
    arrays = ids.str.extract(_ARRAY, 1).fill_null("")
    if (arrays != "").any():
        read.labels["array"] = Labels.of(arrays)
    read.ids = parse.identifiers(screen, "JobID", ids.set(type(ids)(screen.bad), "0"))
    screen.show("id", "JobID", ids)
    return trace_of(source.name, read, on_bad)


def _check_options(
    where: str, present: list[str], arrival: str, gpu_types: str, named: Mapping[str, str]
) -> None:
    """Refuse options for which a column is missing."""
    for option, name in named.items():
        if not isinstance(name, str):
            raise TypeError(f"{option}: {name!r} must be a text")
        if name not in present and name not in ("Partition", "Account"):
            raise ValueError(
                f"{where}: no column {name!r} for the {option}{nearest(name, present)}"
            )
    if arrival == "eligible" and "Eligible" not in present:
        raise ValueError(f"{where}: arrival: 'eligible' needs the column 'Eligible'")
    if gpu_types == "requested" and not {"ReqTRES", "ReqGRES"} & set(present):
        raise ValueError(f"{where}: gpu_types: 'requested' needs the column 'ReqTRES'")


def _owners(text: Mapping[str, polars.Series]) -> polars.Series | None:
    """Return the owner of each row, by cluster and user if known."""
    named = [text[name] for name in ("Cluster", "User") if name in text]
    return None if not named else named[0] if len(named) == 1 else named[0] + "/" + named[1]


def _require_jobs(screen: Screen, ids: polars.Series) -> None:
    screen.show("id", "JobID", ids)
    is_step = ids.str.contains(".", literal=True).to_numpy()
    screen.require(~is_step, "id", "must be a job (this is a job step)")
    waits = ids.str.contains("[", literal=True).to_numpy()
    screen.require(~waits, "id", "must be one job (these are waiting tasks of an array)")
    screen.require(ids.str.contains(JOB_ID).to_numpy(), "id", "must be like 123, 123_4 or 123+1")


def _attempts(read: ReadColumns, arrival: str) -> Attempts:
    for column in TIMES:
        if column.name in read.data:
            read.take(column)
    submit_us = read.values["Submit"]
    held_us = np.zeros_like(submit_us)
    if "Eligible" in read.data:
        # A requeued job may have become eligible again after a start.
        is_before = read.values["Eligible"] <= read.values["Start"]
        held_us = np.where(is_before, np.maximum(read.values["Eligible"], submit_us) - submit_us, 0)
    if arrival == "eligible":
        submit_us, held_us = submit_us + held_us, np.zeros_like(held_us)
    start_us, end_us = read.values["Start"], read.values["End"]
    has_start, has_end = start_us != NOT_A_TIME, end_us != NOT_A_TIME
    start_us, end_us = np.where(has_start, start_us, 0), np.where(has_end, end_us, 0)
    service_us = _run_times_us(read, start_us, end_us)
    return Attempts(submit_us, start_us, service_us, held_us, has_start, has_end)


def _run_times_us(read: ReadColumns, start_us: Int64, end_us: Int64) -> Int64:
    """Return the run time of each row, from Slurm's count or the clock without suspensions.

    ``Elapsed`` excludes suspensions and ignores changes of the local clock. If ``Suspended`` is
    there too, both can be compared and the longer one counts (our choice), unless the clock may
    have been put forward during the run: by at most an hour, on a Sunday before 4 a.m.
    """
    data, clock_us = read.data, end_us - start_us
    elapsed_s = None
    if "ElapsedRaw" in data:
        elapsed_s = numbers_of(data["ElapsedRaw"])
    elif "Elapsed" in data:
        elapsed_s = np.array(each(data["Elapsed"], slurm.duration_s))
    if "Suspended" in data:
        suspended_s = np.array(each(data["Suspended"], slurm.duration_s))
        clock_us = clock_us - _us(suspended_s, np.zeros(len(clock_us), np.int64))
    if elapsed_s is None:
        return clock_us
    elapsed_us = _us(elapsed_s, clock_us)
    if "Suspended" not in data:
        return elapsed_us
    sunday_us = (end_us - _SUNDAY_US) // _WEEK_US * _WEEK_US + _SUNDAY_US  # the last one before
    may_skip = (sunday_us + 4 * _HOUR_US >= start_us) & (clock_us - elapsed_us <= _HOUR_US)
    return np.where(may_skip, elapsed_us, np.maximum(elapsed_us, clock_us))


def _us(seconds: Float64, missing: Int64) -> Int64:
    """Return microseconds; ``missing`` where seconds are not a valid number."""
    is_known = np.isfinite(seconds) & (seconds >= 0) & (seconds < 2**40)
    found: Int64 = np.where(is_known, np.where(is_known, seconds, 0) * US_PER_S, missing).astype(
        np.int64
    )
    return found


def _require_ended(screen: Screen, attempts: Attempts) -> None:
    rule = "must be known (the job has not started)"
    screen.require(attempts.has_start, "start", rule)
    screen.require(attempts.has_end, "end", "must be known (the job is still running)")
    screen.show("service_s", "End - Start", attempts.service_us / US_PER_S)
    waits_s = (attempts.start_us - attempts.submit_us) / US_PER_S
    screen.show("source_wait_s", "Start - Submit", waits_s)


def _take_estimates(read: ReadColumns) -> None:
    """Read time limits, if there are any."""
    label = next((name for name in ("Timelimit", "TimelimitRaw") if name in read.data), None)
    if label is None:
        return
    seconds = np.array(each(read.data[label], slurm.duration_s))
    read.screen.show("estimate_s", label, read.data[label])
    read.screen.require(~np.isnan(seconds), "estimate_s", "must be a duration like 1-12:00:00")
    is_limit = (seconds > 0) & np.isfinite(seconds)
    if is_limit.any():
        read.numeric["estimate_s"] = np.where(is_limit, seconds, np.nan)
        # Slurm let these jobs run, some beyond their limits or in several runs.
        limits = read.numeric["estimate_s"], read.numeric["service_s"]
        read.numeric["time_limit_s"] = np.maximum(*limits)
