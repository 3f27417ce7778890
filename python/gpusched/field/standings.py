"""How policies rank, from the runs of the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.field.entrants import Entrant
from gpusched.field.field_study import ORACLE
from gpusched.field.workloads import Workload
from gpusched.results.metric_registry import metrics
from gpusched.statistics.intervals import Interval
from gpusched.statistics.means import interval
from gpusched.statistics.rank_tests import Better, RankTest, nemenyi

if TYPE_CHECKING:
    import polars as pl

RANKED_BY: Final = "mean_jct_s"
"""What the rows are in the order of."""


@dataclass(frozen=True)
class Row:
    """A policy with its knowledge of the jobs.

    Attributes
    ----------
    policy
        Its name and options.
    is_clairvoyant
        Whether it was told the true services: then it could not be deployed.
    """

    policy: str
    is_clairvoyant: bool

    @property
    def label(self) -> str:
        """In tables; clairvoyant ones are marked."""
        return f"{self.policy} (clairvoyant)" if self.is_clairvoyant else self.policy


@dataclass(frozen=True, eq=False)
class Standings:
    """All figures of all policies.

    Attributes
    ----------
    runs
        The finished runs of the study, a row each.
    workloads, who
        What they are of.
    """

    runs: pl.DataFrame
    workloads: tuple[Workload, ...]
    who: tuple[Entrant, ...]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of every table, those that can be deployed first."""
        fair = [Row(one.policy, is_clairvoyant=False) for one in self.who]
        told = [Row(one.policy, is_clairvoyant=True) for one in self.who if one.knows_services]
        return fair + told

    def values(self, row: Row, workload: Workload, metric: str) -> Float64:
        """Return a metric of a policy on a workload, a value per seed; empty if it is not there."""
        import polars as pl

        if metric not in self.runs.columns:
            return np.empty(0)
        knows = next(one.knows_services for one in self.who if one.policy == row.policy)
        predictor = workload.predictor if knows and not row.is_clairvoyant else ORACLE
        found = self.runs.filter(
            pl.col("policy") == row.policy,
            pl.col("trace") == workload.name,
            pl.col("predictor") == predictor,
        ).sort("seed")[metric]
        return found.drop_nulls().drop_nans().to_numpy().astype(np.float64)

    def figure(self, row: Row, workload: Workload, metric: str) -> Interval | None:
        """Return the mean over the seeds with its interval; None where it was not measured."""
        values = self.values(row, workload, metric)
        return interval(values) if len(values) else None

    @cached_property
    def complete(self) -> list[Row]:
        """The rows that have finished on every workload; only these are ranked."""
        return [
            row
            for row in self.rows
            if all(len(self.values(row, work, RANKED_BY)) for work in self.workloads)
        ]

    def ranking(self, metric: str, *, is_deployable: bool = True) -> RankTest | None:
        """Rank the policies by their means on each workload; None if there is too little to rank.

        Parameters
        ----------
        metric
            Workloads that lack it for a policy are left out.
        is_deployable
            Rank only those that are not clairvoyant.
        """
        rows = [row for row in self.complete if not (is_deployable and row.is_clairvoyant)]
        table = [means for work in self.workloads if (means := self._means(rows, work, metric))]
        if len(table) < 2 or len(rows) < 2:
            return None
        return nemenyi(table, [row.label for row in rows], better=better(metric))

    def _means(self, rows: Sequence[Row], workload: Workload, metric: str) -> list[float]:
        found = [self.values(row, workload, metric) for row in rows]
        return [float(np.mean(values)) for values in found] if all(map(len, found)) else []

    def ordered(self, ranks: RankTest | None) -> Iterator[Row]:
        """The rows of a ranking from the best on, then those that are not in it."""
        mean_rank = {} if ranks is None else dict(zip(ranks.names, ranks.mean_ranks, strict=True))
        yield from sorted(
            self.rows, key=lambda row: (row.label not in mean_rank, mean_rank.get(row.label, 0.0))
        )


def better(metric: str) -> Better:
    """Which values of a metric are better."""
    return "higher" if metrics()[metric].better == "higher" else "lower"
