"""The form of the archives in :mod:`gpusched.base.container`: where each byte of a zip file goes.

Every field of it follows from names, types, shapes and contents. All sizes stand in 64-bit extra
fields, so that there is one form and not two.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

MANIFEST: Final = "manifest"
SUFFIX: Final = ".npy"
_ALIGNMENT: Final = 64  # of the data of each array in the file
_FILLED: Final = 0xFFFFFFFF  # the true figure stands in the 64-bit extra field
_LOCAL: Final = struct.Struct("<4s5H3L2HHHQQ")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_CENTRAL_EXTRA: Final = struct.Struct("<HHQQQ")
_END_64: Final = struct.Struct("<4sQ2H2L4Q4sLQL")
_END: Final = struct.Struct("<4s4H2LH")
_VERSION: Final = 45
_DATE: Final = 1 << 5 | 1  # the first day of 1980
Entry = tuple[str, int, int, int]  # name, CRC, size, where it begins


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the manifest says of an array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    num_bytes: int
    sha256: str


class Place(NamedTuple):
    """Where a member stands in the file: its entry, its data, and the text before the data."""

    begin: int
    data: int
    end: int
    head: bytes


def _entry_size(name: str) -> int:
    return 30 + len(name) + 20


ENTRY_SIZE: Final = _entry_size(f"{MANIFEST}{SUFFIX}")


def place_of(name: str, dtype: str, shape: tuple[int, ...], num_bytes: int, begin: int) -> Place:
    """Place the entry ``name`` at ``begin``; blanks in its head align the data that follow."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    used = begin + _entry_size(name) + 10 + len(text) + 1
    text += " " * (-used % _ALIGNMENT) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    data = begin + _entry_size(name) + len(head)
    return Place(begin, data, data + num_bytes, head)


MANIFEST_DATA: Final = place_of(f"{MANIFEST}{SUFFIX}", "|u1", (1,), 1, 0).data


def places_of(members: Sequence[Member], begin: int) -> Iterator[Place]:
    """Place the members one after the other from ``begin`` on."""
    for member in members:
        name = f"{member.name}{SUFFIX}"
        place = place_of(name, member.dtype, member.shape, member.num_bytes, begin)
        yield place
        begin = place.end


def entry_of(name: str, place: Place, content: Any) -> Entry:
    """Return what the directory says of a member."""
    crc = zlib.crc32(content, zlib.crc32(place.head))
    return f"{name}{SUFFIX}", crc, len(place.head) + len(content), place.begin


def local_head(name: str, crc: int, size: int) -> bytes:
    """Return what stands before a member."""
    fixed = _LOCAL.pack(
        b"PK\3\4", _VERSION, 0, 0, 0, _DATE, crc, _FILLED, _FILLED, len(name), 20, 1, 16, size, size
    )
    return fixed[:30] + name.encode() + fixed[30:]


def directory(entries: Sequence[Entry], begin: int) -> Iterator[bytes]:
    """The directory of the archive, which begins at ``begin``, and its end."""
    end = begin
    for name, crc, size, at in entries:
        central = _CENTRAL.pack(
            b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _DATE, crc, _FILLED, _FILLED, len(name), 28,
            0, 0, 0, 0, _FILLED,
        )  # fmt: skip
        central += name.encode() + _CENTRAL_EXTRA.pack(1, 24, size, size, at)
        end += len(central)
        yield central
    num = len(entries)
    yield _END_64.pack(
        b"PK\6\6", 44, _VERSION, _VERSION, 0, 0, num, num, end - begin, begin,
        b"PK\6\7", 0, end, 1,
    )  # fmt: skip
    yield _END.pack(b"PK\5\6", 0, 0, num, num, _FILLED, _FILLED, 0)


def directory_size(members: Sequence[Member]) -> int:
    """Return the number of bytes of the directory and the end of the archive."""
    names = [MANIFEST, *(member.name for member in members)]
    each = _CENTRAL.size + _CENTRAL_EXTRA.size + len(SUFFIX)
    return sum(each + len(name) for name in names) + _END_64.size + _END.size
