"""When a job that waits starts, and on what: :class:`StartForecast`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64, freeze_columns
from gpusched.base.wording import duration
from gpusched.deciding.start_draws import surviving

LEAST_QUESTIONS: Final = 8
"""By fewer earlier forecasts nothing is corrected."""
_FLOOR_S: Final = 600.0
"""Waits are compared with this much added to both, so that errors of minutes count little."""

_LEAST_SCORE: Final = 1e-9  # that of a job that was not to start at all


def stretch_factors(
    quantiles: tuple[float, ...], wait_s: Float64, is_over: Bool, forecast_s: Float64
) -> Float64:
    """Return by what each quantile of a wait is multiplied so that it would have been right.

    Split conformal prediction (Vovk, Gammerman and Shafer, 2005, section 2.2), a side at a time:
    the score of an earlier forecast is the true wait over the quantile q of it, and the factor of
    that quantile is the quantile q of the scores and of one more that is worse than all. Waits that
    are not over are longer than they are so far, and count as such (Kaplan and Meier).
    Exact where the new question is exchangeable with the earlier ones; those of a queue are alike,
    and drift.

    Parameters
    ----------
    wait_s, is_over
        float64 seconds and bool, one per question: how long the job waited, so far if not over.
    forecast_s
        float64[questions, quantiles]: the waits that were forecast.
    """
    count = len(wait_s)
    if count < LEAST_QUESTIONS:
        return np.ones(len(quantiles))
    factors = np.empty(len(quantiles))
    for place, part in enumerate(quantiles):
        scores = (wait_s + _FLOOR_S) / (forecast_s[:, place] + _FLOOR_S)
        scores = np.maximum(scores, _LEAST_SCORE)
        rank = part * (count + 1) / count
        outward = np.floor(rank * count) if part < 0.5 else np.ceil(rank * count)
        values, share = surviving(scores, is_over)
        at = int(np.searchsorted(share, min(1.0, outward / count) - 1e-9))
        factors[place] = values[min(at, len(values) - 1)]
    return factors


def stretched(wait_s: Float64, factors: Float64) -> Float64:
    """Return waits by quantile, one row per forecast or one forecast, corrected and ascending."""
    made = np.maximum(0.0, (wait_s + _FLOOR_S) * factors - _FLOOR_S)
    found: Float64 = np.maximum.accumulate(made, axis=-1)
    return found


_SHOWN: Final = 5


@dataclass(frozen=True)
class Sooner:
    """What would change when a job starts.

    Attributes
    ----------
    what
        ``"4 GPUs"``, ``"placement first-fit"`` or ``"one more server"``.
    start_s
        The median of its starts then, seconds; infinite if it would start in less than half of
        the samples.
    sooner_s
        By how much its median start is earlier, seconds; negative if it is later. NaN where it
        starts too rarely to say.
    share_sooner
        In which share of the samples it starts earlier.
    """

    what: str
    start_s: float
    sooner_s: float
    share_sooner: float


@dataclass(frozen=True, eq=False)
class StartForecast:
    """When a job that waits would start, and on what: what :func:`when` returns.

    Attributes
    ----------
    job, id
        The row of the job in what was asked about, and its name.
    now_s
        The time of the state, seconds.
    start_s
        float64 seconds, one per sample, ascending: when it starts; infinite where it never does.
    quantiles
        Which of these :attr:`quantile_s` holds.
    num_servers
        int64, one per sample in which it starts: on how many servers.
    servers, share
        int64 and float64: servers, those first that it is on in most samples, and in which share of
        the samples in which it starts. Empty under a placement without servers.
    alternatives
        What would make it start sooner, or would not.
    is_sampled
        Whether run times were drawn; if not they are those of the state.
    factors
        What :attr:`quantile_s` is corrected by, one each: see
        :func:`~gpusched.deciding.start_forecast.stretch_factors`. None: by nothing.
    """

    job: int
    id: Any
    now_s: float
    start_s: Float64 = field(repr=False)
    quantiles: tuple[float, ...]
    num_servers: Int64 = field(repr=False)
    servers: Int64 = field(repr=False)
    share: Float64 = field(repr=False)
    alternatives: tuple[Sooner, ...]
    is_sampled: bool
    factors: Float64 | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    @property
    def quantile_s(self) -> Float64:
        """Its start at each of the quantiles (nearest rank), seconds; infinite for never."""
        drawn_s = nearest_rank(self.start_s, self.quantiles)
        if self.factors is None:
            return drawn_s
        found: Float64 = self.now_s + stretched(drawn_s - self.now_s, self.factors)
        return found

    @property
    def median_s(self) -> float:
        """The median of its starts as drawn, seconds."""
        return float(nearest_rank(self.start_s, (0.5,))[0])

    @property
    def share_never(self) -> float:
        """In which share of the samples it never starts."""
        return float(np.isinf(self.start_s).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without the single samples; None stands for never.

        Returns
        -------
        dict
            Starts at each quantile, the likeliest servers and the alternatives, in seconds.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16])
        >>> state = gs.deciding.ClusterState(
        ...     gs.Cluster.uniform(2, 8), jobs, now_s=1800, start_s=[0, float("nan")],
        ...     held_job=[0], held_server=[1], held_mask=[0xFF],
        ... )
        >>> gs.when(1, state).to_dict()["start_s"]["p50"]
        3600.0
        """
        return {
            "job": self.job,
            "id": self.id if isinstance(self.id, str) else int(self.id),
            "now_s": self.now_s,
            "num_samples": len(self.start_s),
            "is_sampled": self.is_sampled,
            "start_s": {
                f"p{100 * part:g}": _finite(value)
                for part, value in zip(self.quantiles, self.quantile_s, strict=True)
            },
            "share_never": self.share_never,
            "servers": [
                {"server": int(server), "share": float(share)}
                for server, share in zip(self.servers[:_SHOWN], self.share[:_SHOWN], strict=True)
            ],
            "alternatives": [
                {
                    "what": each.what,
                    "start_s": _finite(each.start_s),
                    "sooner_s": _finite(each.sooner_s),
                    "share_sooner": each.share_sooner,
                }
                for each in self.alternatives
            ],
        }

    def __str__(self) -> str:
        lines = [f"job {self.id} starts, counted from now,"]
        for part, value in zip(self.quantiles, self.quantile_s, strict=True):
            wait = "never" if np.isinf(value) else f"in {duration(float(value) - self.now_s)}"
            lines.append(f"  {100 * part:g} %: {wait}")
        if len(self.servers):
            places = ", ".join(
                f"{server} ({share:.0%})"
                for server, share in zip(self.servers[:_SHOWN], self.share[:_SHOWN], strict=True)
            )
            lines.append(f"most likely on server {places}")
        for each in self.alternatives:
            lines.append(f"with {each.what}: {_said(each)}")
        return "\n".join(lines)


def nearest_rank(ascending: AnyArray, parts: tuple[float, ...]) -> Float64:
    """Return the quantiles, each one of the values."""
    ranks = np.ceil(np.array(parts) * len(ascending)).astype(np.int64) - 1
    found: Float64 = ascending[np.maximum(ranks, 0)]
    return found


def _said(each: Sooner) -> str:
    if np.isnan(each.sooner_s):
        return "starts too rarely to say"
    if each.sooner_s == 0:
        return f"no sooner (in {each.share_sooner:.0%} of the samples it is)"
    side = "sooner" if each.sooner_s > 0 else "later"
    return (
        f"{duration(abs(each.sooner_s))} {side}, sooner in {each.share_sooner:.0%} of the samples"
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


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

        See :func:`~gpusched.deciding.start_forecast.stretch_factors`.
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
