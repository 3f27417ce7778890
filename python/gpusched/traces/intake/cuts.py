"""Parts of a trace: by time, by a condition on its columns, and by chance."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

import numpy as np

from gpusched.base.arrays import Bool
from gpusched.base.draws import SAMPLES, check_seed, uniform
from gpusched.base.suggest import nearest
from gpusched.base.ticks import us_to_seconds
from gpusched.traces import checked_columns as check
from gpusched.traces.frames import polars_of
from gpusched.traces.intake.wall_clock import is_iso
from gpusched.traces.trace_columns import TraceColumns

_TICK: Final = timedelta(microseconds=1)


class TraceCuts(TraceColumns):
    """Which parts of a :class:`~gpusched.traces.workload.Trace` can be taken."""

    def between(self, start_s: Any = None, end_s: Any = None) -> Self:
        """Return the jobs submitted in ``[start_s, end_s)``; their times stay as they are.

        Parameters
        ----------
        start_s, end_s
            Seconds on the clock of the trace, whose second 0 is the first submit of a file; or,
            where :attr:`epoch` is known, a moment, as a ``datetime`` or an ISO 8601 text. None:
            from the first, to the last.

        Returns
        -------
        Trace
            Those jobs.

        Raises
        ------
        TypeError, ValueError
            If one is neither, or no job is left.

        Examples
        --------
        >>> trace = gs.generate("philly", 2_000, seed=1)
        >>> len(trace.between(0, 86_400)) < len(trace)
        True
        """
        return self.filter(submitted_within(self, start_s, end_s))

    def filter(self, mask: Any) -> Self:
        """Return the jobs for which ``mask`` is true.

        Parameters
        ----------
        mask
            One boolean per job, none of which may be missing; or a condition in the SQL of Polars
            on the columns of :meth:`gpusched.Trace.to_polars`: ``"gpus >= 8 and user != 'x'"``.

        Returns
        -------
        Trace
            Those jobs; :attr:`source` tells the condition.

        Raises
        ------
        TypeError, ValueError
            If it is neither, or no job is left.

        Examples
        --------
        >>> users = ["ann", "bob", "x"]
        >>> trace = gs.Trace.from_columns([0, 5, 9], [60, 60, 60], [1, 8, 16], user=users)
        >>> trace.filter("gpus >= 8 and user != 'x'").gpus.tolist()
        [8]
        >>> trace.filter(trace.gpus >= 8).gpus.tolist()
        [8, 16]
        """
        if isinstance(mask, str):
            taken = self.filter(fulfilling(self, mask))
            return dataclasses.replace(taken, source=f"{self.source}; filtered by {mask}")
        chosen = np.asarray(mask)
        if np.ma.is_masked(mask):
            raise ValueError("filter: the mask must not be masked itself")
        if chosen.dtype != np.bool_:
            raise TypeError(f"filter: the mask must hold booleans, not {chosen.dtype}")
        if chosen.shape != self.submit_us.shape:
            raise ValueError(f"filter: the mask has shape {chosen.shape}, not ({len(self)},)")
        if not chosen.any():
            raise ValueError(f"{self.name}: no jobs are left")
        return self._take(chosen)

    def sample(self, fraction: float, seed: int = 0) -> Self:
        """Return about this part of the jobs, each drawn with the same chance.

        The load falls with it; :meth:`with_load` sets it again. :attr:`source` tells of the draw.

        Parameters
        ----------
        fraction
            Above 0 and at most 1.
        seed
            0 or more. What is drawn for a job depends on the seed and on its ``row`` only.

        Returns
        -------
        Trace
            Those that were drawn; :attr:`source` tells the draw.

        Raises
        ------
        TypeError, ValueError
            If an argument is out of range, or no job is left.

        Examples
        --------
        >>> trace = gs.generate("philly", 2_000, seed=1)
        >>> 100 < len(trace.sample(0.1, seed=3)) < 300
        True
        """
        taken = self.filter(drawn(self, fraction, seed))
        how = f"{fraction:g} of the jobs drawn (seed {seed})"
        return dataclasses.replace(taken, source=f"{self.source}; {how}")


def submitted_within(trace: TraceColumns, start: Any, end: Any) -> Bool:
    """Return which jobs were submitted in ``[start, end)``.

    Parameters
    ----------
    start, end
        Seconds on the clock of the trace; or a moment, as a ``datetime`` or an ISO 8601 text;
        None: from the first, to the last.

    Raises
    ------
    TypeError, ValueError
        If one is neither, or a moment on a trace without dates; or the end lies before the start.
    """
    inside: Bool = np.ones(len(trace), dtype=np.bool_)
    first = None if start is None else _seconds(trace, "from", start)
    last = None if end is None else _seconds(trace, "to", end)
    if first is not None and last is not None and last < first:
        raise ValueError(f"to: {end} must not lie before {start}")
    submit_s = trace.submit_s
    if first is not None:
        inside &= submit_s >= first
    if last is not None:
        inside &= submit_s < last
    return inside


def _seconds(trace: TraceColumns, which: str, given: Any) -> float:
    """Return seconds on the clock of the trace."""
    if isinstance(given, str):
        given = _moment(which, given)
    if isinstance(given, datetime):
        return us_to_seconds(_ticks(trace, which, given))
    if isinstance(given, bool) or not isinstance(given, int | float | np.integer | np.floating):
        raise TypeError(f"{which}: {given!r} must be seconds, a datetime or an ISO 8601 text")
    if math.isnan(given):
        raise ValueError(f"{which}: {given!r} must be a number of seconds")
    return float(given)


def _moment(which: str, text: str) -> datetime | float:
    try:
        return datetime.fromisoformat(text.strip()) if is_iso(text) else float(text)
    except ValueError:
        raise ValueError(
            f"{which}: {text!r} must be seconds, or a time like 2024-05-01T09:00"
        ) from None


def _ticks(trace: TraceColumns, which: str, moment: datetime) -> int:
    if trace.epoch is None:
        raise ValueError(
            f"{which}: {moment}: {trace.name} has seconds without a date; name seconds"
        )
    epoch = trace.epoch
    if epoch.tzinfo is None and moment.tzinfo is not None:
        raise ValueError(f"{which}: {moment}: {trace.name} has dates without a zone; name none")
    if epoch.tzinfo is not None and moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - epoch) // _TICK


def fulfilling(trace: TraceColumns, condition: str) -> Bool:
    """Return the jobs for which a condition in SQL holds; one on a missing value does not.

    Parameters
    ----------
    condition
        On the columns of :meth:`gpusched.Trace.to_polars`, in the SQL of Polars:
        ``"gpus >= 8 and user != 'x'"``.

    Raises
    ------
    ValueError
        If it cannot be read, names another column, or is no condition.
    """
    import polars

    frame = polars_of(trace)
    try:
        names = dict.fromkeys((*frame.columns, *check.ALL))
        wanted = polars.sql_expr(_with_quoted_names(condition, list(names)))
        unknown = sorted({*wanted.meta.root_names()} - {*frame.columns})
        if unknown:
            known = nearest(unknown[0], frame.columns)
            raise ValueError(f"filter: there is no column {unknown[0]!r}{known}")
        found = frame.select(wanted.alias("wanted"))["wanted"]
    except polars.exceptions.PolarsError as error:
        told = str(error).splitlines()[0]
        raise ValueError(f"filter: {condition!r} cannot be read: {told}") from None
    if found.dtype != polars.Boolean:
        raise ValueError(f"filter: {condition!r} must be a condition, such as gpus >= 8")
    if len(found) == 1:
        found = found.new_from_index(0, frame.height)
    chosen: Bool = found.fill_null(False).to_numpy()
    return chosen


def _with_quoted_names(condition: str, names: Sequence[str]) -> str:
    """Quote the names of columns, as some of them, such as ``user``, are words of SQL."""
    known = "|".join(map(re.escape, names))
    parts = re.compile(rf"'(?:[^']|'')*'|\"[^\"]*\"|;|\b({known})\b(?!\s*\()")

    def quoted(part: re.Match[str]) -> str:
        if part[0] == ";":  # what follows it is left out by some versions of Polars
            raise ValueError(f"filter: {condition!r} cannot be read: it must be one condition")
        return f'"{part[1]}"' if part[1] else part[0]

    return parts.sub(quoted, condition)


def drawn(trace: TraceColumns, fraction: float, seed: int) -> Bool:
    """Draw each job with the same chance; what is drawn for it depends on seed and row alone.

    Raises
    ------
    TypeError, ValueError
        If the fraction is not above 0 and at most 1, or the seed no integer of 0 or more.
    """
    if isinstance(fraction, bool) or not isinstance(fraction, int | float | np.floating):
        raise TypeError(f"sample: {fraction!r} must be a number")
    if not 0 < fraction <= 1:
        raise ValueError(f"sample: {fraction!r} must be above 0 and at most 1")
    return uniform(check_seed(seed), SAMPLES, trace.row) < fraction


def told(before: TraceColumns, after: TraceColumns, how: Mapping[str, Any]) -> str:
    """Say in a sentence what a cut left of the jobs, and of their GPU time."""
    share = after.gpu_seconds / before.gpu_seconds
    named = ", ".join(f"{what} {value}" for what, value in how.items())
    return (
        f"{named}: {len(after):,} of {len(before):,} jobs, {100 * share:.1f} % of their GPU hours"
    )
