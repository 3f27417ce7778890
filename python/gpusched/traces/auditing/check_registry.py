"""The checks of an audit of traces. A new one is a function in a file of ``checks/``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched.base.registry import Registry, told
from gpusched.traces.auditing.evidence import Evidence
from gpusched.traces.auditing.findings import NUM_ROWS, Finding, Verdict


@dataclass(frozen=True)
class Outcome:
    """What a check says of a trace.

    Attributes
    ----------
    verdict, what
        As in :class:`~gpusched.traces.auditing.findings.Finding`.
    jobs
        Indices of the jobs that it is about.
    count, rows
        In their stead, for rows that are no jobs.
    """

    verdict: Verdict
    what: str
    jobs: Any = ()
    count: int | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class TraceCheck:
    """A question that is asked of every trace.

    Attributes
    ----------
    name
        What it looks for.
    summary
        The same in a sentence.
    effect
        What it does to a study.
    threshold
        From where on it is odd or wrong, and why there.
    rank
        Checks are listed in this order, then by name.
    judge
        ``judge(evidence) -> Outcome``.
    """

    name: str
    summary: str
    effect: str
    threshold: str
    rank: int
    judge: Callable[[Evidence], Outcome]

    def __call__(self, evidence: Evidence) -> Finding:
        """Judge a trace."""
        outcome = self.judge(evidence)
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


CHECKS: Final[Registry[TraceCheck]] = Registry(
    "check of traces", "gpusched.traces.auditing.checks", order=lambda known: known.rank
)


def trace_check(
    name: str, *, summary: str, effect: str, threshold: str, rank: int
) -> Callable[[Callable[[Evidence], Outcome]], Callable[[Evidence], Outcome]]:
    """Register a function as the check ``name``; see :class:`TraceCheck`."""
    told("check of traces", name, summary=summary, effect=effect, threshold=threshold)

    def register(judge: Callable[[Evidence], Outcome]) -> Callable[[Evidence], Outcome]:
        CHECKS.add(name, TraceCheck(name, summary, effect, threshold, rank, judge))
        return judge

    return register


def trace_checks() -> dict[str, TraceCheck]:
    """Every check by name, in the order in which they are listed.

    Returns
    -------
    dict
        Of each name its check; a call with the evidence of a trace returns its finding.

    Examples
    --------
    >>> "duplicate-rows" in gs.traces.trace_checks()
    True
    """
    return CHECKS.all()
