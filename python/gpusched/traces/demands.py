"""What the workers of a job ask for beside whole GPUs: a part of one, CPU, memory."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int32, Int64
from gpusched.base.rejects import Screen
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU

MAX_DEMAND: Final = 2**40
"""Most thousandths of a core, and MiB, that a worker may ask for."""
COLUMNS: Final = ("gpu_share", "cpu", "memory_gib")


def share_millis(screen: Screen, shares: AnyArray, gpus: Int32) -> Int32:
    """Check shares of a GPU and count them in thousandths; NaN stands for a whole GPU.

    ``gpus`` holds 0 in rows that are bad already.
    """
    shares = np.where(np.isnan(shares), 1.0, shares)
    screen.require(shares > 0, "gpu_share", "must be positive")
    good = screen.require(shares <= 1, "gpu_share", "must be at most 1")
    millis: Int32 = np.maximum(np.rint(np.where(good, shares, 1.0) * WHOLE_GPU), 1).astype(np.int32)
    is_whole: Bool = (millis == WHOLE_GPU) | (gpus <= 1)
    screen.require(is_whole, "gpu_share", "must be 1 for a job of several GPUs")
    return millis


def cpu_millis(screen: Screen, cores: AnyArray) -> Int64:
    """Check CPU cores per worker and count them in thousandths; NaN stands for none."""
    return _amounts(screen, "cpu", cores, MILLI_PER_CORE)


def memory_mibs(screen: Screen, gibs: AnyArray) -> Int64:
    """Check memory per worker in GiB and count it in MiB; NaN stands for none."""
    return _amounts(screen, "memory_gib", gibs, MIB_PER_GIB)


def _amounts(screen: Screen, column: str, amounts: AnyArray, units: int) -> Int64:
    amounts = np.where(np.isnan(amounts), 0.0, amounts)
    screen.require(amounts >= 0, column, "must not be negative")
    limit = MAX_DEMAND // units
    good = screen.require(amounts <= limit, column, f"must be at most {limit}")
    counted = np.rint(np.where(good, amounts, 0.0) * units)
    # A little is not nothing.
    whole: Int64 = np.where(amounts > 0, np.maximum(counted, 1), counted).astype(np.int64)
    return whole


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
