"""The result of one run: schedule, metrics, cost and gap to the optimum."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.libraries import need
from gpusched.base.memo import kept
from gpusched.base.run_warning import warn
from gpusched.base.ticks import US_PER_S
from gpusched.plugins.registry import has_flag_of, registered
from gpusched.results.run_window import RunWindow
from gpusched.schedules.jobs_table import Jobs, write_jobs
from gpusched.schedules.schedule import FINISHED, INTERVAL_COLUMNS, Schedule
from gpusched.schedules.series import Contention, Events, Series, series_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from gpusched.audit import AuditReport, Level
    from gpusched.base.arrays import Bool, Float64
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.plugins.info import PluginInfo
    from gpusched.prediction import PredictionReport
    from gpusched.results.breakdown import JobTimes
    from gpusched.results.capacity import Capacity
    from gpusched.results.cost import Cost
    from gpusched.results.explain import Explanation
    from gpusched.results.metric_registry import Summary
    from gpusched.results.run_facts import RunFacts
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


class Result:
    """A schedule with its trace, cluster and specification.

    Everything is computed on first use and then cached.

    Attributes
    ----------
    trace, cluster, spec
        The inputs of the run.
    schedule
        The core's columns in microseconds.
    wall_s
        Wall time of the simulation, seconds.
    clairvoyant
        Whether the policy used true run times, which no live scheduler knows.
    prediction
        Accuracy and cost of the predictions; None if there were none.
    outages
        The outages of servers; None without any.
    is_partial
        Whether the run was stopped, which cuts its schedule off. Such a result can be inspected
        and pickled, but neither audited nor saved.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        spec: RunSpec,
        schedule: Schedule,
        wall_s: float,
        *,
        clairvoyant: bool = False,
        prediction: PredictionReport | None = None,
        outages: Outages | None = None,
        is_partial: bool = False,
        remarks: Sequence[str] = (),
    ) -> None:
        self.trace = trace
        self.cluster = cluster
        self.spec = spec
        self.schedule = schedule
        self.wall_s = wall_s
        self.clairvoyant = clairvoyant
        self.prediction = prediction
        self.outages = outages
        self.is_partial = is_partial
        self._remarks = remarks

    def __repr__(self) -> str:
        num_finished = int(np.count_nonzero(np.asarray(self.schedule.status) == FINISHED))
        return (
            f"Result({self.spec.policy}, {self.spec.placement} on {self.cluster}: "
            f"{num_finished:,} of {len(self.trace):,} jobs finished)"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Omit what can be recomputed."""
        return {name: value for name, value in vars(self).items() if not _is_cached(self, name)}

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs as columns, in seconds."""
        return Jobs(self.trace, self.schedule)

    @kept
    def intervals(self) -> Mapping[str, AnyArray]:
        """The interval log: read-only columns job, start_us, end_us, server, mask.

        One row per interval and server, sorted by (job, start, server); server -1 and mask 0 if
        the cluster is one pool.
        """
        rows = self.schedule.intervals()
        return MappingProxyType({column: rows[column] for column in INTERVAL_COLUMNS})

    @cached_property
    def events(self) -> Events:
        """What happened to the jobs, in order: each ``kind`` is a name of ``Events.kind``."""
        from gpusched.results.holds import HoldCauses

        gone_us = HoldCauses(self).cancelled_us
        inputs = (self.trace, self.schedule, self.intervals, self.cluster)
        return Events(*inputs, self.outages, gone_us)

    @cached_property
    def series(self) -> Series:
        """Allocated GPUs, the queue, the running jobs and the GPUs that are down over time."""
        return series_of(self.trace, self.schedule, self.intervals, self.cluster, self.outages)

    @cached_property
    def contention(self) -> Contention:
        """The number of rings (multi-server jobs) on each link over time."""
        return Contention(self.cluster, self.intervals)

    @cached_property
    def capacity(self) -> Capacity:
        """Where the GPU time went: down, held by jobs or idle; useful or lost."""
        return self._facts(None).capacity

    @property
    def is_fixed(self) -> bool:
        """Whether run times did not depend on the placement."""
        return has_flag_of("speed", self.spec.speed, "steady")

    def _check_whole(self, what: str) -> None:
        if self.is_partial:
            raise ValueError(f"the run was stopped: its result cannot be {what}")

    @kept
    def digest(self) -> str:
        """SHA-256 of the interval log and the rejects: equal only for equal schedules."""
        return self.schedule.digest

    @property
    def jobs_per_s(self) -> float:
        """Jobs simulated per second."""
        return len(self.trace) / self.wall_s if self.wall_s > 0 else np.inf

    @property
    def warnings(self) -> Sequence[str]:
        """The run's warnings, one sentence each: of the core, on missing inputs, and on ignored
        arguments, which a file does not keep.
        """
        from gpusched.results.run_remarks import of_run

        return [*self.schedule.warnings, *of_run(self), *self._remarks]

    def summary(self, *, warm_up_s: float | None = None, tail_s: float | None = None) -> Summary:
        """Return the run's settings and default metrics; see :func:`gpusched.metrics`.

        Keys that end in ``_s`` are seconds; ``allocation``, ``utilisation``, ``load`` and the gaps
        are ratios; undefined values are NaN.

        Parameters
        ----------
        warm_up_s
            Begin of the measured window, seconds after the first submission. Jobs submitted in
            the window count, and time and GPU time in it. Makespan, bounds and gaps need whole
            runs and are left out; ``window_begin_s`` and ``window_end_s`` give the window on the
            clock of ``submit_s``. 0: the whole run.
        tail_s
            End of the window, seconds before the last submission. None: at the last finish.

        Returns
        -------
        dict
            Each by its name.

        Raises
        ------
        ValueError
            If a length is negative, or no job is submitted in the window.
        TypeError
            If a length is not a number.

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
        """Return :meth:`summary` and more metrics, computed together and not cached.

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
        from gpusched.results.metric_registry import metric_of

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
            If the metric is unknown (the nearest is suggested), the run lacks what it needs, or
            it is not defined for a part of a run.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.metric("p95_wait_s") >= 0
        True
        """
        from gpusched.results.metric_registry import metric_of

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

    def _of_whole(self, more: Iterable[str]) -> Summary:
        """Return the metrics that parts of a run lack: the default ones and ``more``; any load."""
        from gpusched.results.metric_registry import computed, metric_of, metrics

        facts, known = self._facts(None), metrics()
        every = known.values()
        some = [m for m in every if m.key == "load" or (m.is_default and not m.is_of_parts)]
        found = computed(facts, some)
        return found | {key: metric_of(facts, key) for key in more if not known[key].is_of_parts}

    def _of_jobs(self, jobs: Bool, window: RunWindow | None, more: Iterable[str] = ()) -> Summary:
        """Return the metrics of some finished jobs: the default ones and ``more``."""
        from gpusched.results.metric_registry import computed, metrics

        asked = {*more}
        every = [each for each in metrics().values() if each.is_default or each.key in asked]
        some = [each for each in every if each.is_of_finished]
        return computed(self._facts(window, jobs), some)

    def _facts(self, window: RunWindow | None, jobs: Bool | None = None) -> RunFacts:
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
            outages=self.outages,
            window=window,
            jobs=jobs,
        )

    def _costs(self, speed: PluginInfo) -> Mapping[str, Float64] | None:
        """The savings of jobs at other numbers of GPUs; None if their size is fixed."""
        if not speed.has("elastic"):
            return None
        from gpusched.specs.case import least_costs

        return least_costs(self.trace, self.cluster, speed=self.spec.speed)

    @cached_property
    def _job_times(self) -> JobTimes:
        from gpusched.results.breakdown import JobTimes

        return JobTimes(self)

    @cached_property
    def _breakdowns(self) -> dict[tuple[str, RunWindow | None], polars.DataFrame]:
        return {}

    def by(
        self,
        by: str,
        *,
        warm_up_s: float | None = None,
        tail_s: float | None = None,
    ) -> polars.DataFrame:
        """Return wait, JCT and GPU hours by group of jobs, one row per group.

        Parameters
        ----------
        by
            ``"gpus"``: jobs of 1, of 2-8 and of 9+ GPUs (below 1, if jobs share GPUs).
            ``"user"``, ``"queue"``, ``"group"``: the trace's columns. ``"type"``: the GPU types
            that a job ever held, several as ``A100 + V100``. ``"month"``: of the submission, such
            as ``2017-10``; days 0-29, 30-59 and so on if the trace has no dates.
        warm_up_s, tail_s
            Window of submissions, as for :meth:`gpusched.Result.summary`.

        Returns
        -------
        polars.DataFrame
            Column ``by``, ``num_jobs``, ``num_finished``; the mean, p50, p90, p95 and p99
            (nearest-rank) of wait and JCT of the finished jobs, such as ``p95_wait_s``, seconds,
            null if none finished; ``gpu_hours`` held by all its jobs. If the run has outages, time
            limits or checkpoints, also ``num_failures`` (interruptions) and ``mttf_s`` (time with
            GPUs over these, null without). Groups without jobs are left out. Job sizes and months
            are in their natural order, other groups by GPU hours, descending.

        Raises
        ------
        ValueError
            If ``by`` is unknown (the nearest is suggested), the trace has no such column, or the
            window has no job.
        TypeError
            If ``by`` is not a text, or a time is not a number.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> gs.simulate(jobs, cluster, policy="easy").by("gpus").columns[:3]
        ['gpus', 'num_jobs', 'num_finished']
        """
        from gpusched.results.breakdown import breakdown

        window = RunWindow.checked(self.trace, warm_up_s, tail_s)
        if not isinstance(by, str) or (by, window) not in self._breakdowns:
            self._breakdowns[by, window] = breakdown(self, self._job_times, by, window)
        return self._breakdowns[by, window].clone()

    def cost(self, prices: float | Mapping[str, float]) -> Cost:
        """Return the GPU hours by type and what they cost.

        Parameters
        ----------
        prices
            Price per GPU hour: one for all, or one for each GPU type of the cluster. 0 or more,
            in any currency.

        Returns
        -------
        Cost
            GPU hours and cost of the jobs, and of all GPUs over the run.

        Raises
        ------
        ValueError
            If a type of the cluster has no price, a price has an unknown type or is negative or
            not finite, or the run used a pool of several types, whose log does not record the
            type.
        TypeError
            If a price is not a number.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> gs.simulate(jobs, cluster, policy="easy").cost(2.5).held > 0
        True
        """
        from gpusched.results.cost import cost_of

        return cost_of(self, prices)

    def explain(self, job: int | str) -> Explanation:
        """Explain what happened to a job and why, and which jobs held its GPUs.

        Parameters
        ----------
        job
            An integer is the JobId, the job's position in the order of submission; a text is the
            job's ``id`` in the trace.

        Returns
        -------
        Explanation
            The history of the job in sentences, and its longest waits in numbers.

        Raises
        ------
        TypeError
            If ``job`` is neither.
        IndexError, ValueError
            If there is no such position, or no such id.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0], [60, 60], [8, 8], id=["a7", "a8"])
        >>> print(gs.simulate(trace, gs.Cluster.uniform(1, 8)).explain("a8").lines[0])
        Job 1 (id a8) was submitted at 00:00:00: 8 GPUs, run time 1 min.
        """
        from gpusched.results.explain import explain

        return explain(self, job)

    def _repr_html_(self) -> str:
        """Return the metrics as a table, for notebooks."""
        from gpusched.base.tables import html_page
        from gpusched.results.shown_metrics import table_of_summaries

        label = self.spec.policy
        made = table_of_summaries({label: self}, {label: self.summary()})
        return html_page(repr(self), made.transposed().to_html())

    def to_polars(self) -> polars.DataFrame:
        """Return the jobs as a Polars frame.

        Returns
        -------
        polars.DataFrame
            A row per job, in the order of submission.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.to_polars().filter(gpus=1)["queueing_delay_s"].max() >= 0
        True
        """
        return self.jobs.to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """Return the jobs as an Arrow table; needs the extra ``gpusched-core[arrow]``.

        Returns
        -------
        pyarrow.Table
            The columns of :meth:`to_polars`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").to_arrow().num_rows
        3
        """
        need("pyarrow", "this", "gpusched-core[arrow]")
        return self.to_polars().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the jobs as a pandas frame; needs the extra ``gpusched-core[pandas]``.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`to_polars`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").to_pandas().shape[0]
        3
        """
        need("pandas", "this", "gpusched-core[pandas]")
        import pandas

        frame = self.to_polars()
        columns: dict[str, Any] = {
            name: self.jobs[name] if name in self.jobs.columns else frame[name].to_list()
            for name in frame.columns
        }
        return pandas.DataFrame(columns)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the jobs as a Parquet file.

        Texts are Arrow string views, which Polars and pyarrow 16 or later read.

        Returns
        -------
        None
            The file is replaced atomically.

        Raises
        ------
        OSError
            If the file cannot be written; an existing one is unchanged.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.to_parquet("jobs.parquet")
        """
        write_jobs(self.to_polars(), path)

    def export(
        self, path: str | os.PathLike[str], format: str | None = None, **options: str
    ) -> None:
        """Write the schedule for another tool.

        Parameters
        ----------
        format
            ``"perfetto"`` (a timeline; option ``tracks``: ``"server"`` or ``"gpu"``),
            ``"batsim"`` (the ``jobs.csv`` of Batsim) or ``"swf"`` (a log); default: by the
            extension of ``path`` (.json, .csv, .swf).

        Returns
        -------
        None
            The schedule is in the file.

        Raises
        ------
        ValueError
            If the format, an option or its value is unknown.
        OSError
            If the file cannot be written; an existing one is unchanged.

        Warns
        -----
        RunWarning
            For information that the format cannot hold.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.export("schedule.csv")  # as Batsim writes its jobs
        """
        warn(self.export_with_losses(path, format, **options), stacklevel=2)

    def to_perfetto(self, path: str | os.PathLike[str], tracks: str = "server") -> None:
        """Write a timeline for https://ui.perfetto.dev or Chrome's ``about:tracing``.

        Parameters
        ----------
        tracks
            ``"server"``: a slice on each server of a job; ``"gpu"``: on each GPU.

        Returns
        -------
        None
            The timeline is in the file.

        Raises
        ------
        ValueError, OSError
            As :meth:`export`.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.to_perfetto("timeline.json", tracks="gpu")
        """
        warn(self.export_with_losses(path, "perfetto", tracks=tracks), stacklevel=2)

    def export_with_losses(
        self, path: str | os.PathLike[str], format: str | None = None, **options: str
    ) -> list[str]:
        """Export as :meth:`export`, and return the losses instead of warning.

        Returns
        -------
        list of str
            One sentence for each loss.

        Raises
        ------
        ValueError, OSError
            As :meth:`export`.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.export_with_losses("schedule.csv")
        []
        """
        from gpusched.results.format_registry import Exported, export

        exported = Exported(self.trace, self.cluster, self.schedule, self.intervals, self.outages)
        return export(exported, path, format, **options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the jobs as an Arrow stream, for example for ``pyarrow.table(result)``."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def save_case(self, path: str | os.PathLike[str]) -> None:
        """Write the run for the native replay tool; see :func:`gpusched.specs.case.save_case`.

        Returns
        -------
        None
            The case is in the file.

        Raises
        ------
        ValueError, OSError
            If the replay tool cannot repeat the run, or the file cannot be written.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.save_case("run.case")
        """
        from gpusched.prediction.choose import resolve
        from gpusched.specs.case import PredictedBy, save_case

        is_made = any(thing.role == "predictor" for thing in self.spec.python)
        found = None if is_made else resolve(self.spec.predictor)
        predicted = found if isinstance(found, PredictedBy) else None
        save_case(self.trace, self.cluster, self.spec, path, predicted=predicted)

    def audit(self, *, level: Level = "log") -> AuditReport:
        """Check the schedule against trace and cluster, independently of the core.

        Parameters
        ----------
        level
            ``"log"``: the log is possible and complete, and the metrics match it.
            ``"decisions"``: also checks the policy's decisions with a reference engine written
            from the documentation; of a long run, only the first jobs, for about ten seconds (a
            note says so). If the reference engine lacks the policy, or predictions were learned in
            the run, a note says that decisions were not checked.

        Returns
        -------
        AuditReport
            ``ok``, and the ``problems``, one sentence each.

        Raises
        ------
        ValueError
            If the run was stopped, as the rules need a whole schedule, or the level is unknown.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.audit().ok
        True
        >>> result.audit(level="decisions").ok
        True
        """
        self._check_whole("audited")
        from gpusched.audit import audit
        from gpusched.results.audited_names import declared

        return audit(
            self.trace, self.cluster, self.spec, self.schedule, self.intervals, self.digest,
            self.summary, declared(self.spec), level,
            partial(declared, self.spec), self.outages,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the result with its trace, specification, version and digest in one file.

        The file is an uncompressed ``.npz`` archive of plain arrays, for
        :func:`gpusched.load_result`.

        Returns
        -------
        None
            The result is in the file.

        Raises
        ------
        OSError
            If the file cannot be written; an existing one is unchanged.

        Examples
        --------
        >>> jobs = gs.generate("philly", 100, load=0.9, cluster=gs.Cluster.uniform(4), seed=1)
        >>> result = gs.simulate(jobs, gs.Cluster.uniform(4), policy="fifo")
        >>> result.save("result.npz")
        >>> gs.load_result("result.npz").digest == result.digest
        True
        """
        from gpusched.results.result_store import write

        self._check_whole("saved")
        write(self, path)


def load_result(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Result:
    """Load a file of :meth:`Result.save`; refuse a damaged or changed one.

    The checks find accidents and edits, but not forged checksums.

    Parameters
    ----------
    max_bytes
        Largest size of the file in bytes; default: 4 GiB.

    Returns
    -------
    Result
        With trace, specification and digest, as it was saved.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not such a file, has another layout, is too long, or was changed in any byte;
        the message names the file and the member.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> result = gs.simulate(trace, cluster)
    >>> result.save("result.npz")
    >>> gs.load_result("result.npz").digest == result.digest
    True
    """
    from gpusched.results.result_store import read

    return Result(**read(path, max_bytes=max_bytes))


def _is_cached(result: Result, name: str) -> bool:
    return isinstance(getattr(type(result), name, None), cached_property)


@cache
def _measuring() -> tuple[type[RunFacts], Callable[[RunFacts], Summary]]:
    """Import the code of the metrics on first use."""
    from gpusched.results.metric_registry import summarise
    from gpusched.results.run_facts import RunFacts

    return RunFacts, summarise
