"""A file that is to be read as a trace: its bytes, unpacked, and its text, checked."""

from __future__ import annotations

import gzip
import os
import zlib
from functools import cached_property
from pathlib import Path
from typing import Final

_GZIP_MAGIC: Final = b"\x1f\x8b"
_HEAD_BYTES: Final = 65_536


class Source:
    """A file, unpacked if it is gzip.

    Parameters
    ----------
    path
        The file; it is opened on first use, so ``OSError`` comes from there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return self.path.name.removesuffix(".gz").rsplit(".", 1)[0]

    @property
    def suffix(self) -> str:
        """The file's ending without ``.gz``, in lower case, e.g. ``".csv"``."""
        return Path(self.path.name.removesuffix(".gz")).suffix.lower()

    @cached_property
    def data(self) -> bytes:
        """All bytes.

        Raises
        ------
        ValueError
            If the file is empty or a damaged gzip.
        """
        data = self.path.read_bytes()
        if data.startswith(_GZIP_MAGIC):
            try:
                data = gzip.decompress(data)
            except (EOFError, OSError, zlib.error) as error:
                raise ValueError(f"{self}: truncated or damaged gzip: {error}") from None
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
        """
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
