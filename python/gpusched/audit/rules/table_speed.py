"""What an audit must know about speed ``table``: how fast gangs are by their measured figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.speed_rules import SPEED_RULES, SpeedRule
from gpusched.audit.type_speeds import Kinds, largest, type_gpus
from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.traces.model_columns import model_columns

if TYPE_CHECKING:
    from gpusched.audit.case import Case
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace


class Tables:
    """Throughputs of the profiles of a trace on the GPU types of a cluster.

    Attributes
    ----------
    kinds
        Of the jobs.
    best
        Iterations per second of each kind at its own width, on the empty cluster; 0: none.
    """

    def __init__(self, trace: Trace, cluster: Cluster, speed: str = "") -> None:
        columns = model_columns(
            trace,
            cluster,
            ("profile", "table_counts", "throughput"),
            ("spread_throughput",),
            speed="table",
        )
        self._counts = columns["table_counts"].astype(np.int64)
        shape = (len(trace.profiles), len(cluster.gpu_types), len(self._counts))
        self._packed = columns["throughput"].reshape(shape)
        spread = columns.get("spread_throughput")
        self._spread = None if spread is None else spread.reshape(shape)
        self._gpus, self._largest = type_gpus(cluster), largest(cluster)
        self.kinds = Kinds.of(trace, cluster, self._runs)
        self.best = np.array([self._best(kind) for kind in range(len(self.kinds.gpus))])

    @property
    def can_run(self) -> Bool:
        """Whether each kind can run at its own width."""
        can_run: Bool = self.best > 0
        return can_run

    def rates(self, case: Case) -> Float64:
        """Return the service per tick in each interval of a case."""
        kind, width = self.kinds.of_job[case.job], case.width
        num_types = len(self._gpus)
        span = np.diff(case.first, append=len(case.rows["job"]))
        owner = np.repeat(np.arange(len(case.first)), span)
        used = np.zeros((len(case.first), num_types), dtype=np.bool_)
        used[owner, case.cluster.server_type[case.rows["server"]]] = True
        size = np.where(used, self._largest, 0).max(axis=1)
        is_spread = span > -(-width // size)
        slowest = np.full(len(width), np.inf)
        for t in range(num_types):
            own = self._at(self._packed, self.kinds.profile[kind], t, width)
            if self._spread is not None:
                known = self._at(self._spread, self.kinds.profile[kind], t, width)
                own = np.where(is_spread & (known > 0), known, own)
            slowest = np.where(used[:, t], np.minimum(slowest, own), slowest)
        best = self.best[kind]
        slowest = np.where(width == case.trace.gpus[case.job], np.minimum(slowest, best), slowest)
        with np.errstate(divide="ignore"):
            rates: Float64 = (1.0 / best) / (1.0 / slowest)
        return np.where(best > 0, rates, 0.0)

    def _at(self, table: Float64, profile: AnyArray, t: int, gpus: Int64) -> Float64:
        """Interpolate between the numbers of GPUs in a table; 0 outside, and next to a 0."""
        above = np.searchsorted(self._counts, gpus)
        inside = above < len(self._counts)
        above = np.minimum(above, len(self._counts) - 1)
        exact = self._counts[above] == gpus
        below = np.where(exact, above, above - 1)
        inside &= below >= 0
        low, high = table[profile, t, below], table[profile, t, above]
        length = np.maximum(self._counts[above] - self._counts[below], 1)
        part = (gpus - self._counts[below]) / length
        known = np.where((low == 0) | (high == 0), 0.0, low + (high - low) * part)
        return np.where(inside, np.where(exact, high, known), 0.0)

    def _one(self, profile: int, t: int, gpus: int) -> float:
        found = self._at(self._packed, np.array([profile]), t, np.array([gpus]))
        return float(found[0])

    def _runs(self, profile: int, t: int, gpus: int) -> bool:
        return self._one(profile, t, gpus) > 0

    def _best(self, kind: int) -> float:
        """On the fastest types that together have as many GPUs as the job asks for."""
        profile, gpus = int(self.kinds.profile[kind]), int(self.kinds.gpus[kind])
        types = np.flatnonzero(self.kinds.allowed[kind]).tolist()
        figures = {t: self._one(profile, t, gpus) for t in types}
        held, slowest = 0, 0.0
        for t in sorted(types, key=lambda t: (-figures[t], t)):
            held += int(self._gpus[t])
            slowest = figures[t]
            if held >= gpus:
                return slowest
        return 0.0


def _rates(case: Case) -> Float64:
    assert isinstance(case.measured, Tables)
    return case.measured.rates(case)


SPEED_RULES.register("table")(SpeedRule(rates=_rates, measured=Tables))
