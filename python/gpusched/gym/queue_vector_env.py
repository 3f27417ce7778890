"""Many queues that are stepped together, natively."""

# ruff: noqa: E402 - without Gymnasium its absence is to be named

from __future__ import annotations

from gpusched.base.libraries import need

need("gymnasium", "gpusched.gym", "gpusched[rl]")

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gpusched.base.field_checks import check_integer
from gpusched.clusters.cluster import Cluster
from gpusched.gym.queue_env import (
    Episodes,
    Observing,
    core_reward,
)
from gpusched.traces.workload import Trace

MOST_ENVS: Final = 1_000_000


class QueueVectorEnv(VectorEnv[Any, Any, Any]):
    """So many :class:`QueueEnv` side by side, each with episodes of its own; one call steps all.

    An episode that is over begins anew in the next step, whose action and reward of this
    environment do not count (``AutoresetMode.NEXT_STEP``).

    Parameters
    ----------
    num_envs
        Environments, 1 to 1,000,000.
    trace, cluster, placement, predictor, reward, slots, jobs, observation
        As of :class:`QueueEnv`.

    Raises
    ------
    ValueError, TypeError, ImportError
        As :class:`QueueEnv`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 500, load=1.0, cluster=cluster, seed=1)
    >>> envs = gs.gym.QueueVectorEnv(4, trace, cluster, jobs=50)
    >>> observations, infos = envs.reset(seed=1)
    >>> first = infos["action_mask"].argmax(axis=1)
    >>> observations, rewards, is_over, _, infos = envs.step(first)
    >>> observations.shape
    (4, 644)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as in the base class
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        trace: Trace,
        cluster: Cluster,
        *,
        placement: str = "consolidated",
        predictor: str = "oracle",
        reward: str = "mean_wait_s",
        slots: int = 128,
        jobs: int | None = None,
        observation: str = "flat",
    ) -> None:
        cost = core_reward(reward)
        check_integer("num_envs", num_envs, 1, MOST_ENVS)
        self.num_envs = num_envs
        self._episodes = Episodes(trace, cluster, placement, predictor, jobs)
        self._observing = Observing(observation, slots, cluster, self._episodes.num_jobs)
        self.single_observation_space = self._observing.space
        self.single_action_space = self._observing.actions
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._lanes = self._episodes.lanes(num_envs, self._observing.slots, cost)
        self._features, self._allowed = self._lanes.features, self._lanes.allowed
        self._is_over = self._lanes.is_over
        self._always = np.ones(num_envs, dtype=bool)
        self._rngs: list[np.random.Generator] = []

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each environment.

        Parameters
        ----------
        seed
            One from which those of all environments follow, or one for each.
        options
            None are known.

        Returns
        -------
        tuple
            The observations and the infos, a row for each environment.

        Raises
        ------
        ValueError
            If there are not as many seeds as environments, or an option, or the environments are at
            work: in another thread, or around the handler of a signal that calls them.

        Examples
        --------
        >>> jobs = gs.generate("philly", 60, load=1.0, cluster=gs.Cluster.uniform(2, 8), seed=1)
        >>> envs = gs.gym.QueueVectorEnv(3, jobs, gs.Cluster.uniform(2, 8), jobs=20, slots=4)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations.shape, infos["action_mask"].shape
        ((3, 24), (3, 5))
        """
        if options:
            raise ValueError(f"options: none are known, and {sorted(options)} are given")
        with self._lanes:
            if isinstance(seed, Sequence):
                if len(seed) != self.num_envs:
                    raise ValueError(f"seed: {len(seed)} seeds for {self.num_envs} environments")
                self._rngs = [np.random.default_rng(one) for one in seed]
            elif seed is not None or not self._rngs:
                super().reset(seed=seed)
                self._rngs = self.np_random.spawn(self.num_envs)
            for lane in range(self.num_envs):
                self._begin(lane)
            return self._observing.shown(self._features), self._infos()

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step each environment, or begin its next episode.

        Returns
        -------
        tuple
            The observations, the rewards float64[num_envs], which episodes are over, which are
            cut short (none), and the infos.

        Raises
        ------
        ValueError
            If there are not as many actions as environments, one is none of the space, no episode
            has begun, or the environments are at work as of :meth:`reset`. Nothing happens then.
        TypeError
            If they are not whole numbers in one dimension.

        Examples
        --------
        >>> jobs = gs.generate("philly", 60, load=1.0, cluster=gs.Cluster.uniform(2, 8), seed=1)
        >>> envs = gs.gym.QueueVectorEnv(3, jobs, gs.Cluster.uniform(2, 8), jobs=20, slots=4)
        >>> _ = envs.reset(seed=1)
        >>> envs.step([0, 0, 0])[1].shape
        (3,)
        """
        answers = self._answers(actions)
        with self._lanes:
            was_over = self._is_over.nonzero()[0].tolist()
            self._lanes.answer(answers)
            for lane in was_over:
                self._begin(lane)
            return (
                self._observing.shown(self._features),
                self._lanes.rewards.copy(),
                self._is_over.astype(bool),
                np.zeros(self.num_envs, dtype=bool),
                self._infos(),
            )

    def action_masks(self) -> np.ndarray:
        """Return which actions are allowed now.

        Returns
        -------
        numpy.ndarray
            bool[num_envs, slots + 1]; the last one of each row is waiting.

        Examples
        --------
        >>> jobs = gs.generate("philly", 60, load=1.0, cluster=gs.Cluster.uniform(2, 8), seed=1)
        >>> envs = gs.gym.QueueVectorEnv(3, jobs, gs.Cluster.uniform(2, 8), jobs=20, slots=4)
        >>> _ = envs.reset(seed=1)
        >>> envs.action_masks().shape
        (3, 5)
        """
        with self._lanes:
            return self._allowed.astype(bool)

    def _answers(self, actions: Any) -> np.ndarray:
        given = np.asarray(actions)
        if given.dtype.kind not in "iu":
            raise TypeError(f"actions: expected whole numbers, not {given.dtype}")
        answers = np.ascontiguousarray(given, dtype=np.int64)
        is_outside = (answers < 0) | (answers > self._observing.slots)
        if is_outside.any():
            wrong = given[is_outside].flat[0]
            raise ValueError(f"actions: {wrong} is not between 0 and {self._observing.slots}")
        return answers

    def _begin(self, lane: int) -> None:
        first, seed = self._episodes.draw(self._rngs[lane])
        self._episodes.begin(self._lanes, lane, first, seed)

    def _infos(self) -> dict[str, Any]:
        return {
            "action_mask": self._allowed.astype(np.int8),
            "_action_mask": self._always.copy(),
            "was_allowed": self._lanes.was_allowed.astype(bool),
            "_was_allowed": self._always.copy(),
        }
