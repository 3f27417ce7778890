"""Compare policies on one workload, in parallel threads: :func:`compare`."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np

from gpusched._core import Placement
from gpusched.base.arrays import AnyArray, Bool
from gpusched.base.failures import raise_named
from gpusched.base.field_checks import check_integer
from gpusched.base.libraries import polars as pl
from gpusched.base.progress import OnProgress, Progress, checked
from gpusched.base.run_warning import warn
from gpusched.base.suggest import nearest
from gpusched.base.supervision import Cancelled
from gpusched.base.tables import Table, html_page
from gpusched.engine.prepare import check_memory, least_bytes
from gpusched.engine.seams import check_shared, own, placement_seam
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.plugins.policy import (
    AnyPolicy,
    ContentionChoice,
    PlacementChoice,
    SpeedChoice,
    runs_by_label,
)
from gpusched.results import shown_metrics
from gpusched.results.breakdown import job_groups
from gpusched.results.cost import sums
from gpusched.results.metric_registry import metrics
from gpusched.results.result import Result
from gpusched.results.run_remarks import of_results
from gpusched.results.run_window import RunWindow
from gpusched.results.same_jobs import SameJobs
from gpusched.schedules.jobs_table import trace_series, write_jobs
from gpusched.studies.driver import run_tasks
from gpusched.studies.executors import opened
from gpusched.studies.hodges_lehmann import Estimate, ratio
from gpusched.traces.workload import Trace

Side = Literal["lost", "won"]
DEFAULT_POLICIES: Final = ("fifo-skip", "sjf", "srtf", "2d-las", "easy")
_MOST_THREADS: Final = 1_024
_LEAST_OF_TENTH: Final = 300


def compare(
    trace: Trace,
    cluster: Cluster,
    policies: Sequence[AnyPolicy] = DEFAULT_POLICIES,
    *,
    placement: str | PlacementChoice | Placement = "consolidated",
    predictor: str = "auto",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    seed: int = 0,
    outages: Outages | None = None,
    kill_invalid_depend: bool = False,
    priority_age_s: float | None = None,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    threads: int | None = None,
    verify: bool = False,
    max_intervals: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Comparison:
    """Simulate a trace under each of several policies.

    The runs share the trace and are spread over threads; native policies release the GIL, so
    they are truly parallel. A run does not depend on the others or on the number of threads.

    Parameters
    ----------
    policies
        Names listed by :func:`gpusched.policies`, strings such as ``"2d-las:preset=lucid"``, policy
        objects, or instances of a Python order or scheduler. One listed twice is an error;
        different objects of one class are distinguished by the digits after an ``@``.
    placement, predictor, speed, contention, seed, outages, verify, max_intervals
        As for :func:`gpusched.simulate`, the same for all; each run has its own copy of a
        placement written in Python.
    kill_invalid_depend, priority_age_s
        As for :func:`gpusched.simulate`.
    warm_up_s, tail_s
        Measure a part of each run, as :meth:`gpusched.Result.summary` does: every table,
        breakdown and report of the comparison covers only it. The simulations are complete.
    threads
        Number of parallel runs; None: one per CPU.
    progress
        As for :func:`gpusched.simulate`; its ``part`` is the policy.
    stop
        Stops the runs when it is set, as for :func:`gpusched.simulate`.

    Returns
    -------
    Comparison
        One result per policy, and tables of all.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid. An error inside a run names its policy and is raised when all
        other runs have finished: its attribute ``comparison``, whatever its type, is a
        :class:`Comparison` of those, and its ``failed`` has every error.
    MemoryError
        If all results together need more memory than is available, before the first run.
    Cancelled
        If ``stop`` was set, within a second; its ``comparison`` holds the finished results.
    Interrupted
        On Ctrl-C, within a second; a KeyboardInterrupt that carries the finished results.

    Warns
    -----
    RunWarning
        As :func:`gpusched.simulate`, each distinct message once.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> list(gs.compare(trace, cluster, ["fifo", "sjf"]).results)
    ['fifo', 'sjf']
    """
    runs = runs_by_label(policies)
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
    check_shared(trace, placement, predictor, speed, contention)
    window = RunWindow.checked(trace, warm_up_s, tail_s)
    progress = checked(progress)
    watched = None if progress is None else _Watched(progress)
    threads = _num_threads(threads, len(runs))
    is_pooled = placement_seam(placement).has("pooled")
    needed = len(runs) * least_bytes(trace, cluster, is_pooled=is_pooled)  # all are kept
    warn(check_memory(needed, len(trace), len(runs)), stacklevel=2)

    def run(label: str) -> Result:
        return simulate(
            trace,
            cluster,
            policy=runs[label],
            placement=own(placement) if len(runs) > 1 else placement,
            predictor=predictor,
            speed=speed,
            contention=contention,
            seed=seed,
            outages=outages,
            kill_invalid_depend=kill_invalid_depend,
            priority_age_s=priority_age_s,
            verify=verify,
            max_intervals=max_intervals,
            progress=None if watched is None else partial(watched.note, label),
        )

    cuts = {} if window is None else window.cuts
    done: dict[str, Result] = {}
    summaries: dict[str, dict[str, Any]] = {}
    failed: dict[str, Exception] = {}

    def comparison_so_far() -> Comparison:
        results = {label: done[label] for label in runs if label in done}
        unfinished = tuple(label for label in runs if label not in {*results, *failed})
        return Comparison(trace, cluster, results, unfinished, failed, window, summaries)

    try:
        with opened(f"threads:{threads}") as backend:
            for label, result in run_tasks(
                run,
                list(runs),
                backend=backend,
                on_failure=failed.__setitem__,
                progress=None if watched is None else watched.tell,
                stop=stop,
            ):
                try:
                    summaries[label] = result.summary(**cuts)  # other runs continue meanwhile
                except Exception as error:
                    failed[label] = error
                    continue
                done[label] = result
                if watched is not None:
                    watched.tell_end(label, len(trace))
    except KeyboardInterrupt:
        raise Interrupted(comparison_so_far()) from None
    except Cancelled:
        found = comparison_so_far()
        raise Cancelled(len(found.results), len(runs), "policies", found) from None
    comparison = comparison_so_far()
    warn(of_results(comparison.results), stacklevel=2)
    if failed:
        named = {f"policy {label}": failed[label] for label in runs if label in failed}
        raise_named(named, comparison=comparison)
    return comparison


class _Watched:
    """Warnings noted by the threads of the runs and reported by the calling thread."""

    def __init__(self, progress: OnProgress) -> None:
        self._progress = progress
        self._noted: dict[str, Progress] = {}
        self._told: dict[str, Progress] = {}

    def note(self, label: str, now: Progress) -> None:
        self._noted[label] = Progress(now.done, now.total, label)

    def tell(self, _: Progress) -> None:
        for label, now in list(self._noted.items()):
            if now != self._told.get(label) and now.done < now.total:
                self._told[label] = now
                self._progress(now)

    def tell_end(self, label: str, total: int) -> None:
        self._noted.pop(label, None)
        self._progress(Progress(total, total, label))


def _num_threads(threads: int | None, num_runs: int) -> int:
    if threads is None:
        threads = os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads: expected an integer, not {threads!r}")
    if threads < 1:
        raise ValueError(f"threads: must be at least 1, not {threads}")
    return min(threads, num_runs, _MOST_THREADS)


class Tenths(NamedTuple):
    """How the mean JCT of a policy compares with another's in the tenths of a trace.

    ``ratio``: over all jobs.
    ``num_lower``: number of tenths in which it is lower.
    ``typical``: the ratio in a typical tenth and its range, as :func:`gpusched.studies.ratio` gives
        them. Tenths follow one another, so the range is not a confidence interval.
    """

    ratio: float
    num_lower: int
    typical: Estimate


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of several policies on one workload, from :func:`gpusched.compare`.

    Attributes
    ----------
    trace, cluster
        The workload and the cluster of all runs.
    results
        One :class:`~gpusched.results.result.Result` per policy, by its canonical string, in the
        order given.
    unfinished
        Policies cut off by an interrupt or a stop; empty otherwise.
    failed
        The errors of policies that failed.
    window
        The part of the runs that tables, breakdowns and the report cover; None: all.
    """

    trace: Trace
    cluster: Cluster
    results: Mapping[str, Result]
    unfinished: tuple[str, ...] = ()
    failed: Mapping[str, Exception] = field(default_factory=dict)
    window: RunWindow | None = None
    _ready: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    _of_same: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, repr=False)

    @property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """``Result.summary()`` of each policy in the window, on the jobs that all finish."""
        for label, result in self.results.items():
            if label not in self._ready:
                self._ready[label] = result.summary(**self._cuts)
            if label not in self._of_same:
                self._of_same[label] = self.same_jobs.measured(label, result)
        return {label: self._ready[label] | self._of_same[label] for label in self.results}

    @cached_property
    def growths(self) -> dict[str, float]:
        """The metric ``growth`` of each policy, in the window."""
        growth = shown_metrics.GROWTH
        return {label: float(of.metric(growth, **self._cuts)) for label, of in self.results.items()}

    @cached_property
    def same_jobs(self) -> SameJobs:
        """The jobs that every policy finishes: those that job metrics cover."""
        return SameJobs(self.results, self.window)

    def without_summary(self) -> tuple[str, ...]:
        """Name policies that finished, but whose summary was cut off by an interrupt or a stop.

        Returns
        -------
        tuple of str
            Their labels.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, gs.Cluster.uniform(1, 4), policies=["fifo", "sjf"])
        >>> found.without_summary()
        ()
        """
        return tuple(label for label in self.results if label not in self._ready)

    def __str__(self) -> str:
        return f"{self._where}\n\n{comparison_table(self)}"

    def _repr_html_(self) -> str:
        """Return a table with a row for each policy, for notebooks."""
        return html_page(self._where, comparison_table(self).to_html())

    @property
    def _where(self) -> str:
        return f"{self.trace.name}: {len(self.trace):,} jobs on {self.cluster}"

    def select(self, labels: Collection[str]) -> Comparison:
        """Select some of the policies.

        Returns
        -------
        Comparison
            Their results, in the same order; unknown labels are ignored.

        Raises
        ------
        TypeError
            If ``labels`` is not a collection.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(1, 4)
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, cluster, policies=["fifo", "sjf"])
        >>> list(found.select(["sjf"]).results)
        ['sjf']
        """
        results = {label: result for label, result in self.results.items() if label in labels}
        return replace(self, results=results)

    def within(self, warm_up_s: float | None, tail_s: float | None = None) -> Comparison:
        """Measure the same runs after a warm-up and before a tail.

        Parameters
        ----------
        warm_up_s, tail_s
            As for :meth:`gpusched.Result.summary`; None and None cover the whole runs.

        Returns
        -------
        Comparison
            Of the same results; nothing is simulated again.

        Raises
        ------
        ValueError, TypeError
            As :meth:`gpusched.Result.summary`.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(1, 4)
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, cluster, policies=["fifo", "sjf"])
        >>> len(found.within(warm_up_s=1).results)
        2
        """
        window = RunWindow.checked(self.trace, warm_up_s, tail_s)
        return replace(self, window=window, _ready={})

    @property
    def counted(self) -> Bool:
        """Which jobs are submitted in the window: bool, one per job."""
        if self.window is None:
            return np.ones(len(self.trace), dtype=np.bool_)
        return self.window.counted(self.trace)

    @property
    def _cuts(self) -> dict[str, float | None]:
        return {} if self.window is None else self.window.cuts

    def table(self) -> pl.DataFrame:
        """Return one row per policy, one column per entry of ``Result.summary()``.

        Returns
        -------
        polars.DataFrame
            In the order of the policies.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, gs.Cluster.uniform(1, 4), policies=["fifo", "sjf"])
        >>> found.table()["policy"].to_list()
        ['fifo', 'sjf']
        """
        rows = [summary | {"policy": label} for label, summary in self.summaries.items()]
        return pl.from_dicts(rows, infer_schema_length=None)

    def by(self, by: str) -> pl.DataFrame:
        """Break down the jobs of every policy, within the comparison's window.

        Parameters
        ----------
        by
            As for :meth:`gpusched.Result.by`.

        Returns
        -------
        polars.DataFrame
            As :meth:`gpusched.Result.by`, one policy after the other, with a first column
            ``policy``.

        Raises
        ------
        ValueError, TypeError
            As :meth:`gpusched.Result.by`.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> gs.compare(jobs, cluster, ["fifo", "srtf"]).by("gpus").columns[:2]
        ['policy', 'gpus']
        """
        labels = pl.Enum(list(self.results))
        frames = []
        for label, result in self.results.items():
            frame = result.by(by, **self._cuts)
            name = pl.repeat(label, len(frame), dtype=labels, eager=True).alias("policy")
            frames.append(frame.insert_column(0, name))
        return pl.concat(frames)

    def tenths(self, baseline: str | None = None) -> dict[str, Tenths]:
        """Compare mean JCTs in ten parts of the trace, to see how far they vary.

        The jobs that every policy finishes are cut into parts of equal size, in order of
        submission.

        Parameters
        ----------
        baseline
            Label of the policy to compare with. Default: the first.

        Returns
        -------
        dict
            A :class:`~gpusched.studies.comparison.Tenths` for each other policy; empty if parts
            would have fewer than 300 jobs.

        Raises
        ------
        ValueError
            If there is no result of the baseline (the nearest is suggested).

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(8)
        >>> jobs = gs.generate("philly", 3_000, load=0.9, cluster=cluster)
        >>> gs.compare(jobs, cluster, ["fifo-skip", "srtf"]).tenths()["srtf"].num_lower > 5
        True
        """
        if baseline is None:
            baseline = next(iter(self.results))
        if baseline not in self.results:
            raise ValueError(
                f"baseline: no result of {baseline!r}{nearest(baseline, [*self.results])}"
            )
        if self.same_jobs.num < 10 * _LEAST_OF_TENTH:
            return {}
        parts = np.array_split(np.flatnonzero(self.same_jobs.jobs), 10)
        means = {
            label: np.array([result.jobs.jct_s[part].mean() for part in parts])
            for label, result in self.results.items()
        }
        wholes = {label: row["mean_jct_s"] for label, row in self.summaries.items()}
        return {
            label: Tenths(
                wholes[label] / wholes[baseline],
                int(np.count_nonzero(own < means[baseline])),
                ratio(own, means[baseline]),
            )
            for label, own in means.items()
            if label != baseline
        }

    def losers(
        self,
        policy: str | None = None,
        *,
        baseline: str | None = None,
        by: str | None = None,
        limit: int | None = 20,
    ) -> pl.DataFrame:
        """Find the jobs, or groups of jobs, that finish later after a change of policy.

        Only jobs submitted in the comparison's window count.

        Parameters
        ----------
        policy, baseline
            Labels of the policies after and before the change. Default: the first is the
            baseline, and the other one, if there are two, is the policy.
        by
            None: single jobs. Otherwise groups, as for :meth:`gpusched.Result.by`; ``"type"`` is
            the GPU type under the baseline.
        limit
            Maximum number of rows; None returns all.

        Returns
        -------
        polars.DataFrame
            Per job: ``job`` (JobId), ``id``, ``user`` and ``queue`` if known, ``gpus``,
            ``submit_s``, ``service_s``, for each policy ``baseline_status``, ``baseline_wait_s``,
            ``baseline_jct_s`` and so on, and ``lost_s``, the increase of the JCT, largest first.
            Jobs that no longer finish are first; their ``lost_s`` is null.

            Per group: the number of jobs, ``num_worse`` and ``num_better``, ``lost_s`` summed over
            the jobs that are worse, and for the jobs that finish under both policies
            ``mean_change_s`` of the JCT and the mean waits.

        Raises
        ------
        ValueError
            If there is no result of a policy (the nearest is suggested), both are the same, or
            several could be meant.
        TypeError
            If ``limit`` is not an integer.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> found = gs.compare(jobs, cluster, ["fifo", "srtf"])
        >>> found.losers("srtf", limit=5)["lost_s"].min() > 0
        True
        """
        return self._changed("lost", policy, baseline, by, limit)

    def winners(
        self,
        policy: str | None = None,
        *,
        baseline: str | None = None,
        by: str | None = None,
        limit: int | None = 20,
    ) -> pl.DataFrame:
        """Find the jobs, or groups of jobs, that finish earlier; see :meth:`losers`.

        Returns
        -------
        polars.DataFrame
            As :meth:`losers`, with ``won_s`` instead of ``lost_s``; jobs that only now finish are
            first.

        Raises
        ------
        ValueError, TypeError
            As :meth:`losers`.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(1, 4)
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, cluster, policies=["fifo", "sjf"])
        >>> found.winners("sjf", baseline="fifo")["won_s"].to_list()
        [60.0, 55.0]
        """
        return self._changed("won", policy, baseline, by, limit)

    def _changed(
        self,
        side: Side,
        policy: str | None,
        baseline: str | None,
        by: str | None,
        limit: int | None,
    ) -> pl.DataFrame:
        if limit is not None:
            check_integer("limit", limit, 1, 2**62)
        before, after = _changed_policies(list(self.results), policy, baseline)
        runs = self.results[before], self.results[after]
        if by is None:
            return _changed_jobs(*runs, side, limit, self.counted)
        found = _changed_groups(*runs, side, by, self.counted)
        return found if limit is None else found.head(limit)

    def jobs(self) -> pl.DataFrame:
        """Return the jobs of every policy, one policy after the other, with a column ``policy``.

        Returns
        -------
        polars.DataFrame
            As many rows as jobs times policies.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, gs.Cluster.uniform(1, 4), policies=["fifo", "sjf"])
        >>> found.jobs().height
        6
        """
        labels = pl.Enum(list(self.results))
        of_trace = trace_series(self.trace)
        frames = [
            result.jobs.frame(of_trace).insert_column(0, _constant(label, labels, len(self.trace)))
            for label, result in self.results.items()
        ]
        return pl.concat(frames)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`jobs` as one Parquet file, compressed by LZ4.

        It has a row per job and policy: Zstandard takes three times as long for a file that is a
        quarter smaller. Strings are Arrow views, which Polars and pyarrow 16 or later read.

        Returns
        -------
        None
            The file is complete when this returns.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(1, 4)
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, cluster, policies=["fifo", "sjf"])
        >>> found.to_parquet("jobs.parquet")
        >>> import polars
        >>> polars.read_parquet("jobs.parquet").height
        6
        """
        write_jobs(self.jobs(), path, "lz4")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export :meth:`jobs` as an Arrow stream, such as for ``pyarrow.table(comparison)``."""
        return self.jobs().__arrow_c_stream__(requested_schema)

    def _compared(self) -> dict[str, Any]:
        """Return which jobs are compared, and how stable the order of policies is among them."""
        if not self.results:
            return {}
        same = self.same_jobs
        names = ("num", "num_others", "share_of_others")
        return {
            "same_jobs": {name: getattr(same, name) for name in names},
            "tenths": {
                label: {
                    "ratio": one.ratio, "num_lower": one.num_lower,
                    "typical": one.typical.value, "low": one.typical.low, "high": one.typical.high,
                }
                for label, one in self.tenths().items()
            },
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return everything the tables show, as plain values for any JSON writer.

        Returns
        -------
        dict
            Undefined figures (the mean of no jobs) are None.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, gs.Cluster.uniform(1, 4), policies=["fifo", "sjf"])
        >>> [row["policy"] for row in found.to_dict()["results"]]
        ['fifo', 'sjf']
        """
        trace, cluster = self.trace, self.cluster
        return {
            "trace": {
                "name": trace.name,
                "source": str(trace.source),
                "num_jobs": len(trace),
                "num_rejects": int(trace.rejects.total),
            },
            "cluster": {
                "name": cluster.name,
                "description": str(cluster),
                "num_servers": int(cluster.num_servers),
                "num_gpus": int(cluster.num_gpus),
            },
            "results": [
                {key: _plain(value) for key, value in (summary | {"policy": label}).items()}
                for label, summary in self.summaries.items()
            ],
            **({} if self.window is None else {"window": self.window.cuts}),
            **self._compared(),
            "unfinished": list(self.unfinished),
            "failed": {label: str(error) for label, error in self.failed.items()},
            "warnings": {
                label: list(result.warnings)
                for label, result in self.results.items()
                if result.warnings
            },
        }


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during :func:`compare`; ``comparison`` holds the policies that had finished."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(f"unfinished: {', '.join(comparison.unfinished) or 'none'}")
        self.comparison = comparison

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.comparison,)


def _changed_policies(
    labels: list[str], policy: str | None, baseline: str | None
) -> tuple[str, str]:
    """Choose the policies before and after a change; errors as in ``Comparison.losers``."""
    if baseline is None:
        baseline = next((label for label in labels if label != policy), "")
    for name, label in (("baseline", baseline), ("policy", policy)):
        if label is not None and label not in labels:
            raise ValueError(f"{name}: no result of {label!r}{nearest(label, labels)}")
    others = [label for label in labels if label != baseline]
    if policy is None:
        if len(others) != 1:
            raise ValueError(f"policy: name one of {', '.join(others) or 'two or more'}")
        policy = others[0]
    if policy == baseline:
        raise ValueError(f"policy: {policy} is the baseline; name another one")
    return baseline, policy


def _changed_jobs(
    baseline: Result, policy: Result, side: Side, limit: int | None, counted: Bool
) -> pl.DataFrame:
    """Return the jobs with the largest loss or gain; see ``Comparison.losers``."""
    change_s = np.where(counted, _change_s(baseline, policy, side), np.nan)
    # Jobs that ended under one policy only come before any finite loss or gain.
    chosen = np.flatnonzero(change_s > 0)
    order = np.lexsort((chosen, -change_s[chosen]))
    jobs = chosen[order][:limit]
    return _described(baseline, policy, jobs).with_columns(_seconds(f"{side}_s", change_s[jobs]))


def _changed_groups(
    baseline: Result, policy: Result, side: Side, by: str, counted: Bool
) -> pl.DataFrame:
    """Return the groups with the largest total loss or gain; see ``Comparison.losers``."""
    groups = job_groups(baseline, by)
    codes, size = groups.codes, len(groups.names)
    change_s = np.where(counted, _change_s(baseline, policy, side), np.nan)
    both = np.isfinite(change_s)
    waits = [run.jobs.wait_s for run in (baseline, policy)]
    waited = np.isfinite(waits[0]) & np.isfinite(waits[1]) & counted

    def count(mask: AnyArray) -> AnyArray:
        return np.bincount(codes[mask], minlength=size)

    def mean(values: AnyArray, mask: AnyArray) -> AnyArray:
        with np.errstate(invalid="ignore"):
            return sums(codes[mask], values[mask], size) / count(mask)

    # Later is worse, whichever side is requested.
    later_s = change_s if side == "lost" else -change_s
    data: dict[str, Any] = {
        by: list(groups.names),
        "num_jobs": count(counted),
        "num_worse": count(later_s > 0),
        "num_better": count(later_s < 0),
        f"{side}_s": sums(codes[both], np.maximum(change_s[both], 0), size),
        "mean_change_s": mean(later_s, both),
        "baseline_mean_wait_s": mean(waits[0], waited),
        "policy_mean_wait_s": mean(waits[1], waited),
    }
    frame = pl.DataFrame(data, nan_to_null=True).filter(pl.col("num_jobs") > 0)
    return frame.sort(f"{side}_s", "num_jobs", by, descending=[True, True, False])


def _change_s(baseline: Result, policy: Result, side: Side) -> AnyArray:
    """JCT lost or won by each job, seconds; infinite if it ended under one policy only.

    NaN if it ended under neither.
    """
    before, after = (np.where(r.jobs.is_finished, r.jobs.jct_s, np.inf) for r in (baseline, policy))
    with np.errstate(invalid="ignore"):
        lost: AnyArray = after - before
    return lost if side == "lost" else -lost


def _described(baseline: Result, policy: Result, jobs: AnyArray) -> pl.DataFrame:
    trace = baseline.trace
    data: dict[str, Any] = {"job": jobs, "id": trace.id[jobs].tolist()}
    for column in ("user", "queue"):
        labels = getattr(trace, column)
        if labels is not None:
            data[column] = labels.values()[jobs].tolist()
    data["gpus"] = trace.gpus[jobs]
    for column in ("submit_s", "service_s"):
        data[column] = getattr(trace, column)[jobs]
    for name, run in (("baseline", baseline), ("policy", policy)):
        data[f"{name}_status"] = run.jobs.status[jobs].tolist()
        data[f"{name}_wait_s"] = run.jobs.wait_s[jobs]
        data[f"{name}_jct_s"] = run.jobs.jct_s[jobs]
    return pl.DataFrame(data, nan_to_null=True)


def _seconds(name: str, values: AnyArray) -> pl.Series:
    """Seconds as a column; null where they are infinite."""
    return pl.Series(name, np.where(np.isfinite(values), values, np.nan), nan_to_null=True)


def _constant(label: str, dtype: pl.Enum, length: int) -> pl.Series:
    return pl.repeat(label, length, dtype=dtype, eager=True).alias("policy")


def _plain(value: Any) -> Any:
    """NumPy scalars as Python values, and NaN or infinity, which JSON does not have, as None."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def comparison_table(comparison: Comparison, *, is_wide: bool = False) -> Table:
    """Return one row per policy: the main metrics, or all if ``is_wide``.

    A column marks policies under which the queue grows without bound.
    """
    growth = shown_metrics.GROWTH
    shown = shown_metrics.all_metrics() if is_wide else shown_metrics.main_metrics()
    rows = {
        label: summary | {growth: comparison.growths[label]}
        for label, summary in comparison.summaries.items()
    }
    grows = any(shown_metrics.is_growing(row[growth], 1) for row in rows.values())
    if is_wide or grows:
        shown = [*shown, metrics()[growth]]
    made = shown_metrics.table_of_summaries(comparison.results, rows, shown)
    return msgspec.structs.replace(made, notes=(shown_metrics.GROWTH_NOTE,) if grows else ())
