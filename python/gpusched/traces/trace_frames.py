"""Traces from the frames of Polars and pandas, and as such."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from gpusched.traces import frames
from gpusched.traces.trace_columns import TraceColumns

if TYPE_CHECKING:
    import polars


class TraceFrames(TraceColumns):
    """How a :class:`~gpusched.traces.workload.Trace` is made of a frame, and becomes one."""

    if TYPE_CHECKING:

        @classmethod
        def from_columns(cls, *columns: Any, **options: Any) -> Self: ...

    @classmethod
    def from_polars(
        cls, frame: polars.DataFrame, columns: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Build a trace from a Polars frame (``.collect()`` a lazy one).

        Parameters
        ----------
        columns
            The frame's name for each of ours, e.g. ``{"service_s": "length"}``. Columns that have
            our names, or others that are usual (``duration``, ``num_gpus`` ...), are taken without
            being listed; so is ``interarrival_s``, the time since the row before, in place of
            ``submit_s``. Those that are not taken are named in :attr:`notes`. A result's frame
            is one of jobs, too: what ``"finished"`` there has the status ``"ok"``, and the others
            ``"unknown"``.
        options
            ``name``, ``epoch``, ``on_bad``, ``profiles`` and ``graphs`` as in
            :meth:`from_columns`; the frame's column ``profile`` is taken only with ``profiles``,
            and ``graph`` only with ``graphs``.

        Returns
        -------
        Trace
            The jobs, sorted by submission; :attr:`notes` names columns that were not used.

        Raises
        ------
        TypeError, ValueError
            As :meth:`from_columns`, or if two columns could be the same one of ours.

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"submit": [0, 5], "length": [60, 9], "num_gpus": [8, 1]})
        >>> gs.Trace.from_polars(frame, {"service_s": "length"}).service_s.tolist()
        [60.0, 9.0]
        """
        taken, notes = frames.columns_of_polars(frame, columns, models=_models(options))
        return dataclasses.replace(cls.from_columns(**taken, **options), notes=notes)

    @classmethod
    def from_pandas(
        cls, frame: Any, columns: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Build a trace from a ``pandas.DataFrame``; parameters as in :meth:`from_polars`.

        Returns
        -------
        Trace
            The jobs, sorted by submission.

        Raises
        ------
        TypeError, ValueError
            As :meth:`from_polars`.

        Examples
        --------
        >>> import pandas
        >>> frame = pandas.DataFrame({"submit": [0, 5], "duration": [60, 9], "num_gpus": [8, 1]})
        >>> gs.Trace.from_pandas(frame).gpus.tolist()
        [8, 1]
        """
        taken, notes = frames.columns_of_pandas(frame, columns, models=_models(options))
        return dataclasses.replace(cls.from_columns(**taken, **options), notes=notes)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the columns to what reads Arrow streams, such as ``pyarrow.table(trace)``."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """Return the columns under the names of :meth:`from_columns`, and row.

        Returns
        -------
        polars.DataFrame
            Times in seconds; values that were not given are null.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> jobs.to_polars()["service_s"].to_list()
        [60.0, 9.0, 9.0]
        """
        return frames.polars_of(self)


def _models(options: Mapping[str, Any]) -> list[str]:
    """Name the columns of a frame that say which of the models in ``options`` a job has."""
    return [column for column in ("profile", "graph") if f"{column}s" in options]
