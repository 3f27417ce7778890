"""A result as frames, tables of notebooks and files of other tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpusched.base.libraries import need
from gpusched.base.run_warning import warn
from gpusched.schedules.jobs_file import write_jobs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from gpusched.base.arrays import AnyArray
    from gpusched.clusters.cluster import Cluster
    from gpusched.results.summarising import Summary
    from gpusched.schedules.jobs_table import Jobs
    from gpusched.schedules.schedule import Schedule
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


class Shown:
    """What :class:`~gpusched.results.result.Result` gives to others; it has what is asked here."""

    trace: Trace
    cluster: Cluster
    spec: RunSpec
    schedule: Schedule

    if TYPE_CHECKING:

        @property
        def jobs(self) -> Jobs: ...

        @property
        def intervals(self) -> Mapping[str, AnyArray]: ...

        def summary(self) -> Summary: ...

    def _repr_html_(self) -> str:
        """Return the metrics as a table, for notebooks."""
        from gpusched.results.html_tables import table_of_summaries

        return table_of_summaries([(self.spec.policy, self.summary())], repr(self))

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
        """Return the jobs as an Arrow table; needs the extra ``gpusched[arrow]``.

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
        need("pyarrow", "this", "gpusched[arrow]")
        return self.to_polars().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the jobs as a pandas frame; needs the extra ``gpusched[pandas]``.

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
        need("pandas", "this", "gpusched[pandas]")
        import pandas

        frame = self.to_polars()
        columns: dict[str, Any] = {
            name: self.jobs[name] if name in self.jobs.columns else frame[name].to_list()
            for name in frame.columns
        }
        return pandas.DataFrame(columns)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the jobs as a Parquet file.

        Its texts are Arrow's views: Polars reads them, and pyarrow from 16 on; 14 does not.

        Returns
        -------
        None
            The jobs are in the file; one that was there is replaced only by a whole new one.

        Raises
        ------
        OSError
            If it cannot be written; an old one is still there.

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
            ``"batsim"`` (the ``jobs.csv`` of Batsim) or ``"swf"`` (a log); default: by the ending
            of ``path`` (.json, .csv, .swf).

        Returns
        -------
        None
            The schedule is in the file.

        Raises
        ------
        ValueError
            If the format, an option or its value is unknown.
        OSError
            If the file cannot be written; an old one is still there.

        Warns
        -----
        RunWarning
            For what the format cannot hold.

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
            ``"server"``: a slice on every server that a job holds GPUs of; ``"gpu"``: on each GPU.

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
        """Do as :meth:`export`, and return what the format cannot hold instead of warnings.

        Returns
        -------
        list of str
            A sentence each; none if nothing is lost.

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
        from gpusched.exports.registry import Exported, export

        exported = Exported(self.trace, self.cluster, self.schedule, self.intervals)
        return export(exported, path, format, **options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the jobs to what reads Arrow streams, such as ``pyarrow.table(result)``."""
        return self.to_polars().__arrow_c_stream__(requested_schema)
