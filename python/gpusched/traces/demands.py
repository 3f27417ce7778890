"""What the workers of a job ask for beside whole GPUs: a part of one, CPU, memory."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gpusched.base.arrays import AnyArray, Int32, Int64
from gpusched.base.units import WHOLE_GPU


class Demanding(Protocol):
    """Jobs that may ask for something: a trace, or anything with these columns."""

    @property
    def share_milli(self) -> Int32 | None: ...
    @property
    def cpu_milli(self) -> Int64 | None: ...
    @property
    def memory_mib(self) -> Int64 | None: ...
    def __len__(self) -> int: ...


def demand_columns(jobs: Demanding) -> dict[str, AnyArray]:
    """Return the demand columns of the core's job table; empty if no job asks for anything.

    Returns
    -------
    dict
        ``demand`` int32[num_jobs]: index into the distinct demands, which are in ascending order:
        ``demand_share_milli`` int32, ``demand_cpu_milli`` and ``demand_memory_mib`` int64.
    """
    asked = (
        (jobs.share_milli, WHOLE_GPU, np.int32),
        (jobs.cpu_milli, 0, np.int64),
        (jobs.memory_mib, 0, np.int64),
    )
    if all(values is None or bool((values == none).all()) for values, none, _ in asked):
        return {}
    # One sort of whole numbers is far cheaper than one of rows: each column becomes a digit.
    code = np.zeros(len(jobs), dtype=np.int64)
    distinct: list[Int64] = []
    for values, none, _ in asked:
        if values is None:
            distinct.append(np.array([none], dtype=np.int64))
            continue
        known, digit = np.unique(values, return_inverse=True)
        distinct.append(known.astype(np.int64))
        code = code * len(known) + digit
    rows, index = np.unique(code, return_inverse=True)
    columns: dict[str, AnyArray] = {"demand": index.astype(np.int32)}
    names = ("demand_share_milli", "demand_cpu_milli", "demand_memory_mib")
    for name, known, (_, _, dtype) in reversed(list(zip(names, distinct, asked, strict=True))):
        columns[name] = known[rows % len(known)].astype(dtype)
        rows = rows // len(known)
    return columns
