"""From the columns of Slurm's accounting to jobs, however they were printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.intake.wall_clock import UNIX_EPOCH, ticks_of
from gpusched.traces.sacct_attempts import JOB_ID, Attempts, joined, separated
from gpusched.traces.sacct_demands import demand_of, each
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    import polars

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
_ABSENT: Final = ("", "unknown", "none", "n/a")
ARRIVALS: Final = ("submit", "eligible")
REQUEUES: Final = ("join", "separate")
TYPES: Final = ("allocated", "requested", "any")
OPTIONS: Final = ("arrival", "requeues", "gpu_types", "queue", "group")
"""What :func:`jobs_of` may be told."""


def jobs_of(
    source: Source,
    screen: Screen,
    text: dict[str, polars.Series],
    where: str,
    on_bad: OnBad,
    *,
    arrival: str = "submit",
    requeues: str = "join",
    gpu_types: str = "allocated",
    queue: str = "Partition",
    group: str = "Account",
) -> Trace:
    """Make a trace of columns of text under the names that sacct has for them.

    Parameters
    ----------
    where
        Names the columns in messages: the file, and the line of its header if it has one.
    arrival
        A job arrives at its ``"submit"``, or when it is ``"eligible"`` (begin times and
        dependencies met); its wait counts from there.
    requeues
        ``"join"``: rows of one JobID are one job, which arrives with the first and takes the run
        times of all; ``"separate"``: each is a job.
    gpu_types
        A job may run on the types it was ``"allocated"``, the types it ``"requested"``, or
        ``"any"``.
    queue, group
        The columns that name these.
    """
    import polars

    for option, value, allowed in (
        ("arrival", arrival, ARRIVALS),
        ("requeues", requeues, REQUEUES),
        ("gpu_types", gpu_types, TYPES),
    ):
        if value not in allowed:
            raise ValueError(f"{option}: {value!r} must be one of {', '.join(allowed)}")
    _check_options(where, list(text), arrival, gpu_types, {"queue": queue, "group": group})
    ids = next(text[name] for name in IDS if name in text)
    _require_jobs(screen, ids)
    attempts = _attempts(screen, text, arrival)
    ids = (joined if requeues == "join" else separated)(screen, ids, attempts)
    _require_ended(screen, attempts)
    demand, types = demand_of(screen, text, gpu_types)
    numeric: dict[str, AnyArray] = {
        "submit_us": attempts.submit_us,
        "service_s": attempts.service_us / 1_000_000,
        "source_wait_s": (attempts.start_us - attempts.submit_us) / 1_000_000,
        **demand,
    }
    estimates = _estimates(screen, text)
    if estimates is not None and not np.isnan(estimates).all():
        numeric["estimate_s"] = estimates
    labels = {
        ours: Labels.of(text[name].to_list())
        for ours, name in (("user", "User"), ("queue", queue), ("group", group))
        if name in text
    }
    if "State" in text:
        states = text["State"].str.extract(r"^([A-Z_]+)", 1).fill_null("")
        labels["status"] = parse.statuses(states.to_list(), STATUS)
    numbers = parse.identifiers(screen, "JobID", ids.set(polars.Series(screen.bad), "0"))
    screen.show("id", "JobID", ids)
    attributes = assemble(
        screen,
        numeric,
        ids=numbers,
        labels=labels,
        gpu_types=types,
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        epoch=UNIX_EPOCH,
        rebase=True,
    )
    return Trace(**attributes)


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


def _require_jobs(screen: Screen, ids: polars.Series) -> None:
    screen.show("id", "JobID", ids)
    is_step = ids.str.contains(".", literal=True).to_numpy()
    screen.require(~is_step, "id", "must be a job (a step)")
    waits = ids.str.contains("[", literal=True).to_numpy()
    screen.require(~waits, "id", "must be one job (tasks of an array that wait)")
    screen.require(ids.str.contains(JOB_ID).to_numpy(), "id", "must be like 123, 123_4 or 123+1")


def _attempts(screen: Screen, text: dict[str, polars.Series], arrival: str) -> Attempts:
    def ticks(column: str, label: str, absent: Bool | None = None) -> Int64:
        return ticks_of(screen, column, label, text[label], absent=absent, may_count=True)

    submit_us = ticks("submit_s", "Submit")
    if arrival == "eligible":
        absent = _absent(text["Eligible"])
        eligible_us = ticks("eligible", "Eligible", absent)
        submit_us = np.where(absent, submit_us, np.maximum(eligible_us, submit_us))
    has_start, has_end = ~_absent(text["Start"]), ~_absent(text["End"])
    start_us = ticks("start", "Start", ~has_start)
    end_us = ticks("end", "End", ~has_end)
    return Attempts(submit_us, start_us, end_us - start_us, has_start, has_end)


def _require_ended(screen: Screen, attempts: Attempts) -> None:
    rule = "must be known (a job that has not started)"
    screen.require(attempts.has_start, "start", rule)
    screen.require(attempts.has_end, "end", "must be known (a job that still runs)")
    screen.show("service_s", "End - Start", attempts.service_us / 1_000_000)
    waits_s = (attempts.start_us - attempts.submit_us) / 1_000_000
    screen.show("source_wait_s", "Start - Submit", waits_s)


def _absent(times: polars.Series) -> Bool:
    absent: Bool = times.str.to_lowercase().is_in(_ABSENT).to_numpy()
    return absent


def _estimates(screen: Screen, text: dict[str, polars.Series]) -> Float64 | None:
    """Return time limits; NaN where there is none."""
    if "Timelimit" in text:
        label, seconds = "Timelimit", np.array(each(text["Timelimit"], slurm.duration_s))
    elif "TimelimitRaw" in text:
        label = "TimelimitRaw"
        seconds = np.array(each(text[label], slurm.duration_s))
    else:
        return None
    screen.show("estimate_s", label, text[label])
    screen.require(~np.isnan(seconds), "estimate_s", "must be a duration like 1-12:00:00")
    return np.where((seconds > 0) & np.isfinite(seconds), seconds, np.nan)
