"""The folder of a study: what it is, which runs it has, and those that are done."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from gpusched.base.files import naming, read_bytes
from gpusched.base.replacing import check_folder, write_text
from gpusched.base.wording import duration, plural
from gpusched.execution.code_digest import code_digest
from gpusched.sweeping.run_store import RUNS, RunStore
from gpusched.sweeping.study import Study

STUDY: Final = "study.toml"
_PLAN: Final = "plan.json"


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs a study had when it was last begun.

    Attributes
    ----------
    name
        Of the study.
    code
        What it was run with, see :func:`~gpusched.execution.code_digest.code_digest`.
    runs
        Names of all runs.
    is_whole
        Whether the study is beside it; one with objects of Python cannot be written.
    """

    name: str
    code: str
    runs: tuple[str, ...]
    is_whole: bool


def claim(folder: str | os.PathLike[str], study: Study) -> None:
    """Make the folder, or see that it is one of this study.

    Raises
    ------
    OSError
        If it cannot be written.
    ValueError
        If it is of a study of another name.
    """
    check_folder(folder)
    before = plan_in(folder)
    if before is not None and before.name != study.name:
        raise ValueError(
            f"{os.fspath(folder)}: holds the study {before.name!r}, and not {study.name!r}; name "
            "another folder"
        )


def write_plan(folder: str | os.PathLike[str], study: Study, runs: list[str]) -> None:
    """Write the study, and which runs it has."""
    try:
        text = study.beside(Path.cwd()).to_toml()  # it is read from another folder
    except ValueError:
        text = ""
        (Path(folder) / STUDY).unlink(missing_ok=True)
    if text:
        write_text(Path(folder) / STUDY, text)
    plan: dict[str, Any] = {
        "name": study.name, "code": code_digest(), "is_whole": bool(text), "runs": runs,
    }  # fmt: skip
    write_text(Path(folder) / _PLAN, json.dumps(plan))


def plan_in(folder: str | os.PathLike[str]) -> Plan | None:
    """Return the plan that a folder holds; None if it holds none.

    Raises
    ------
    ValueError
        If it is damaged.
    """
    path = Path(folder) / _PLAN
    if not path.exists():
        return None
    with naming(path, "not the plan of a study"):
        return msgspec.json.decode(read_bytes(path), type=Plan, strict=True)


@dataclass(frozen=True)
class SweepStatus:
    """How far a study is.

    Attributes
    ----------
    name, folder
        Of the study, and where it is kept.
    num_runs, num_done, num_failed
        Of all; ``num_done`` counts those that failed, too.
    spent_s
        Sum of the times that the runs took, seconds.
    left_s
        The same for those that are left, if they take as long on average; None if none is done.
    is_same_code
        Whether this gpusched is the one that they were done with: another one does all again.
    damaged
        Files that are not believed, a sentence each.
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
        """Runs that are not done."""
        return self.num_runs - self.num_done

    def __str__(self) -> str:
        text = f"{self.name}: {self.num_done:,} of {plural(self.num_runs, 'run')} done"
        if self.num_failed:
            text += f", {self.num_failed:,} of them failed"
        text += f", {duration(self.spent_s)} of runs"
        if self.num_left and self.left_s is not None:
            text += f"; about {duration(self.left_s)} of runs are left"
        if not self.is_same_code:
            text += "; kept by another version of gpusched, which this one does not go on from"
        return text


def sweep_status(folder: str | os.PathLike[str]) -> SweepStatus:
    """Tell how far the study in a folder is, also while it is running.

    Parameters
    ----------
    folder
        That was given to :func:`gpusched.sweep`.

    Returns
    -------
    SweepStatus
        With the numbers of runs and their times.

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
    >>> gs.sweeping.sweep_status("small").num_done
    1
    """
    plan = plan_in(folder)
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
