"""Rows of one JobID: what a job did before it was requeued, and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.rejects import Screen

if TYPE_CHECKING:
    import polars

JOB_ID: Final = r"^\d+(?:_\d+|\+\d+)?$"
"""A job, a task of an array, or a part of a heterogeneous job."""


@dataclass
class Attempts:
    """What each row tells of one attempt; joining writes that of the whole job into the last.

    Attributes
    ----------
    submit_us, start_us, service_us
        int64: arrival, start, and run time; 0 where not known.
    has_start, has_end
        Whether the attempt started, and whether it ended.
    """

    submit_us: Int64
    start_us: Int64
    service_us: Int64
    has_start: Bool
    has_end: Bool


def joined(
    screen: Screen, ids: polars.Series, attempts: Attempts, users: polars.Series | None = None
) -> polars.Series:
    """Join the rows of one id into the last of them, in the order in which they were submitted.

    The job arrives and starts as it did first, and takes the run times of all attempts that
    started. A job of which an attempt cannot be read, or started and has no end, is rejected. Ids
    are used again once they are used up: rows of other ``users`` are another job, ``ID#2``.
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
        attempts.start_us[last] = attempts.start_us[ran[0]]
        attempts.service_us[last] = attempts.service_us[ran].sum()
    rule = "must be that of a last attempt (a requeue, joined with it)"
    screen.require(~is_earlier, "id", rule)
    screen.require(is_whole, "end", "must be known for every attempt")
    return ids


def _of_users(
    screen: Screen, ids: polars.Series, attempts: Attempts, users: polars.Series | None
) -> polars.Series:
    """Give the rows of one id an id for each of their users."""
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
    """Make every row of one id a job; the second is ``ID#2``, and so on."""
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
    """Return the rows of each id that several rows have, of those whose id is a job's.

    Rows whose times are bad belong to their job all the same.
    """
    is_job = ids.str.contains(JOB_ID).to_numpy() | ids.str.contains("#", literal=True).to_numpy()
    rows = np.flatnonzero(is_job)
    rows_of: dict[str, list[int]] = {}
    names = ids.to_list()
    if len({names[row] for row in rows.tolist()}) == len(rows):
        return []
    for row in rows.tolist():
        rows_of.setdefault(names[row], []).append(row)
    return [np.array(found, dtype=np.int64) for found in rows_of.values() if len(found) > 1]
