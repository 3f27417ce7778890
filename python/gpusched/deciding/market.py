"""Place jobs on unequal workers at one instant: :func:`place_jobs`, a matching market."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import Float64, Int32, read_only
from gpusched.base.draws import check_seed
from gpusched.base.supervision import supervised
from gpusched.deciding.market_columns import Columns, by_job, check_usable, counts_by_job, matrix
from gpusched.deciding.market_decision import JobPlacement

__all__ = ["JobPlacement", "place_jobs"]

# Columns of the rates beyond which equal workers no longer are the smaller problem.
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
    """Choose the workers of each job so that their mean completion time is low.

    Draws categories (a number of workers for each job), clears a matching market in each (who
    holds which), keeps the best and descends from it worker by worker. Liu, Wang, Huang, Pan,
    "Sampling-Based Multi-Job Placement for Heterogeneous Deep Learning Clusters", IEEE TPDS 35(6),
    2024, has the idea in its abstract; equations, valuations, bounds, seeds and descent are ours.
    The decision for given arguments is the same on every machine.

    Parameters
    ----------
    rates
        Samples per second of each job on one worker of each column, shape ``(jobs, columns)``;
        0 where the job cannot run.
    rounds
        Rounds that each job has left, shape ``(jobs,)`` or one for all, as all that follows by
        job.
    round_samples
        Samples of a round, the global batch.
    capacity
        Workers of each column, which is a class of equal ones; None: a column is one worker.
        Columns with equal figures are treated as a class.
    labels
        Names of the columns, for the tables.
    gradient_bytes, bandwidth_gbps
        Passed around the ring after each round, and its slowest link. None: costs nothing.
    max_samples
        What a worker's memory holds of a round, shape ``(jobs, columns)``; 0: no limit.
    min_workers, max_workers
        Limits on the number of workers of a job.
    waiting_s
        Already behind each job; counts as completion time.
    previous
        Workers held so far, shape ``(jobs, columns)``; a row of 0 holds none. A change of a job's
        workers costs it ``restart_s``, and unless the score improves by more than the part
        ``hysteresis``, everything stays.
    split
        ``"proportional"`` to the rates, so all workers of a round end at once, or ``"equal"``.
    sampler
        ``"seeded"``: equal shares, the square-root rule, the previous category and those that
        the prices ask for, then draws, half uniform and half around the square-root rule;
        ``"uniform"``: uniform draws alone; ``"enumerate"``: all categories; ``"exact"``: the
        proven optimum of small instances.
    draws
        N: 59 uniform draws hold one of the best 5 % of the categories at 95 %, 299 one of the
        best 1 %.
    enumerate_up_to
        With no more categories than these, all are looked at.
    descend, effort
        Whether the best draw is improved worker by worker, and for how long: exchanges tried
        times jobs x (classes + 1)^2.
    prune
        Leave out categories that a bound shows to be worse. It spares time.
    valuation
        Of a worker: ``"iterated"``, the completion time it saves at an estimate that follows the
        market; ``"one-pass"``; ``"raw"``, its rate.
    clearing
        ``"transportation"``, ``"jonker-volgenant"`` or ``"auction"``. None: transportation where
        there are few classes, else Jonker-Volgenant.
    beta
        Minimised is ``(beta + (1 - beta) (1 - fairness)) x mean``.
    guard
        A job has at least this part of an equal share of the workers.

    Returns
    -------
    JobPlacement
        The workers of each job, and what was looked at.

    Raises
    ------
    ValueError
        If a shape or a value is wrong (the message names argument, row and rule), a job can run
        nowhere, or its samples do not fit the memory of its workers.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> placed = gs.deciding.place_jobs([[2.0, 1.0], [2.0, 1.0]], rounds=[10, 20], round_samples=8,
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

    # Only a proof is worth a thread; a decision looks up by itself.
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
    """Samples of a round for each worker of each column."""
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
                f"max_samples: the {batch[job]:g} samples of job {job} do not fit the memory of "
                f"the workers that it can have; it needs min_workers, or more of them"
            )
    return samples
