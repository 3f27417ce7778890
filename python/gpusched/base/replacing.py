"""Atomic replacement of files."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PARTIAL: Final = ".tmp"
"""Extension of a file still being written, or left by a killed writer."""
_LONGEST_NAME: Final = 255  # bytes, on every file system in use
_UNTOLD: Final = "transport error"  # Polars' message for a failed write, without the reason
_SYSTEM_CODE: Final = re.compile(r"\(os error (\d+)\)")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a temporary file next to ``path`` that replaces it when completely written.

    Even after a power failure, ``path`` is entirely the old or the new file. The temporary file is
    ``NAME.XXXXXXXX.tmp`` with random digits, so concurrent writers do not collide and the last one
    wins; only a killed writer leaves it behind. For a link the target is replaced; pipes and
    devices are written to directly.
    """
    with _naming(path):
        target, mode = _target_of(path)
        if target is None:
            yield Path(path)
            return
        if mode is not None:
            _check_writable(target)
        partial = target.with_name(_partial_name(target.name))
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            yield partial
            _flush(partial)
            if mode is not None:
                os.chmod(partial, stat.S_IMODE(mode))
            os.replace(partial, target)
        finally:
            with suppress(FileNotFoundError):
                partial.unlink()
        with suppress(OSError):  # the folder's entry; not supported by every file system
            _flush(target.parent)


def write_bytes(path: str | os.PathLike[str], data: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file atomically; see :func:`replacing`."""
    with replacing(path) as partial, open(partial, "wb") as file:
        for part in (data,) if isinstance(data, bytes) else data:
            file.write(part)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of UTF-8 text atomically; see :func:`replacing`."""
    write_bytes(path, text.encode())


def refuse_inputs(
    targets: Iterable[str | os.PathLike[str]],
    inputs: Mapping[str, str | os.PathLike[str] | None],
) -> None:
    """Raise if a target is an input file, also under another name.

    Raises ValueError if a target is one of them; the message names both.

    ``inputs``: input files by role; None for a missing one.
    """
    for target in targets:
        for what, path in inputs.items():
            if path is not None and _is_one_file(target, path):
                also = "" if os.fspath(target) == os.fspath(path) else f" {os.fspath(path)}"
                raise ValueError(
                    f"{os.fspath(target)}: is also the input {what}{also} and must not be "
                    "overwritten; name another target"
                )


def check_folder(folder: str | os.PathLike[str], names: Iterable[str] = ()) -> None:
    """Make ``folder``, and check that files ``names`` can be written there.

    Raises OSError if they cannot; ``filename`` is the folder, or the conflicting file.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(folder))
    for name in names:
        check_target(Path(folder) / name)


def check_target(path: str | os.PathLike[str]) -> None:
    """Check, before hours of work, that ``path`` can be written.

    Raises OSError if it cannot; ``filename`` is ``path``.
    """
    with _naming(path):
        target, mode = _target_of(path)
        if target is None:
            return
        if not target.parent.exists():
            named = os.path.dirname(os.fspath(path)) if not os.path.islink(path) else target.parent
            raise FileNotFoundError(errno.ENOENT, f"folder {str(named)!r} not found")
        for needed in (target.parent, *((target,) if mode is not None else ())):
            _check_writable(needed)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name ``path`` in errors of the system, instead of the temporary file or none."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and not _is_of(path, error.filename):
            raise
        code = _code_of(error) if error.errno is None else error.errno
        if code is None:
            raise OSError(f"{os.fspath(path)}: {error}") from error
        raise OSError(code, error.strerror or os.strerror(code), os.fspath(path)) from error
    except Exception as error:
        if not type(error).__module__.startswith("polars"):
            raise
        code = _code_of(error)
        if code is not None:
            raise OSError(code, os.strerror(code), os.fspath(path)) from error
        if _UNTOLD in str(error):
            raise OSError(f"{os.fspath(path)}: cannot be written") from error
        raise


def _code_of(error: Exception) -> int | None:
    """Return the system's error number from Polars' text."""
    found = _SYSTEM_CODE.search(str(error))
    return int(found[1]) if found else None


def _is_of(path: str | os.PathLike[str], name: object) -> bool:
    """Return whether an error names the target, its folder or its temporary file."""
    known = os.path.realpath(path)
    found = os.path.realpath(os.fsdecode(name) if isinstance(name, bytes) else str(name))
    return found in (known, os.path.dirname(known)) or found.endswith(PARTIAL)


def _target_of(path: str | os.PathLike[str]) -> tuple[Path | None, int | None]:
    """Return the file to replace, and the mode of an existing one.

    The file is None for a special file, which is written to directly.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path)), None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    is_own = os.path.abspath(path).startswith(("/dev/", "/proc/")) or not stat.S_ISREG(mode)
    return (None if is_own else Path(os.path.realpath(path))), mode


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _partial_name(name: str) -> str:
    ending = f".{secrets.token_hex(4)}{PARTIAL}"
    kept = os.fsencode(name)[: _LONGEST_NAME - len(ending)]
    return os.fsdecode(kept) + ending


def _flush(path: Path) -> None:
    """Flush a file to disk before it gets its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_one_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
