"""Finished runs in a folder, so that an interrupted study can resume."""

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
    """Results of runs, one file each, named by all that determines it: run, code and data.

    ``run`` must be a module-level function with an annotated result: plain values, arrays, and
    dataclasses of them.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def find(self, run: Callable[..., Any], task: Any) -> Outcome | None:
        """Return the stored result of ``run`` and a task; None if it is missing or damaged."""
        with suppress(FileNotFoundError, msgspec.MsgspecError, ValueError):
            data = self._path_of(run, task).read_bytes()
            if hashlib.sha256(data[_SUM:]).digest() == data[:_SUM]:
                kind = GenericAlias(tuple, (float, _type_of(run)))
                spent_s, made = msgspec.msgpack.decode(data[_SUM:], type=kind, dec_hook=_array_of)
                return Outcome(made, processor_s=spent_s)
        return None

    def keep(self, run: Callable[..., Any], task: Any, outcome: Outcome) -> None:
        """Store the result of ``run`` for a task, and its processor time."""
        data = msgspec.msgpack.encode((outcome.processor_s, outcome.made), enc_hook=_plain)
        write_bytes(self._path_of(run, task), hashlib.sha256(data).digest() + data)

    def _path_of(self, run: Callable[..., Any], task: Any) -> Path:
        name = f"{run.__module__}.{run.__qualname__}"
        decided = ObjectReader().of((name, task, _data(data_folder()))).hex()
        return self.folder / f"{code_digest()}-{decided[:32]}{_ENDING}"


def forget(folder: Path) -> None:
    """Remove the files of :class:`KeptRuns` in a folder, and the folder if it is then empty."""
    for pattern in (f"*{_ENDING}", f"*{_ENDING}.*{PARTIAL}"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def num_kept(folder: Path) -> int:
    """Return how many runs of this version are stored in a folder."""
    return sum(1 for _ in folder.glob(f"{code_digest()}-*{_ENDING}"))


def _type_of(run: Callable[..., Any]) -> Any:
    return typing.get_type_hints(run)["return"]


@lru_cache(maxsize=1)
def _data(folder: Path | None) -> list[tuple[str, bytes]]:
    """Return name and SHA-256 of all real data; modification times do not matter."""
    if folder is None:
        return []
    files = (path for name in sorted(PUBLISHED) for path in sorted((folder / name).rglob("*")))
    return [(str(path.relative_to(folder)), _digest(path)) for path in files if path.is_file()]


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _plain(value: Any) -> Any:
    """Encode NumPy scalars and arrays, which msgspec does not know."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__}: cannot be saved")


def _array_of(kind: Any, value: Any) -> Any:
    """Restore the arrays that :func:`_plain` encoded."""
    _, of = typing.get_args(kind)
    return np.array(value, dtype=typing.get_args(of)[0])
