"""The outcome of a comparison: a frame, its ranks, and tables for papers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from gpusched.base.arrays import Float64
from gpusched.statistics.rank_tests import Better, RankTest, nemenyi
from gpusched.statistics.run_groups import Key

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Means over seeds, and what each differs by from the baseline: see :func:`compare_runs`.

    Attributes
    ----------
    frame
        One row per setting and value of the axis:

        - the columns of ``by`` and the axis;
        - ``mean``, ``low``, ``high``: over ``num_seeds`` runs, by ``method``; ``num_missing`` runs
          failed or have no such value;
        - ``difference``, ``difference_low``, ``difference_high`` and ``ratio``, ``ratio_low``,
          ``ratio_high``: of the means to those of the baseline, over ``num_pairs`` seeds that both
          have. Null without a baseline or a pair; 0 and 1 of the baseline itself;
        - ``effect_size``: Hedges' g of the pairs; ``share_better``: of the pairs that are better
          than the baseline, half of the ties counted;
        - ``p`` of no difference, the larger one of the difference and of the ratio;
          ``p_adjusted`` for all comparisons of the frame, and whether that ``is_significant``;
        - ``rank``: mean rank over the seeds that all have, 1 is best; ``is_best``: whether the mean
          is the best of its setting. Null for a metric that is neither better lower nor higher;
        - ``warnings``: what to know before it is believed.
    metric, axis, by, baseline
        As they were asked for.
    level, method, correction
        Of the intervals and of ``p_adjusted``.
    better
        Whether ``"lower"`` or ``"higher"`` values are better, or ``"neutral"``.
    warnings
        All that concerns more than a row, then each row's with its place.
    """

    frame: pl.DataFrame
    metric: str
    axis: str
    by: tuple[str, ...]
    baseline: str | float | None
    level: float
    method: str
    correction: str | None
    better: str
    warnings: tuple[str, ...]
    _blocks: dict[Key, tuple[tuple[str, ...], Float64]]

    @property
    def num_comparisons(self) -> int:
        """Tests for which ``p_adjusted`` accounts."""
        return int(self.frame["p"].is_not_null().sum())

    @cached_property
    def rank_tests(self) -> dict[Key, RankTest]:
        """Friedman's test and Nemenyi's critical difference of each setting, by its values of
        ``by``; a setting with fewer than two values or common seeds has none."""
        better: Better = "higher" if self.better == "higher" else "lower"
        return {
            key: nemenyi(values, names, level=self.level, better=better)
            for key, (names, values) in self._blocks.items()
            if values.shape[0] > 1 and values.shape[1] > 1
        }

    def table(
        self,
        format: Literal["markdown", "latex"] = "markdown",
        *,
        caption: str | None = None,
        digits: int = 2,
    ) -> str:
        """Write the comparison as a table of a paper.

        Means with their intervals, the change against the baseline in percent (the difference
        itself where a ratio has no limits), and the adjusted p. The best mean of each setting is
        bold; ``*`` marks what differs significantly from the baseline.

        Parameters
        ----------
        format
            ``"markdown"``, or ``"latex"`` for the package booktabs.
        caption
            Put above; in LaTeX it makes the table a float.
        digits
            Significant digits of half an interval's width; its mean has as many decimals.

        Returns
        -------
        str
            Ends in a line break; method and warnings stand below the table.

        Raises
        ------
        ValueError
            If the format is not known or ``digits`` is not in 1..6.

        Examples
        --------
        >>> import polars as pl
        >>> runs = pl.DataFrame({
        ...     "policy": ["fifo", "fifo", "fifo", "srtf", "srtf", "srtf"],
        ...     "seed": [1, 2, 3, 1, 2, 3],
        ...     "mean_jct_s": [7200.0, 7560.0, 7380.0, 3600.0, 3960.0, 3600.0],
        ... })
        >>> compared = gs.statistics.compare_runs(runs, "mean_jct_s", baseline="fifo")
        >>> "srtf" in compared.table("latex", caption="Mean completion time")
        True
        """
        from gpusched.statistics.paper_tables import written

        return written(self, format, caption, digits)

    def __repr__(self) -> str:
        return (
            f"<ComparedRuns: {self.metric} by {', '.join((*self.by, self.axis))}, "
            f"{len(self.frame)} rows>"
        )
