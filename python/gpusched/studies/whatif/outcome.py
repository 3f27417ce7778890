"""What came of one case of a what-if, beside the base case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.clusters.cluster import Cluster
from gpusched.results.metric_registry import METRICS
from gpusched.results.run_window import RunWindow

if TYPE_CHECKING:
    from gpusched.results.result import Result

MEASURES: Final = (
    "mean_wait_s", "p95_wait_s", "mean_jct_s", "p95_jct_s", "utilisation", "makespan_s",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came of the base case or of a change.

    Attributes
    ----------
    label
        ``"base"``, the change, or ``"all together"``.
    policy, placement, predictor, speed, contention
        As texts.
    clairvoyant
        Whether the policy decided by the true service times.
    cluster
        On which cluster.
    measures
        ``mean_wait_s``, ``p95_wait_s``, ``mean_jct_s``, ``p95_jct_s``, ``utilisation`` and
        ``makespan_s``: metrics of the run, or of its window; NaN where that has none.
    num_finished
        Jobs that finished, of those in the window.
    num_gain, num_lose
        Jobs that are done sooner and later after their submission than in the base case, by more
        than the resolution; those that only one of the two finishes are among them.
    gain_s, loss_s
        By how much on average, of those that both finish, seconds.
    """

    label: str
    policy: str
    placement: str
    predictor: str
    speed: str
    contention: str
    clairvoyant: bool
    cluster: Cluster
    measures: Mapping[str, float]
    num_finished: int
    num_gain: int = 0
    num_lose: int = 0
    gain_s: float = 0.0
    loss_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; undefined measures are None."""
        measures = {key: value if math.isfinite(value) else None for key, value in
                   self.measures.items()}  # fmt: skip
        return {
            "label": self.label,
            "policy": self.policy,
            "placement": self.placement,
            "predictor": self.predictor,
            "speed": self.speed,
            "contention": self.contention,
            "clairvoyant": self.clairvoyant,
            "cluster": str(self.cluster),
            "num_gpus": self.cluster.num_gpus,
            **measures,
            "num_finished": self.num_finished,
            "num_gain": self.num_gain,
            "num_lose": self.num_lose,
            "gain_s": self.gain_s,
            "loss_s": self.loss_s,
        }


def outcome_of(
    label: str,
    result: Result,
    reference: Result,
    resolution_s: float,
    window: RunWindow | None = None,
) -> Outcome:
    """Return what came of a run, beside that of the base case.

    Parameters
    ----------
    reference
        The run of the base case.
    resolution_s
        Jobs whose completion time changes by no more than this neither gain nor lose.
    window
        The part of each run that the measures are of, on its own clock. Which jobs gain and lose
        is counted among those that it holds in the base case.
    """
    jobs, spec = result.jobs, result.spec
    counted = np.ones(len(jobs), np.bool_) if window is None else window.counted(reference.trace)
    finished = jobs.is_finished & counted
    before = reference.jobs.is_finished & counted
    change_s = (jobs.jct_s - reference.jobs.jct_s)[finished & before]
    gained, lost = change_s < -resolution_s, change_s > resolution_s
    return Outcome(
        label,
        spec.policy,
        spec.placement,
        spec.predictor,
        spec.speed,
        spec.contention,
        result.clairvoyant,
        result.cluster,
        {key: _measure(result, key, window) for key in MEASURES},
        int(np.count_nonzero(finished)),
        int(np.count_nonzero(gained) + np.count_nonzero(finished & ~before)),
        int(np.count_nonzero(lost) + np.count_nonzero(before & ~finished)),
        float(-change_s[gained].mean()) if gained.any() else 0.0,
        float(change_s[lost].mean()) if lost.any() else 0.0,
    )


def _measure(result: Result, key: str, window: RunWindow | None) -> float:
    if window is None:
        return float(result.metric(key))
    if not METRICS.find(key).is_of_parts:
        return math.nan
    return float(result.metric(key, **window.cuts))
