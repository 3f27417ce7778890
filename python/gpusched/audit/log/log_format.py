"""What a schedule is made of, as an audit reads it: codes, columns and the digest of the log.

Written anew from the documentation, and shared with nothing that makes schedules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray

FINISHED: Final = 0
REJECTED: Final = 1
UNFINISHED: Final = 2

REJECT_REASONS: Final = (
    "",
    "no server has an allowed GPU type",
    "needs more GPUs than the cluster has",
    "the placement refuses it on an empty cluster",
    "the speed knows no configuration for it",
)

LOG_COLUMNS: Final = ("job", "start_us", "end_us", "server", "mask")
"""In the order in which they enter the digest."""

JOB_COLUMNS: Final = (
    "start_us", "finish_us", "held_us", "paid_us", "preemptions", "resizes", "num_servers",
    "status", "reason",
)  # fmt: skip
"""One value per job."""

DECISION_COLUMNS: Final = frozenset((
    "job", "time_us", "admitted", "cost", "value", "payoff", "reason", "type", "from_us",
    "until_us",
))  # fmt: skip
"""One value per job that was taken or turned down."""

_ROWS_AT_A_TIME: Final = 2**18


def log_digest(log: Mapping[str, AnyArray], status: AnyArray, reason: AnyArray) -> str:
    """Return the SHA-256 of the rows of the log, then of (job, reason) of each reject.

    All as little-endian integers of 64 bits, row by row as they stand.
    """
    sha = hashlib.sha256()
    for begin in range(0, len(log["job"]), _ROWS_AT_A_TIME):
        rows = slice(begin, begin + _ROWS_AT_A_TIME)
        _feed(sha, [log[name][rows] for name in LOG_COLUMNS])
    rejects = (np.asarray(status) == REJECTED).nonzero()[0]
    if len(rejects):
        _feed(sha, [rejects, np.asarray(reason)[rejects]])
    return sha.hexdigest()


def _feed(sha: Any, columns: Sequence[AnyArray]) -> None:
    words = np.empty((len(columns[0]), len(columns)), "<i8")
    words.T[...] = columns
    sha.update(words.data)
