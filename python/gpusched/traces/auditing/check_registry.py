"""Registry of the checks of traces. To add one, write a function in ``checks.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.registry import Registry, told
from gpusched.base.wording import plural
from gpusched.traces.auditing.findings import NUM_ROWS, Finding, Verdict
from gpusched.traces.checked_columns import NOT_GIVEN

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class Evidence:
    """A trace under audit.

    ``trace``: its jobs.
    ``cluster``: the cluster they shall run on, or None if unknown.
    ``published_gpus``: GPUs of the site as stated in the file, or None.
    """

    trace: Trace
    cluster: Cluster | None = None
    published_gpus: int | None = None

    @property
    def num_jobs(self) -> int:
        """Number of jobs."""
        return len(self.trace)

    @property
    def num_gpus(self) -> int | None:
        """GPUs of the cluster, else those stated in the file, else None."""
        return self.published_gpus if self.cluster is None else self.cluster.num_gpus

    @cached_property
    def file_order(self) -> Int64:
        """int64[n]: the jobs in the order of the file."""
        return np.argsort(self.trace.row, kind="stable").astype(np.int64)

    @cached_property
    def steps_us(self) -> Int64:
        """int64[n - 1]: time from each submit to the next in the file; negative if it goes back."""
        return np.diff(self.trace.submit_us[self.file_order])

    @cached_property
    def start_us(self) -> Int64 | None:
        """int64[n]: when the site started each job, or None if not all waits are known."""
        wait_us = self.trace.source_wait_us
        if wait_us is None or bool((wait_us == NOT_GIVEN).any()):
            return None
        return self.trace.submit_us + wait_us

    @cached_property
    def end_us(self) -> Int64:
        """int64[n]: when each job ended at the site; without known waits, as if there were none.

        A duration that was counted up to the end of the log ends there either way.
        """
        start_us = self.trace.submit_us if self.start_us is None else self.start_us
        return start_us + self.trace.service_us

    @cached_property
    def gpu_seconds(self) -> AnyArray:
        """float64[n]: GPUs x run time of each job, in GPU-seconds."""
        gpus = self.trace.gpus.astype(np.float64)
        share = self.trace.gpu_share
        return (gpus if share is None else gpus * share) * self.trace.service_s

    @cached_property
    def fitting_gpu_seconds(self) -> AnyArray:
        """float64[n]: the same, but 0 for jobs that do not fit on the empty cluster."""
        from gpusched.traces.cluster_sizing import fitting_jobs

        if self.cluster is not None:
            return np.where(fitting_jobs(self.trace, self.cluster), self.gpu_seconds, 0.0)
        most = math.inf if self.num_gpus is None else self.num_gpus
        return np.where(self.trace.gpus <= most, self.gpu_seconds, 0.0)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check.

    ``verdict``, ``what``: as in :class:`~gpusched.traces.auditing.findings.Finding`.
    ``jobs``: indices of the jobs concerned.
    ``count``, ``rows``: used instead of ``jobs`` for rejected rows.
    """

    verdict: Verdict
    what: str
    jobs: Any = ()
    count: int | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class TraceCheck:
    """A check that an audit applies to every trace.

    ``name``: what it looks for.
    ``summary``: the same in a sentence.
    ``effect``: how it affects a study.
    ``threshold``: when it is odd or wrong, and why.
    ``rank``: checks are listed in this order, then by name.
    ``judge``: ``judge(evidence) -> Outcome``.
    ``by_share``: whether "wrong" depends on a share of the jobs; below :data:`FEW` jobs it becomes
        "odd".
    """

    name: str
    summary: str
    effect: str
    threshold: str
    rank: int
    judge: Callable[[Evidence], Outcome]
    by_share: bool = False

    def __call__(self, evidence: Evidence) -> Finding:
        """Check a trace."""
        outcome = self.judge(evidence)
        if self.by_share and outcome.verdict == "wrong" and evidence.num_jobs < FEW:
            what = f"{outcome.what}; {plural(evidence.num_jobs, 'job')}: too few to call this wrong"
            outcome = replace(outcome, verdict="odd", what=what)
        rows, count = outcome.rows, outcome.count
        if count is None:
            jobs = np.asarray(outcome.jobs, dtype=np.int64)
            count = len(jobs)
            rows = tuple(np.sort(evidence.trace.row[jobs])[:NUM_ROWS].tolist())
        return Finding(
            name=self.name,
            verdict=outcome.verdict,
            count=count,
            rows=rows[:NUM_ROWS],
            unit=evidence.trace.rejects.unit,
            what=outcome.what,
            effect=self.effect,
            threshold=self.threshold,
        )


FEW: Final = 100
"""In traces with fewer jobs, a few percent are one job or none."""
CHECKS: Final[Registry[TraceCheck]] = Registry(
    "check of traces", "gpusched.traces.auditing.checks", order=lambda known: known.rank
)


def trace_check(
    name: str, *, summary: str, effect: str, threshold: str, rank: int, by_share: bool = False
) -> Callable[[Callable[[Evidence], Outcome]], Callable[[Evidence], Outcome]]:
    """Register a function as the check ``name``; see :class:`TraceCheck`."""
    told("check of traces", name, summary=summary, effect=effect, threshold=threshold)

    def register(judge: Callable[[Evidence], Outcome]) -> Callable[[Evidence], Outcome]:
        CHECKS.add(name, TraceCheck(name, summary, effect, threshold, rank, judge, by_share))
        return judge

    return register


def trace_checks() -> dict[str, TraceCheck]:
    """Return all checks of traces by name, in their order.

    Returns
    -------
    dict
        Checks by name; calling one with the evidence of a trace returns its finding.

    Examples
    --------
    >>> "duplicate-rows" in gs.traces.trace_checks()
    True
    """
    return CHECKS.all()
