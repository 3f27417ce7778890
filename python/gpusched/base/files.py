"""The boundary that every file passes on its way in: limits on sizes, and errors that name it."""

from __future__ import annotations

import csv
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final, TypeVar

import msgspec

from gpusched.base.memory import NoRoomError, check_fits
from gpusched.base.run_warning import warn
from gpusched.base.suggest import HintedError

MAX_BYTES: Final = 4 << 30
"""Bytes of a file, unpacked, that are read unless a reader is told otherwise: 4 GiB."""
MAX_RATIO: Final = 250
"""A packed file may unpack to so many times its size, beyond :data:`FREE_BYTES`."""
FREE_BYTES: Final = 64 << 20
MAX_COLUMNS: Final = 10_000
"""Columns of a table."""
MAX_MESSAGE: Final = 2_000
"""Characters of an error that quotes a file, about."""
_CHUNK: Final = 1 << 20
# What decoding a damaged file raises, beside ValueError: by our own code, by the standard library,
# by NumPy and by Polars. A bug of ours is none of these, or it is a damaged file that nobody has
# met yet.
_DAMAGE: Final = (
    EOFError, MemoryError, NotImplementedError, OverflowError, RecursionError, SyntaxError,
    csv.Error, struct.error, zlib.error,
)  # fmt: skip
# Of libraries that are loaded where they are needed; the last is Polars' of Rust.
_DAMAGE_BY_NAME: Final = {"TarError", "TokenError", "BadZipFile", "PolarsError", "PanicException"}


@contextmanager
def naming(path: object, what: str = "") -> Iterator[None]:
    """Name the file in every error that its contents cause.

    What damaged input raises becomes a ValueError. A TypeError stays one: an argument, or a typed
    column. The message is one line.

    Parameters
    ----------
    path
        The file, or what stands for it in messages.
    what
        Put behind the name: what the file should have been.

    Raises
    ------
    ValueError, TypeError
        For what is wrong with the contents.
    """
    name = os.fsdecode(path) if isinstance(path, bytes | os.PathLike) else str(path)
    where = f"{name}: {what}" if what else name
    try:
        yield
    except NoRoomError:
        raise  # the machine is too small, and the contents may be right
    except HintedError as error:
        told = in_a_line(error.what)
        if told.startswith(where) and told == error.what:
            raise
        raise error.saying(told if told.startswith(where) else f"{where}: {told}") from error
    except (ValueError, msgspec.MsgspecError) as error:
        told = in_a_line(str(error))
        if told.startswith(where):
            if told == str(error) and isinstance(error, ValueError):
                raise
            raise ValueError(told) from error
        raise ValueError(f"{where}: {told.removeprefix(f'{name}: ')}") from error
    except TypeError as error:
        told = in_a_line(str(error))
        if name in told and told == str(error):
            raise
        raise TypeError(told if name in told else f"{where}: {told}") from error
    except OSError as error:
        if error.errno is not None:  # the system said it, and not a library of what it read
            raise
        raise ValueError(f"{where}: {_told(error)}") from error
    except BaseException as error:
        names = {kind.__name__ for kind in type(error).__mro__}
        if not (isinstance(error, _DAMAGE) or names & _DAMAGE_BY_NAME):
            raise
        raise ValueError(f"{where}: {_told(error)}") from error


def _told(error: BaseException) -> str:
    said = in_a_line(" ".join(str(error).split())) or type(error).__name__
    return f"damaged, or not what it says it is: {said}"


def in_a_line(message: str) -> str:
    """Return a message that may quote what a file holds, as one line that can be shown.

    Whatever ends a line or steers a terminal is written as an escape; of a message of more than
    :data:`MAX_MESSAGE` characters the middle is left out.
    """
    if len(message) > MAX_MESSAGE:
        head, tail = MAX_MESSAGE * 3 // 4, MAX_MESSAGE // 4
        left_out = len(message) - head - tail
        message = f"{message[:head]} ... ({left_out:,} characters) ... {message[-tail:]}"
    if message.isprintable():
        return message
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in message
    )


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> bytes:
    """Return all bytes of a file, a pipe or a device.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If there are more than ``max_bytes``; nothing is read of a file that is too long.
    NoRoomError
        Nor of one that cannot fit into memory.
    """
    limit = checked_limit(max_bytes)
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            if status.st_size > limit:
                raise too_long(path, status.st_size, limit)
            check_room(path, status.st_size)
            data = file.read(limit + 1 if status.st_size == 0 else status.st_size + 1)
        else:
            data = read_until(iter(lambda: file.read(_CHUNK), b""), limit)
    if len(data) > limit:
        raise too_long(path, None, limit)
    return data


def check_room(path: object, num_bytes: int) -> None:
    """Warn if what is read next of a file takes more than half of the memory that there is.

    Raises
    ------
    NoRoomError
        If it takes more than there is.
    """
    remedy = "read a part of it, give it more memory, or end what else uses it"
    warn(check_fits(num_bytes, f"{path}: to read it needs", remedy), stacklevel=2)


def read_stream(file: IO[Any], name: object, *, max_bytes: int | None = None) -> bytes:
    """Return all that is left of an open file; text as UTF-8.

    Raises
    ------
    ValueError
        If there are more than ``max_bytes``.
    """
    limit = checked_limit(max_bytes)

    def pieces() -> Iterator[bytes]:
        while piece := file.read(_CHUNK):
            yield piece.encode() if isinstance(piece, str) else piece

    data = read_until(pieces(), limit)
    if len(data) > limit:
        raise too_long(name, None, limit)
    return data


def read_until(pieces: Iterator[bytes], limit: int) -> bytes:
    """Join the pieces, and stop once there are more than ``limit`` bytes."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > limit:
            break
    return bytes(data)


def unpacked_limit(num_packed: int, max_bytes: int | None) -> int:
    """Return how many bytes so many packed ones may become.

    ``max_bytes`` if that is given; else :data:`MAX_BYTES`, and :data:`MAX_RATIO` times as many as
    there are, but for :data:`FREE_BYTES`.
    """
    if max_bytes is not None:
        return checked_limit(max_bytes)
    return min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * num_packed))


def too_long(path: object, num_bytes: int | None, limit: int) -> ValueError:
    """Return the error for a file that has, or unpacks to, more bytes than may be."""
    count = f"{num_bytes:,} bytes, " if num_bytes is not None else ""
    return HintedError(
        f"{path}: {count}more than {limit:,} bytes; if it is to be read, name a larger ",
        "max_bytes",
        "--max-bytes",
    )


def checked_limit(max_bytes: int | None) -> int:
    """Return a limit, the default one for None.

    Raises
    ------
    TypeError, ValueError
        If it is no positive integer.
    """
    if max_bytes is None:
        return MAX_BYTES
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
        raise TypeError(f"max_bytes: {max_bytes!r} must be an integer")
    if max_bytes < 1:
        raise ValueError(f"max_bytes: {max_bytes} must be at least 1")
    return max_bytes


Decoded = TypeVar("Decoded")

MAX_PARTS: Final = 1_000
"""Parts of a dotted key; the time to decode one grows with the square of their number."""
# Between these stands a key, or a value, whose points then are not those of a key.
_EDGES: Final = re.compile(r"[=,\n]")


def decode_toml(text: str | bytes, type: type[Decoded]) -> Decoded:
    """Decode TOML strictly.

    Raises
    ------
    msgspec.MsgspecError, ValueError
        If it is not TOML, not of this type, or a key has more than :data:`MAX_PARTS` parts.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if text.count(".") > MAX_PARTS:
        most = max(piece.count(".") for piece in _EDGES.split(text)) + 1
        if most > MAX_PARTS:
            raise ValueError(f"a key of {most:,} parts; it may have {MAX_PARTS:,}")
    return msgspec.toml.decode(text, type=type, strict=True)


def toml_value(value: Any) -> str:
    """Write a value as TOML, tables inline."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(key)} = {toml_value(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    # A JSON string is a TOML basic string, but for the one control character JSON lets pass.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Write a key, between quotes where it needs them."""
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else toml_value(name)
