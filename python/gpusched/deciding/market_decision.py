"""What a matching market decided: :class:`JobPlacement`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int32, Int64

if TYPE_CHECKING:
    import polars as pl

_SHOWN = 12


@dataclass(frozen=True)
class JobPlacement:
    """Who holds which workers: what :func:`gpusched.deciding.place_jobs` returns.

    Attributes
    ----------
    counts
        Workers of each job in each column of the rates, shape ``(jobs, columns)``.
    job_s
        Completion of each job in seconds, waiting and restart included; NaN for one that waits.
    equal_s
        The same if every job had an equal share of the workers.
    price
        At which the market clears: seconds of the summed completion times that one more worker of
        the column saves, shape ``(columns,)``.
    mean_jct_s
        Mean of ``job_s`` over the jobs that do not wait.
    lower_bound_s
        No decision for the same jobs has a lower mean.
    fairness
        Jain's index of ``job_s / equal_s``; 1 is fair.
    score
        What was minimised: ``mean_jct_s``, and fairness with ``beta`` below 1.
    sampled_score
        The best one before the descent.
    num_categories
        How many categories there are: numbers of workers of each job.
    categories_tried, categories_pruned
        How many of them had a market cleared, and how many a bound ruled out.
    is_exhaustive
        Whether every category was tried or ruled out.
    is_optimal
        Whether the decision is proven to be the best (``sampler="exact"``).
    is_kept
        Whether the previous placement stays because no other is better by the hysteresis.
    decision_s, processor_s
        What the decision took, in seconds: on the clock, and of a processor.
    samples
        Of a round, for each worker of each column, shape ``(jobs, columns)``.
    labels
        Names of the columns.
    first_worker
        Where the columns are single workers, None; otherwise the first worker of each column.
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
        """Workers of each job, shape ``(jobs,)``: the category."""
        found: Int64 = self.counts.sum(axis=1, dtype=np.int64)
        return found

    @property
    def waits(self) -> Bool:
        """Which jobs have no workers: there are too few for all, or none that they could use."""
        found: Bool = self.num_workers == 0
        return found

    @property
    def gap(self) -> float:
        """How far above the optimum the mean can be at most, as a part of the bound."""
        return self.mean_jct_s / self.lower_bound_s - 1.0

    @property
    def workers(self) -> list[Int64]:
        """The workers of each job.

        Column by column where each is one worker. Workers of a class are numbered one after the
        other, class after class, and dealt to the jobs in the same order.
        """
        if self.first_worker is None:
            return [np.flatnonzero(row) for row in self.counts]
        after = self.first_worker + np.cumsum(self.counts, axis=0)
        return [
            np.concatenate([np.arange(end - n, end) for end, n in zip(*rows, strict=True)])
            for rows in zip(after.tolist(), self.counts.tolist(), strict=True)
        ]

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each job.

        Returns
        -------
        polars.DataFrame
            Its workers, how many and which, and its seconds so placed and with an equal part.

        Examples
        --------
        >>> placed = gs.deciding.place_jobs(
        ...     [[2.0, 1.0], [2.0, 1.0]], rounds=[10, 20], round_samples=8, capacity=[2, 2]
        ... )
        >>> placed.to_polars()["workers"].to_list()
        [2, 2]
        """
        import polars as pl

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
        """Return a table of the jobs under a line on the whole."""
        proof = "optimal" if self.is_optimal else f"at most {self.gap:.2%} above the optimum"
        kept = "; the previous placement stays" if self.is_kept else ""
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
