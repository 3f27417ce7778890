"""How fast each job can run on GPUs of each type: what bounds on deadlines are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.units import WHOLE_GPU
from gpusched.plugins.policy import SpeedChoice
from gpusched.specs.case import iteration_limits, job_columns, least_costs

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

_MEASURED: Final = "table"
_Point = tuple[float, float]
"""GPUs, and service per second on them."""


@dataclass(frozen=True)
class Rates:
    """What jobs make of GPUs. Jobs of one kind make the same of them.

    Attributes
    ----------
    type_gpus
        GPUs of each type, shape ``(types,)``; a single pool where types cannot be told apart.
    kind
        Of each job; -1: it can never run. Shape ``(jobs,)``.
    type, gpus, rate
        Shape ``(kinds, most)``: ways to run. The rate is service per second, 0 where there are
        fewer ways. Time-shared with each other and with none they make all that can be made of
        any number of GPUs of one type; those that add nothing to this are left out.
    """

    type_gpus: Int64
    kind: Int64
    type: Int64
    gpus: Float64
    rate: Float64

    def envelope(self, kind: int) -> tuple[Float64, Float64]:
        """Return GPUs of any type and the most service per second on them, both ascending."""
        used = self.rate[kind] > 0
        points = zip(self.gpus[kind][used].tolist(), self.rate[kind][used].tolist(), strict=True)
        hull = np.array([(0.0, 0.0), *concave_hull(list(points))])
        return hull[:, 0], hull[:, 1]


def rates_of(trace: Trace, cluster: Cluster, speed: SpeedChoice) -> Rates:
    """Return what any placement can give at best.

    A gang of several types counts as if each of its GPUs were part of a gang of its own type,
    which is never slower: so many ways suffice.

    Raises
    ------
    ValueError
        If the trace or the cluster lacks what the speed needs.
    """
    if speed.name == _MEASURED:
        return _measured(trace, cluster, speed)
    parts = least_costs(trace, cluster, speed=speed)
    width = trace.gpus.astype(np.float64)
    if trace.share_milli is not None:
        width *= trace.share_milli / WHOLE_GPU
    if parts["time"].min() < 1 or parts["gpu_time"].min() < 1:
        points = np.stack([width * parts["gpu_time"] / parts["time"], 1 / parts["time"]], axis=1)
        kinds, kind = np.unique(points, axis=0, return_inverse=True)
        ways = [[(0, [(float(gpus), float(rate))])] for gpus, rate in kinds]
        return _gathered(ways, np.array([cluster.num_gpus]), kind.reshape(-1))
    masks = _type_masks(trace, cluster)
    rows, kind = np.unique(np.stack([width, masks], axis=1), axis=0, return_inverse=True)
    ways = [
        [(t, [(float(gpus), 1.0)]) for t in range(len(cluster.gpu_types)) if int(mask) >> t & 1]
        for gpus, mask in rows
    ]
    return _gathered(ways, _type_gpus(cluster), kind.reshape(-1))


def concave_hull(points: list[_Point]) -> list[_Point]:
    """Return the corners of the least concave function over (0, 0) and the points, ascending."""
    hull: list[_Point] = [(0.0, 0.0)]
    for gpus, rate in sorted(points, key=lambda point: (point[0], -point[1])):
        if rate <= hull[-1][1]:
            continue
        while len(hull) > 1:
            (x, y), (before_x, before_y) = hull[-1], hull[-2]
            if (y - before_y) * (gpus - x) > (rate - y) * (x - before_x):
                break
            hull.pop()
        hull.append((gpus, rate))
    return hull[1:]


def _measured(trace: Trace, cluster: Cluster, speed: SpeedChoice) -> Rates:
    columns = job_columns(trace, cluster, uses_estimates=False, speed=speed.name)
    ideal_s = iteration_limits(trace, cluster, speed=speed)["low"]
    can_run = np.isfinite(ideal_s)
    masks = _masks(columns, len(trace), len(cluster.gpu_types))
    least, most = columns.get("min_gpus"), columns.get("max_gpus")
    nobody = np.zeros(len(trace), dtype=np.int64)
    facts = [columns["profile"], trace.gpus, masks]
    facts += [nobody if least is None else least, nobody if most is None else most]
    table = np.stack([np.asarray(fact, dtype=np.int64) for fact in facts], axis=1)
    kinds, first, kind = np.unique(table, axis=0, return_index=True, return_inverse=True)
    tables = _Tables(columns, len(cluster.gpu_types), cluster.num_gpus)
    ways = [
        tables.ways(profile, own, mask, low, high, 1 / ideal) if np.isfinite(ideal) else []
        for (profile, own, mask, low, high), ideal in zip(
            kinds.tolist(), ideal_s[first].tolist(), strict=True
        )
    ]
    of_job = np.where(can_run, kind.reshape(-1), -1)
    return _gathered(ways, _type_gpus(cluster), of_job)


class _Tables:
    """The columns of the speed ``table``, as the core reads them."""

    def __init__(self, columns: dict[str, Any], num_types: int, num_gpus: int) -> None:
        self.counts = columns["table_counts"]
        shape = (-1, num_types, len(self.counts))
        self.packed = columns["throughput"].reshape(shape)
        spread = columns.get("spread_throughput")
        self.best = self.packed
        if spread is not None and len(spread):
            self.best = np.maximum(self.packed, spread.reshape(shape))
        self.widest = min(int(self.counts[-1]), num_gpus)

    def ways(
        self, profile: int, own: int, mask: int, least: int, most: int, ideal: float
    ) -> list[tuple[int, list[_Point]]]:
        """Return the corners for each type that may be used; rates over ``ideal``."""
        widest = min(self.widest, most or self.widest)
        # Corners of what is linear between known numbers; the own width may be capped.
        corners = {own - 1, own, own + 1, *self.counts.tolist(), widest}
        widths = sorted({max(least, 1), *(n for n in corners if max(least, 1) <= n <= widest)})
        found = []
        for gpu_type in range(self.best.shape[1]):
            if not mask >> gpu_type & 1:
                continue
            points = []
            for width in widths:
                rate = self._at(profile, gpu_type, width) / ideal
                if rate > 0:
                    points.append((float(width), min(rate, 1.0) if width == own else rate))
            found.append((gpu_type, concave_hull(points)))
        return found

    def _at(self, profile: int, gpu_type: int, width: int) -> float:
        """Linear between known numbers: of the better of the tables, not less than either."""
        above = int(np.searchsorted(self.counts, width))
        if above == len(self.counts):
            return 0.0
        curve = self.best[profile, gpu_type]
        if self.counts[above] == width:
            return float(curve[above])
        if above == 0 or curve[above] == 0 or curve[above - 1] == 0:
            return 0.0
        return float(np.interp(width, self.counts, curve))


def _gathered(
    ways: list[list[tuple[int, list[_Point]]]], type_gpus: AnyArray, kind: AnyArray
) -> Rates:
    """Put the ways of all kinds into arrays."""
    flat = [[(t, gpus, rate) for t, corners in way for gpus, rate in corners] for way in ways]
    most = max((len(row) for row in flat), default=0) or 1
    table = np.zeros((len(flat), most, 3))
    for row, cells in zip(table, flat, strict=True):
        if cells:
            row[: len(cells)] = cells
    return Rates(
        np.asarray(type_gpus, dtype=np.int64),
        np.asarray(kind, dtype=np.int64),
        table[:, :, 0].astype(np.int64),
        table[:, :, 1],
        table[:, :, 2],
    )


def _type_gpus(cluster: Cluster) -> Int64:
    count = np.bincount(cluster.server_type, cluster.server_gpus, len(cluster.gpu_types))
    return count.astype(np.int64)


def _type_masks(trace: Trace, cluster: Cluster) -> Int64:
    columns = job_columns(trace, cluster, uses_estimates=False)
    return _masks(columns, len(trace), len(cluster.gpu_types))


def _masks(columns: dict[str, Any], num_jobs: int, num_types: int) -> Int64:
    """A bit for each type that a job may use."""
    every = (1 << num_types) - 1
    if "type_set" not in columns:
        return np.full(num_jobs, every, dtype=np.int64)
    masks = np.array([mask & every for mask in columns["type_masks"].tolist()], dtype=np.int64)
    found: Int64 = masks[columns["type_set"]]
    return found
