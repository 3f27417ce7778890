"""The results of several policies on one workload: :class:`Comparison`."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import Bool
from gpusched.results.run_window import RunWindow
from gpusched.schedules.jobs_table import write_jobs
from gpusched.studies.comparison_answers import ComparisonAnswers

if TYPE_CHECKING:
    import polars as pl

    from gpusched.clusters.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False)
class Comparison(ComparisonAnswers):
    """The results of several policies on one workload.

    Attributes
    ----------
    trace, cluster
        What all of them ran on.
    results
        One :class:`~gpusched.results.result.Result` per policy, by its canonical text, in the
        order asked.
    unfinished
        Policies that an interrupt or a stop cut off; empty otherwise.
    failed
        The errors of policies that failed.
    window
        The part of the runs that tables, breakdowns and the report are of; None: all of it.
    """

    trace: Trace
    cluster: Cluster
    results: Mapping[str, Result]
    unfinished: tuple[str, ...] = ()
    failed: Mapping[str, Exception] = field(default_factory=dict)
    window: RunWindow | None = None
    _ready: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    @property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """``Result.summary()`` of each policy, in the window."""
        for label, result in self.results.items():
            if label not in self._ready:
                self._ready[label] = result.summary(**self._cuts)
        return {label: dict(self._ready[label]) for label in self.results}

    def without_summary(self) -> tuple[str, ...]:
        """Name policies that had finished, but whose summary an interrupt or a stop cut off.

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

    def _repr_html_(self) -> str:
        """Return a table with a row for each policy, for notebooks."""
        from gpusched.results.shown_metrics import table_of_summaries

        where = f"{self.trace.name}: {len(self.trace):,} jobs on {self.cluster}"
        return table_of_summaries(list(self.summaries.items()), where)

    def select(self, labels: Collection[str]) -> Comparison:
        """Return the comparison of some of the policies.

        Returns
        -------
        Comparison
            Their results, in the order in which they were; unknown labels are passed over.

        Raises
        ------
        TypeError
            If ``labels`` is no collection.

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
        """Return the same runs, measured after a warm-up and before a tail.

        Parameters
        ----------
        warm_up_s, tail_s
            As for :meth:`gpusched.Result.summary`; None and None are the whole runs.

        Returns
        -------
        Comparison
            Of the same results; the runs are not done again.

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
        """Which jobs are submitted in the window: bool, one for each job."""
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
        import polars as pl

        rows = [summary | {"policy": label} for label, summary in self.summaries.items()]
        return pl.from_dicts(rows, infer_schema_length=None)

    def jobs(self) -> pl.DataFrame:
        """Return the jobs of every policy below each other, led by a ``policy`` column.

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
        import polars as pl

        from gpusched.schedules.jobs_table import trace_series

        labels = pl.Enum(list(self.results))
        of_trace = trace_series(self.trace)
        frames = [
            result.jobs.frame(of_trace).insert_column(0, _constant(label, labels, len(self.trace)))
            for label, result in self.results.items()
        ]
        return pl.concat(frames)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`jobs` as one Parquet file, compressed by LZ4.

        Its rows are as many as jobs times policies: Zstandard takes three times as long to make
        such a file a quarter smaller. Its texts are Arrow's views: Polars reads them,
        and pyarrow from 16 on; 14 does not.

        Returns
        -------
        None
            The file is there, with all its rows, when this returns.

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
        """Give :meth:`jobs` to what reads Arrow streams, such as ``pyarrow.table(comparison)``."""
        return self.jobs().__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, Any]:
        """Return everything the tables show, as plain values that any JSON writer takes.

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


def _constant(label: str, dtype: pl.Enum, length: int) -> pl.Series:
    import polars as pl

    return pl.repeat(label, length, dtype=dtype, eager=True).alias("policy")


def _plain(value: Any) -> Any:
    """NumPy scalars as Python values, and NaN or infinity, which JSON does not have, as None."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
