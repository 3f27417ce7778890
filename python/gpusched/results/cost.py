"""What the GPUs of a run cost: :class:`Cost`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.suggest import nearest
from gpusched.results.gpu_time import ANY_TYPE, US_PER_H, Holdings, sums

if TYPE_CHECKING:
    import polars

    from gpusched.clusters.cluster import Cluster
    from gpusched.results.run_log import RunLog


@dataclass(frozen=True, eq=False)
class Cost:
    """GPU hours and their cost, by GPU type.

    Attributes
    ----------
    types
        The GPU types of the cluster.
    price
        Of a GPU hour, float64[types].
    held_gpu_hours
        Hours that jobs held, float64[types].
    all_gpu_hours
        Hours of all GPUs from the first submit to the last that a job held any, float64[types].
    """

    types: tuple[str, ...]
    price: Float64
    held_gpu_hours: Float64
    all_gpu_hours: Float64

    @property
    def held(self) -> float:
        """What the GPU hours cost that jobs held."""
        return float(np.dot(self.price, self.held_gpu_hours))

    @property
    def total(self) -> float:
        """What all GPUs cost, held or not."""
        return float(np.dot(self.price, self.all_gpu_hours))

    def to_polars(self) -> polars.DataFrame:
        """Return a row for each type, with the cost of what was held and of all."""
        import polars

        return polars.DataFrame(
            {
                "type": list(self.types),
                "price": self.price,
                "held_gpu_hours": self.held_gpu_hours,
                "held_cost": self.price * self.held_gpu_hours,
                "all_gpu_hours": self.all_gpu_hours,
                "all_cost": self.price * self.all_gpu_hours,
            }
        )

    def __str__(self) -> str:
        held, every = float(self.held_gpu_hours.sum()), float(self.all_gpu_hours.sum())
        return (
            f"jobs held {held:,.0f} GPU hours at a cost of {self.held:,.2f}; "
            f"all {every:,.0f} GPU hours cost {self.total:,.2f}"
        )


def cost_of(result: RunLog, prices: float | Mapping[str, float]) -> Cost:
    """Price the GPU hours of a result, see :meth:`gpusched.Result.cost`."""
    cluster = result.cluster
    price = checked_prices(prices, cluster.gpu_types)
    held = Holdings.of(result.trace, cluster, result.intervals)
    if ANY_TYPE in held.kinds:
        raise ValueError(
            f"prices: the log of one pool does not tell which of {', '.join(cluster.gpu_types)} "
            "a job held; use a placement that chooses GPUs"
        )
    return Cost(
        cluster.gpu_types,
        np.array([price[kind] for kind in cluster.gpu_types]),
        held.by_kind() / US_PER_H,
        gpus_by_type(cluster) * (_window_us(result) / US_PER_H),
    )


def checked_prices(
    prices: float | Mapping[str, float], types: tuple[str, ...], what: str = "prices"
) -> dict[str, float]:
    """Return a price for each of ``types``.

    Raises
    ------
    ValueError
        If one has none, a price is of no type there, or it is negative or not finite.
    TypeError
        If a price is no number.
    """
    given = dict(prices) if isinstance(prices, Mapping) else dict.fromkeys(types, prices)
    for kind in given:
        if kind not in types:
            raise ValueError(f"{what}: no GPU is of type {kind!r}{nearest(str(kind), list(types))}")
    for kind in types:
        if kind not in given:
            raise ValueError(f"{what}: GPU type {kind} has none")
    return {kind: _checked(what, kind, given[kind]) for kind in types}


def _checked(what: str, kind: str, price: Any) -> float:
    if isinstance(price, bool) or not isinstance(price, int | float | np.number):
        raise TypeError(f"{what}: {kind}: expected a number, not {price!r}")
    if not (math.isfinite(price) and price >= 0):
        raise ValueError(f"{what}: {kind}: {price!r} must be finite and not negative")
    return float(price)


def gpus_by_type(cluster: Cluster) -> Float64:
    """GPUs of each type of the cluster, float64[types]."""
    return sums(cluster.server_type, cluster.server_gpus, len(cluster.gpu_types))


def _window_us(result: RunLog) -> int:
    ends = result.intervals["end_us"]
    return int(ends.max()) - int(result.trace.submit_us[0]) if len(ends) else 0
