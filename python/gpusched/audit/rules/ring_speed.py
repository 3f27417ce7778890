"""What an audit must know about speed ``ring``: iteration times of gangs on rings of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.case import Case, parameters
from gpusched.audit.links import OnLinks
from gpusched.audit.speed_rules import SPEED_RULES, SpeedRule
from gpusched.base.arrays import AnyArray, Float64

if TYPE_CHECKING:
    from gpusched.models.profiles import JobProfile


class Rings(OnLinks):
    """Intervals under speed ``ring``."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        _, given = parameters(case.spec.speed)
        self._overhead_s = float(given.get("overhead_s", "0.0005"))
        self._reduction = float(given.get("reduction_bytes_per_s", "3e11"))
        trace, cluster = case.trace, case.cluster
        assert trace.profile is not None
        profiles, types = trace.profiles, cluster.gpu_types
        compute = np.array([[_compute_s(p, kind) for kind in types] for p in profiles])
        gradient = np.array([p.gradient_bytes for p in profiles])
        self._profile = trace.profile[case.job]
        self._gradient = gradient[self._profile]
        kind = cluster.server_type[case.rows["server"]]
        own_compute = compute[self._profile[self._owner], kind]
        self._compute = np.maximum.reduceat(own_compute, case.first)
        self.ideal_s = self._ideal_s(case, compute, gradient)
        self.alone = self.rate(self.least(self.links.bytes_per_s[self.pair_link]))

    def iteration_s(self, bytes_per_s: Float64, of: AnyArray | slice) -> Float64:
        """Return seconds per iteration of the intervals ``of`` where rings have this bandwidth."""
        return self._iteration_s(
            self._gradient[of], self._gpus[of], self._span[of], bytes_per_s, self._compute[of]
        )

    def _iteration_s(
        self, gradient: AnyArray, gpus: AnyArray, span: AnyArray, part: AnyArray, compute: AnyArray
    ) -> Float64:
        sent = gradient * (gpus - 1.0) / gpus
        exchange: Float64 = 2.0 * sent / part + sent / self._reduction
        return exchange + (self._overhead_s * span + compute)

    def _ideal_s(self, case: Case, compute: Float64, gradient: Float64) -> Float64:
        """Fewest servers, largest first, and the best of everything, among the allowed types."""
        trace, cluster = case.trace, case.cluster
        type_set = np.zeros(len(trace), np.int64) if trace.type_set is None else trace.type_set
        ideal_s = np.full(len(trace), np.nan)
        for index, names in enumerate(((),) if trace.type_set is None else trace.type_sets):
            kinds = [i for i, name in enumerate(cluster.gpu_types) if not names or name in names]
            allowed = np.isin(cluster.server_type, kinds)
            jobs = np.flatnonzero((type_set == index) & case.finished)
            if not allowed.any() or not len(jobs):
                continue
            held = np.cumsum(np.sort(cluster.server_gpus[allowed])[::-1])
            gpus = trace.gpus[jobs].astype(np.float64)
            span = np.searchsorted(held, gpus) + 1
            inside = self.intra[allowed].max()
            card = self.links.bytes_per_s[: cluster.num_servers][allowed].max()
            profile = trace.profile[jobs] if trace.profile is not None else jobs
            ideal_s[jobs] = self._iteration_s(
                gradient[profile],
                gpus,
                span,
                np.where(span > 1, min(inside, card), inside),
                compute[:, kinds].min(axis=1)[profile],
            )
        return ideal_s[case.job]


def _compute_s(profile: JobProfile, gpu_type: str) -> float:
    """Compute seconds of an iteration; NaN if the profile has no figure for the type."""
    forward, backward = (
        figures.get(gpu_type, np.nan) if isinstance(figures, dict) else figures
        for figures in (profile.forward_s, profile.backward_s)
    )
    return forward * profile.batch + backward


SPEED_RULES.register("ring")(SpeedRule(on_links=Rings))
