"""Finished runs of a study in a folder, so that one that was cut off can go on from there."""

from __future__ import annotations

import hashlib
import os
import platform
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import msgspec
import numpy as np

from gpusched.base.object_digests import ObjectReader
from gpusched.base.real_data import PUBLISHED, data_folder
from gpusched.base.replacing import PARTIAL, write_bytes

Given = ParamSpec("Given")
Made = TypeVar("Made")

_ENDING: Final = ".run"
_folder: ContextVar[Path | None] = ContextVar("kept_runs", default=None)


@contextmanager
def kept_in(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Keep what finished runs made in ``folder``, and take what is there; None: keep nothing."""
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    before = _folder.set(None if folder is None else Path(folder))
    try:
        yield
    finally:
        _folder.reset(before)


def forget(folder: Path) -> None:
    """Remove what :func:`kept_in` kept in a folder, and the folder if nothing else is there."""
    for pattern in (f"*{_ENDING}", f"*{_ENDING}.*{PARTIAL}"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def num_kept(folder: Path) -> int:
    """Return how many runs of this version are kept in a folder."""
    return sum(1 for _ in folder.glob(f"{_code()}-*{_ENDING}"))


def once(run: Callable[Given, Made], *given: Given.args, **beside: Given.kwargs) -> Made:
    """Return ``run(*given, **beside)``, from the folder if it is there.

    ``run`` is a function of a module and says what it returns; ``beside`` follows from ``given``.
    """
    known, made = find(run, given)
    if not known:
        made = run(*given, **beside)
        keep(run, given, made)
    return typing.cast(Made, made)


def find(run: Callable[..., Made], given: tuple[Any, ...]) -> tuple[bool, Made | None]:
    """Return whether what ``run(*given)`` made is kept, and it; a damaged file is none."""
    path = _path_of(run, given)
    if path is None:
        return False, None
    with suppress(FileNotFoundError, msgspec.MsgspecError, ValueError):
        return True, msgspec.msgpack.decode(
            path.read_bytes(), type=_type_of(run), dec_hook=_array_of
        )
    return False, None


def keep(run: Callable[..., Made], given: tuple[Any, ...], made: Made) -> None:
    """Keep what ``run(*given)`` made."""
    path = _path_of(run, given)
    if path is not None:
        write_bytes(path, msgspec.msgpack.encode(made, enc_hook=_plain))


def _path_of(run: Callable[..., Any], given: tuple[Any, ...]) -> Path | None:
    """Return the file of a run, named by all that decides what it makes."""
    folder = _folder.get()
    if folder is None:
        return None
    name = f"{run.__module__}.{run.__qualname__}"
    decided = ObjectReader().of((name, given, _data(data_folder()))).hex()
    return folder / f"{_code()}-{decided[:32]}{_ENDING}"


def _type_of(run: Callable[..., Any]) -> Any:
    return typing.get_type_hints(run)["return"]


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of the package, the core in it, and what it computes with."""
    package = Path(__file__).resolve().parents[2]
    sha = hashlib.sha256(f"{platform.python_version()} {np.__version__}".encode())
    for path in sorted((*package.rglob("*.py"), *package.glob("_core*.so"))):
        sha.update(str(path.relative_to(package)).encode() + b"\0")
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16]


@lru_cache(maxsize=1)
def _data(folder: Path | None) -> list[tuple[str, int, int]]:
    """Return name, size and time of all real data."""
    if folder is None:
        return []
    files = (path for name in sorted(PUBLISHED) for path in sorted((folder / name).rglob("*")))
    return [
        (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in files
        if path.is_file()
    ]


def _plain(value: Any) -> Any:
    """What msgspec does not know: NumPy's scalars and arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept")


def _array_of(kind: Any, value: Any) -> Any:
    """Make the arrays that :func:`_plain` made plain."""
    _, of = typing.get_args(kind)
    return np.array(value, dtype=typing.get_args(of)[0])
