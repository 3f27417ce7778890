"""NumPy files: an ``.npz`` of equally long arrays, or an ``.npy`` of one structured array."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.files import MAX_COLUMNS, check_room, too_long, unpacked_limit
from gpusched.base.libraries import polars
from gpusched.base.memory import NoRoomError
from gpusched.base.rejects import Screen
from gpusched.base.source import Source
from gpusched.base.suggest import HintedError
from gpusched.traces.format_registry import TraceFormat, register_trace_format
from gpusched.traces.formats.generic import OPTIONS, Opened, losses, reader_of
from gpusched.traces.intake.column_choice import choose_columns
from gpusched.traces.workload import Trace

_ENCRYPTED: Final = 0x1
# Version 3 differs from 2 only in the encoding of names, which does not affect sizes.
_HEADERS: Final[dict[tuple[int, int], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,
}
_DAMAGE: Final = (
    EOFError, MemoryError, NotImplementedError, OSError, OverflowError, RecursionError,
    SyntaxError, TokenError, TypeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def _open(source: Source, mapped: Mapping[str, str] | None) -> Opened:
    """Read the columns without pickled objects; rows are numbered from 0."""
    arrays = _arrays(source, mapped)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise ValueError(f"{source}: the columns must be equally long, not {listed}")
    screen = Screen(str(source), np.arange(max(lengths.values()), dtype=np.int64))
    data = {name: polars.Series(name, array) for name, array in arrays.items()}
    return screen, data, ()


def _arrays(source: Source, mapped: Mapping[str, str] | None) -> dict[str, AnyArray]:
    try:
        arrays = _members(source, mapped) if source.data.startswith(b"PK") else _fields(source)
    except (HintedError, NoRoomError):
        raise
    except (ValueError, *_DAMAGE) as error:
        raise ValueError(f"{source}: damaged NumPy file, or pickled objects: {error}") from None
    if not arrays:
        raise ValueError(f"{source}: must have named columns (a structured array, or an npz)")
    if len(arrays) > MAX_COLUMNS:
        raise ValueError(f"{source}: {len(arrays):,} columns; at most {MAX_COLUMNS:,} are allowed")
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{source}: column {name!r} must be one-dimensional")
    return arrays


def _fields(source: Source) -> dict[str, AnyArray]:
    whole = _array(source.data)
    return {name: whole[name] for name in whole.dtype.names or ()}


def _members(source: Source, mapped: Mapping[str, str] | None) -> dict[str, AnyArray]:
    """Unpack the members of an archive that has the needed columns, up to the size limit."""
    limit = unpacked_limit(source.num_packed, source.max_bytes)
    members: dict[str, zipfile.ZipInfo] = {}
    arrays: dict[str, AnyArray] = {}
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_COLUMNS:
            raise ValueError(f"{len(entries):,} columns; at most {MAX_COLUMNS:,} are allowed")
        if (declared := sum(entry.file_size for entry in entries)) > limit:
            raise too_long(source, declared, limit)
        check_room(source, declared)
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name in members:
                raise ValueError(f"member {entry.filename!r} occurs twice")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"member {entry.filename!r} has an unknown compression")
            if entry.flag_bits & _ENCRYPTED:
                raise ValueError(f"member {entry.filename!r} is encrypted")
            members[name] = entry
        if members:
            choose_columns(list(members), mapped, source=str(source), of_file=True)
        for name, entry in members.items():
            try:
                arrays[name] = _array(archive.read(entry))
            except (ValueError, *_DAMAGE) as error:
                raise ValueError(f"member {entry.filename!r}: {error}") from None
    return arrays


def _array(data: bytes) -> AnyArray:
    """Decode one ``.npy``; check its header against the data before allocating memory."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read_header = _HEADERS.get(version)
    if read_header is None:
        raise ValueError(f"unknown version {version} of the format")
    shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    if not dtype.itemsize:
        raise ValueError(f"{dtype} has items of 0 bytes, so the number of rows is not limited")
    wanted, there = math.prod(shape) * dtype.itemsize, len(data) - file.tell()
    if min(shape, default=0) < 0 or wanted != there:
        raise ValueError(f"{there:,} bytes do not match shape {shape} of {dtype}")
    # A view needs no further memory.
    return np.ndarray(shape, dtype, data, file.tell())


def _recognises(source: Source) -> bool:
    is_zip = source.suffix == ".npz" and source.data.startswith(b"PK")
    return is_zip or source.data.startswith(b"\x93NUMPY")


def write(trace: Trace, path: Path) -> None:
    """Write all columns of :meth:`gpusched.Trace.to_polars`, with dates if there are any.

    Dates with a zone become texts, since NumPy has no zones.
    """
    with path.open("wb") as file:  # given a path, savez would append an ending
        np.savez(file, **_columns(trace))


def _columns(trace: Trace) -> dict[str, Any]:
    arrays = {}
    for series in trace.to_polars(dates=True):
        if isinstance(series.dtype, polars.Datetime) and series.dtype.time_zone is not None:
            series = series.dt.to_string("%Y-%m-%dT%H:%M:%S%.6f%:z").fill_null("")
        is_text = series.dtype == polars.String
        arrays[series.name] = (
            np.asarray(series.to_list(), dtype=np.str_) if is_text else series.to_numpy()
        )
    return arrays


def _excerpt() -> dict[str, bytes]:
    trace = Trace.from_columns([0, 5.5], [3600, 60], [8, 1], user=["ann", "bob"])
    file = io.BytesIO()
    np.savez(file, **_columns(trace))
    return {"jobs.npz": file.getvalue()}


register_trace_format(
    TraceFormat(
        name="numpy",
        summary="NumPy .npz or .npy columns.",
        source="Any.",
        detection="its first bytes",
        recognises=_recognises,
        read=reader_of(_open),
        excerpt=_excerpt,
        write=write,
        losses=losses,
        endings=("npz",),
        options=OPTIONS,
        rank=-1,
    )
)
