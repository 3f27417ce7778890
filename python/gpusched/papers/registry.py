"""Experiments of papers, run again: a file per paper, reached by ``gpusched reproduce NAME``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from gpusched.base import progress as base_progress
from gpusched.base.failures import Failures
from gpusched.base.progress import OnProgress
from gpusched.base.real_data import data_at
from gpusched.base.suggest import nearest

if TYPE_CHECKING:
    from gpusched.papers.common.text_table import Table

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""


@dataclass(frozen=True)
class Paper:
    """One reproduction.

    Attributes
    ----------
    title, source
        Of the paper.
    summary
        What is reproduced, in a line.
    module
        Where its function ``reproduce(seeds, quick, exact, progress)`` is.
    seeds
        How many random instances it takes by itself.
    """

    name: str
    title: str
    source: str
    summary: str
    module: str
    seeds: int = 20

    def reproduce(
        self,
        *,
        seeds: int | None = None,
        quick: bool = False,
        exact: bool = False,
        data: str | os.PathLike[str] | None = None,
        progress: OnProgress | None = None,
    ) -> Reproduction:
        """Run the experiments.

        Parameters
        ----------
        seeds
            Random instances, each the same for all policies; None: :attr:`seeds`.
        quick
            The main comparison alone.
        exact
            Add the gap to the optimum of small instances (extra: exact).
        data
            The folder of the real traces, see :mod:`gpusched.base.real_data`; None: as the
            environment variable GPUSCHED_DATA says.
        progress
            As for :func:`gpusched.simulate`; its ``part`` is the stage.

        Raises
        ------
        ValueError
            If ``seeds`` is less than 2 (an interval needs two), nothing is ``exact``, or real data
            are missing: the message says where they can be had.
        ImportError
            If ``exact`` is asked for without SciPy.
        Interrupted
            On Ctrl-C; it carries what was done.

        An error of one part is raised when all others are done; see :func:`finish`.
        """
        if seeds is None:
            seeds = self.seeds
        if seeds < 2:
            raise ValueError(f"seeds: {seeds} must be at least 2")
        run: Callable[..., Reproduction] = import_module(self.module).reproduce
        told = _silent if progress is None else partial(_tell, progress)
        with data_at(data):
            return run(seeds=seeds, quick=quick, exact=exact, progress=told)


class Reproduction(Protocol):
    """What a reproduction gives back."""

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """All settings, runs and tables as plain values for JSON."""
        ...

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables and all runs; return the files."""
        ...


PAPERS: Final = {
    paper.name: paper
    for paper in (
        Paper(
            name="sjf-bco",
            title="On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU Clusters with "
            "Communication Contention",
            source="Yu, Ji, Rajan, Liu, MobiHoc 2022 (arXiv 2207.07817)",
            summary="SJF-BCO, LS, FF and RAND on 160 ring all-reduce jobs; figures 4, 5 and 6.",
            module="gpusched.papers.sjf_bco.reproduction",
        ),
        Paper(
            name="a-srpt",
            title="Prediction-Assisted Online Distributed Deep Learning Workload Scheduling in GPU "
            "Clusters",
            source="Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563)",
            summary="A-SRPT against five baselines on the same predictions of a random forest.",
            module="gpusched.papers.a_srpt.reproduction",
            seeds=8,
        ),
        Paper(
            name="matching",
            title="Sampling-Based Multi-Job Placement for Heterogeneous Deep Learning Clusters",
            source="Liu, Wang, Huang, Pan, IEEE TPDS 35(6), 2024",
            summary="A matching market against the optimum and baselines, one decision and online.",
            module="gpusched.papers.matching.reproduction",
            seeds=200,
        ),
        Paper(
            name="dancer",
            title="Deadline-Aware Online Job Scheduling for Distributed Training in Heterogeneous "
            "Clusters",
            source="Zhang, Luo, Sun, Yu, Li, IEEE TCC 13(2), 2025 (doi 10.1109/TCC.2025.3548604)",
            summary="Deadlines met on unequal GPUs, against baselines and an upper bound.",
            module="gpusched.papers.dancer.reproduction",
            seeds=5,
        ),
        Paper(
            name="fgd",
            title="Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
            "Gradient Descent",
            source="Weng, Yang, Yu, Wang, Tang, Yang, Zhang, USENIX ATC 2023",
            summary="6,212 GPUs filled by eight placements; unallocated and fragmented GPUs.",
            module="gpusched.papers.fgd.reproduction",
            seeds=10,
        ),
    )
}


def paper(name: str) -> Paper:
    """Return the reproduction ``name``.

    Raises
    ------
    ValueError
        If there is none of that name; the nearest is suggested.
    """
    if name not in PAPERS:
        raise ValueError(f"unknown paper {name!r}{nearest(name, list(PAPERS))}")
    return PAPERS[name]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a reproduction; ``reproduction`` is what the finished seeds give, or None."""

    def __init__(self, reproduction: Reproduction | None) -> None:
        super().__init__("interrupted")
        self.reproduction = reproduction


def finish(failures: Failures, reproduction: Reproduction | None) -> None:
    """Raise the first error of a reproduction whose other parts are done, if there is one.

    Its attributes are ``reproduction``, what the finished seeds give or None, and ``failed``, all
    errors by the name of the part.
    """
    failures.raise_if_any(reproduction=reproduction, failed=failures.errors)


def _tell(progress: OnProgress, stage: str, done: int, total: int) -> None:
    progress(base_progress.Progress(done, total, stage))


def _silent(stage: str, done: int, total: int) -> None:
    pass
