"""One queue as an environment of Gymnasium."""

from __future__ import annotations

import time
from typing import Any

from gpusched.base.libraries import need

need("gymnasium", "gpusched.gym", "gpusched[rl]")

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402

from gpusched import _core  # noqa: E402
from gpusched.base.ticks import US_PER_S  # noqa: E402
from gpusched.clusters.cluster import Cluster  # noqa: E402
from gpusched.gym.episodes import Episodes  # noqa: E402
from gpusched.gym.observing import Observing, core_reward  # noqa: E402
from gpusched.plugins.identity import PythonObject  # noqa: E402
from gpusched.results.result import Result  # noqa: E402
from gpusched.schedules.schedule import Schedule, StoredSchedule  # noqa: E402
from gpusched.specs.run_spec import RunSpec, TraceSource  # noqa: E402
from gpusched.traces.workload import Trace  # noqa: E402


class QueueEnv(gymnasium.Env[Any, Any]):
    """A queue that asks which job shall start, wherever one could.

    An episode is a run at fixed speeds, without preemption. Whenever a waiting job fits on free
    GPUs, the environment stops and shows the ``slots`` jobs that came first. Action ``i`` starts
    the job of slot i; action ``slots`` lets time go on to the next instant at which a job fits.
    After a start it asks again at the same instant, if another job fits. The episode ends with the
    last question: all jobs have started then.

    What is not allowed stands in ``info["action_mask"]`` with 0: a slot without a job, a job that
    does not fit, and waiting where nothing runs or is still to come. Such an action counts as
    waiting, or where one may not wait as the first job that fits; ``info["was_allowed"]`` tells.

    Parameters
    ----------
    trace, cluster, placement
        As of :func:`gpusched.simulate`; the placement is a native one.
    predictor
        What is shown of service times: ``"oracle"``, ``"estimate"`` or ``"column"``, as of
        :func:`gpusched.simulate`.
    reward
        A metric of :func:`gpusched.metrics`: ``"mean_wait_s"``, ``"mean_jct_s"`` or
        ``"mean_bounded_slowdown"``. The rewards of an episode add up to its value with a minus.
    slots
        Jobs that are shown.
    jobs
        Jobs of an episode: a window of the trace that is drawn at each reset. None: all.
    observation
        ``"flat"``: float32[slots * 5 + 4]; ``"dict"``: ``jobs`` float32[slots, 5] and ``cluster``
        float32[4]. Of each job the seconds it has waited, its predicted service in seconds, its
        GPUs, whether it fits now, and whether there is one; of the cluster its free GPUs, its
        GPUs, the jobs that run and those that wait.
    render_mode
        None; there is nothing to see.

    Raises
    ------
    ValueError, TypeError
        If an argument is none of these; or as :func:`gpusched.simulate`.
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
        predictor: str = "oracle",
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
            Of what is drawn from now on: the windows, and the seeds of a random placement.
        options
            ``{"first": row}`` begins the window at this row of the trace.

        Returns
        -------
        tuple
            The observation and the info.

        Raises
        ------
        ValueError
            If there is no such window or option, or the environment is at work: in another thread,
            or around the handler of a signal that calls it. The episode goes on then.

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
                raise ValueError(f"options: {name}={value!r}; there is first=0 to {last}")
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
            If the action is none of the space, no episode has begun, or the environment is at work
            as of :meth:`reset`. Nothing happens then.

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
            raise ValueError(f"action: {action!r} is not between 0 and {self._observing.slots}")
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
            If no episode has begun, or the environment is at work as of :meth:`reset`.

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
            why = f"the episode is at {now_s:g} s and not at its end"
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
    """Who chose the actions is not known: two episodes are one run if their schedules are."""
    return PythonObject(
        "policy", kind.__qualname__, kind.__module__, "", "", "actions came from outside", digest
    )
