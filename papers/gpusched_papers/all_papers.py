"""All papers one after the other, for one page; what is done is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.base.progress import OnProgress
from gpusched.base.real_data import data_at
from gpusched.execution.calls import Outcome
from gpusched.execution.kept_runs import KeptRuns, forget
from gpusched_papers.common.page import Part as Part
from gpusched_papers.common.page import page as page
from gpusched_papers.common.reproduction import Judged
from gpusched_papers.common.stages import measured
from gpusched_papers.common.verdicts import row_of
from gpusched_papers.registry import Paper, known_papers

_DONE: Final = "done"  # in the folder of what is kept; the runs of a paper are in one of its name


def reproduce_all(
    *,
    seeds: int | None = None,
    quick: bool = False,
    exact: bool = False,
    data: str | os.PathLike[str] | None = None,
    keep: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
) -> list[Part]:
    """Reproduce every registered paper, in the order of the names.

    Parameters
    ----------
    seeds, quick, data, executor, progress
        As for :meth:`~gpusched_papers.registry.Paper.reproduce`.
    exact
        For those papers that know it.
    keep
        A folder in which every finished run is kept, and every finished paper: a second call takes
        what is there. None: nothing is kept.

    Returns
    -------
    list
        A part of the page for each paper; one that cannot be run says why.

    Raises
    ------
    Interrupted
        On Ctrl-C.
    """
    folder = None if keep is None else Path(keep)
    kept = None if folder is None else KeptRuns(folder / _DONE)
    made = []
    for paper in known_papers().values():
        task = (paper.name, seeds, quick, exact and paper.has_exact)
        with data_at(data):
            found = kept.find(run, task) if kept else None
        if found is not None:
            part = found.made
        else:
            place = None if folder is None else folder / paper.name
            part = run(*task, data=data, keep=place, executor=executor, progress=progress)
            if kept and not part.left_out:
                with data_at(data):
                    kept.keep(run, task, Outcome(part, processor_s=part.processor_s))
                forget(folder / paper.name)  # type: ignore[operator]
        made.append(part)
    return made


def forget_all(keep: str | os.PathLike[str]) -> None:
    """Remove what :func:`reproduce_all` kept, and the folder if nothing else is there."""
    folder = Path(keep)
    for name in (*known_papers(), _DONE):
        forget(folder / name)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def run(
    name: str,
    seeds: int | None,
    quick: bool,
    exact: bool,
    *,
    data: str | os.PathLike[str] | None = None,
    keep: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
) -> Part:
    """Reproduce one paper for the page; an error is told in its part, and stops no other."""
    paper = known_papers()[name]
    failures = Failures()
    rows = []
    with measured() as spent, failures.part(name):
        found = paper.reproduce(
            seeds=seeds, quick=quick, exact=exact, data=data,
            keep=keep, executor=executor, progress=progress,
        )  # fmt: skip
        if isinstance(found, Judged):
            rows = [row_of(one) for one in found.comparisons()]
    return Part(
        name=name,
        title=paper.title,
        source=paper.source,
        command=_command(paper, seeds, quick, exact),
        stages=spent.stages,
        rows=rows,
        left_out=" ".join(str(failures.errors.get(name, "")).split()),
    )


def _command(paper: Paper, seeds: int | None, quick: bool, exact: bool) -> str:
    wanted = [f"gpusched reproduce {paper.name}"]
    wanted += ["--quick"] * quick + ["--exact"] * exact
    return " ".join(wanted + ([] if seeds is None else [f"--seeds {seeds}"]))
