"""Findings of an audit of a trace: a verdict per check, with rows, effects and thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from gpusched.base.suggest import nearest

Verdict = Literal["fine", "odd", "wrong", "unknown"]
VERDICTS: Final[tuple[Verdict, ...]] = ("fine", "unknown", "odd", "wrong")
"""From best to worst; unknown: the trace lacks data that the check needs."""
NUM_ROWS: Final = 10


@dataclass(frozen=True)
class Finding:
    """The finding of one check.

    Attributes
    ----------
    name
        The check.
    verdict
        ``"fine"``; ``"odd"``: plausible, but worth knowing; ``"wrong"``: impossible, or spoils a
        study; ``"unknown"``: the trace lacks data that the check needs.
    count
        Number of jobs, or of rejected rows, concerned; 0 if fine.
    rows
        The first of them (at most 10): lines of a text file, or positions in the input.
    unit
        ``"line"`` or ``"row"``: the unit of these numbers.
    what
        The finding in a sentence.
    effect
        How it affects a study.
    threshold
        When it is odd or wrong, and why.
    """

    name: str
    verdict: Verdict
    count: int
    rows: tuple[int, ...]
    unit: str
    what: str
    effect: str
    threshold: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "rows": list(self.rows)}

    def __str__(self) -> str:
        return f"{self.verdict}: {self.name}: {self.what}{self.where}"

    @property
    def where(self) -> str:
        """The rows as text, e.g. ``" (lines 3, 7, ...)"``; empty if there are none."""
        if not self.rows:
            return ""
        listed = ", ".join(map(str, self.rows)) + (", ..." if self.count > len(self.rows) else "")
        return f" ({self.unit}{'s' if self.count > 1 else ''} {listed})"


@dataclass(frozen=True)
class TraceAudit:
    """The findings of all checks of one trace.

    Attributes
    ----------
    source
        Where the jobs come from.
    num_jobs
        Number of jobs.
    findings
        One per check, the worst first.
    """

    source: str
    num_jobs: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong (something may be odd)."""
        return self.verdict != "wrong"

    @property
    def verdict(self) -> Verdict:
        """The worst verdict; unknown ones are ignored."""
        worst = max((VERDICTS.index(found.verdict) for found in self.findings), default=0)
        return VERDICTS[worst] if worst > VERDICTS.index("unknown") else "fine"

    def of(self, verdict: Verdict) -> tuple[Finding, ...]:
        """Return the findings of one verdict.

        Returns
        -------
        tuple of Finding
            In the order of :attr:`findings`.

        Raises
        ------
        ValueError
            If there is no such verdict.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60, 60], [600, 30, 30], [1, 2, 2])
        >>> [found.name for found in gs.traces.audit_trace(trace).of("odd")]
        ['duplicate-rows']
        """
        if verdict not in VERDICTS:
            raise ValueError(f"verdict: unknown {verdict!r}{nearest(verdict, VERDICTS)}")
        return tuple(found for found in self.findings if found.verdict == verdict)

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of the check ``name``; KeyError if there is no such check."""
        return {found.name: found for found in self.findings}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
            The verdict, and all findings.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60, 60], [600, 30, 30], [1, 2, 2])
        >>> gs.traces.audit_trace(trace).to_dict()["num_jobs"]
        3
        """
        return {
            "source": self.source,
            "num_jobs": self.num_jobs,
            "verdict": self.verdict,
            "findings": [found.to_dict() for found in self.findings],
        }

    def __str__(self) -> str:
        told = [str(found) for found in self.findings if found.verdict in ("odd", "wrong")]
        return "\n".join(told) or "nothing is wrong or odd"
