"""Bounded reading of files, with errors that name the file."""

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
"""Default limit of the unpacked bytes of a file: 4 GiB."""
MAX_RATIO: Final = 250
"""Largest compression ratio of a packed file beyond :data:`FREE_BYTES`."""
FREE_BYTES: Final = 64 << 20
MAX_COLUMNS: Final = 10_000
"""Most columns of a table."""
MAX_MESSAGE: Final = 2_000
"""Approximate length limit of an error that quotes a file."""
_CHUNK: Final = 1 << 20
# Errors from decoding a damaged file, besides ValueError: from this package, the standard library,
# NumPy and Polars. Other errors are bugs.
_DAMAGE: Final = (
    EOFError, MemoryError, NotImplementedError, OverflowError, RecursionError, SyntaxError,
    csv.Error, struct.error, zlib.error,
)  # fmt: skip
# From libraries that are loaded on use; the last is from Polars' Rust code.
_DAMAGE_BY_NAME: Final = {"TarError", "TokenError", "BadZipFile", "PolarsError", "PanicException"}


@contextmanager
def naming(path: object, what: str = "") -> Iterator[None]:
    """Name the file in every error caused by its contents.

    Errors of damaged input become a ValueError; a TypeError (an argument, or a typed column) stays
    one. The message is one line.

    ``path``: the file, or its name in messages.
    ``what``: what the file should have been, appended to the name.
    """
    name = os.fsdecode(path) if isinstance(path, bytes | os.PathLike) else str(path)
    where = f"{name}: {what}" if what else name
    try:
        yield
    except NoRoomError:
        raise  # not enough memory; the contents may be valid
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
        if error.errno is not None:  # from the system, not from a library's parser
            raise
        raise ValueError(f"{where}: {_told(error)}") from error
    except BaseException as error:
        names = {kind.__name__ for kind in type(error).__mro__}
        if not (isinstance(error, _DAMAGE) or names & _DAMAGE_BY_NAME):
            raise
        raise ValueError(f"{where}: {_told(error)}") from error


def _told(error: BaseException) -> str:
    said = in_a_line(" ".join(str(error).split())) or type(error).__name__
    return f"damaged, or not in the declared format: {said}"


def in_a_line(message: str) -> str:
    """Return a message that may quote a file's contents as one printable line.

    Line ends and control characters are escaped; the middle of a message of more than
    :data:`MAX_MESSAGE` characters is omitted.
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
    """Return all bytes of a file, a pipe or a device."""
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
    """Warn if reading a file takes more than half of the available memory.

    Raises NoRoomError if it takes more than is available.
    """
    remedy = "read a part of it, add memory, or end other programs"
    warn(check_fits(num_bytes, f"{path}: to read it needs", remedy), stacklevel=2)


def read_stream(file: IO[Any], name: object, *, max_bytes: int | None = None) -> bytes:
    """Return the rest of an open file; text as UTF-8."""
    limit = checked_limit(max_bytes)

    def pieces() -> Iterator[bytes]:
        while piece := file.read(_CHUNK):
            yield piece.encode() if isinstance(piece, str) else piece

    data = read_until(pieces(), limit)
    if len(data) > limit:
        raise too_long(name, None, limit)
    return data


def read_until(pieces: Iterator[bytes], limit: int) -> bytes:
    """Join the pieces until there are more than ``limit`` bytes."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > limit:
            break
    return bytes(data)


def unpacked_limit(num_packed: int, max_bytes: int | None) -> int:
    """Return the limit of the unpacked size of ``num_packed`` bytes.

    ``max_bytes`` if given; else :data:`MAX_BYTES`, and beyond :data:`FREE_BYTES` at most
    :data:`MAX_RATIO` times the packed size.
    """
    if max_bytes is not None:
        return checked_limit(max_bytes)
    return min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * num_packed))


def too_long(path: object, num_bytes: int | None, limit: int) -> ValueError:
    """Return the error for a file that has, or unpacks to, too many bytes."""
    count = f"{num_bytes:,} bytes, " if num_bytes is not None else ""
    return HintedError(
        f"{path}: {count}more than {limit:,} bytes; to read it, set a larger ",
        "max_bytes",
        "--max-bytes",
    )


def checked_limit(max_bytes: int | None) -> int:
    """Return a limit, the default one for None.

    Raises TypeError, ValueError if it is not a positive integer.
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

_EDGES: Final = re.compile(r"[=,\n]")


def decode_toml(text: str | bytes, type: type[Decoded]) -> Decoded:
    """Decode TOML strictly."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if text.count(".") > MAX_PARTS:
        most = max(piece.count(".") for piece in _EDGES.split(text)) + 1
        if most > MAX_PARTS:
            raise ValueError(f"a key of {most:,} parts; at most {MAX_PARTS:,}")
    return msgspec.toml.decode(text, type=type, strict=True)


def toml_value(value: Any) -> str:
    """Write a value as TOML, tables inline."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(key)} = {toml_value(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    # A JSON string is a TOML basic string, except for one control character that JSON allows.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Write a key, quoted if necessary."""
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else toml_value(name)
