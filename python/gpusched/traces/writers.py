"""Write traces to files."""

from __future__ import annotations

import os
from pathlib import Path

from gpusched.base.replacing import replacing
from gpusched.base.run_warning import warn
from gpusched.base.suggest import nearest
from gpusched.traces.format_registry import TraceFormat, trace_formats
from gpusched.traces.workload import Trace


def write_trace(trace: Trace, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write ``trace`` to a file that :func:`gpusched.read_trace` can read.

    Warns RunWarning if the format cannot hold something: rounded times, names that became numbers.

    ``format``: ``"csv"``, ``"parquet"``, ``"npz"``, ``"swf"`` or another writable format, by name
        or ending; default: the ending of ``path``. CSV, Parquet and npz have the columns of
        ``Trace.to_polars``, with dates if the trace has an epoch. SWF has whole seconds: times are
        rounded half to even, shorter runs to 1 s; users, groups and queues become numbers.
    """
    target = Path(path)
    known = _format_of(target, format)
    assert known.write is not None
    with replacing(target) as partial:
        known.write(trace, partial)
    warn(_losses(known, trace), stacklevel=2)


def losses(trace: Trace, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """Return what :func:`write_trace` would lose with these arguments, a sentence each."""
    return _losses(_format_of(Path(path), format), trace)


def _losses(known: TraceFormat, trace: Trace) -> list[str]:
    return [] if known.losses is None else known.losses(trace)


def _format_of(target: Path, format: str | None) -> TraceFormat:
    name = format if format is not None else target.suffix.lower().removeprefix(".")
    formats = [known for known in trace_formats().values() if known.endings]
    by_ending = {ending: known for known in formats for ending in known.endings}
    found = (by_ending | {known.name: known for known in formats}).get(name)
    if found is None:
        where = "format" if format is not None else os.fspath(target)
        raise ValueError(f"{where}: unknown format {name!r}{nearest(name, list(by_ending))}")
    return found
