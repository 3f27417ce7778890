"""Place jobs on heterogeneous workers by a matching market: :func:`place_jobs`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import Bool, Float64, Int32, Int64, read_only
from gpusched.base.draws import check_seed
from gpusched.base.field_checks import unmasked
from gpusched.base.libraries import polars as pl
from gpusched.base.supervision import supervised


class Columns:
    """The user's columns, and the classes of equal workers among them."""

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
        # Merge columns with equal values; classes are in order of their first column.
        parts = speeds if self.max_samples is None else np.vstack([speeds, self.max_samples])
        known: dict[bytes, int] = {}
        found = [known.setdefault(column.tobytes(), len(known)) for column in parts.T.copy()]
        self.class_of_column: Int64 = np.array(found, dtype=np.int64)
        self.first_column = np.array([found.index(c) for c in range(len(known))], dtype=np.int64)
        self.class_capacity: Int32 = np.bincount(
            self.class_of_column, weights=self.capacity, minlength=len(known)
        ).astype(np.int32)

    def merged(self, speeds: Float64) -> dict[str, Any]:
        """Return the matrices by class for the core."""
        merged: dict[str, Any] = {
            "rate": np.ascontiguousarray(speeds[:, self.first_column]).ravel(),
            "capacity": self.class_capacity,
        }
        if self.max_samples is not None:
            limits = np.ascontiguousarray(self.max_samples[:, self.first_column])
            merged["max_samples"] = limits.ravel()
        return merged

    def merged_previous(self, previous: npt.ArrayLike | None, num_jobs: int) -> Int32 | None:
        """Return the currently held workers by class."""
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
                f"previous: {self.labels[column]} is held {held[:, column].sum():g} times; its "
                f"capacity is {self.capacity[column]}"
            )
        merged = np.zeros((num_jobs, len(self.class_capacity)))
        np.add.at(merged.T, self.class_of_column, held.T)
        return np.ascontiguousarray(merged.astype(np.int32)).ravel()

    def deal(self, counts: Int32, previous: npt.ArrayLike | None) -> Int32:
        """Return workers by column: a job keeps as many of its current workers as possible.

        The others are assigned in order, the first job from the first columns.
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
            # Jobs and columns both partition one line; the overlap of two parts is assigned.
            job_end, column_end = np.cumsum(left)[:, np.newaxis], np.cumsum(free)
            begin = np.maximum(job_end - left[:, np.newaxis], column_end - free)
            dealt[:, columns] += np.maximum(np.minimum(job_end, column_end) - begin, 0)
        return dealt


def matrix(name: str, values: npt.ArrayLike) -> Float64:
    """Return values by job and column, at least 0 and finite; ValueError otherwise."""
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
    """Return one value per job; a single value applies to all."""
    if values is None:
        return None
    made = unmasked(name, values)
    if made.ndim == 0:
        made = np.full(size, float(made))
    if made.shape != (size,):
        raise ValueError(f"{name}: has shape {made.shape}, not ({size},)")
    return np.ascontiguousarray(made)


def counts_by_job(name: str, values: npt.ArrayLike | None, size: int) -> Int32 | None:
    """Return one whole number per job."""
    made = by_job(name, values, size)
    if made is None:
        return None
    if not np.all(np.isfinite(made) & (made == np.floor(made)) & (np.abs(made) < 2**30)):
        raise ValueError(f"{name}: must hold whole numbers")
    return made.astype(np.int32)


def check_usable(speeds: Float64, capacity: Int32, least: Any) -> None:
    """Raise ValueError for a job that could not run even with all workers."""
    usable = (speeds > 0) @ capacity
    for job, count in enumerate(usable.tolist()):
        if count == 0:
            raise ValueError(f"rates[{job}]: all 0: no worker can run job {job}")
        if least is not None and least[job] > count:
            raise ValueError(
                f"min_workers[{job}]: {least[job]}, but only {count} workers can run job {job}"
            )


_SHOWN = 12


@dataclass(frozen=True)
class JobPlacement:
    """The workers of each job: the return value of :func:`gpusched.online.place_jobs`.

    Attributes
    ----------
    counts
        Workers of each job in each column of the rates, shape ``(jobs, columns)``.
    job_s
        Completion time of each job in seconds, including wait and restart; NaN if it waits.
    equal_s
        The same with an equal share of the workers per job.
    price
        Clearing prices, shape ``(columns,)``: seconds of total completion time that one more worker
        of the column saves.
    mean_jct_s
        Mean of ``job_s`` over the jobs that do not wait.
    lower_bound_s
        Lower bound on the mean for the same jobs.
    fairness
        Jain's index of ``job_s / equal_s``; 1 is fair.
    score
        The minimised objective: ``mean_jct_s``, combined with fairness if ``beta`` is below 1.
    sampled_score
        The best score before the descent.
    num_categories
        Number of categories (a number of workers for each job).
    categories_tried, categories_pruned
        Number of categories with a cleared market, and number excluded by a bound.
    is_exhaustive
        Whether every category was tried or excluded.
    is_optimal
        Whether the decision is proven optimal (``sampler="exact"``).
    is_kept
        Whether the previous placement is kept, as none is better by the hysteresis.
    decision_s, processor_s
        Seconds that the decision took: wall-clock and processor time.
    samples
        Samples per round for each worker of each column, shape ``(jobs, columns)``.
    labels
        Names of the columns.
    first_worker
        First worker of each column; None if the columns are single workers.
    """

    counts: Int32 = field(repr=False)
    job_s: Float64 = field(repr=False)
    equal_s: Float64 = field(repr=False)
    price: Float64 = field(repr=False)
    mean_jct_s: float
    lower_bound_s: float
    fairness: float
    score: float
    sampled_score: float
    num_categories: float
    categories_tried: int
    categories_pruned: int
    is_exhaustive: bool
    is_optimal: bool
    is_kept: bool
    decision_s: float
    processor_s: float
    samples: Float64 = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    first_worker: Int64 | None = field(repr=False, default=None)

    @property
    def num_workers(self) -> Int64:
        """Number of workers of each job, shape ``(jobs,)``: the category."""
        found: Int64 = self.counts.sum(axis=1, dtype=np.int64)
        return found

    @property
    def waits(self) -> Bool:
        """Which jobs have no workers, since there are too few, or none that they can use."""
        found: Bool = self.num_workers == 0
        return found

    @property
    def gap(self) -> float:
        """Maximum distance of the mean from the optimum, relative to the bound."""
        return self.mean_jct_s / self.lower_bound_s - 1.0

    @property
    def workers(self) -> list[Int64]:
        """The workers of each job.

        Column numbers if each column is one worker. Otherwise workers are numbered consecutively,
        class by class, and assigned to the jobs in order.
        """
        if self.first_worker is None:
            return [np.flatnonzero(row) for row in self.counts]
        after = self.first_worker + np.cumsum(self.counts, axis=0)
        return [
            np.concatenate([np.arange(end - n, end) for end, n in zip(*rows, strict=True)])
            for rows in zip(after.tolist(), self.counts.tolist(), strict=True)
        ]

    def to_polars(self) -> pl.DataFrame:
        """Return one row per job.

        Returns
        -------
        polars.DataFrame
            Number and names of its workers, and its completion time now and with an equal share.

        Examples
        --------
        >>> placed = gs.online.place_jobs(
        ...     [[2.0, 1.0], [2.0, 1.0]], rounds=[10, 20], round_samples=8, capacity=[2, 2]
        ... )
        >>> placed.to_polars()["workers"].to_list()
        [2, 2]
        """
        return pl.DataFrame(
            {
                "job": np.arange(len(self.job_s)),
                "workers": self.num_workers,
                "held": [self._held(row) for row in self.counts],
                "job_s": self.job_s,
                "equal_s": self.equal_s,
            }
        )

    def _held(self, row: Int32) -> str:
        columns = np.flatnonzero(row).tolist()
        if self.first_worker is None:
            return ", ".join(self.labels[column] for column in columns)
        return ", ".join(f"{row[column]} {self.labels[column]}" for column in columns)

    def __str__(self) -> str:
        """Return a summary line and a table of the jobs."""
        proof = "optimal" if self.is_optimal else f"at most {self.gap:.2%} above the optimum"
        kept = "; the previous placement is kept" if self.is_kept else ""
        lines = [
            f"{len(self.job_s)} jobs: mean completion {self.mean_jct_s:.6g} s, {proof}; fairness "
            f"{self.fairness:.3f}; {self.categories_tried} of {self.num_categories:.6g} categories "
            f"in {1e3 * self.decision_s:.3g} ms{kept}",
            f"{'job':>5} {'workers':>8} {'completion, s':>14} {'equal share, s':>15}  held",
        ]
        for job, row in enumerate(self.counts[:_SHOWN]):
            if self.waits[job]:
                lines.append(f"{job:>5} {'waits':>8}")
                continue
            held = self._held(row)
            held = held if len(held) <= 48 else f"{held[:45]}..."
            lines.append(
                f"{job:>5} {row.sum():>8} {self.job_s[job]:>14.6g} {self.equal_s[job]:>15.6g}"
                f"  {held}"
            )
        if len(self.counts) > _SHOWN:
            lines.append(f"  ... {len(self.counts) - _SHOWN} more")
        return "\n".join(lines)


# With more classes, clearing by single workers is the smaller problem.
_FEW_CLASSES: Final = 16
_BYTES_PER_GBIT: Final = 1e9 / 8


def place_jobs(
    rates: npt.ArrayLike,
    *,
    rounds: npt.ArrayLike,
    round_samples: npt.ArrayLike,
    capacity: npt.ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    gradient_bytes: npt.ArrayLike | None = None,
    bandwidth_gbps: npt.ArrayLike | None = None,
    max_samples: npt.ArrayLike | None = None,
    min_workers: npt.ArrayLike | None = None,
    max_workers: npt.ArrayLike | None = None,
    waiting_s: npt.ArrayLike | None = None,
    previous: npt.ArrayLike | None = None,
    restart_s: npt.ArrayLike | None = None,
    hysteresis: float = 0.03,
    split: str = "proportional",
    sampler: str = "seeded",
    draws: int = 59,
    enumerate_up_to: int = 2000,
    descend: bool = True,
    effort: int = 100_000,
    prune: bool = True,
    valuation: str = "iterated",
    clearing: str | None = None,
    beta: float = 1.0,
    guard: float = 0.25,
    seed: int = 0,
) -> JobPlacement:
    """Choose the workers of each job for a low mean completion time.

    Draws categories (a number of workers for each job), assigns workers in each by a matching
    market, keeps the best and improves it worker by worker. Liu, Wang, Huang, Pan,
    "Sampling-Based Multi-Job Placement for Heterogeneous Deep Learning Clusters", IEEE TPDS 35(6),
    2024, has the idea in its abstract; equations, valuations, bounds, seeds and descent are ours.
    Equal arguments give the same decision on every machine.

    Parameters
    ----------
    rates
        Samples per second of each job on one worker of each column, shape ``(jobs, columns)``;
        0 where the job cannot run.
    rounds
        Remaining rounds of each job, shape ``(jobs,)`` or one for all, like all arguments by job
        below.
    round_samples
        Samples of a round, the global batch.
    capacity
        Workers of each column, a class of equal workers; None: a column is one worker.
        Columns with equal values are treated as a class.
    labels
        Names of the columns, for the tables.
    gradient_bytes, bandwidth_gbps
        Bytes passed around the ring after each round, and its slowest link. None: no cost.
    max_samples
        Samples of a round that fit into a worker's memory, shape ``(jobs, columns)``; 0: no limit.
    min_workers, max_workers
        Limits on the number of workers of a job.
    waiting_s
        Time that each job has already waited; part of its completion time.
    previous
        Current workers, shape ``(jobs, columns)``; a row of 0 has none. A change of a job's workers
        costs it ``restart_s``, and nothing changes unless the score improves by more than the
        fraction ``hysteresis``.
    split
        ``"proportional"`` to the rates, so all workers of a round end at once, or ``"equal"``.
    sampler
        ``"seeded"``: equal shares, the square-root rule, the previous category and those implied by
        the prices, then draws, half uniform and half around the square-root rule; ``"uniform"``:
        only uniform draws; ``"enumerate"``: all categories; ``"exact"``: the proven optimum of
        small instances.
    draws
        Number of draws: with 95% probability, 59 uniform draws include one of the best 5% of the
        categories, and 299 one of the best 1%.
    enumerate_up_to
        Up to this number of categories, all are tried.
    descend, effort
        Whether the best draw is improved worker by worker, and for how long: exchanges tried
        times jobs x (classes + 1)^2.
    prune
        Whether to skip categories that a bound shows to be worse, which saves time.
    valuation
        Value of a worker: ``"iterated"``, the completion time it saves at an estimate that follows
        the market; ``"one-pass"``; ``"raw"``, its rate.
    clearing
        ``"transportation"``, ``"jonker-volgenant"`` or ``"auction"``. None: transportation if there
        are few classes, else Jonker-Volgenant.
    beta
        The objective is ``(beta + (1 - beta) (1 - fairness)) x mean``.
    guard
        Each job has at least this part of an equal share of the workers.

    Returns
    -------
    JobPlacement
        The workers of each job, and statistics of the search.

    Raises
    ------
    ValueError
        If a shape or a value is wrong (the message names argument, row and rule), a job can run
        nowhere, or its samples do not fit into the memory of its workers.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> placed = gs.online.place_jobs([[2.0, 1.0], [2.0, 1.0]], rounds=[10, 20], round_samples=8,
    ...                                 capacity=[2, 2])
    >>> [worker.tolist() for worker in placed.workers]
    [[2, 3], [0, 1]]
    """
    speeds = matrix("rates", rates)
    num_jobs = len(speeds)
    columns = Columns(speeds, capacity, max_samples, labels)
    columns_by_job: dict[str, Any] = {
        "rounds": by_job("rounds", rounds, num_jobs),
        "samples": by_job("round_samples", round_samples, num_jobs),
        "gradient_bytes": by_job("gradient_bytes", gradient_bytes, num_jobs),
        "waiting_s": by_job("waiting_s", waiting_s, num_jobs),
        "restart_s": by_job("restart_s", restart_s, num_jobs),
        "min_workers": counts_by_job("min_workers", min_workers, num_jobs),
        "max_workers": counts_by_job("max_workers", max_workers, num_jobs),
    }
    bandwidth = by_job("bandwidth_gbps", bandwidth_gbps, num_jobs)
    if bandwidth is not None:
        columns_by_job["bytes_per_s"] = bandwidth * _BYTES_PER_GBIT
    check_usable(speeds, columns.capacity, columns_by_job["min_workers"])
    problem = _core.MatchingProblem(
        **columns.merged(speeds),
        previous=columns.merged_previous(previous, num_jobs),
        **{key: value for key, value in columns_by_job.items() if value is not None},
    )
    few = len(columns.class_capacity) <= _FEW_CLASSES
    options: dict[str, Any] = {
        "hysteresis": float(hysteresis),
        "split": split,
        "sampler": "seeded" if sampler == "exact" else sampler,
        "draws": int(draws),
        "enumerate_up_to": float(enumerate_up_to),
        "descend": bool(descend),
        "effort": int(effort),
        "prune": bool(prune),
        "valuation": valuation,
        "clearing": clearing or ("transportation" if few else "jonker-volgenant"),
        "beta": float(beta),
        "guard": float(guard),
        "seed": check_seed(seed),
    }
    control = _core.RunControl()

    def decide() -> tuple[_core.MatchingDecision, _core.ExactMatching | None, float, float]:
        begin, processor = time.perf_counter(), time.thread_time()
        market, exact = _core.MatchingMarket(), None
        if sampler == "exact":
            found = market.solve(problem, options, control)
            exact = _core.exact_matching(problem, options, control)
        else:
            found = market.solve(problem, options)
        return found, exact, time.perf_counter() - begin, time.thread_time() - processor

    # Only a proof needs a thread: a decision itself checks for interrupts.
    found, exact, decision_s, processor_s = (
        supervised(decide, control) if sampler == "exact" else decide()
    )
    merged_counts = found.counts.reshape(num_jobs, -1)
    job_s = np.where(np.isfinite(found.job_s), found.job_s, np.nan)
    facts: dict[str, Any] = {
        "mean_jct_s": found.mean_s,
        "lower_bound_s": found.lower_bound_s,
        "fairness": found.fairness,
        "score": found.score,
    }
    if exact is not None:
        runs = merged_counts.sum(axis=1) > 0
        merged_counts = np.zeros_like(merged_counts)
        merged_counts[runs] = exact.counts.reshape(int(runs.sum()), -1)
        job_s[runs] = exact.job_s
        ratio = job_s[runs] / found.equal_s[runs]
        facts = {
            "mean_jct_s": exact.mean_s,
            "lower_bound_s": exact.lower_bound_s,
            "fairness": float(ratio.sum() ** 2 / (len(ratio) * np.sum(ratio**2))),
            "score": exact.mean_s,
        }
    counts = columns.deal(merged_counts, previous)
    samples = _samples(speeds, counts, columns_by_job["samples"], columns.max_samples, split)
    return JobPlacement(
        counts=read_only(counts),
        job_s=read_only(job_s),
        equal_s=read_only(np.where(np.isfinite(found.equal_s), found.equal_s, np.nan)),
        price=read_only(found.price[columns.class_of_column]),
        samples=read_only(samples),
        sampled_score=found.sampled_score,
        num_categories=found.num_categories,
        categories_tried=found.num_tried,
        categories_pruned=found.num_pruned,
        is_exhaustive=found.is_exhaustive,
        is_optimal=exact is not None and exact.is_optimal,
        is_kept=found.is_kept and exact is None,
        decision_s=decision_s,
        processor_s=processor_s,
        labels=columns.labels,
        first_worker=columns.first_worker,
        **facts,
    )


def _samples(
    speeds: Float64, counts: Int32, batch: Float64, limits: Float64 | None, split: str
) -> Float64:
    """Return the samples of a round for each worker of each column."""
    samples = np.zeros(speeds.shape)
    for job, row in enumerate(counts):
        columns = np.repeat(np.arange(len(row)), row)
        most = np.zeros(0) if limits is None else limits[job, columns]
        parts, fits = _core.split_batch(
            float(batch[job]), speeds[job, columns], most, split == "equal"
        )
        samples[job, columns] = parts
        if columns.size and not fits:
            raise ValueError(
                f"max_samples: the {batch[job]:g} samples of job {job} do not fit into the memory "
                f"of its workers; set min_workers, or raise it"
            )
    return samples
