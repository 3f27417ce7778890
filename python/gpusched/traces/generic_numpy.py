"""NumPy files: an ``.npz`` of equally long arrays, or an ``.npy`` of one structured array."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np

from gpusched.arrays import AnyArray
from gpusched.rejects import OnBad, Screen
from gpusched.traces.generic import trace_of
from gpusched.traces.registry import Reader, register
from gpusched.traces.source import Source
from gpusched.workload import Trace


def read(source: Source, *, on_bad: OnBad, columns: Mapping[str, str] | None = None) -> Trace:
    """Read a NumPy file without pickled objects; rows are numbered from 0.

    Parameters
    ----------
    columns
        The file's name for each of ours, e.g. ``{"service_s": "length"}``.
    """
    import polars

    arrays = _arrays(source)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise ValueError(f"{source}: the columns must be equally long, not {listed}")
    screen = Screen(str(source), np.arange(max(lengths.values()), dtype=np.int64))
    data = {name: polars.Series(name, array) for name, array in arrays.items()}
    return trace_of(source, screen, data, columns, on_bad)


def _arrays(source: Source) -> dict[str, AnyArray]:
    try:
        loaded = np.load(io.BytesIO(source.data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays = {name: loaded[name] for name in loaded.dtype.names or ()}
        else:
            arrays = {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{source}: damaged NumPy file, or pickled objects: {error}") from None
    if not arrays:
        raise ValueError(f"{source}: there must be named columns (a structured array, or an npz)")
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{source}: column {name!r} must be one-dimensional")
    return arrays


def _recognises(source: Source) -> bool:
    is_zip = source.suffix == ".npz" and source.data.startswith(b"PK")
    return is_zip or source.data.startswith(b"\x93NUMPY")


register(
    Reader("numpy", "NumPy .npz or .npy columns.", _recognises, read, options=("columns",), rank=-1)
)
