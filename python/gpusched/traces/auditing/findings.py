"""What an audit of a trace found: a verdict per check, with rows, effects and thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from gpusched.base.suggest import nearest

Verdict = Literal["fine", "odd", "wrong", "unknown"]
VERDICTS: Final[tuple[Verdict, ...]] = ("fine", "unknown", "odd", "wrong")
"""From the best to the worst; unknown: the trace has not what the check needs."""
NUM_ROWS: Final = 10


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    name
        The check.
    verdict
        ``"fine"``; ``"odd"``: may be so at a site, and should be known; ``"wrong"``: cannot have
        been so, or spoils a study; ``"unknown"``: the trace lacks what the check needs.
    count
        Jobs, or rows that were left out, which the verdict is about; 0 where it is fine.
    rows
        The first of them (at most 10): lines of a text file, or positions in the input.
    unit
        ``"line"`` or ``"row"``: what these numbers are.
    what
        What was found, in a sentence.
    effect
        What it does to a study.
    threshold
        From where on it is odd or wrong, and why there.
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
    """What all checks found in one trace.

    Attributes
    ----------
    source
        Where the jobs come from.
    num_jobs
        How many there are.
    findings
        One of each check, the worst first.
    """

    source: str
    num_jobs: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; something may be odd."""
        return self.verdict != "wrong"

    @property
    def verdict(self) -> Verdict:
        """The worst verdict; fine where all that can be judged is."""
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
            raise ValueError(f"verdict: {verdict!r} is not known{nearest(verdict, VERDICTS)}")
        return tuple(found for found in self.findings if found.verdict == verdict)

    def __getitem__(self, name: str) -> Finding:
        """Return what the check ``name`` found; KeyError if there is no such check."""
        return {found.name: found for found in self.findings}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
            The verdict, and every finding.

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
