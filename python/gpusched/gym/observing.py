"""What an environment shows of a queue, and what it pays."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_HORIZON_US, US_PER_S
from gpusched.clusters.cluster import Cluster

JOB_FEATURES: Final = ("wait_s", "predicted_s", "gpus", "fits", "is_there")
CLUSTER_FEATURES: Final = ("free_gpus", "gpus", "running", "waiting")

# By the metric whose value with a minus is the sum of the rewards; as the core calls it.
REWARDS: Final = MappingProxyType(
    {"mean_wait_s": "wait", "mean_jct_s": "jct", "mean_bounded_slowdown": "slowdown"}
)
KINDS: Final = ("flat", "dict")
_MOST_SECONDS: Final = MAX_HORIZON_US / US_PER_S


def core_reward(reward: str) -> str:
    """Return what the core calls a reward.

    Raises
    ------
    ValueError
        If there is none for the metric.
    """
    if not isinstance(reward, str) or reward not in REWARDS:
        raise ValueError(f"reward: unknown {reward!r}{nearest(str(reward), list(REWARDS))}")
    return REWARDS[reward]


class Observing:
    """How the features of the core are shown: in one array, or jobs and cluster apart."""

    def __init__(self, kind: str, slots: int, cluster: Cluster, num_jobs: int) -> None:
        if kind not in KINDS:
            raise ValueError(f"observation: unknown {kind!r}{nearest(str(kind), list(KINDS))}")
        if isinstance(slots, bool) or not isinstance(slots, int | np.integer) or slots < 1:
            raise ValueError(f"slots: {slots!r} is no whole number of at least 1")
        self.is_flat = kind == "flat"
        self.slots = int(slots)
        job = [_MOST_SECONDS, _MOST_SECONDS, 2.0**31, 1, 1]
        whole = [cluster.num_gpus, cluster.num_gpus + 1, num_jobs, num_jobs]
        self._num_of_jobs = self.slots * len(JOB_FEATURES)
        most = np.array(job * self.slots + whole, dtype=np.float32)
        # One number more where the largest is met: a space has no two bounds alike.
        self._most = np.nextafter(most, np.float32(np.inf), dtype=np.float32)
        self.actions = spaces.Discrete(self.slots + 1)

    @property
    def space(self) -> gymnasium.Space[Any]:
        """The space of one observation."""
        if self.is_flat:
            return self._box(self._most)
        return spaces.Dict(
            {
                "jobs": self._box(self._most[: self._num_of_jobs].reshape(self.slots, -1)),
                "cluster": self._box(self._most[self._num_of_jobs :]),
            }
        )

    def shown(self, features: np.ndarray) -> Any:
        """Return an observation, or a batch of them; a copy."""
        if self.is_flat:
            return features.copy()
        jobs = features[..., : self._num_of_jobs]
        by_job = jobs.reshape(*features.shape[:-1], self.slots, len(JOB_FEATURES))
        return {"jobs": by_job.copy(), "cluster": features[..., self._num_of_jobs :].copy()}

    @staticmethod
    def _box(most: np.ndarray) -> spaces.Box:
        return spaces.Box(np.zeros_like(most), most, dtype=np.float32)
