"""A trace as its readers see it: a line, tables of a notebook, its facts."""

from __future__ import annotations

from typing import Any, Final

from gpusched.base.ticks import us_to_seconds
from gpusched.traces import trace_facts
from gpusched.traces.trace_columns import TraceColumns

_SHOWN_JOBS: Final = 5


class TraceViews(TraceColumns):
    """What a :class:`~gpusched.traces.workload.Trace` tells of itself."""

    def __repr__(self) -> str:
        if not len(self):
            return f"Trace({self.name!r}: no job)"
        span_s = us_to_seconds(self.span_us)
        span = f"{span_s / 86400:,.1f} days" if span_s >= 86400 else f"{span_s:,.0f} s"
        rejected = f", {self.rejects.total:,} rows rejected" if self.rejects else ""
        return (
            f"Trace({self.name!r}: {len(self):,} jobs over {span}, {int(self.gpus.min()):,} to "
            f"{int(self.gpus.max()):,} GPUs wide, {self.gpu_seconds / 3600:,.1f} GPU hours"
            f"{rejected})"
        )

    def _repr_html_(self) -> str:
        """Return the facts of the trace and its first jobs as tables, for notebooks."""
        from gpusched.base.tables import html_page, table

        first = self.head(_SHOWN_JOBS)
        shown = ("submit_s", "service_s", "gpus")
        rows = [
            [str(first.id[job]), *(f"{getattr(first, name)[job]:g}" for name in shown)]
            for job in range(len(first))
        ]
        if len(self) > len(first):
            rows.append(["...", f"{len(self) - len(first):,} more", "", ""])
        return html_page(repr(self), table("", ["id", *shown], rows).to_html())

    def describe(self) -> dict[str, Any]:
        """Return the facts that a reader of the trace wants first.

        Returns
        -------
        dict
            Times are seconds; percentiles are nearest-rank.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> jobs.describe()["num_jobs"]
        3
        """
        return trace_facts.describe(self)
