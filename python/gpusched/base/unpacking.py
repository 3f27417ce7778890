"""Packed files: what each is recognised by, and unpacking that never makes more than may be."""

from __future__ import annotations

import bz2
import importlib
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from gpusched.base.archives import is_tar, tar_member, zip_member
from gpusched.base.files import gunzip, too_long, unpacked_limit
from gpusched.base.hints import HintedError
from gpusched.base.libraries import is_installed, need

ENDINGS: Final = (".gz", ".zst", ".bz2", ".xz", ".zip", ".tgz", ".tar")
"""Of packed files; the ending before one of these is that of the content."""
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_CHUNK: Final = 1 << 16
_PIECE: Final = 1 << 20
_XZ_MEMORY: Final = 1 << 29
_MAX_LAYERS: Final = 3


@dataclass(frozen=True)
class _Stream:
    """A way of packing one stream of bytes, as its library unpacks it."""

    name: str
    magic: bytes
    unpacker: Callable[[], Any]


def _zstd() -> Any:
    """Return an unpacker of the standard library, or of its backport."""
    module = "compression.zstd"
    if not (is_installed("compression") and is_installed(module)):
        module = "backports.zstd"
        has_it = is_installed("backports") and is_installed(module)
        need(module if has_it else "backports.zstd", "a file packed by zstd", "gpusched[zstd]")
    return importlib.import_module(module).ZstdDecompressor()


_STREAMS: Final = (
    _Stream("bz2", b"BZh", bz2.BZ2Decompressor),
    _Stream("xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)),
    _Stream("zstd", b"\x28\xb5\x2f\xfd", _zstd),
)


def unpack(
    path: object, packed: bytes, *, max_bytes: int | None = None, member: str | None = None
) -> tuple[bytes, str | None]:
    """Unpack gzip, zstd, bz2, xz, zip and tar, in one another too; other bytes stay as they are.

    Parameters
    ----------
    path
        The file, for messages.
    max_bytes
        Bytes that it may unpack to, at any point; default: those of
        :func:`gpusched.base.files.unpacked_limit`.
    member
        Which file of an archive to take; it may hold one alone otherwise.

    Returns
    -------
    tuple
        The bytes, and the name of the member that was taken, if one was.

    Raises
    ------
    ImportError
        If it is zstd and no library can unpack that; the message names the extra.
    ValueError
        If it is damaged, too long, or an archive of several files, or has no such member.
    """
    data, taken = packed, None
    for _ in range(_MAX_LAYERS):
        if data.startswith(_GZIP):
            data = gunzip(str(path), data, max_bytes=max_bytes)
        elif data.startswith(_ZIP) and not _is_npz(path, data):
            limit = unpacked_limit(len(packed), max_bytes)
            data, taken = zip_member(path, data, limit, member)
            member = None
        elif is_tar(data):
            limit = unpacked_limit(len(packed), max_bytes)
            data, taken = tar_member(path, data, limit, member)
            member = None
        else:
            stream = next((one for one in _STREAMS if data.startswith(one.magic)), None)
            if stream is None:
                break
            data = _unpacked(path, data, stream, max_bytes)
    if member is not None:
        raise ValueError(f"{path}: is no archive, of which {member!r} could be a member")
    return data, taken


def _unpacked(path: object, packed: bytes, stream: _Stream, max_bytes: int | None) -> bytes:
    pieces: list[bytes] = []
    total = 0
    try:
        for piece, num_read in _pieces(packed, stream):
            pieces.append(piece)
            total += len(piece)
            # Judged by what was read so far, a bomb is found before it has unpacked much.
            limit = unpacked_limit(num_read, max_bytes)
            if total > limit:
                raise too_long(path, None, limit)
    except (HintedError, ImportError):
        raise
    except Exception as error:  # each library has errors of its own for damaged data
        raise ValueError(f"{path}: truncated or damaged {stream.name}: {error}") from None
    return b"".join(pieces)


def _pieces(packed: bytes, stream: _Stream) -> Iterator[tuple[bytes, int]]:
    """Unpack piece by piece, with the number of bytes that were read for all pieces so far."""
    view, place = memoryview(packed), 0
    while place < len(view):
        unpacker = stream.unpacker()
        while not unpacker.eof:
            fed = view[place : place + _CHUNK] if unpacker.needs_input else view[:0]
            if unpacker.needs_input and not fed:
                raise EOFError("it has no end")
            place += len(fed)
            yield unpacker.decompress(fed, _PIECE), place
        place -= len(unpacker.unused_data)
        # Several streams may follow each other; zeros fill up what stands on tape.
        if not packed[place : place + 1].strip(b"\0") and not packed[place:].strip(b"\0"):
            return


def _is_npz(path: object, data: bytes) -> bool:
    """Whether an archive is one of NumPy's, which is read as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path}: truncated or damaged zip: {error}") from None
    return bool(names) and all(name.endswith(".npy") for name in names)
