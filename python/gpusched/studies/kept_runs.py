"""Finished runs in a folder, so that a study that was cut off can go on from there."""

from __future__ import annotations

import hashlib
import os
import typing
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import GenericAlias
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.object_digests import ObjectReader
from gpusched.base.real_data import PUBLISHED, data_folder
from gpusched.base.replacing import PARTIAL, write_bytes
from gpusched.engine.code_digest import code_digest
from gpusched.studies.calls import Outcome

_ENDING: Final = ".run"
_SUM: Final = hashlib.sha256().digest_size
"""A file begins with the SHA-256 of the rest."""


class KeptRuns:
    """What runs made, a file each, named by all that decides it: the run, the code, the data.

    ``run`` is everywhere a function of a module that says what it returns: plain values, arrays,
    and data classes of them.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def find(self, run: Callable[..., Any], task: Any) -> Outcome | None:
        """Return what is kept of ``run`` and a task, None if nothing is; a damaged file is none."""
        with suppress(FileNotFoundError, msgspec.MsgspecError, ValueError):
            data = self._path_of(run, task).read_bytes()
            if hashlib.sha256(data[_SUM:]).digest() == data[:_SUM]:
                kind = GenericAlias(tuple, (float, _type_of(run)))
                spent_s, made = msgspec.msgpack.decode(data[_SUM:], type=kind, dec_hook=_array_of)
                return Outcome(made, processor_s=spent_s)
        return None

    def keep(self, run: Callable[..., Any], task: Any, outcome: Outcome) -> None:
        """Keep what ``run`` made of a task, and the processor time that it took."""
        data = msgspec.msgpack.encode((outcome.processor_s, outcome.made), enc_hook=_plain)
        write_bytes(self._path_of(run, task), hashlib.sha256(data).digest() + data)

    def _path_of(self, run: Callable[..., Any], task: Any) -> Path:
        name = f"{run.__module__}.{run.__qualname__}"
        decided = ObjectReader().of((name, task, _data(data_folder()))).hex()
        return self.folder / f"{code_digest()}-{decided[:32]}{_ENDING}"


def forget(folder: Path) -> None:
    """Remove what :class:`KeptRuns` kept in a folder, and the folder if nothing else is there."""
    for pattern in (f"*{_ENDING}", f"*{_ENDING}.*{PARTIAL}"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def num_kept(folder: Path) -> int:
    """Return how many runs of this version are kept in a folder."""
    return sum(1 for _ in folder.glob(f"{code_digest()}-*{_ENDING}"))


def _type_of(run: Callable[..., Any]) -> Any:
    return typing.get_type_hints(run)["return"]


@lru_cache(maxsize=1)
def _data(folder: Path | None) -> list[tuple[str, bytes]]:
    """Return name and SHA-256 of all real data: a copy of other times is the same data."""
    if folder is None:
        return []
    files = (path for name in sorted(PUBLISHED) for path in sorted((folder / name).rglob("*")))
    return [(str(path.relative_to(folder)), _digest(path)) for path in files if path.is_file()]


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _plain(value: Any) -> Any:
    """What msgspec does not know: NumPy's scalars and arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept")


def _array_of(kind: Any, value: Any) -> Any:
    """Make the arrays that :func:`_plain` made plain."""
    _, of = typing.get_args(kind)
    return np.array(value, dtype=typing.get_args(of)[0])
