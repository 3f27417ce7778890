"""What an audit must know about speed ``proportional``: rounds of unequal workers on links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.batches import slowest_s
from gpusched.audit.case import Case, parameters
from gpusched.audit.links import Links, OnLinks
from gpusched.audit.speed_rules import SPEED_RULES, SpeedRule
from gpusched.audit.type_speeds import Kinds, largest, type_gpus
from gpusched.base.arrays import AnyArray, Bool, Float64
from gpusched.traces.model_columns import model_columns

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace


class Samples:
    """Seconds of a round of the profiles of a trace, by workers of the GPU types of a cluster.

    Attributes
    ----------
    kinds
        Of the jobs.
    ideal_s
        Seconds of a round of each kind at its own width, on the empty cluster; infinite: none.
    """

    def __init__(self, trace: Trace, cluster: Cluster, speed: str) -> None:
        columns = model_columns(
            trace,
            cluster,
            ("profile", "samples_per_s", "global_batch"),
            ("max_samples", "gradient_bytes"),
            speed="proportional",
        )
        shape = (len(trace.profiles), len(cluster.gpu_types))
        self._rates = columns["samples_per_s"].reshape(shape)
        most = columns.get("max_samples", np.zeros(shape))
        self._most = np.where(most > 0, most, np.inf).reshape(shape)
        self._batch = columns["global_batch"]
        self.gradient = columns.get("gradient_bytes", np.zeros(len(trace.profiles)))
        _, given = parameters(speed)
        self._is_equal = given.get("split") == "equal"
        self._is_integer = given.get("batches") == "integer"
        self._known: dict[tuple[int, ...], float] = {}
        self._gpus, self._largest = type_gpus(cluster), largest(cluster)
        self._find_bandwidths(cluster)
        self.kinds = Kinds.of(trace, cluster, self._runs)
        self.ideal_s = np.array([self._ideal_s(kind) for kind in range(len(self.kinds.gpus))])

    @property
    def can_run(self) -> Bool:
        """Whether each kind can run at its own width."""
        can_run: Bool = np.isfinite(self.ideal_s)
        return can_run

    def compute_s(self, profile: int, workers: AnyArray) -> float:
        """Return the seconds that so many workers of each type compute."""
        key = (profile, *workers.tolist())
        if key not in self._known:
            used = np.flatnonzero(workers)
            # The fastest come first: of equal parts they take what does not divide.
            used = used[np.argsort(-self._rates[profile, used], kind="stable")]
            self._known[key] = slowest_s(
                int(self._batch[profile]),
                self._rates[profile, used].tolist(),
                self._most[profile, used].tolist(),
                workers[used].tolist(),
                equal=self._is_equal,
                integer=self._is_integer,
            )
        return self._known[key]

    def exchange_s(self, profile: AnyArray, gpus: AnyArray, bytes_per_s: AnyArray) -> Float64:
        """Return the seconds in which a ring adds gradients up."""
        sent = 2.0 * (gpus - 1.0) / gpus * self.gradient[profile]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(sent > 0, sent / bytes_per_s, 0.0)

    def _runs(self, profile: int, t: int, gpus: int) -> bool:
        holds = self._most[profile, t] * gpus >= self._batch[profile]
        return bool(self._rates[profile, t] > 0 and holds)

    def _find_bandwidths(self, cluster: Cluster) -> None:
        inside = np.array([(group.intra_gbps or np.nan) * 1e9 / 8 for group in cluster.servers])
        kind = [cluster.gpu_types.index(group.gpu_type) for group in cluster.servers]
        cards = Links.of(cluster).bytes_per_s[: cluster.num_servers]
        self._intra = np.zeros(len(self._gpus))
        self._nic = np.zeros(len(self._gpus))
        np.fmax.at(self._intra, kind, inside)
        np.fmax.at(self._nic, cluster.server_type, cards)

    def _round_s(self, profile: int, workers: AnyArray, types: AnyArray) -> float:
        """Return the seconds of a round of these workers with the best links of some types."""
        gpus = int(workers.sum())
        inside = self._intra[types].max()
        is_on_one = gpus <= self._largest[types].max()
        bandwidth = inside if is_on_one else min(inside, self._nic[types].max())
        compute_s = self.compute_s(profile, workers)
        return compute_s + float(self.exchange_s(np.array(profile), np.array(gpus), bandwidth))

    def _ideal_s(self, kind: int) -> float:
        """On the fastest GPUs of all allowed types, or on those of one type."""
        profile, gpus = int(self.kinds.profile[kind]), int(self.kinds.gpus[kind])
        types = np.flatnonzero(self.kinds.allowed[kind])
        if self._gpus[types].sum() < gpus:
            return np.inf
        workers = np.zeros(len(self._gpus), dtype=np.int64)
        for t in sorted(types.tolist(), key=lambda t: (-self._rates[profile, t], t)):
            workers[t] = min(gpus - workers.sum(), self._gpus[t])
        best = self._round_s(profile, workers, types)
        for t in types.tolist():
            if self._gpus[t] >= gpus:
                alone = np.zeros_like(workers)
                alone[t] = gpus
                best = min(best, self._round_s(profile, alone, np.array([t])))
        return best


class Rounds(OnLinks):
    """Intervals under speed ``proportional``."""

    def __init__(self, case: Case, samples: Samples) -> None:
        super().__init__(case)
        kind = samples.kinds.of_job[case.job]
        self._samples = samples
        self._profile = samples.kinds.profile[kind]
        self._is_own = case.width == case.trace.gpus[case.job]
        self.ideal_s = samples.ideal_s[kind]
        self._compute_s = self._computed(case)
        self.alone = self.rate(self.least(self.links.bytes_per_s[self.pair_link]))

    def iteration_s(self, bytes_per_s: Float64, of: AnyArray | slice) -> Float64:
        """Return seconds per round where a ring has this bandwidth, for the intervals ``of``."""
        exchange = self._samples.exchange_s(self._profile[of], self._gpus[of], bytes_per_s)
        seconds: Float64 = self._compute_s[of] + exchange
        at_least = np.maximum(seconds, self.ideal_s[of])
        return np.where(self._is_own[of], at_least, seconds)

    def _computed(self, case: Case) -> Float64:
        num_types = len(case.cluster.gpu_types)
        kind = case.cluster.server_type[case.rows["server"]]
        held = np.bitwise_count(case.rows["mask"]).astype(np.int64)
        cell = self._owner * num_types + kind
        workers = np.bincount(cell, held, len(case.first) * num_types).astype(np.int64)
        rows = np.column_stack((self._profile, workers.reshape(-1, num_types)))
        found, where = np.unique(rows, axis=0, return_inverse=True)
        seconds = [self._samples.compute_s(int(row[0]), row[1:]) for row in found]
        return np.array(seconds)[where.reshape(-1)]


def _rounds(case: Case) -> Rounds:
    assert isinstance(case.measured, Samples)
    return Rounds(case, case.measured)


SPEED_RULES.register("proportional")(SpeedRule(on_links=_rounds, measured=Samples, is_rounded=True))
