"""Trained models as files: one ``.npz`` archive of plain arrays with a JSON header, no pickle.

Nothing in such a file is ever run. A file is refused unless each array has the type, shape and
range that its place demands and all of it has the checksum that is stored with it.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from gpusched.arrays import AnyArray

LAYOUT: Final = 1
"""Goes up when the files change so that older versions cannot read them."""
_SUFFIX: Final = ".npy"


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of itself: the predictor as text, and the names of the labels."""

    format: Literal["gpusched-predictor"]
    layout: int
    predictor: str
    names: dict[str, tuple[str, ...]]
    features: tuple[str, ...]
    sha256: str


class _Layout(msgspec.Struct):
    format: str
    layout: int


def write_model(
    path: str | os.PathLike[str],
    predictor: str,
    names: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    features: tuple[str, ...] = (),
) -> None:
    """Write a model; a file that is already there is replaced only by a complete one."""
    header = Header("gpusched-predictor", LAYOUT, predictor, dict(names), features, "")
    header = msgspec.structs.replace(header, sha256=_checksum(header, arrays))
    encoded = np.frombuffer(msgspec.json.encode(header), dtype=np.uint8)
    target = Path(path)
    partial = target.with_name(f"{target.name}.part")
    try:
        with open(partial, "wb") as file:
            np.savez(file, allow_pickle=False, **{**arrays, "header": encoded})
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def read_model(path: str | os.PathLike[str]) -> tuple[Header, dict[str, AnyArray]]:
    """Read the header and the arrays, whose types and shapes the caller has still to check.

    Raises
    ------
    ValueError
        If the file is anything else, or was changed.
    """
    data = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            arrays = {
                entry.filename.removesuffix(_SUFFIX): _array(archive, entry)
                for entry in archive.infolist()
            }
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise ValueError(f"it is no .npz archive, or is damaged: {error}") from error
    if "header" not in arrays:
        raise ValueError("it has no header")
    encoded = arrays.pop("header").tobytes()
    known = msgspec.json.decode(encoded, type=_Layout)
    if known.format != "gpusched-predictor":
        raise ValueError(f"header: it is a {known.format!r}")
    if known.layout != LAYOUT:
        raise ValueError(
            f"header: it has layout {known.layout}, this version of gpusched reads {LAYOUT}"
        )
    header = msgspec.json.decode(encoded, type=Header, strict=True)
    if _checksum(header, arrays) != header.sha256:
        raise ValueError("its contents do not have the stored checksum: it was changed")
    return header, arrays


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> AnyArray:
    """Read one array whose size the size of the file bounds: no compression, no objects."""
    name = entry.filename
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 0x1:
        raise ValueError(f"{name} is compressed or encrypted")
    if not name.endswith(_SUFFIX):
        raise ValueError(f"{name} is no array")
    data = archive.read(entry)  # verifies the CRC
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{name} is no array of this format")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "iuf" or (is_fortran and len(shape) > 1):
        raise ValueError(f"{name} holds {dtype}, not plain numbers row by row")
    count = 1
    for length in shape:
        count *= int(length)
    begin = file.tell()
    if count < 0 or count * dtype.itemsize != len(data) - begin:
        raise ValueError(f"{name} does not hold {shape} numbers")
    return np.frombuffer(data, dtype, count, begin).reshape(shape)


def _checksum(header: Header, arrays: Mapping[str, AnyArray]) -> str:
    sha = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(header, sha256="")))
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        sha.update(array.data)
    return sha.hexdigest()
