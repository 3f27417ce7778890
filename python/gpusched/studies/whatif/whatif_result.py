"""What :func:`gpusched.whatif` found: measures, differences, and a grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusched.studies.fidelity.grades import Grade
from gpusched.studies.fidelity.likeness import Likeness
from gpusched.studies.whatif import whatif_texts
from gpusched.studies.whatif.outcome import MEASURES, Outcome

if TYPE_CHECKING:
    import polars as pl

    from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """What changes would do, and how far that can be trusted.

    Attributes
    ----------
    trace
        Of the base case.
    base
        What came of it.
    outcomes
        What came of each change alone, and of all of them together where that can be.
    likeness, grade
        How near the base case comes to what happened, see :func:`gpusched.fidelity`; None if
        nothing says what happened.
    no_grade
        Why there is no grade; empty if there is one.
    resolution_s
        Jobs whose completion time changes by no more than this neither gain nor lose.
    remarks
        What a reader must know.
    """

    trace: Trace
    base: Outcome
    outcomes: tuple[Outcome, ...]
    likeness: Likeness | None
    grade: Grade | None
    no_grade: str
    resolution_s: float
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        letter = "no grade" if self.grade is None else f"grade {self.grade.letter}"
        changes = ", ".join(outcome.label for outcome in self.outcomes)
        return f"WhatIf({self.trace.name!r}, {self.base.policy}: {changes}; {letter})"

    def __str__(self) -> str:
        return "\n".join(
            whatif_texts.lines(
                self.trace,
                self.base,
                self.outcomes,
                self.likeness,
                self.no_grade,
                self.resolution_s,
                self.remarks,
            )
        )

    def difference(self, label: str, measure: str) -> float:
        """Return a measure of a change minus that of the base case.

        Returns
        -------
        float
            In the unit of the measure; below 0 where the change lowers it.

        Raises
        ------
        KeyError
            If there is no such change or measure.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.difference("servers=+1", "mean_wait_s") < 0
        True
        """
        by_label = {outcome.label: outcome for outcome in self.outcomes}
        return by_label[label].measures[measure] - self.base.measures[measure]

    def table(self) -> pl.DataFrame:
        """Return one row for the base case and each change, with differences.

        Returns
        -------
        polars.DataFrame
            ``d_mean_wait_s`` is ``mean_wait_s`` minus that of the base case, and so on; every row
            carries the ``grade``.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.table()["d_mean_wait_s"][0]
        0.0
        """
        import polars as pl

        letter = None if self.grade is None else self.grade.letter
        rows = []
        for outcome in (self.base, *self.outcomes):
            changed = {
                f"d_{key}": outcome.measures[key] - self.base.measures[key] for key in MEASURES
            }
            rows.append(outcome.to_dict() | changed | {"grade": letter})
        return pl.from_dicts(rows, infer_schema_length=None)

    def to_polars(self) -> pl.DataFrame:
        """Return :meth:`table`.

        Returns
        -------
        polars.DataFrame
            The same.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.to_polars().equals(answer.table())
        True
        """
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that any JSON writer takes.

        Returns
        -------
        dict
            The grade, the base case, every change, and what a reader must know.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.to_dict()["changes"][0]["label"]
        'servers=+1'
        """
        return {
            "trace": {
                "name": self.trace.name,
                "source": str(self.trace.source),
                "num_jobs": len(self.trace),
            },
            "grade": None if self.grade is None else self.grade.to_dict(),
            "no_grade": self.no_grade,
            "likeness": None if self.likeness is None else self.likeness.to_dict(),
            "base": self.base.to_dict(),
            "changes": [outcome.to_dict() for outcome in self.outcomes],
            "resolution_s": self.resolution_s,
            "remarks": list(self.remarks),
        }
