"""The cost of a run's GPUs: :class:`Cost`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.libraries import polars
from gpusched.base.suggest import nearest
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.schedules.down_times import held_milli
from gpusched.schedules.schedule import UNFINISHED, Schedule

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


US_PER_H: Final = 3_600 * US_PER_S
ANY_TYPE: Final = "any type"
"""The type of GPUs in a pool of several types, whose log has no types."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """The rows of an interval log with the GPU time of each.

    ``job``, ``kind``: JobId, and index into ``kinds``: int64, one per row.
    ``gpu_us``: GPUs held x time, float64 microseconds; a share of a GPU counts as that share.
    ``kinds``: the GPU types of the cluster; also :data:`ANY_TYPE` if one pool has several.
    """

    job: Int64
    kind: Int64
    gpu_us: Float64
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace, cluster: Cluster, rows: Mapping[str, AnyArray]) -> Holdings:
        """Compute the GPU time of the rows of ``Result.intervals``."""
        kinds = tuple(cluster.gpu_types)
        job, server = rows["job"], rows["server"]
        kind = np.asarray(cluster.server_type)[np.maximum(server, 0)].astype(np.int64)
        if len(kinds) > 1 and (server < 0).any():
            kind[server < 0] = len(kinds)
            kinds = (*kinds, ANY_TYPE)
        return cls(job, kind, _row_gpu_us(trace, rows), kinds)


def row_gpus(trace: Trace, rows: Mapping[str, AnyArray]) -> Float64:
    """Return the GPUs of each row of an interval log, float64; a GPU share counts as a fraction."""
    return held_milli(trace, rows) / WHOLE_GPU


def _row_gpu_us(trace: Trace, rows: Mapping[str, AnyArray]) -> Float64:
    """Return the GPU time of each row, microseconds."""
    gpu_us: Float64 = row_gpus(trace, rows) * (rows["end_us"] - rows["start_us"])
    return gpu_us


def logged_gpu_us(trace: Trace, rows: Mapping[str, AnyArray]) -> Float64:
    """Return the GPU time of each job in an interval log, microseconds."""
    return sums(rows["job"], _row_gpu_us(trace, rows), len(trace))


def held_gpu_us(trace: Trace, schedule: Schedule, *, is_fixed: bool) -> Float64:
    """Return the GPU time of each job, microseconds; unfinished ones count to the end of the run.

    ``is_fixed``: whether every job ran on its requested number of GPUs; then the log is not needed.
    """
    if not is_fixed or (np.asarray(schedule.status) >= UNFINISHED).any():
        return logged_gpu_us(trace, schedule.intervals())
    gpus = trace.gpus.astype(np.float64)
    if trace.share_milli is not None:
        gpus *= trace.share_milli / WHOLE_GPU
    return gpus * schedule.held_us


def sums(group: AnyArray, values: AnyArray, num_groups: int) -> Float64:
    """Sum the values of each group, float64[num_groups]."""
    summed: AnyArray = np.bincount(group, weights=values, minlength=num_groups)
    return summed.astype(np.float64, copy=False)


class RunLog(Protocol):
    """The attributes of a :class:`~gpusched.results.result.Result` that describe its run."""

    @property
    def trace(self) -> Trace: ...
    @property
    def cluster(self) -> Cluster: ...
    @property
    def spec(self) -> RunSpec: ...
    @property
    def clairvoyant(self) -> bool: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def intervals(self) -> Mapping[str, AnyArray]: ...
    @property
    def outages(self) -> Outages | None: ...
    @property
    def is_fixed(self) -> bool: ...
    @property
    def is_partial(self) -> bool: ...
    @property
    def warnings(self) -> Sequence[str]: ...


@dataclass(frozen=True, eq=False)
class Cost:
    """GPU hours and their cost, by GPU type.

    Attributes
    ----------
    types
        The GPU types of the cluster.
    price
        Price of a GPU hour, float64[types].
    held_gpu_hours
        GPU hours that jobs held, float64[types].
    all_gpu_hours
        Hours of all GPUs from the first submission to the last release, float64[types].
    """

    types: tuple[str, ...]
    price: Float64
    held_gpu_hours: Float64
    all_gpu_hours: Float64

    @property
    def held(self) -> float:
        """The cost of the GPU hours that jobs held."""
        return float(np.dot(self.price, self.held_gpu_hours))

    @property
    def total(self) -> float:
        """The cost of all GPUs, held or idle."""
        return float(np.dot(self.price, self.all_gpu_hours))

    def to_polars(self) -> polars.DataFrame:
        """Return a row for each type, with the costs of held and of all GPU hours."""
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
    """Price the GPU hours of a result; see :meth:`gpusched.Result.cost`."""
    cluster = result.cluster
    price = checked_prices(prices, cluster.gpu_types)
    held = Holdings.of(result.trace, cluster, result.intervals)
    if ANY_TYPE in held.kinds:
        raise ValueError(
            f"prices: the log of one pool does not say which of {', '.join(cluster.gpu_types)} "
            "a job held; use a placement that chooses GPUs"
        )
    return Cost(
        cluster.gpu_types,
        np.array([price[kind] for kind in cluster.gpu_types]),
        sums(held.kind, held.gpu_us, len(held.kinds)) / US_PER_H,
        gpus_by_type(cluster) * (_window_us(result) / US_PER_H),
    )


def checked_prices(
    prices: float | Mapping[str, float], types: tuple[str, ...], what: str = "prices"
) -> dict[str, float]:
    """Return a price for each of ``types``.

    Raises ValueError if a type has no price, a price has an unknown type, or a price is negative or
    not finite.

    Raises TypeError if a price is not a number.
    """
    given = dict(prices) if isinstance(prices, Mapping) else dict.fromkeys(types, prices)
    for kind in given:
        if kind not in types:
            raise ValueError(f"{what}: no GPU is of type {kind!r}{nearest(str(kind), list(types))}")
    for kind in types:
        if kind not in given:
            raise ValueError(f"{what}: GPU type {kind} has no price")
    return {kind: _checked(what, kind, given[kind]) for kind in types}


def _checked(what: str, kind: str, price: Any) -> float:
    if isinstance(price, bool) or not isinstance(price, int | float | np.number):
        raise TypeError(f"{what}: {kind}: expected a number, not {price!r}")
    if not (math.isfinite(price) and price >= 0):
        raise ValueError(f"{what}: {kind}: {price!r} must be finite and not negative")
    return float(price)


def gpus_by_type(cluster: Cluster) -> Float64:
    """Count the cluster's GPUs of each type, float64[types]."""
    return sums(cluster.server_type, cluster.server_gpus, len(cluster.gpu_types))


def _window_us(result: RunLog) -> int:
    ends = result.intervals["end_us"]
    return int(ends.max()) - int(result.trace.submit_us[0]) if len(ends) else 0
