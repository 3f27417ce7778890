"""How forecasts of starts came true: :class:`StartCalibration`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.wording import duration
from gpusched.deciding.start_stretch import LEAST_QUESTIONS, stretch_factors, stretched

WEEK_S: Final = 7 * 86_400.0


@dataclass(frozen=True, eq=False)
class StartCalibration:
    """How often what was forecast came true.

    Attributes
    ----------
    quantiles
        That were forecast.
    asked_s
        float64 seconds, one per question, ascending: the time of the question.
    wait_s
        float64 seconds, one per question: how long the job still waited; infinite where it never
        started.
    forecast_s
        float64[questions, quantiles]: how long it would still wait, by each quantile.
    """

    quantiles: tuple[float, ...]
    asked_s: Float64 = field(repr=False)
    wait_s: Float64 = field(repr=False)
    forecast_s: Float64 = field(repr=False)

    @property
    def share(self) -> Float64:
        """In which share of the questions the job had started by each quantile."""
        found: Float64 = (self.wait_s[:, None] <= self.forecast_s).mean(axis=0)
        return found

    @property
    def share_within(self) -> float:
        """In which share the start lay between the first and the last quantile, both included."""
        first, last = self.forecast_s[:, 0], self.forecast_s[:, -1]
        return float(((self.wait_s >= first) & (self.wait_s <= last)).mean())

    @property
    def median_error_s(self) -> float:
        """The median of the absolute errors of the median forecast, seconds."""
        middle = self.forecast_s[:, self.quantiles.index(0.5)]
        return float(np.median(np.abs(middle - self.wait_s)))

    def factors(self, by_s: float = np.inf) -> Float64:
        """Return what quantiles are corrected by, by the answers that were known at a time.

        See :func:`~gpusched.deciding.start_stretch.stretch_factors`.
        """
        asked = self.asked_s < by_s
        known_s = np.minimum(self.wait_s[asked], by_s - self.asked_s[asked])
        is_over = self.asked_s[asked] + self.wait_s[asked] <= by_s
        is_over &= np.isfinite(self.wait_s[asked])
        return stretch_factors(self.quantiles, known_s, is_over, self.forecast_s[asked])

    def held_out(self, weeks: float) -> tuple[Self, Self]:
        """Return the questions of the last weeks: as forecast, and corrected week by week.

        Each week is corrected by the questions before it and what was known of their answers when
        it began. The first week that has too few before it is left out.
        """
        begin_s = float(self.asked_s[-1]) - weeks * WEEK_S
        week = np.floor((self.asked_s - begin_s) / WEEK_S).astype(np.int64)
        week = np.minimum(week, math.ceil(weeks) - 1)
        num_before = np.searchsorted(week, week)
        rows = np.flatnonzero((week >= 0) & (num_before >= LEAST_QUESTIONS))
        if not len(rows):
            raise ValueError("weeks: no question is asked in a week with enough before it")
        factors = {each: self.factors(begin_s + each * WEEK_S) for each in np.unique(week[rows])}
        by_row = np.stack([factors[each] for each in week[rows]])
        raw = self._with(rows, self.forecast_s[rows])
        return raw, self._with(rows, stretched(self.forecast_s[rows], by_row))

    def _with(self, rows: Int64, forecast_s: Float64) -> Self:
        return dataclasses.replace(
            self, asked_s=self.asked_s[rows], wait_s=self.wait_s[rows], forecast_s=forecast_s
        )

    def __str__(self) -> str:
        told = [f"{len(self.wait_s)} questions; median wait {duration(np.median(self.wait_s))}"]
        told += [
            f"started by the {100 * part:g} % quantile: {found:.0%}"
            for part, found in zip(self.quantiles, self.share, strict=True)
        ]
        told.append(f"between the outer two: {self.share_within:.0%}")
        told.append(f"median error of the median: {duration(self.median_error_s)}")
        return "\n".join(told)
