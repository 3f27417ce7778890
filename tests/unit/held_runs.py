"""Runs with jobs that are held or cancelled, written down by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

import gpusched as gs
from gpusched.results.result import Result
from gpusched.schedules.schedule import CANCELLED, FAILURE_COLUMNS, FINISHED, UNFINISHED
from tests.unit.failing_runs import SECOND, Run, failing

NONE = float("nan")
NODE = gs.Cluster.uniform(1, 4)


def held(
    trace: gs.Trace,
    runs: Sequence[Sequence[Run]],
    eligible_s: Sequence[float],
    status: Sequence[int],
    *,
    kills: bool = False,
    warnings: Sequence[str] = (),
) -> Result:
    """A result of these runs; -1 and -2 in ``eligible_s`` are those of the schedule."""
    made = failing(trace, NODE, runs, status=status)
    since = [round(each * SECOND) if each >= 0 else each for each in eligible_s]
    none: dict[str, Any] = {name: np.empty(0, dtype) for name, dtype in FAILURE_COLUMNS.items()}
    schedule = replace(
        made.schedule, eligible_us=np.array(since, np.int64), warnings=tuple(warnings), **none
    )
    spec = msgspec.structs.replace(made.spec, policy="fifo-skip", kill_invalid_depend=kills)
    return Result(trace, NODE, spec, schedule, 0.5)


EACH = {
    "id": list("abcdefghijk"),
    "status": ["failed", *["ok"] * 10],
    "dependency": ["", "afterok:a", "afterany:a", *[""] * 6, "after:c+1", "afternotok:a"],
    "eligible_s": [NONE, NONE, NONE, 5, NONE, NONE, NONE, NONE, float("inf"), NONE, NONE],
    "array": [*[""] * 4, "x", "x", *[""] * 5],
    "array_limit": [*[NONE] * 4, 1, 1, *[NONE] * 5],
    "cancel_at_s": [*[NONE] * 6, 7, 3, NONE, NONE, 2],
}
"""Columns of a job of each kind."""


def each_hold() -> Result:
    """Jobs of 1 GPU on a server of 4, all submitted at 0.

    Job a fails in its log at 10, so that b is held for good and c begins. Job d begins at 5. Of e
    and f, one at a time is in the queue. Job g needs all GPUs and is cancelled while it waits, h
    while it runs, and k while it is held. Job i has no eligible time, and j follows the start of c
    by a minute.
    """
    service_s = [10, 1, 10, 3, 4, 2, 1, 9, 1, 1, 1]
    trace = gs.Trace.from_columns([0] * 11, service_s, [1] * 6 + [4] + [1] * 4, **EACH)
    runs: list[list[Run]] = [[] for _ in range(11)]
    for job, begin, end, mask in (
        (0, 0, 10, 0b1), (2, 10, 20, 0b1), (3, 5, 8, 0b100), (4, 0, 4, 0b10), (5, 4, 6, 0b10),
        (7, 0, 3, 0b100), (9, 70, 71, 0b1),
    ):  # fmt: skip
        runs[job].append((begin, end, {0: mask}))
    status = [FINISHED] * 11
    status[1] = status[8] = UNFINISHED
    status[6] = status[7] = status[10] = CANCELLED
    return held(trace, runs, [0, -2, 10, 5, 0, 4, 0, 0, -1, 70, -1], status)


def a_chain_of_cancellations() -> Result:
    """Case L05 and a job that may do with one of two: a fails at 10 in its log, and at that time
    b, d, and e are cancelled, c and f released, and g finds no way to be met.
    """
    trace = gs.Trace.from_columns(
        [0] * 7, [10, 10, 10, 3, 3, 3, 3], [1] * 7, id=list("abcdefg"),
        status=["failed", *["ok"] * 6],
        dependency=["", "afterok:a", "afterany:a", "afterok:b", "afterok:d,afterany:a",
                    "afterany:d", "afterok:a?afterok:b"],
    )  # fmt: skip
    runs: list[list[Run]] = [[] for _ in range(7)]
    runs[0] = [(0, 10, {0: 0b1})]
    runs[2] = [(10, 20, {0: 0b1})]
    runs[5] = [(10, 13, {0: 0b10})]
    status = [FINISHED, CANCELLED, FINISHED, CANCELLED, CANCELLED, FINISHED, CANCELLED]
    return held(trace, runs, [0, -2, 10, -2, -2, 10, -2], status, kills=True)
