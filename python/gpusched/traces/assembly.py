"""From checked columns to the attributes of a :class:`~gpusched.traces.workload.Trace`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray, Int32, Int64, read_only
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.ticks import MAX_HORIZON_US, us_to_seconds
from gpusched.traces import checked_columns as check
from gpusched.traces import deadlines, demands, elasticity, job_ids


def assemble(
    screen: Screen,
    numeric: Mapping[str, AnyArray],
    *,
    ids: AnyArray | None = None,
    labels: Mapping[str, Labels] | None = None,
    gpu_types: Any = None,
    on_bad: OnBad = "error",
    name: str = "trace",
    source: str = "columns",
    epoch: datetime | None = None,
    rebase: bool = False,
    notes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Check columns, drop the rows that ``screen`` refuses, sort the rest: a Trace's attributes.

    Parameters
    ----------
    screen
        Holds line numbers, and rows already found bad by a reader.
    numeric
        int64 or float64 columns in seconds under the names of :meth:`Trace.from_columns`. Wall
        clock times may come as ``submit_us`` and ``deadline_us`` (int64) in their stead, and so
        may submit times that were counted in ticks.
    rebase
        Shift the first submit to 0 (the traces that come from files); ``epoch`` is then the
        wall-clock time of the source's second 0, in UTC where ``screen`` saw times with a zone.
    """
    screen.show_others({**numeric, "id": ids})
    if epoch is not None and epoch.tzinfo is None and any(screen.is_aware.values()):
        epoch = epoch.replace(tzinfo=UTC)
    gpus = check.gang_widths(screen, numeric["gpus"])
    ticks = {"service_us": check.service_ticks(screen, numeric["service_s"])}
    if "submit_us" in numeric:
        ticks["submit_us"] = numeric["submit_us"]
    else:
        submit_s = numeric["submit_s"]
        ticks["submit_us"] = check.submit_ticks(screen, submit_s, may_be_negative=rebase)
    for column in ("checkpoint", "restart"):
        if f"{column}_s" in numeric:
            costs = numeric[f"{column}_s"]
            ticks[f"{column}_us"] = check.cost_ticks(screen, f"{column}_s", costs)
    for column in ("estimate", "predicted"):
        if f"{column}_s" in numeric:
            guesses = numeric[f"{column}_s"]
            ticks[f"{column}_us"] = check.estimate_ticks(screen, f"{column}_s", guesses)
    if "source_wait_s" in numeric:
        ticks["source_wait_us"] = check.wait_ticks(screen, numeric["source_wait_s"])
    weight = check.weights(screen, numeric["weight"]) if "weight" in numeric else None
    wishes = _wishes(screen, numeric, gpus)
    due_us = _deadlines(screen, numeric, ticks["submit_us"])
    type_sets, type_set = check.allowed_types(gpu_types, len(gpus))
    rejects = screen.finish(on_bad)
    ids = job_ids.unique_ids(screen, ids)

    good = np.flatnonzero(~screen.bad)
    order = good[np.argsort(ticks["submit_us"][good], kind="stable")]
    sorted_ticks = {column: values[order] for column, values in ticks.items()}
    origin_us = int(sorted_ticks["submit_us"][0]) if rebase and len(order) else 0
    sorted_ticks["submit_us"] = sorted_ticks["submit_us"] - origin_us
    if due_us is not None:
        wishes["deadline_us"] = deadlines.shifted(due_us, -origin_us, deadlines.NOT_A_TIME)
    check_horizon(screen.source, sorted_ticks["submit_us"], sorted_ticks["service_us"])
    attributes = {
        "gpus": gpus[order],
        "row": screen.rows[order],
        "id": ids[order],
        "weight": None if weight is None else weight[order],
        "type_sets": type_sets,
        "type_set": None if type_set is None else type_set[order],
        "name": name,
        "source": source,
        "epoch": None if epoch is None else _shifted(screen.source, epoch, origin_us),
        "origin_s": us_to_seconds(origin_us),
        "rejects": rejects,
        "notes": notes,
        **sorted_ticks,
        **{column: values[order] for column, values in wishes.items()},
        **{column: named.take(order) for column, named in (labels or {}).items()},
    }
    # All arrays were made here and are in nobody's hands: a trace need not copy them.
    return {
        column: read_only(value) if isinstance(value, np.ndarray) else value
        for column, value in attributes.items()
    }


def _shifted(source: str, epoch: datetime, origin_us: int) -> datetime:
    try:
        return epoch + timedelta(microseconds=origin_us)
    except OverflowError:
        raise ValueError(
            f"{source}: the first submit, {us_to_seconds(origin_us):.0f} s after {epoch}, must "
            "lie in the years 1 to 9999"
        ) from None


def _wishes(screen: Screen, numeric: Mapping[str, AnyArray], gpus: Int32) -> dict[str, AnyArray]:
    """Check what jobs ask for beside GPUs, what their deadlines are worth, and their widths."""
    checks: dict[str, tuple[str, Callable[[AnyArray], AnyArray]]] = {
        "gpu_share": ("share_milli", lambda given: demands.share_millis(screen, given, gpus)),
        "cpu": ("cpu_milli", lambda given: demands.cpu_millis(screen, given)),
        "memory_gib": ("memory_mib", lambda given: demands.memory_mibs(screen, given)),
        "value": ("value", lambda given: deadlines.values(screen, given)),
        "min_gpus": ("min_gpus", lambda given: elasticity.least_widths(screen, given, gpus)),
        "max_gpus": ("max_gpus", lambda given: elasticity.greatest_widths(screen, given, gpus)),
    }
    return {
        ours: convert(numeric[column])
        for column, (ours, convert) in checks.items()
        if column in numeric
    }


def _deadlines(screen: Screen, numeric: Mapping[str, AnyArray], submit_us: Int64) -> Int64 | None:
    """Check deadlines; ``NOT_A_TIME`` where a job has none."""
    if "deadline_us" in numeric:
        return deadlines.after_submit(screen, numeric["deadline_us"], submit_us)
    if "deadline_s" in numeric:
        return deadlines.deadline_ticks(screen, numeric["deadline_s"], submit_us)
    return None


def check_horizon(source: str, submit_us: Int64, service_us: Int64) -> None:
    """Raise ValueError if the jobs run one after the other would overflow the time type."""
    # Two sums, because one could overflow itself.
    total = (int(np.sum(service_us >> 32)) << 32) + int(np.sum(service_us & (2**32 - 1)))
    horizon = int(submit_us.max(initial=0)) + total
    if horizon >= MAX_HORIZON_US:
        raise ValueError(
            f"{source}: column 'service_s': the last submit plus the sum of all services is "
            f"{horizon:,} us and must be below 2^62 us"
        )
