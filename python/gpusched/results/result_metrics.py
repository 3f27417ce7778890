"""A result's metrics: of the whole run, or of the part after a warm-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

from gpusched.base.memo import kept
from gpusched.base.ticks import US_PER_S
from gpusched.plugins.registry import registered
from gpusched.results.run_window import RunWindow

if TYPE_CHECKING:
    from gpusched.base.arrays import Float64
    from gpusched.clusters.cluster import Cluster
    from gpusched.plugins.info import PluginInfo
    from gpusched.prediction import PredictionReport
    from gpusched.results.run_facts import RunFacts
    from gpusched.results.summarising import Summary
    from gpusched.schedules.contention import Contention
    from gpusched.schedules.schedule import Schedule
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


class ResultMetrics:
    """Methods of :class:`~gpusched.results.result.Result`; it has what is asked here."""

    trace: Trace
    cluster: Cluster
    spec: RunSpec
    schedule: Schedule
    wall_s: float
    clairvoyant: bool
    prediction: PredictionReport | None

    if TYPE_CHECKING:

        @cached_property
        def contention(self) -> Contention: ...

        @property
        def is_fixed(self) -> bool: ...

        @property
        def digest(self) -> str: ...

    def summary(self, *, warm_up_s: float | None = None, tail_s: float | None = None) -> Summary:
        """Return the settings of the run and all metrics, see :func:`gpusched.metrics`.

        Keys that end in ``_s`` are seconds; ``allocation``, ``utilisation``, ``load`` and the gaps
        are ratios; what is undefined is NaN.

        Parameters
        ----------
        warm_up_s
            Measure the part of the run that begins so many seconds after the first submission:
            jobs count that are submitted in it, time and GPU time that lie in it. Makespan,
            bounds and gaps are of whole runs, and left out; ``window_begin_s`` and
            ``window_end_s`` say, on the clock of ``submit_s``, which part it is. 0 leaves it at
            the whole run.
        tail_s
            Let that part end so many seconds before the last submission, rather than with the
            last finish.

        Returns
        -------
        dict
            Each by its name.

        Raises
        ------
        ValueError
            If a length is negative, or no job is submitted in between.
        TypeError
            If it is no number.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> result = gs.simulate(gs.generate("philly", 300, load=1, cluster=cluster), cluster)
        >>> steady = result.summary(warm_up_s=3_600, tail_s=0)
        >>> steady["num_jobs"] < 300, "gap" in steady
        (True, False)
        """
        window = RunWindow.checked(self.trace, warm_up_s, tail_s)
        if window not in self._summaries:
            self._summaries[window] = self._summarised(self._facts(window))
        return dict(self._summaries[window])

    def summary_with(
        self, keys: Iterable[str], *, warm_up_s: float | None = None, tail_s: float | None = None
    ) -> Summary:
        """Return :meth:`summary` and more metrics, of one look at the run; it is not kept.

        Returns
        -------
        dict
            Each by its name.

        Raises
        ------
        ValueError, TypeError
            As :meth:`summary` and :meth:`metric`.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> "p50_wait_s" in result.summary_with(["p50_wait_s"])
        True
        """
        from gpusched.results.summarising import metric_of

        facts = self._facts(RunWindow.checked(self.trace, warm_up_s, tail_s))
        return self._summarised(facts) | {key: metric_of(facts, key) for key in keys}

    def metric(
        self, key: str, *, warm_up_s: float | None = None, tail_s: float | None = None
    ) -> float | int | str | bool:
        """Return one metric, whether it is in :meth:`summary` or not.

        Parameters
        ----------
        warm_up_s, tail_s
            As for :meth:`summary`.

        Returns
        -------
        float or int
            Its value.

        Raises
        ------
        ValueError
            If there is none of that name (the nearest is suggested), the run lacks what it
            needs, or it means nothing of a part of a run.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.metric("p95_wait_s") >= 0
        True
        """
        from gpusched.results.summarising import metric_of

        return metric_of(self._facts(RunWindow.checked(self.trace, warm_up_s, tail_s)), key)

    @kept
    def _summaries(self) -> dict[RunWindow | None, Summary]:
        return {}

    def _summarised(self, facts: RunFacts) -> Summary:
        _, summarise = _measuring()
        begin_us, end_us = facts.ends_us
        ends: Summary = {"window_begin_s": begin_us / US_PER_S, "window_end_s": end_us / US_PER_S}
        return {
            "policy": self.spec.policy,
            "placement": self.spec.placement,
            "predictor": self.spec.predictor,
            "speed": self.spec.speed,
            "contention": self.spec.contention,
            "clairvoyant": self.clairvoyant,
            "seed": self.spec.seed,
            **({} if facts.window is None else ends),
            **summarise(facts),
            "digest": self.digest,
        }

    def _facts(self, window: RunWindow | None) -> RunFacts:
        facts_of, _ = _measuring()
        known = registered("speed").get(self.spec.speed.partition(":")[0])
        is_fixed = known is not None and known.has("steady")
        return facts_of(
            self.trace,
            self.cluster,
            self.schedule,
            contention=None if is_fixed else self.contention,
            costs=None if known is None else self._costs(known),
            speed=None if known is None else self.spec.speed,
            wall_s=self.wall_s,
            prediction=self.prediction,
            window=window,
        )

    def _costs(self, speed: PluginInfo) -> Mapping[str, Float64] | None:
        """What jobs can save at other widths than their own; None where they cannot have them."""
        if not speed.has("elastic"):
            return None
        from gpusched.specs.speed_limits import least_costs

        return least_costs(self.trace, self.cluster, speed=self.spec.speed)


@cache
def _measuring() -> tuple[type[RunFacts], Callable[[RunFacts], Summary]]:
    """Load what measures a run, with the first that is measured."""
    from gpusched.results.run_facts import RunFacts
    from gpusched.results.summarising import summarise

    return RunFacts, summarise
