"""An input file: its unpacked bytes, and its checked text."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from gpusched.base.files import (
    check_room,
    read_bytes,
    read_stream,
    read_until,
    too_long,
    unpacked_limit,
)
from gpusched.base.libraries import is_installed, need
from gpusched.base.suggest import HintedError

ENDINGS: Final = (".gz", ".zst", ".bz2", ".xz", ".zip", ".tgz", ".tar")
"""Extensions of packed files; the one before is that of the content."""
_HEAD_BYTES: Final = 65_536
_CHUNK: Final = 1 << 16
_PIECE: Final = 1 << 20
_XZ_MEMORY: Final = 1 << 29
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_TAR: Final = slice(257, 262), b"ustar"
_ENCRYPTED: Final = 0x1
_NUM_SHOWN: Final = 8
_MAX_LAYERS: Final = 2  # such as a compressed tar archive

AnyFile = str | os.PathLike[str] | IO[Any]
"""A path, or an open file."""


class Source:
    """A file, unpacked if necessary, or an object that can be read like one.

    ``file``: a path, opened on first use, so ``OSError`` comes from there; or an open file, such as
        ``sys.stdin.buffer``, which is then read to its end.
    ``max_bytes``: largest size of the file, also unpacked; default: see
        :func:`gpusched.base.files.unpacked_limit`.
    ``member``: file of a zip or tar archive to read; needed if it holds several.
    """

    def __init__(
        self, file: AnyFile, *, max_bytes: int | None = None, member: str | None = None
    ) -> None:
        self._file = None if isinstance(file, str | os.PathLike) else file
        if self._file is not None and not hasattr(file, "read"):
            raise TypeError(f"a file must be a path or an open file, not {file!r}")
        label = getattr(file, "name", None) if self._file is not None else file
        self.path = Path(label if isinstance(label, str | os.PathLike) else "<stream>")
        self.max_bytes = max_bytes
        self.num_packed = 0
        self._wanted = member
        self._member: str | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return self._content_name.rsplit(".", 1)[0].strip("<>")

    @property
    def suffix(self) -> str:
        """The ending of the content, in lower case, e.g. ``".csv"`` of ``a.csv.gz``."""
        if {".zip", ".tar", ".tgz"} & {suffix.lower() for suffix in self.path.suffixes}:
            _ = self.data  # determines the name of its member
        return Path(self._content_name).suffix.lower()

    @property
    def _content_name(self) -> str:
        """The name of the file, or of the archive's member once it is known."""
        name = self.path.name if self._member is None else self._member.rpartition("/")[2]
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        return name

    @cached_property
    def data(self) -> bytes:
        """All bytes."""
        if self._file is None:
            data = read_bytes(self.path, max_bytes=self.max_bytes)
        else:
            data = read_stream(self._file, self.path, max_bytes=self.max_bytes)
        self.num_packed = len(data)
        if self.path.suffix.lower() != ".npz":
            data, self._member = unpack(
                self.path, data, max_bytes=self.max_bytes, member=self._wanted
            )
        if not data:
            raise ValueError(f"{self}: the file is empty")
        return data

    @cached_property
    def text(self) -> str:
        """All text, line ends as line feeds and without a byte order mark."""
        check_room(self, len(self.data))  # in addition to the bytes
        try:
            text = self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            byte = self.data[error.start]
            raise ValueError(f"{self}, line {line}: byte 0x{byte:02x} must be UTF-8 text") from None
        text = text.replace("\r\n", "\n") if "\r\n" in text else text
        for mark, name in (("\0", "zero byte"), ("\r", "carriage return without a line feed")):
            place = text.find(mark)
            if place >= 0:
                line = text.count("\n", 0, place) + 1
                raise ValueError(f"{self}, line {line}: a {name} must not occur in text")
        return text

    @cached_property
    def first_line(self) -> str:
        """The first line of text, or ``""`` if the file does not begin with text."""
        head = self.data[:_HEAD_BYTES]
        try:
            line = head.split(b"\n", 1)[0].decode("utf-8-sig")
        except UnicodeDecodeError:
            return ""
        return "" if "\0" in line else line.rstrip("\r")

    @property
    def header(self) -> tuple[str, ...]:
        """The first line split at commas."""
        return tuple(name.strip().strip('"') for name in self.first_line.split(","))


class _Stream(NamedTuple):
    """A compression format of a single stream, and its library."""

    name: str
    magic: bytes
    unpacker: Callable[[], Any]


class _Gzip:
    """Unpacks gzip with the interface of the other libraries."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes | memoryview, most: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail or data, most)


def _zstd() -> Any:
    """Return the unpacker of the standard library or of its backport."""
    module = "compression.zstd"
    if not (is_installed("compression") and is_installed(module)):
        module = "backports.zstd"
        has_it = is_installed("backports") and is_installed(module)
        need(module if has_it else "backports.zstd", "a file packed by zstd", "gpusched-core[zstd]")
    return import_module(module).ZstdDecompressor()


_STREAMS: Final = (
    _Stream("gzip", b"\x1f\x8b", _Gzip),
    _Stream("bz2", b"BZh", lambda: import_module("bz2").BZ2Decompressor()),
    _Stream("xz", b"\xfd7zXZ\x00", lambda: import_module("lzma").LZMADecompressor(1, _XZ_MEMORY)),
    _Stream("zstd", b"\x28\xb5\x2f\xfd", _zstd),
)


def unpack(
    path: object, packed: bytes, *, max_bytes: int | None = None, member: str | None = None
) -> tuple[bytes, str | None]:
    """Unpack gzip, zstd, bz2, xz, zip and tar, also nested; return other data unchanged.

    The bytes, and the name of the member, if any.

    ``path``: the file, for messages.
    ``max_bytes``: largest unpacked size at any point; default: that of
        :func:`gpusched.base.files.unpacked_limit`.
    ``member``: file of an archive to read; needed if it holds several.
    """
    data, taken = packed, None
    limit = unpacked_limit(len(packed), max_bytes)
    for _ in range(_MAX_LAYERS):
        stream = next((one for one in _STREAMS if data.startswith(one.magic)), None)
        if stream is not None:
            data = _unpacked(path, data, stream, max_bytes)
            continue
        if data.startswith(_ZIP):
            found = _zip_member(path, data, limit, member)
        elif data[_TAR[0]] == _TAR[1]:
            found = _tar_member(path, data, limit, member)
        else:
            break
        if found is None:
            break
        (data, taken), member = found, None
    if member is not None:
        raise ValueError(f"{path}: not an archive; member={member!r} does not apply")
    return data, taken


def _unpacked(path: object, packed: bytes, stream: _Stream, max_bytes: int | None) -> bytes:
    pieces: list[bytes] = []
    total = 0
    try:
        for piece, num_read in _pieces(packed, stream):
            pieces.append(piece)
            total += len(piece)
            # Checked against the input read so far, to detect a bomb early.
            limit = unpacked_limit(num_read, max_bytes)
            if total > limit:
                raise too_long(path, None, limit)
    except (HintedError, ImportError):
        raise
    except Exception as error:  # each library has its own errors for damaged data
        raise ValueError(f"{path}: truncated or damaged {stream.name}: {error}") from None
    return b"".join(pieces)


def _pieces(packed: bytes, stream: _Stream) -> Iterator[tuple[bytes, int]]:
    """Unpack in pieces, with the number of input bytes read so far."""
    view, place = memoryview(packed), 0
    while place < len(view):
        unpacker = stream.unpacker()
        while not unpacker.eof:
            fed = view[place : place + _CHUNK] if unpacker.needs_input else view[:0]
            place += len(fed)
            piece = unpacker.decompress(fed, _PIECE)
            if not fed and not piece and not unpacker.eof:
                raise EOFError("it has no end")
            yield piece, place
        place -= len(unpacker.unused_data)
        # Several streams may follow each other; zeros pad tape archives.
        if not packed[place : place + 1].strip(b"\0") and not packed[place:].strip(b"\0"):
            return


def _zip_member(
    path: object, data: bytes, limit: int, member: str | None
) -> tuple[bytes, str] | None:
    """Return bytes and name of a file in a zip archive; None for NumPy's, which stays packed."""
    import zipfile

    with _naming_zip(path):
        archive = zipfile.ZipFile(io.BytesIO(data))
    names = archive.namelist()
    if names and all(name.endswith(".npy") for name in names):
        return None
    files = [(entry.filename, entry) for entry in archive.infolist() if not entry.is_dir()]
    entry = _chosen(path, files, member)
    where = f"{path}, member {entry.filename!r}"
    if entry.flag_bits & _ENCRYPTED:
        raise ValueError(f"{where}: is encrypted")
    if entry.file_size > limit:
        raise too_long(where, entry.file_size, limit)
    with _naming_zip(where), archive.open(entry) as file:
        content = read_until(iter(lambda: file.read(_PIECE), b""), limit)
    if len(content) > limit:
        raise too_long(where, None, limit)
    return content, entry.filename


@contextmanager
def _naming_zip(where: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # from zipfile, zlib and lzma
        raise ValueError(f"{where}: truncated or damaged zip: {error}") from None


def _tar_member(path: object, data: bytes, limit: int, member: str | None) -> tuple[bytes, str]:
    """Return bytes and name of a file in a tar archive."""
    import tarfile

    entries: list[tuple[str, tarfile.TarInfo]] = []
    place = -1
    try:
        # "r:", as the archive is already unpacked.
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            while (entry := archive.next()) is not None:
                # Members must be in ascending order, or a damaged archive would never end.
                if not place < entry.offset <= len(data) or archive.offset <= entry.offset:
                    raise tarfile.TarError("its members overlap")
                place = entry.offset
                if entry.isfile():
                    entries.append((entry.name, entry))
            entry = _chosen(path, entries, member)
            if entry.size > limit:
                raise too_long(f"{path}, member {entry.name!r}", entry.size, limit)
            if entry.size > len(data) or entry.issparse():
                raise tarfile.TarError("a file is longer than the archive")
            content = archive.extractfile(entry)
            assert content is not None  # it is a file
            return content.read(), entry.name
    except tarfile.TarError as error:
        raise ValueError(f"{path}: damaged archive: {error}") from None


def _chosen(path: object, entries: Sequence[tuple[str, Any]], member: str | None) -> Any:
    """Return the entry ``member``, or the only one."""
    entries = [entry for entry in entries if not _is_aside(entry[0])]
    chosen = [entry for name, entry in entries if member in (None, name)]
    if len(chosen) == 1:
        return chosen[0]
    names = [name for name, _ in entries]
    more = f" and {len(names) - _NUM_SHOWN:,} more" if len(names) > _NUM_SHOWN else ""
    listed = ", ".join(names[:_NUM_SHOWN]) + more or "none"
    if member is not None:
        what = "several members" if member in names else "no member"
        raise ValueError(f"{path}: the archive has {what} {member!r}; known: {listed}")
    if not names:
        raise ValueError(f"{path}: the archive holds no file")
    raise HintedError(
        f"{path}: the archive holds {len(names):,} files ({listed}); name one",
        f" with member={names[0]!r}", f" with --member {names[0]}",
    )  # fmt: skip


def _is_aside(name: str) -> bool:
    """Return whether it is one of macOS's metadata files."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith("._")
