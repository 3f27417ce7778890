"""The folder of a study: its description, and its finished runs in append-only Parquet files."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gpusched.base.files import naming, read_bytes
from gpusched.base.libraries import polars as pl
from gpusched.base.replacing import PARTIAL, check_folder, write_bytes, write_text
from gpusched.base.wording import duration, plural
from gpusched.engine.code_digest import code_digest
from gpusched.results.same_jobs import LEFT

if TYPE_CHECKING:
    from gpusched.studies.study import Study

STUDY: Final = "study.toml"
"""Name of the study's file in its folder."""
RUNS: Final = "runs"
"""Name of the folder of Parquet files within that of a study."""
_PLAN: Final = "plan.json"
_LOCK: Final = ".lock"
_NAME: Final = re.compile(r"part-([0-9a-f]{32})\.parquet")
# Smaller files are joined into one; one with so many runs stays as it is.
_MOST_PARTS: Final = 32
_LARGE_PART: Final = 4_096


class RunStore:
    """Rows of runs in ``folder/runs``, safe for several processes to append to.

    A part is named by the hash of its content, written to a temporary file and renamed: even if
    the writer is killed, a part is complete or absent, and damage is detected.

    ``damaged``: one message per file that was found damaged and ignored.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder) / RUNS
        self._folder.mkdir(parents=True, exist_ok=True)
        self._own: list[tuple[Path, int]] = []
        self.damaged: list[str] = []

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Append the rows of finished runs, as one part."""
        if rows:
            self.add_frame(frame_of(rows))

    def add_frame(self, frame: pl.DataFrame) -> None:
        """Append a frame of such rows, as one part."""
        self._own.append((self._write(frame), len(frame)))
        if len(self._own) >= _MOST_PARTS:
            size = sum(size for _, size in self._own)
            joined = self._join([path for path, _ in self._own])
            self._own = [] if joined is None or size >= _LARGE_PART else [(joined, size)]

    def read(self) -> pl.DataFrame:
        """Return all rows, one per run: the one without an error, if any."""
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
        """Join the parts that earlier processes left, and delete unfinished ones.

        Does nothing while another process joins parts or writes.
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
        """Mark the folder as in use by a writer."""
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
        """Write one part for several, then delete those; None if one of them changed."""
        there = list(paths)
        frames = self._frames(there, report=False)
        if frames is None or len(frames) < max(2, len(there)):
            return None  # left for inspection
        joined = self._write(pl.concat(frames, how="diagonal_relaxed"))
        for path in there:
            if path != joined:
                path.unlink(missing_ok=True)
        return joined

    def _frames(self, paths: Iterable[Path], *, report: bool = True) -> list[pl.DataFrame] | None:
        """Read parts; None if one was deleted since they were listed."""
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
    """Make a frame of rows with possibly different keys; missing values are null."""
    shapes = dict.fromkeys(map(tuple, rows))  # mostly one, so that the work per value is native
    if len(shapes) == 1:
        (keys,) = shapes
        return pl.DataFrame(map(_column, keys, zip(*(row.values() for row in rows), strict=True)))
    found = dict.fromkeys(chain.from_iterable(shapes))
    return pl.DataFrame([_column(key, [row.get(key) for row in rows]) for key in found])


def _column(key: str, values: Sequence[Any]) -> pl.Series:
    kinds = {*map(type, values)} - {type(None)}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    known: dict[str, Any] = {
        "error": pl.String, "warnings": pl.List(pl.String), LEFT: pl.Binary,
    }  # fmt: skip
    return pl.Series(key, values, known.get(key))


def _part(path: Path) -> pl.DataFrame:
    """Read a part."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise ValueError("not part of a study (other file name); ignored")
    data = path.read_bytes()
    if _digest(data) != named[1]:
        raise ValueError("damaged: the content does not match the file name; ignored")
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except Exception as error:
        raise ValueError(f"cannot be read: {error}; ignored") from None
    if frame.schema.get("run") != pl.String:
        raise ValueError("column 'run' of text not found; ignored")
    return frame


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


class _Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The runs of a study when it was last started.

    ``name``: name of the study.
    ``code``: digest of the code, see :func:`~gpusched.engine.code_digest.code_digest`.
    ``runs``: names of all runs.
    ``is_whole``: whether the study is saved next to it; one with Python objects cannot be.
    """

    name: str
    code: str
    runs: tuple[str, ...]
    is_whole: bool


def claim(folder: str | os.PathLike[str], study: Study) -> None:
    """Make the folder, or check that it belongs to this study."""
    check_folder(folder)
    before = _plan_in(folder)
    if before is not None and before.name != study.name:
        raise ValueError(
            f"{os.fspath(folder)}: holds the study {before.name!r}, not {study.name!r}; name "
            "another folder"
        )


def write_plan(folder: str | os.PathLike[str], study: Study, runs: Sequence[str]) -> None:
    """Save the study, and the names of its runs."""
    try:
        text = study.beside(Path.cwd()).to_toml()  # it is read from another folder
    except ValueError:
        text = ""
        (Path(folder) / STUDY).unlink(missing_ok=True)
    if text:
        write_text(Path(folder) / STUDY, text)
    plan: dict[str, Any] = {
        "name": study.name, "code": code_digest(), "is_whole": bool(text), "runs": list(runs),
    }  # fmt: skip
    write_text(Path(folder) / _PLAN, json.dumps(plan))


def _plan_in(folder: str | os.PathLike[str]) -> _Begun | None:
    """Return the plan saved in a folder; None if there is none."""
    path = Path(folder) / _PLAN
    if not path.exists():
        return None
    with naming(path, "not the plan of a study"):
        return msgspec.json.decode(read_bytes(path), type=_Begun, strict=True)


@dataclass(frozen=True)
class SweepStatus:
    """The progress of a study, from :func:`gpusched.sweep_status`.

    ``name``, ``folder``: name of the study, and its folder.
    ``num_runs``, ``num_done``, ``num_failed``: numbers of runs; ``num_done`` includes failed ones.
    ``spent_s``: total run time so far, seconds.
    ``left_s``: estimated run time of the runs left, from the average so far; None if none is done.
    ``is_same_code``: whether this version of gpusched made them; another version repeats all runs.
    ``damaged``: one message per file that is damaged and ignored.
    """

    name: str
    folder: str
    num_runs: int
    num_done: int
    num_failed: int
    spent_s: float
    left_s: float | None
    is_same_code: bool
    damaged: tuple[str, ...] = ()

    @property
    def num_left(self) -> int:
        """Number of runs that are not done."""
        return self.num_runs - self.num_done

    def __str__(self) -> str:
        text = f"{self.name}: {self.num_done:,} of {plural(self.num_runs, 'run')} done"
        if self.num_failed:
            text += f", {self.num_failed:,} of them failed"
        text += f", {duration(self.spent_s)} of runs"
        if self.num_left and self.left_s is not None:
            text += f"; about {duration(self.left_s)} of runs are left"
        if not self.is_same_code:
            text += "; created by another version of gpusched, cannot be resumed"
        return text


def sweep_status(folder: str | os.PathLike[str]) -> SweepStatus:
    """Report the progress of a study in a folder, also while it is running.

    Parameters
    ----------
    folder
        The folder passed to :func:`gpusched.sweep`.

    Returns
    -------
    SweepStatus
        The numbers of runs and their times.

    Raises
    ------
    ValueError
        If the folder holds no study, or its plan is damaged.

    Examples
    --------
    >>> study = {
    ...     "name": "small", "traces": [{"generate": "philly", "jobs": 50}],
    ...     "clusters": [{"servers": 8, "gpus": 8}],
    ... }
    >>> _ = gs.sweep(study, folder="small")
    >>> gs.studies.sweep_status("small").num_done
    1
    """
    plan = _plan_in(folder)
    if plan is None or not (Path(folder) / RUNS).is_dir():
        raise ValueError(f"{os.fspath(folder)}: holds no study")
    store = RunStore(folder)
    kept = store.read()
    kept = kept.filter(kept["run"].is_in(list(plan.runs)))
    num_failed = len(kept) - int(kept["error"].null_count()) if "error" in kept.columns else 0
    timed = kept["total_s"].drop_nulls() if "total_s" in kept.columns else None
    spent_s = 0.0 if timed is None else float(timed.sum())
    num_left = len(set(plan.runs)) - len(kept)
    mean_s = None if timed is None or not len(timed) else spent_s / len(timed)
    return SweepStatus(
        plan.name,
        os.fspath(folder),
        len(set(plan.runs)),
        len(kept),
        num_failed,
        spent_s,
        None if mean_s is None else mean_s * num_left,
        plan.code == code_digest(),
        tuple(store.damaged),
    )
