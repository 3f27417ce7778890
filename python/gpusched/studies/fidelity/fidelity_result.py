"""What :func:`gpusched.fidelity` found: base cases, and the nearest beside what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.ticks import us_to_seconds
from gpusched.studies.fidelity import fidelity_texts
from gpusched.studies.fidelity.base_cases import BaseCase
from gpusched.studies.fidelity.grades import Grade
from gpusched.studies.fidelity.likeness import settled, simulated_changes, simulated_waits
from gpusched.studies.fidelity.own_starts import OwnStarts, Window

if TYPE_CHECKING:
    import polars as pl

    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity:
    """How near simulated base cases come to what happened.

    Attributes
    ----------
    trace
        Whose own starts were compared with.
    cases
        The base cases, the nearest first.
    result
        The run of the nearest.
    peak_gpus
        The most GPUs in use at once by the trace's own starts: the capacity was no smaller.
    resolution_s
        Waits below this counted as none.
    remarks
        What a reader must know: what was left out, and what limits the comparison.
    """

    trace: Trace
    cases: tuple[BaseCase, ...]
    result: Result
    peak_gpus: int
    resolution_s: float
    remarks: tuple[str, ...]
    _own: OwnStarts
    _window: Window

    @property
    def best(self) -> BaseCase:
        """The nearest base case."""
        return self.cases[0]

    @property
    def grade(self) -> Grade:
        """Its grade, which every what-if on it carries."""
        return self.best.grade

    @property
    def warm_up_s(self) -> float:
        """How much of the submissions was left out at the front, seconds."""
        return self._window.warm_up_s

    @property
    def tail_s(self) -> float:
        """How much was left out at the end, seconds."""
        return self._window.tail_s

    def __repr__(self) -> str:
        return f"Fidelity({self.trace.name!r}: {self.best.name}, grade {self.grade.letter})"

    def __str__(self) -> str:
        return "\n".join(
            fidelity_texts.lines(self.trace, self.cases, self.peak_gpus, self.jobs(), self.remarks)
        )

    def table(self) -> pl.DataFrame:
        """Return one row per base case, the nearest first.

        Returns
        -------
        polars.DataFrame
            Policy, placement and capacity, the distances and the letter of the grade.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.table().height == len(found.cases)
        True
        """
        import polars as pl

        rows = [case.to_dict() for case in self.cases]
        for row in rows:
            row["grade"] = row["grade"]["letter"]
            del row["wait_quantiles_s"], row["own_wait_quantiles_s"]
        return pl.from_dicts(rows, infer_schema_length=None)

    def to_polars(self) -> pl.DataFrame:
        """Return :meth:`table`.

        Returns
        -------
        polars.DataFrame
            The same.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.to_polars().equals(found.table())
        True
        """
        return self.table()

    def jobs(self) -> pl.DataFrame:
        """Return the jobs compared, with their own waits and those of the nearest base case.

        Returns
        -------
        polars.DataFrame
            Columns id, row, user (if the trace has users), submit_s, gpus, own_wait_s, wait_s and
            difference_s (simulated - own, null if the simulation never started the job), those
            whose waits differ most first.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.jobs()["difference_s"].abs().max()
        0.0
        """
        import polars as pl

        trace, compared = self.trace, self._window.compared
        own_s = settled(self._own.wait_us[compared], self.resolution_s)
        wait_s = simulated_waits(self.result, compared, self.resolution_s)
        columns: dict[str, Any] = {
            "id": trace.id[compared].tolist(),
            "row": trace.row[compared],
            "submit_s": trace.submit_s[compared],
            "gpus": trace.gpus[compared],
            "own_wait_s": own_s,
            "wait_s": wait_s,
            "difference_s": wait_s - own_s,
        }
        if trace.user is not None:
            columns["user"] = trace.user.take(compared).values().tolist()
        order = np.argsort(-np.abs(wait_s - own_s), kind="stable")
        infinite = pl.col("wait_s", "difference_s")
        frame = pl.DataFrame(columns)[order]
        return frame.with_columns(pl.when(infinite.is_finite()).then(infinite).name.keep())

    def allocation(self) -> pl.DataFrame:
        """Return the GPUs in use over time, of the trace and of the nearest base case.

        Jobs without a start of their own are in neither.

        Returns
        -------
        polars.DataFrame
            Columns time_s, own_gpus and gpus: each row holds until the next.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.allocation().rows()[-1]
        (1200.0, 0.0, 0.0)
        """
        import polars as pl

        own_us, own_change = self._own.changes
        time_us, change = simulated_changes(self.result, self._own)
        instants = np.unique(np.concatenate((own_us, time_us)))

        def level(times: Any, changes: Any) -> Any:
            at = np.searchsorted(instants, times)
            return np.cumsum(np.bincount(at, changes, len(instants))).round(6)

        return pl.DataFrame(
            {
                "time_s": us_to_seconds(instants),
                "own_gpus": level(own_us, own_change),
                "gpus": level(time_us, change),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that any JSON writer takes.

        Returns
        -------
        dict
            The grade, every base case, and what was left out.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.to_dict()["trace"]["num_with_starts"]
        20
        """
        return {
            "trace": {
                "name": self.trace.name,
                "source": str(self.trace.source),
                "num_jobs": len(self.trace),
                "num_with_starts": int(np.count_nonzero(self._own.is_known)),
                "peak_gpus": self.peak_gpus,
            },
            "warm_up_s": self.warm_up_s,
            "tail_s": self.tail_s,
            "resolution_s": self.resolution_s,
            "grade": self.grade.to_dict(),
            "cases": [case.to_dict() for case in self.cases],
            "remarks": list(self.remarks),
        }
