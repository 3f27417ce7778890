"""Named arrays and a header in one file that rejects any changed byte.

The file is an ``.npz`` archive that NumPy opens, in one canonical form: uncompressed members
without dates, ``manifest.npy`` first, then ``header.npy`` (JSON text) and the arrays in the order
of the manifest. The manifest holds name, type, shape, size and SHA-256 of each member, and a
SHA-256 of itself. It determines every other byte of the archive, which is compared.

This finds accidents and edits by other software, but not forged checksums; readers also check
ranges and references.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.files import read_bytes
from gpusched.base.replacing import write_bytes

HEADER: Final = "header"
MANIFEST: Final = "manifest"
_MAX_MEMBERS: Final = 1000
_NAME: Final = re.compile(r"[a-z][a-z0-9_.]{0,79}")
_DTYPE: Final = re.compile(r"[<|](?:[iuf][1248]|b1|U[1-9][0-9]{0,8})")
_OLD_HEADER: Final = re.compile(rb'"format":"(gpusched-[a-z]{1,20})","layout":([0-9]{1,4})[,}]')
# All sizes are in 64-bit extra fields, so that there is only one form.
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_LOCAL_EXTRA: Final = struct.Struct("<HHQQ")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_CENTRAL_EXTRA: Final = struct.Struct("<HHQQQ")
_END: Final = struct.Struct("<4sQ2H2L4Q4sLQL4s4H2LH")
_VERSION: Final = 45
_DATE: Final = 1 << 5 | 1  # the first day of 1980
_FILLED: Final = 0xFFFFFFFF  # the value is in the extra field
_ALIGNMENT: Final = 64  # of the data of each array in the file


class Kind(NamedTuple):
    """The format of a file, and its layout, which increases when older versions cannot read it.

    ``format``: such as ``"gpusched-result"``.
    ``layout``: the only layout that is written and read.
    """

    format: str
    layout: int


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An array's entry in the manifest."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    num_bytes: int
    sha256: str


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
    """Write a file atomically.

    ``header``: JSON text.
    ``arrays``: numbers, booleans or text by name: lower case letters, digits, ``_`` and ``.``.
    """
    write_bytes(path, _parts(kind, _members_of(header, arrays)))


def encode(kind: Kind, header: bytes, arrays: Mapping[str, AnyArray]) -> bytes:
    """Return the bytes that :func:`write` writes."""
    return b"".join(_parts(kind, _members_of(header, arrays)))


def _members_of(header: bytes, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    every: dict[str, AnyArray] = {HEADER: np.frombuffer(header, dtype=np.uint8)}
    for name, array in arrays.items():
        every[name] = _plain(name, array)
    return every


def read(
    path: str | os.PathLike[str], kind: Kind, *, max_bytes: int | None = None
) -> tuple[bytes, dict[str, AnyArray]]:
    """Read the header and the read-only arrays; check everything before decoding.

    ``max_bytes``: largest size of the file; default: :data:`gpusched.base.files.MAX_BYTES`.
    """
    return decode(read_bytes(path, max_bytes=max_bytes), kind)


def decode(data: bytes, kind: Kind) -> tuple[bytes, dict[str, AnyArray]]:
    """Invert :func:`encode`; errors as of :func:`read`."""
    manifest, archive = _manifest(data, kind)
    size = archive.end + archive.size_of(manifest.members)
    if size != len(data):
        change = "it was truncated" if size > len(data) else "something was appended or inserted"
        raise ValueError(f"manifest: declares {size:,} bytes, the file has {len(data):,}: {change}")
    whole = memoryview(data)
    arrays: dict[str, AnyArray] = {}
    for member in manifest.members:
        begin, place = archive.end, archive.place_of(member.name, member.dtype, member.shape)
        content = whole[place : place + member.num_bytes]
        if hashlib.sha256(content).hexdigest() != member.sha256:
            raise ValueError(f"{member.name}: does not have the stored SHA-256: it was changed")
        if whole[begin:place] != archive.add(member.name, member.dtype, member.shape, content):
            raise ValueError(f"{member.name}: its entry in the archive was changed")
        array: AnyArray = np.frombuffer(content, np.dtype(member.dtype))
        arrays[member.name] = array.reshape(member.shape)
    if whole[archive.end :] != archive.directory():
        raise ValueError("the archive's directory was changed")
    if HEADER not in arrays or arrays[HEADER].dtype != np.uint8:
        raise ValueError("it has no header")
    return arrays.pop(HEADER).tobytes(), arrays


class _Archive:
    """A zip file under construction, determined by names, types, shapes and contents.

    ``end``: offset of the next entry.
    """

    def __init__(self) -> None:
        self.end = 0
        self._entries: list[bytes] = []

    def add(self, name: str, dtype: str, shape: tuple[int, ...], content: Any) -> bytes:
        """Add an array, and return the bytes before its data."""
        head = _numpy_head(name, dtype, shape, self.end)
        file = f"{name}.npy".encode()
        size = len(head) + len(content)
        crc = zlib.crc32(content, zlib.crc32(head))
        both = (_VERSION, 0, 0, 0, _DATE, crc, _FILLED, _FILLED, len(file))
        local = _LOCAL.pack(b"PK\3\4", *both, _LOCAL_EXTRA.size)
        local += file + _LOCAL_EXTRA.pack(1, _LOCAL_EXTRA.size - 4, size, size)
        entry = _CENTRAL.pack(b"PK\1\2", _VERSION, *both, _CENTRAL_EXTRA.size, 0, 0, 0, 0, _FILLED)
        entry += file + _CENTRAL_EXTRA.pack(1, _CENTRAL_EXTRA.size - 4, size, size, self.end)
        self._entries.append(entry)
        self.end += len(local) + size
        return local + head

    def place_of(self, name: str, dtype: str, shape: tuple[int, ...]) -> int:
        """Return the offset of the data if this array is next."""
        return _place_of(name, self.end) + len(_numpy_head(name, dtype, shape, self.end))

    def size_of(self, members: Sequence[Member]) -> int:
        """Return the size of the next arrays and the directory, in bytes."""
        end = self.end
        for name, dtype, shape, num_bytes in (msgspec.structs.astuple(m)[:4] for m in members):
            end = _place_of(name, end) + len(_numpy_head(name, dtype, shape, end)) + num_bytes
        of_entries = sum(
            _CENTRAL.size + len(f"{m.name}.npy") + _CENTRAL_EXTRA.size for m in members
        )
        return end - self.end + sum(map(len, self._entries)) + of_entries + _END.size

    def directory(self) -> bytes:
        """Return the directory, which ends the file."""
        entries, num = b"".join(self._entries), len(self._entries)
        return entries + _END.pack(
            b"PK\6\6", 44, _VERSION, _VERSION, 0, 0, num, num, len(entries), self.end,
            b"PK\6\7", 0, self.end + len(entries), 1,
            b"PK\5\6", 0, 0, num, num, _FILLED, _FILLED, 0,
        )  # fmt: skip


def _place_of(name: str, begin: int) -> int:
    """Return the offset of the array, in NumPy's form, in an entry that begins at ``begin``."""
    return begin + _LOCAL.size + len(name) + len(".npy") + _LOCAL_EXTRA.size


def _numpy_head(name: str, dtype: str, shape: tuple[int, ...], begin: int) -> bytes:
    """Return NumPy's header of an array; blanks align the data."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (-(_place_of(name, begin) + 10 + len(text) + 1) % _ALIGNMENT) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def archived(members: Iterable[tuple[str, AnyArray]]) -> Iterator[bytes | memoryview]:
    """Yield the archive of ``members``, including the manifest, in pieces."""
    archive = _Archive()
    for name, array in members:
        content = array.reshape(-1).view(np.uint8).data
        yield archive.add(name, array.dtype.str, array.shape, content)
        yield content
    yield archive.directory()


def _plain(name: str, array: AnyArray) -> AnyArray:
    values = np.asarray(array)
    dtype = values.dtype.newbyteorder("<")
    if not _DTYPE.fullmatch(dtype.str):
        raise ValueError(f"member {name!r}: {dtype} must be plain numbers or text")
    plain: AnyArray = np.ascontiguousarray(values).reshape(values.shape)
    return plain.astype(dtype, copy=False)


def _parts(kind: Kind, arrays: Mapping[str, AnyArray]) -> Iterator[bytes | memoryview]:
    """Yield the file in pieces."""
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


def _manifest(data: bytes, kind: Kind) -> tuple[_Manifest, _Archive]:
    """Return the verified manifest, and the archive up to its end."""
    archive, name = _Archive(), f"{MANIFEST}.npy".encode()
    begin, place = _place_of(MANIFEST, 0), archive.place_of(MANIFEST, "|u1", (1,))
    if data[_LOCAL.size : _LOCAL.size + len(name)] != name or len(data) < place:
        raise _foreign(data, kind)
    (size,) = struct.unpack_from("<Q", data, _LOCAL.size + len(name) + 4)
    num_bytes = size - (place - begin)  # its alignment hides its number of digits
    if not 0 < num_bytes <= len(data) - place:
        raise ValueError("manifest: its entry in the archive was changed, or the file truncated")
    encoded = data[place : place + num_bytes]
    if data[:place] != archive.add(MANIFEST, "|u1", (num_bytes,), encoded):
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
    return manifest, archive


def _foreign(data: bytes, kind: Kind) -> ValueError:
    """Return the error for a file without a manifest at its beginning."""
    old = _OLD_HEADER.search(data)
    if old is not None and data.startswith(b"PK"):
        try:
            _check_kind("", old[1].decode(), int(old[2]), kind)
        except ValueError as error:
            return error
    if not data.startswith(b"PK"):
        return ValueError(f"it is not an .npz archive, so not a {kind.format}")
    return ValueError(
        f"manifest: does not begin the archive; it is not a {kind.format}, or was rewritten by "
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
    """Check the members that determine the layout of the file."""
    if len(members) > _MAX_MEMBERS:
        raise ValueError(f"manifest: {len(members):,} members are more than {_MAX_MEMBERS:,}")
    seen = {MANIFEST}
    for member in members:
        where = f"manifest, member {member.name[:80]!r}"
        if not _NAME.fullmatch(member.name):
            raise ValueError(f"{where}: is not a name")
        if member.name in seen:
            raise ValueError(f"{where}: occurs twice")
        seen.add(member.name)
        if not _DTYPE.fullmatch(member.dtype) or np.dtype(member.dtype).str != member.dtype:
            raise ValueError(f"{where}: dtype {member.dtype[:20]!r} must be plain numbers or text")
        if len(member.shape) > 8 or any(length < 0 for length in member.shape):
            raise ValueError(f"{where}: shape {str(member.shape)[:80]} is not a shape")
        if math.prod(member.shape) * np.dtype(member.dtype).itemsize != member.num_bytes:
            raise ValueError(
                f"{where}: {member.num_bytes} bytes do not hold {member.shape} of {member.dtype}"
            )
