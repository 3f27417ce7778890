"""From checked columns to the attributes of a :class:`~gpusched.traces.workload.Trace`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Int64, read_only
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.ticks import MAX_HORIZON_US, us_to_seconds
from gpusched.traces import checked_columns as check
from gpusched.traces import job_ids
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_A_TIME, moved

_FIRST: Final = ("gpus", "service_s", "submit_s")  # others are compared with these


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
        clock times may come as ``submit_us``, ``deadline_us`` and ``eligible_us`` (int64) in their
        stead, and so may submit times that were counted in ticks.
    rebase
        Shift the first submit to 0 (the traces that come from files); ``epoch`` is then the
        wall-clock time of the source's second 0, in UTC where ``screen`` saw times with a zone.
    """
    screen.show_others({**numeric, "id": ids})
    if epoch is not None and epoch.tzinfo is None and any(screen.is_aware.values()):
        epoch = epoch.replace(tzinfo=UTC)
    stored = _checked(screen, numeric, may_be_negative=rebase)
    type_sets, type_set = check.allowed_types(gpu_types, len(stored["gpus"]))
    rejects = screen.finish(on_bad)
    ids = job_ids.unique_ids(screen, ids)

    good = np.flatnonzero(~screen.bad)
    order = good[np.argsort(stored["submit_us"][good], kind="stable")]
    stored = {column: values[order] for column, values in stored.items()}
    origin_us = int(stored["submit_us"][0]) if rebase and len(order) else 0
    stored["submit_us"] = stored["submit_us"] - origin_us
    stored |= moved(stored, -origin_us, NOT_A_TIME)
    check_horizon(screen.source, stored["submit_us"], stored["service_us"])
    attributes = {
        "row": screen.rows[order],
        "id": ids[order],
        "type_sets": type_sets,
        "type_set": None if type_set is None else type_set[order],
        "name": name,
        "source": source,
        "epoch": None if epoch is None else _shifted(screen.source, epoch, origin_us),
        "origin_s": us_to_seconds(origin_us),
        "rejects": rejects,
        "notes": notes,
        **stored,
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


def _checked(
    screen: Screen, numeric: Mapping[str, AnyArray], *, may_be_negative: bool
) -> dict[str, AnyArray]:
    """Return the numeric columns as a trace has them."""
    stored: dict[str, AnyArray] = {}
    for name in dict.fromkeys((*_FIRST, *check.NUMERIC)):
        column = JOB_COLUMNS[name]
        if column.kind == "moment" and column.stored in numeric:
            values = numeric[column.stored]
            check.require_beside(screen, column, values, stored)
        elif name in numeric:
            if name == "submit_s" and may_be_negative:
                column = msgspec.structs.replace(column, least=None)
            values = check.stored_numbers(screen, column, numeric[name], stored)
        else:
            continue
        stored[column.stored] = values
    return stored


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
