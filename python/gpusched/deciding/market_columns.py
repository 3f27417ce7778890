"""The columns of a matching problem: checked, and equal workers merged into classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.base.field_checks import unmasked


class Columns:
    """The columns that a user gave, and the classes of equal workers among them."""

    def __init__(
        self,
        speeds: Float64,
        capacity: npt.ArrayLike | None,
        max_samples: npt.ArrayLike | None,
        labels: Sequence[str] | None,
    ) -> None:
        num_columns = speeds.shape[1]
        self.max_samples: Float64 | None = None
        if max_samples is not None:
            self.max_samples = matrix("max_samples", max_samples)
            if self.max_samples.shape != speeds.shape:
                raise ValueError(
                    f"max_samples: has shape {self.max_samples.shape}, not that of the rates, "
                    f"{speeds.shape}"
                )
        self.first_worker: Int64 | None = None
        self.capacity: Int32 = np.ones(num_columns, dtype=np.int32)
        if capacity is not None:
            given = counts_by_job("capacity", capacity, num_columns)
            assert given is not None
            for column in np.flatnonzero(given < 0)[:1].tolist():
                raise ValueError(f"capacity[{column}]: {given[column]} must be at least 0")
            self.capacity = given
            self.first_worker = np.cumsum(given, dtype=np.int64) - given
        name = "worker" if capacity is None else "class"
        self.labels = tuple(labels or (f"{name} {column}" for column in range(num_columns)))
        if len(self.labels) != num_columns:
            raise ValueError(f"labels: has {len(self.labels)} names for {num_columns} columns")
        # Columns with equal figures, in the order of their first.
        parts = speeds if self.max_samples is None else np.vstack([speeds, self.max_samples])
        known: dict[bytes, int] = {}
        found = [known.setdefault(column.tobytes(), len(known)) for column in parts.T.copy()]
        self.class_of_column: Int64 = np.array(found, dtype=np.int64)
        self.first_column = np.array([found.index(c) for c in range(len(known))], dtype=np.int64)
        self.class_capacity: Int32 = np.bincount(
            self.class_of_column, weights=self.capacity, minlength=len(known)
        ).astype(np.int32)

    def merged(self, speeds: Float64) -> dict[str, Any]:
        """The matrices by class, as the core takes them."""
        merged: dict[str, Any] = {
            "rate": np.ascontiguousarray(speeds[:, self.first_column]).ravel(),
            "capacity": self.class_capacity,
        }
        if self.max_samples is not None:
            limits = np.ascontiguousarray(self.max_samples[:, self.first_column])
            merged["max_samples"] = limits.ravel()
        return merged

    def merged_previous(self, previous: npt.ArrayLike | None, num_jobs: int) -> Int32 | None:
        """Workers held so far, by class."""
        if previous is None:
            return None
        held = matrix("previous", previous)
        if held.shape != (num_jobs, len(self.capacity)):
            raise ValueError(
                f"previous: has shape {held.shape}, not that of the rates, "
                f"{(num_jobs, len(self.capacity))}"
            )
        if np.any(held < 0) or np.any(held != np.floor(held)):
            raise ValueError("previous: must hold whole numbers, at least 0")
        over = np.flatnonzero(held.sum(axis=0) > self.capacity)
        if over.size:
            column = int(over[0])
            raise ValueError(
                f"previous: {self.labels[column]} is held {held[:, column].sum():g} times and "
                f"there are {self.capacity[column]}"
            )
        merged = np.zeros((num_jobs, len(self.class_capacity)))
        np.add.at(merged.T, self.class_of_column, held.T)
        return np.ascontiguousarray(merged.astype(np.int32)).ravel()

    def deal(self, counts: Int32, previous: npt.ArrayLike | None) -> Int32:
        """Workers by column: a job keeps those that it holds as far as it has so many.

        The others are dealt in order: the first job gets them from the first columns.
        """
        dealt = np.zeros((len(counts), len(self.capacity)), dtype=np.int32)
        held = None if previous is None else unmasked("previous", previous).astype(np.int32)
        for kind in range(counts.shape[1]):
            columns = np.flatnonzero(self.class_of_column == kind)
            left, free = counts[:, kind], self.capacity[columns]
            if held is not None:
                most = np.minimum(np.cumsum(held[:, columns], axis=1), left[:, np.newaxis])
                kept = np.diff(most, axis=1, prepend=0)
                dealt[:, columns] = kept
                left, free = left - kept.sum(axis=1), free - kept.sum(axis=0)
            # Both are pieces of one line; a job gets of a column what their pieces share.
            job_end, column_end = np.cumsum(left)[:, np.newaxis], np.cumsum(free)
            begin = np.maximum(job_end - left[:, np.newaxis], column_end - free)
            dealt[:, columns] += np.maximum(np.minimum(job_end, column_end) - begin, 0)
        return dealt


def matrix(name: str, values: npt.ArrayLike) -> Float64:
    """Return figures by job and column, at least 0 and finite; ValueError otherwise."""
    made = unmasked(name, values)
    if made.ndim != 2 or made.size == 0:
        raise ValueError(f"{name}: has shape {made.shape}, not (jobs, columns)")
    bad = np.argwhere(~np.isfinite(made) | (made < 0))
    if bad.size:
        row, column = bad[0].tolist()
        raise ValueError(
            f"{name}[{row}, {column}]: {made[row, column]} must be at least 0 and finite"
        )
    return made


def by_job(name: str, values: npt.ArrayLike | None, size: int) -> Float64 | None:
    """Return one figure for each job, from these or from one for all."""
    if values is None:
        return None
    made = unmasked(name, values)
    if made.ndim == 0:
        made = np.full(size, float(made))
    if made.shape != (size,):
        raise ValueError(f"{name}: has shape {made.shape}, not ({size},)")
    return np.ascontiguousarray(made)


def counts_by_job(name: str, values: npt.ArrayLike | None, size: int) -> Int32 | None:
    """Return one whole number for each job."""
    made = by_job(name, values, size)
    if made is None:
        return None
    if not np.all(np.isfinite(made) & (made == np.floor(made)) & (np.abs(made) < 2**30)):
        raise ValueError(f"{name}: must hold whole numbers")
    return made.astype(np.int32)


def check_usable(speeds: Float64, capacity: Int32, least: Any) -> None:
    """Raise ValueError for a job that could not run even if all workers were its own."""
    usable = (speeds > 0) @ capacity
    for job, count in enumerate(usable.tolist()):
        if count == 0:
            raise ValueError(f"rates[{job}]: all 0: no worker can run job {job}")
        if least is not None and least[job] > count:
            raise ValueError(
                f"min_workers[{job}]: {least[job]} and there are {count} that can run job {job}"
            )
