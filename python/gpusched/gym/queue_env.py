"""A queue as a Gymnasium environment, and a native vector environment of many."""

# ruff: noqa: E402 - without Gymnasium its absence is to be named

from __future__ import annotations

from gpusched.base.libraries import need

need("gymnasium", "gpusched.gym", "gpusched-core[rl]")

import time
import warnings
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gpusched import _core
from gpusched.base.field_checks import check_integer
from gpusched.base.run_warning import RunWarning
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_HORIZON_US, US_PER_S
from gpusched.engine.seams import placement_seam
from gpusched.engine.simulation import simulate
from gpusched.model.cluster import Cluster
from gpusched.plugins.identity import PythonObject
from gpusched.prediction.choose import for_trace, resolve
from gpusched.results.result import Result
from gpusched.schedules.schedule import REJECTED, Schedule, StoredSchedule
from gpusched.specs.case import PredictedBy, core_cluster, job_columns
from gpusched.specs.run_spec import RunSpec, TraceSource
from gpusched.traces.workload import Trace

JOB_FEATURES: Final = ("wait_s", "predicted_s", "gpus", "fits", "is_there")
CLUSTER_FEATURES: Final = ("free_gpus", "gpus", "running", "waiting")

# The core's name of each reward, by the metric whose negative is the sum of the rewards.
REWARDS: Final = MappingProxyType(
    {"mean_wait_s": "wait", "mean_jct_s": "jct", "mean_bounded_slowdown": "slowdown"}
)
KINDS: Final = ("flat", "dict")
_MOST_SECONDS: Final = MAX_HORIZON_US / US_PER_S


def core_reward(reward: str) -> str:
    """Return the core's name of a reward."""
    if not isinstance(reward, str) or reward not in REWARDS:
        raise ValueError(f"reward: unknown {reward!r}{nearest(str(reward), list(REWARDS))}")
    return REWARDS[reward]


class Observing:
    """The form of observations: one flat array, or a dictionary of jobs and cluster."""

    def __init__(self, kind: str, slots: int, cluster: Cluster, num_jobs: int) -> None:
        if kind not in KINDS:
            raise ValueError(f"observation: unknown {kind!r}{nearest(str(kind), list(KINDS))}")
        if isinstance(slots, bool) or not isinstance(slots, int | np.integer) or slots < 1:
            raise ValueError(f"slots: {slots!r} must be an integer of at least 1")
        self.is_flat = kind == "flat"
        self.slots = int(slots)
        job = [_MOST_SECONDS, _MOST_SECONDS, 2.0**31, 1, 1]
        whole = [cluster.num_gpus, cluster.num_gpus + 1, num_jobs, num_jobs]
        self._num_of_jobs = self.slots * len(JOB_FEATURES)
        most = np.array(job * self.slots + whole, dtype=np.float32)
        # One above the largest value, because the two bounds of a space must differ.
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


_PER_JOB = frozenset(column.name for column in _core.JOB_COLUMNS if column.per == "job")


class Episodes:
    """The jobs, cluster and settings of episodes.

    ``trace``, ``cluster``: all jobs, and the servers.
    ``num_jobs``: jobs per episode.
    ``servers``: the core's view of the cluster.
    """

    def __init__(
        self, trace: Trace, cluster: Cluster, placement: str, predictor: str, jobs: int | None
    ) -> None:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r}")
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
        if jobs is not None:
            if isinstance(jobs, bool) or not isinstance(jobs, int | np.integer):
                raise TypeError(f"jobs: {jobs!r} must be an integer")
            if not 1 <= jobs <= len(trace):
                raise ValueError(f"jobs: {jobs} must lie in 1..{len(trace)}, the jobs of the trace")
        chosen = placement_seam(placement)
        if not isinstance(chosen.native, str):
            raise ValueError(f"placement: {chosen.label} is written in Python; name a native one")
        predictor = for_trace(predictor, trace)
        predicted = resolve(predictor)
        if not isinstance(predicted, PredictedBy):
            raise ValueError(
                f"predictor: {predicted.label} learns during a run; predict beforehand and add the "
                "predictions to the trace as a column"
            )
        if cluster.has_speeds:
            raise ValueError("cluster: environments do not support speeds of GPU types")
        self.trace, self.cluster = trace, cluster
        self.placement, self.placement_values = chosen.native, chosen.parameters
        self.placement_label = chosen.label
        self.predictor = predictor
        self.is_random = chosen.has("random")
        self.is_clairvoyant = predicted.is_truth
        self.num_jobs = len(trace) if jobs is None else int(jobs)
        self.servers = core_cluster(cluster)
        self._columns = job_columns(trace, cluster, predicted, uses_estimates=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunWarning)
            tried = simulate(trace, cluster, policy="fifo-skip", placement=placement)
        can_run = tried.schedule.status != REJECTED
        if not can_run.any():
            raise ValueError("trace: the cluster can run none of its jobs")
        self._num_before = np.concatenate([[0], np.cumsum(can_run)])

    def draw(self, rng: np.random.Generator) -> tuple[int, int]:
        """Draw the first job of an episode, and the seed of its run."""
        first = int(rng.integers(len(self.trace) - self.num_jobs + 1))
        seed = int(rng.integers(2**63)) if self.is_random else 0
        return first, seed

    def lanes(self, num_lanes: int, num_slots: int, cost: str) -> _core.VectorEnvironment:
        """Return a vector environment of the core with this many lanes."""
        return _core.VectorEnvironment(
            self.servers,
            placement=self.placement,
            placement_values=self.placement_values,
            num_slots=num_slots,
            cost=cost,
            num_lanes=num_lanes,
        )

    def begin(self, lanes: _core.VectorEnvironment, lane: int, first: int, seed: int) -> None:
        """Begin an episode in a lane."""
        last = first + self.num_jobs
        num_feasible = int(self._num_before[last] - self._num_before[first])
        lanes.begin(lane, self._table(first, last), num_feasible, seed)

    def part(self, first: int) -> Trace:
        """Return the jobs of an episode as a trace, at their original times."""
        if self.num_jobs == len(self.trace):
            return self.trace
        return self.trace._take(slice(first, first + self.num_jobs))

    def _table(self, first: int, last: int) -> _core.JobTable:
        columns: dict[str, Any] = {
            name: values[first:last] if name in _PER_JOB and values is not None else values
            for name, values in self._columns.items()
        }
        return _core.JobTable(**columns)


class QueueEnv(gymnasium.Env[Any, Any]):
    """A queue in which the agent chooses the next job whenever one could start.

    An episode is a run at fixed speeds, without preemption. Whenever a waiting job fits on free
    GPUs, the environment shows the ``slots`` jobs submitted first. Action ``i`` starts the job in
    slot i; action ``slots`` advances time to the next event at which a job fits. If another job
    fits after a start, the next step is at the same time. The episode ends when all jobs have
    started.

    ``info["action_mask"]`` is 0 for forbidden actions: an empty slot, a job that does not fit, and
    waiting while nothing runs or is due to arrive. A forbidden action counts as waiting, or if
    waiting is forbidden as the first job that fits; ``info["was_allowed"]`` reports it.

    Parameters
    ----------
    trace, cluster, placement
        As for :func:`gpusched.simulate`; the placement must be native.
    predictor
        Run times in observations: ``"oracle"``, ``"estimate"``, ``"column"``, or ``"auto"``
        (users' estimates if every job has one, else true run times), as for
        :func:`gpusched.simulate`.
    reward
        A metric of :func:`gpusched.metrics`: ``"mean_wait_s"``, ``"mean_jct_s"`` or
        ``"mean_bounded_slowdown"``. The rewards of an episode sum to its negative.
    slots
        Number of jobs in an observation.
    jobs
        Jobs per episode: a random window of the trace at each reset. None: all.
    observation
        ``"flat"``: float32[slots * 5 + 4]; ``"dict"``: ``jobs`` float32[slots, 5] and ``cluster``
        float32[4]. Per job: seconds waited, predicted run time in seconds, GPUs, whether it fits
        now, and whether the slot has a job. For the cluster: free GPUs, all GPUs, running jobs and
        waiting jobs.
    render_mode
        None; rendering is not supported.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; and as :func:`gpusched.simulate`.
    ImportError
        If Gymnasium is not installed.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 50, load=1.0, cluster=cluster, seed=1)
    >>> env = gs.gym.QueueEnv(trace, cluster)
    >>> observation, info = env.reset(seed=1)
    >>> total, is_over = 0.0, False
    >>> while not is_over:
    ...     first = info["action_mask"].argmax()
    ...     observation, reward, is_over, _, info = env.step(first)
    ...     total += reward
    >>> env.result().digest == gs.simulate(trace, cluster, policy="fifo-skip").digest
    True
    >>> abs(total + env.result().summary()["mean_wait_s"]) < 1e-6
    True
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as in the base class

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        *,
        placement: str = "consolidated",
        predictor: str = "auto",
        reward: str = "mean_wait_s",
        slots: int = 128,
        jobs: int | None = None,
        observation: str = "flat",
        render_mode: None = None,
    ) -> None:
        cost = core_reward(reward)
        self._episodes = Episodes(trace, cluster, placement, predictor, jobs)
        self._observing = Observing(observation, slots, cluster, self._episodes.num_jobs)
        self.observation_space = self._observing.space
        self.action_space = self._observing.actions
        self.render_mode = render_mode
        self._lanes = self._episodes.lanes(1, self._observing.slots, cost)
        self._first = self._seed = 0
        self._begin_s = time.perf_counter()
        self._has_begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed
            Seed of the windows and of a random placement.
        options
            ``{"first": row}`` begins the window at this row of the trace.

        Returns
        -------
        tuple
            The observation and the info.

        Raises
        ------
        ValueError
            If the window or option is invalid, or the environment is busy: in another thread, or
            below a signal handler that calls it. The episode then continues.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> env = gs.gym.QueueEnv(jobs, gs.Cluster.uniform(1, 4), slots=3)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, info["action_mask"].tolist()
        ((19,), [1, 1, 0, 1])
        """
        chosen = None
        for name, value in (options or {}).items():
            last = len(self._episodes.trace) - self._episodes.num_jobs
            is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if name != "first" or not is_whole or not 0 <= value <= last:
                raise ValueError(f"options: {name}={value!r}; known: first=0 to first={last}")
            chosen = int(value)
        with self._lanes:
            super().reset(seed=seed)
            drawn, run_seed = self._episodes.draw(self.np_random)
            first = drawn if chosen is None else chosen
            begin_s = time.perf_counter()
            self._episodes.begin(self._lanes, 0, first, run_seed)
            self._first, self._seed, self._begin_s = first, run_seed, begin_s
            self._has_begun = True
            return self._shown()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Start the job of a slot, or wait.

        Returns
        -------
        tuple
            The observation, the reward, whether the episode is over, False, and the info.

        Raises
        ------
        ValueError
            If the action is outside the space, no episode has begun, or the environment is busy,
            see :meth:`reset`. The state is unchanged.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> env = gs.gym.QueueEnv(jobs, gs.Cluster.uniform(1, 4), slots=3)
        >>> _ = env.reset(seed=1)
        >>> observation, reward, is_over, _, info = env.step(1)
        >>> is_over, info["was_allowed"]
        (False, True)
        """
        if not self.action_space.contains(action):
            raise ValueError(f"action: {action!r} must lie in 0..{self._observing.slots}")
        with self._lanes:
            self._lanes.answer(np.array([action], dtype=np.int64))
            observation, info = self._shown()
            reward, is_over = float(self._lanes.rewards[0]), bool(self._lanes.is_over[0])
        return observation, reward, is_over, False, info

    def action_masks(self) -> np.ndarray:
        """Return which actions are allowed now.

        Returns
        -------
        numpy.ndarray
            bool[slots + 1]; the last one is waiting.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> env = gs.gym.QueueEnv(jobs, gs.Cluster.uniform(1, 4), slots=3)
        >>> _ = env.reset(seed=1)
        >>> env.action_masks().tolist()
        [True, True, False, True]
        """
        with self._lanes:
            allowed: np.ndarray = self._lanes.allowed[0]
            return allowed.astype(bool)

    def result(self) -> Result:
        """Return the result of the episode so far, as :func:`gpusched.simulate` does.

        Returns
        -------
        Result
            ``is_partial`` unless the episode is over.

        Raises
        ------
        ValueError
            If no episode has begun, or the environment is busy, see :meth:`reset`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> env = gs.gym.QueueEnv(jobs, gs.Cluster.uniform(1, 4), slots=3)
        >>> _ = env.reset(seed=1)
        >>> env.result().is_partial
        True
        """
        if not self._has_begun:
            raise ValueError("result: no episode has begun; call reset first")
        with self._lanes:
            trace, episodes = self._episodes.part(self._first), self._episodes
            run_seed, begin_s = self._seed, self._begin_s
            schedule: Schedule = self._lanes.schedule(0)
            is_partial = not self._lanes.is_over[0]
            now_s = self._lanes.now_us(0) / US_PER_S
        if is_partial:
            why = f"the episode is at {now_s:g} s and has not ended"
            stored = StoredSchedule.of(schedule)
            schedule = StoredSchedule(**{**vars(stored), "warnings": (why,)})
        spec = RunSpec(
            policy=f"python:{type(self).__name__}",
            placement=episodes.placement_label,
            predictor=episodes.predictor,
            seed=run_seed,
            cluster=episodes.cluster,
            trace=TraceSource.of(trace),
            version=_core.__version__,
            speed="fixed",
            contention="none",
            python=(_chosen_outside(type(self), schedule.digest),),
        )
        wall_s = time.perf_counter() - begin_s
        return Result(
            trace, episodes.cluster, spec, schedule, wall_s,
            clairvoyant=episodes.is_clairvoyant, prediction=None, is_partial=is_partial,
        )  # fmt: skip

    def _shown(self) -> tuple[Any, dict[str, Any]]:
        info = {
            "action_mask": self._lanes.allowed[0].astype(np.int8),
            "time_s": self._lanes.now_us(0) / US_PER_S,
            "was_allowed": bool(self._lanes.was_allowed[0]),
        }
        return self._observing.shown(self._lanes.features[0]), info


def _chosen_outside(kind: type, digest: str) -> PythonObject:
    """Identify a run by its schedule, because the source of the actions is unknown."""
    return PythonObject(
        "policy", kind.__qualname__, kind.__module__, "", "", "actions came from outside", digest
    )


MOST_ENVS: Final = 1_000_000


class QueueVectorEnv(VectorEnv[Any, Any, Any]):
    """Several independent :class:`QueueEnv`, stepped by one call.

    A finished episode restarts in the next step, whose action and reward of that environment are
    ignored (``AutoresetMode.NEXT_STEP``).

    Parameters
    ----------
    num_envs
        Number of environments, 1 to 1,000,000.
    trace, cluster, placement, predictor, reward, slots, jobs, observation
        As for :class:`QueueEnv`.

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
        predictor: str = "auto",
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
            One seed for all environments, or one for each.
        options
            Not supported.

        Returns
        -------
        tuple
            The observations and the infos, a row for each environment.

        Raises
        ------
        ValueError
            If there are not as many seeds as environments, an option is given, or the environments
            are busy: in another thread, or below a signal handler that calls them.

        Examples
        --------
        >>> jobs = gs.generate("philly", 60, load=1.0, cluster=gs.Cluster.uniform(2, 8), seed=1)
        >>> envs = gs.gym.QueueVectorEnv(3, jobs, gs.Cluster.uniform(2, 8), jobs=20, slots=4)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations.shape, infos["action_mask"].shape
        ((3, 24), (3, 5))
        """
        if options:
            raise ValueError(f"options: unknown {sorted(options)}; there are none")
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
            The observations, the rewards float64[num_envs], which episodes ended, which were
            truncated (none), and the infos.

        Raises
        ------
        ValueError
            If there are not as many actions as environments, one is outside the space, no episode
            has begun, or the environments are busy, see :meth:`reset`. The state is unchanged.
        TypeError
            If the actions are not integers in one dimension.

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
            raise TypeError(f"actions: expected integers, not {given.dtype}")
        answers = np.ascontiguousarray(given, dtype=np.int64)
        is_outside = (answers < 0) | (answers > self._observing.slots)
        if is_outside.any():
            wrong = given[is_outside].flat[0]
            raise ValueError(f"actions: {wrong} must lie in 0..{self._observing.slots}")
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
