"""Experiments of papers, run again: a folder per paper, reached by ``gpusched reproduce NAME``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from gpusched.base.suggest import nearest
from gpusched.papers.common.reproduction import Progress, Reproduction


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
        progress: Progress | None = None,
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

        Raises
        ------
        ValueError
            If ``seeds`` is less than 2 (an interval needs two), or nothing is ``exact``.
        ImportError
            If ``exact`` is asked for without SciPy.
        Interrupted
            On Ctrl-C; it carries what was done.

        An error of one part is raised when all others are done; see
        :func:`~gpusched.papers.common.reproduction.finish`.
        """
        if seeds is None:
            seeds = self.seeds
        if seeds < 2:
            raise ValueError(f"seeds: {seeds} must be at least 2")
        run: Callable[..., Reproduction] = import_module(self.module).reproduce
        return run(seeds=seeds, quick=quick, exact=exact, progress=progress or _silent)


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


def _silent(stage: str, done: int, total: int) -> None:
    pass
