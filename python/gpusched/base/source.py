"""A file that is to be read: its bytes, unpacked, and its text, checked."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

from gpusched.base.files import check_room, read_bytes, read_stream
from gpusched.base.unpacking import ENDINGS, unpack

_HEAD_BYTES: Final = 65_536

AnyFile = str | os.PathLike[str] | IO[Any]
"""A path, or a file that is open."""


class Source:
    """A file, unpacked if it is packed, or what can be read like one.

    Parameters
    ----------
    file
        A path, opened on first use, so ``OSError`` comes from there; or an open file, such as
        ``sys.stdin.buffer``, which is read to its end then.
    max_bytes
        A file of more bytes, or that unpacks to more, is refused; for the default see
        :func:`gpusched.base.files.unpacked_limit`.
    member
        Which file of a zip or tape archive is meant; it may hold one alone otherwise.

    Raises
    ------
    TypeError
        If ``file`` is neither.
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
            _ = self.data  # by which the name of its member is known
        return Path(self._content_name).suffix.lower()

    @property
    def _content_name(self) -> str:
        """The name of the file, or of the member of an archive that it is, once that is known."""
        name = self.path.name if self._member is None else self._member.rpartition("/")[2]
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        return name

    @cached_property
    def data(self) -> bytes:
        """All bytes.

        Raises
        ------
        ImportError
            If it is packed by zstd, and no library can unpack that.
        ValueError
            If the file is empty, damaged or too long, or an archive of several files.
        NoRoomError
            If it cannot fit into memory.
        """
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
        """All text, line ends as line feeds and without a byte order mark.

        Raises
        ------
        ValueError
            If it is not UTF-8 text; the message names the line.
        NoRoomError
            If it cannot fit into memory.
        """
        check_room(self, len(self.data))  # beside what is there
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
