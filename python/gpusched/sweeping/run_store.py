"""The finished runs of a study in a folder: Parquet files that are added, and never changed."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.replacing import PARTIAL, write_bytes

if TYPE_CHECKING:
    import polars as pl

RUNS: Final = "runs"
"""Name of the folder of the Parquet files in that of a study."""
_LOCK: Final = ".lock"
_NAME: Final = re.compile(r"part-([0-9a-f]{32})\.parquet")
# So many small files are joined into one; one of so many runs is left as it is.
_MOST_PARTS: Final = 32
_LARGE_PART: Final = 4_096


class RunStore:
    """Rows of runs in ``folder/runs``, which several processes may add to at a time.

    A part is named by the hash of its content, written beside and renamed: whatever ends the
    writer, a part is there whole or not at all, and what was damaged later is found.

    Attributes
    ----------
    damaged
        What was found in the folder and not believed, a sentence each.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder) / RUNS
        self._folder.mkdir(parents=True, exist_ok=True)
        self._own: list[tuple[Path, int]] = []
        self.damaged: list[str] = []

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add the rows of finished runs, as one part.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if rows:
            self.add_frame(frame_of(rows))

    def add_frame(self, frame: pl.DataFrame) -> None:
        """Do the same with a frame of such rows.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        self._own.append((self._write(frame), len(frame)))
        if len(self._own) >= _MOST_PARTS:
            size = sum(size for _, size in self._own)
            joined = self._join([path for path, _ in self._own])
            self._own = [] if joined is None or size >= _LARGE_PART else [(joined, size)]

    def read(self) -> pl.DataFrame:
        """Return all rows that are there, one for each run: the one without an error, if any."""
        import polars as pl

        self.damaged = []
        while True:
            frames = self._frames(self._parts())
            if frames is not None:
                break  # else another process joined parts in between
        if not frames:
            return pl.DataFrame({"run": []}, schema={"run": pl.String})
        frame = pl.concat(frames, how="diagonal_relaxed")
        if "error" not in frame.columns:
            frame = frame.with_columns(error=pl.lit(None, pl.String))
        is_failed = pl.col("error").is_not_null()
        return frame.sort(is_failed, maintain_order=True).unique(
            "run", keep="first", maintain_order=True
        )

    def tidy(self) -> None:
        """Join the parts that earlier processes left, and remove what they did not finish.

        Nothing is done while another process does it, or writes.
        """
        with self._locked() as is_free:
            if not is_free:
                return
            parts = self._parts()
            if len(parts) >= _MOST_PARTS:
                self._join(parts)
            for path in self._folder.glob(f"*{PARTIAL}"):
                path.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say to other processes that this one writes."""
        with open(self._folder / _LOCK, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        with open(self._folder / _LOCK, "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True

    def _parts(self) -> list[Path]:
        return sorted(path for path in self._folder.iterdir() if path.suffix == ".parquet")

    def _write(self, frame: pl.DataFrame) -> Path:
        buffer = io.BytesIO()
        frame.lazy().sink_parquet(buffer, compression="zstd", statistics=False)
        data = buffer.getvalue()
        path = self._folder / f"part-{_digest(data)}.parquet"
        write_bytes(path, data)
        return path

    def _join(self, paths: Iterable[Path]) -> Path | None:
        """Write one part of several, then remove those; None if one is not as it was."""
        import polars as pl

        there = list(paths)
        frames = self._frames(there, report=False)
        if frames is None or len(frames) < max(2, len(there)):
            return None  # it stays for who looks at it
        joined = self._write(pl.concat(frames, how="diagonal_relaxed"))
        for path in there:
            if path != joined:
                path.unlink(missing_ok=True)
        return joined

    def _frames(self, paths: Iterable[Path], *, report: bool = True) -> list[pl.DataFrame] | None:
        """Read parts; None if one is gone since they were listed."""
        frames = []
        damaged = []
        for path in paths:
            try:
                frames.append(_part(path))
            except FileNotFoundError:
                return None
            except ValueError as error:
                damaged.append(f"{path}: {error}")
        if report:
            self.damaged = damaged
        return frames


def frame_of(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Make a frame of rows that need not have the same keys; a null stands where one is missing."""
    import polars as pl

    shapes = dict.fromkeys(map(tuple, rows))  # mostly one: what is done for each value is native
    if len(shapes) == 1:
        (keys,) = shapes
        return pl.DataFrame(map(_column, keys, zip(*(row.values() for row in rows), strict=True)))
    found = dict.fromkeys(chain.from_iterable(shapes))
    return pl.DataFrame([_column(key, [row.get(key) for row in rows]) for key in found])


def _column(key: str, values: Sequence[Any]) -> pl.Series:
    import polars as pl

    kinds = {*map(type, values)} - {type(None)}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    known: dict[str, Any] = {"error": pl.String, "warnings": pl.List(pl.String)}
    return pl.Series(key, values, known.get(key))


def _part(path: Path) -> pl.DataFrame:
    """Read a part.

    Raises
    ------
    ValueError
        If it is none, or was changed.
    """
    import polars as pl

    named = _NAME.fullmatch(path.name)
    if named is None:
        raise ValueError("is no part of a study, it has another name; left out")
    data = path.read_bytes()
    if _digest(data) != named[1]:
        raise ValueError("is damaged, its content is not what its name says; left out")
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except Exception as error:
        raise ValueError(f"cannot be read: {error}; left out") from None
    if frame.schema.get("run") != pl.String:
        raise ValueError("has no column 'run' of text; left out")
    return frame


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
