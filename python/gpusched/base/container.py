"""Named arrays and a header in one file that is refused if a single byte of it was changed.

The file is an ``.npz`` archive that NumPy opens, in one canonical form: uncompressed members
without dates, ``manifest.npy`` first, then ``header.npy`` (JSON text) and the arrays in the order
of the manifest. The manifest holds name, type, shape, size and SHA-256 of each member, and a
SHA-256 of itself. From it every other byte of the archive follows, and is compared.

This finds accidents and edits by other software. It does not find a forger, who can compute all
sums anew; readers check ranges and references nevertheless.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.files import read_bytes
from gpusched.base.replacing import write_bytes
from gpusched.base.zip_layout import (
    ENTRY_SIZE,
    MANIFEST,
    MANIFEST_DATA,
    SUFFIX,
    Member,
    directory,
    directory_size,
    entry_of,
    local_head,
    place_of,
    places_of,
)

HEADER: Final = "header"
_MAX_MEMBERS: Final = 1000
_NAME: Final = re.compile(r"[a-z][a-z0-9_.]{0,79}")
_DTYPE: Final = re.compile(r"[<|](?:[iuf][1248]|b1|U[1-9][0-9]{0,8})")
_OLD_HEADER: Final = re.compile(rb'"format":"(gpusched-[a-z]{1,20})","layout":([0-9]{1,4})[,}]')


class Kind(NamedTuple):
    """What a file is: its name, and its layout, which goes up when older versions cannot read it.

    Attributes
    ----------
    format
        Such as ``"gpusched-result"``.
    layout
        The only one that is written and read.
    """

    format: str
    layout: int


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    layout: int
    members: tuple[Member, ...]
    sha256: str


class _Layout(msgspec.Struct):
    format: str
    layout: int


def write(
    path: str | os.PathLike[str], kind: Kind, header: bytes, arrays: Mapping[str, AnyArray]
) -> None:
    """Write a file; one that is already there is replaced only by a complete one.

    Parameters
    ----------
    header
        JSON text.
    arrays
        Numbers, booleans or text by name: lower case letters, digits, ``_`` and ``.``.
    """
    write_bytes(path, _parts(kind, _members_of(header, arrays)))


def encode(kind: Kind, header: bytes, arrays: Mapping[str, AnyArray]) -> bytes:
    """Return what :func:`write` writes."""
    return b"".join(_parts(kind, _members_of(header, arrays)))


def _members_of(header: bytes, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    every: dict[str, AnyArray] = {HEADER: np.frombuffer(header, dtype=np.uint8)}
    for name, array in arrays.items():
        every[name] = _plain(name, array)
    return every


def read(
    path: str | os.PathLike[str], kind: Kind, *, max_bytes: int | None = None
) -> tuple[bytes, dict[str, AnyArray]]:
    """Read the header and the arrays, which are read-only; nothing is decoded before it is checked.

    Parameters
    ----------
    max_bytes
        A longer file is refused before it is read; default: :data:`gpusched.base.files.MAX_BYTES`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is anything else than :func:`write` wrote under this kind; the message names the
        member.
    """
    return decode(read_bytes(path, max_bytes=max_bytes), kind)


def decode(data: bytes, kind: Kind) -> tuple[bytes, dict[str, AnyArray]]:
    """Return what :func:`encode` was given; errors as of :func:`read`."""
    manifest, end = _manifest(data, kind)
    members = manifest.members
    places = list(places_of(members, end))
    last = places[-1].end if places else end
    size = last + directory_size(members)
    if size != len(data):
        change = "it was cut short" if size > len(data) else "something was appended or put in"
        raise ValueError(f"manifest: tells of {size:,} bytes, the file has {len(data):,}: {change}")
    whole = memoryview(data)
    entries = [(f"{MANIFEST}{SUFFIX}", zlib.crc32(whole[ENTRY_SIZE:end]), end - ENTRY_SIZE, 0)]
    arrays: dict[str, AnyArray] = {}
    for member, place in zip(members, places, strict=True):
        content = whole[place.data : place.end]
        if hashlib.sha256(content).hexdigest() != member.sha256:
            raise ValueError(f"{member.name}: does not have the stored SHA-256: it was changed")
        entry = entry_of(member.name, place, content)
        if whole[place.begin : place.data] != local_head(*entry[:3]) + place.head:
            raise ValueError(f"{member.name}: its entry in the archive was changed")
        entries.append(entry)
        dtype = np.dtype(member.dtype)
        count = math.prod(member.shape)
        array: AnyArray = np.frombuffer(data, dtype, count, place.data)
        arrays[member.name] = array.reshape(member.shape)
    if whole[last:] != b"".join(directory(entries, last)):
        raise ValueError("the archive's directory was changed")
    if HEADER not in arrays or arrays[HEADER].dtype != np.uint8:
        raise ValueError("it has no header")
    return arrays.pop(HEADER).tobytes(), arrays


def archived(members: Iterable[tuple[str, AnyArray]]) -> Iterator[bytes | memoryview]:
    """The archive of ``members`` piece by piece, the manifest being one of them."""
    entries, end = [], 0
    for name, array in members:
        content = array.reshape(-1).view(np.uint8).data
        place = place_of(f"{name}{SUFFIX}", array.dtype.str, array.shape, array.nbytes, end)
        entries.append(entry_of(name, place, content))
        yield local_head(*entries[-1][:3]) + place.head
        yield content
        end = place.end
    yield from directory(entries, end)


def _plain(name: str, array: AnyArray) -> AnyArray:
    values = np.asarray(array)
    dtype = values.dtype.newbyteorder("<")
    if not _DTYPE.fullmatch(dtype.str):
        raise ValueError(f"member {name!r}: {dtype} must be plain numbers or text")
    plain: AnyArray = np.ascontiguousarray(values).reshape(values.shape)
    return plain.astype(dtype, copy=False)


def _parts(kind: Kind, arrays: Mapping[str, AnyArray]) -> Iterator[bytes | memoryview]:
    """The file piece by piece."""
    contents = {name: array.reshape(-1).view(np.uint8).data for name, array in arrays.items()}
    members = tuple(
        Member(
            name, array.dtype.str, array.shape, array.nbytes,
            hashlib.sha256(contents[name]).hexdigest(),
        )
        for name, array in arrays.items()
    )  # fmt: skip
    _check_members(members)
    encoded = _signed(_Manifest(kind.format, kind.layout, members, ""))
    yield from archived({MANIFEST: np.frombuffer(encoded, np.uint8), **arrays}.items())


def _signed(manifest: _Manifest) -> bytes:
    unsigned = msgspec.json.encode(msgspec.structs.replace(manifest, sha256=""))
    sha256 = hashlib.sha256(unsigned).hexdigest()
    return msgspec.json.encode(msgspec.structs.replace(manifest, sha256=sha256))


def _manifest(data: bytes, kind: Kind) -> tuple[_Manifest, int]:
    """Return the manifest, once it is known to be whole, and where it ends."""
    name = f"{MANIFEST}{SUFFIX}"
    if data[30 : 30 + len(name)] != name.encode() or len(data) < MANIFEST_DATA:
        raise _foreign(data, kind)
    (size,) = struct.unpack_from("<Q", data, 30 + len(name) + 4)
    num_bytes = size - (MANIFEST_DATA - ENTRY_SIZE)
    if not 0 < num_bytes <= len(data) - MANIFEST_DATA:
        raise ValueError("manifest: its entry in the archive was changed, or the file cut short")
    place = place_of(name, "|u1", (num_bytes,), num_bytes, 0)
    encoded = data[place.data : place.end]
    if data[: place.data] != local_head(*entry_of(MANIFEST, place, encoded)[:3]) + place.head:
        raise ValueError("manifest: it, or its entry in the archive, was changed")
    try:
        known = msgspec.json.decode(encoded, type=_Layout)
        _check_kind(f"{MANIFEST}: ", known.format, known.layout, kind)
        manifest = msgspec.json.decode(encoded, type=_Manifest, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"manifest: {error}") from None
    if _signed(manifest) != encoded:
        raise ValueError("manifest: does not have the stored SHA-256: it was changed")
    _check_members(manifest.members)
    return manifest, place.end


def _foreign(data: bytes, kind: Kind) -> ValueError:
    """Say what a file is that has no manifest where it must be."""
    old = _OLD_HEADER.search(data)
    if old is not None and data.startswith(b"PK"):
        try:
            _check_kind("", old[1].decode(), int(old[2]), kind)
        except ValueError as error:
            return error
    if not data.startswith(b"PK"):
        return ValueError(f"it is no .npz archive, so no {kind.format}")
    return ValueError(
        f"manifest: does not begin the archive; it is no {kind.format}, or was written anew by "
        "other software"
    )


def _check_kind(where: str, format: str, layout: int, kind: Kind) -> None:
    if format != kind.format:
        raise ValueError(f"{where}it is a {format!r}, not a {kind.format!r}")
    if layout != kind.layout:
        raise ValueError(
            f"{where}it has layout {layout}, this version of gpusched reads {kind.layout}"
        )


def _check_members(members: Sequence[Member]) -> None:
    """Check what the layout of the file is computed from."""
    if len(members) > _MAX_MEMBERS:
        raise ValueError(f"manifest: {len(members):,} members are more than {_MAX_MEMBERS:,}")
    seen = {MANIFEST}
    for member in members:
        where = f"manifest, member {member.name[:80]!r}"
        if not _NAME.fullmatch(member.name):
            raise ValueError(f"{where}: is not a name")
        if member.name in seen:
            raise ValueError(f"{where}: is there twice")
        seen.add(member.name)
        if not _DTYPE.fullmatch(member.dtype) or np.dtype(member.dtype).str != member.dtype:
            raise ValueError(f"{where}: dtype {member.dtype[:20]!r} must be plain numbers or text")
        if len(member.shape) > 8 or any(length < 0 for length in member.shape):
            raise ValueError(f"{where}: shape {str(member.shape)[:80]} is not a shape")
        if math.prod(member.shape) * np.dtype(member.dtype).itemsize != member.num_bytes:
            raise ValueError(
                f"{where}: {member.num_bytes} bytes do not hold {member.shape} of {member.dtype}"
            )
