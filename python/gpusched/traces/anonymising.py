"""Anonymise traces: names become keyed hashes, times are rounded."""

from __future__ import annotations

import dataclasses
import re
import secrets
from hashlib import blake2b
from typing import Any, Final

from gpusched.base.libraries import polars
from gpusched.traces.job_columns import JOB_COLUMNS, JobColumn
from gpusched.traces.workload import Trace

NAMES: Final = tuple(
    name
    for name, column in JOB_COLUMNS.items()
    if column.kind in ("id", "label") and name not in ("status", "dependency")
)
"""Columns in which names are hashed, each column with its own key."""
_MODELS: Final = ("profile", "graph")
_NUM_BYTES: Final = 10
_PART: Final = re.compile(
    r"(?<![^,?\s])(?:(?:after|before)(?:any|burstbuffer|corr|notok|ok)?|expand)(?=:)"
    r"|(?<![^,?\s])singleton(?![^,?\s(])"
    r"|\+\d+(?![^:,?\s(])|\((?:fulfilled|unfulfilled|failed)\)"
    r"|([^:,?+\s()]+)"
)
"""Types of a dependency, minutes and states, which are kept; else a name, the group."""


def anonymise(trace: Trace, *, salt: str | bytes | None = None, round_s: float = 60) -> Trace:
    """Return the same jobs, in the same order, with hashed names and rounded times.

    Ids, users, queues, groups, accounts, partitions and QOS become hashes with a secret key; jobs
    of one user remain jobs of one user. Submissions are rounded down, deadlines and cancellations
    up, run times and estimates to the nearest multiple that is not 0. The calendar, lines in the
    file, models of jobs and notes of the reader are left out.

    This does not hide numbers of GPUs, GPU types, weights, priorities and statuses, nor the daily
    and weekly pattern of arrivals, which can identify a job to someone who remembers it.

    Parameters
    ----------
    salt
        The secret key. Equal salts give equal names, which links several files; anyone who has the
        salt can guess names. Default: drawn at random and not stored.
    round_s
        Seconds to round to.

    Returns
    -------
    Trace
        As many jobs, the first submitted at 0.

    Raises
    ------
    ValueError
        If the salt is empty, or ``round_s`` is below 1.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 61], [5, 95], [1, 8], user=["ann", "ann"])
    >>> sent = gs.traces.anonymise(trace, salt="a long secret")
    >>> sent.submit_s.tolist(), sent.service_s.tolist()
    ([0.0, 60.0], [60.0, 120.0])
    >>> sent.user[0] == sent.user[1] != "ann"
    True
    """
    if not round_s >= 1:
        raise ValueError(f"round_s: {round_s!r} must be at least 1")
    secret = secrets.token_bytes(32) if salt is None else salt
    if not secret:
        raise ValueError("salt: must not be empty")
    key = blake2b(secret if isinstance(secret, bytes) else secret.encode()).digest()
    jobs = trace.rebased().to_polars().drop("row", *_MODELS, strict=False)
    columns: dict[str, Any] = {name: jobs[name] for name in jobs.columns}
    for name in NAMES:
        if name in columns:
            kind = "id" if name == "array" else name  # a dependency names either
            columns[name] = _hashed(columns[name].cast(polars.String), kind, key)
    if "dependency" in columns:
        columns["dependency"] = _hashed_parts(columns["dependency"], key)
    for name, column in JOB_COLUMNS.items():
        if name in columns and column.kind in ("duration", "moment"):
            columns[name] = _rounded(columns[name] / round_s, column) * round_s
    made = Trace.from_columns(**columns, name="anonymised")
    return dataclasses.replace(made, source=f"anonymised, times rounded to {round_s:g} s")


def _rounded(times: polars.Series, column: JobColumn) -> polars.Series:
    """Round submissions down and what lies after them up, and durations to the nearest."""
    if column.kind == "moment":
        is_end = column.name in ("deadline_s", "cancel_at_s")
        return times.ceil() if is_end else times.floor()
    return times.round().clip(0 if column.above is None else 1)


def _hash(name: str, kind: str, key: bytes) -> str:
    return blake2b(name.encode(), key=key, person=kind.encode(), digest_size=_NUM_BYTES).hexdigest()


def _hashed(names: polars.Series, kind: str, key: bytes) -> polars.Series:
    """Replace names by hashes; empty ones stay empty."""
    known = {name: _hash(name, kind, key) for name in names.drop_nulls().unique() if name}
    return names.replace(known)


def _hashed_parts(texts: polars.Series, key: bytes) -> polars.Series:
    """Replace the ids of jobs within texts such as ``afterok:7:8+5(unfulfilled),singleton``."""

    def hashed(found: re.Match[str]) -> str:
        return _hash(found[1], "id", key) if found[1] else found[0]

    known = {text: _PART.sub(hashed, text) for text in texts.drop_nulls().unique()}
    return texts.replace(known)
