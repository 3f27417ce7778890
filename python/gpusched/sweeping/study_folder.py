"""The folder of a study: what it is, which runs it has, and those that are done."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from gpusched.base.files import naming, read_bytes
from gpusched.base.replacing import check_folder, write_text
from gpusched.execution.code_digest import code_digest
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
