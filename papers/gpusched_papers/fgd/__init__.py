"""Fragmentation gradient descent (Weng et al., ATC 2023)."""

from __future__ import annotations

from gpusched_papers.fgd.published import ALLOCATED as ALLOCATED
from gpusched_papers.fgd.published import LARGEST_REDUCTION as LARGEST_REDUCTION
from gpusched_papers.fgd.published import MORE_GPUS as MORE_GPUS
from gpusched_papers.fgd.published import OF_DEFAULT_LIST as OF_DEFAULT_LIST
from gpusched_papers.fgd.published import PUBLISHED as PUBLISHED
from gpusched_papers.fgd.recorded_results import RECORDED as RECORDED
from gpusched_papers.fgd.reproduction import Fgd as Fgd
from gpusched_papers.fgd.reproduction import reproduce as reproduce
from gpusched_papers.fgd.runs import run as run
from gpusched_papers.fgd.settings import AUTHORS as AUTHORS
from gpusched_papers.fgd.settings import DEMANDS as DEMANDS
from gpusched_papers.fgd.settings import FGD as FGD
from gpusched_papers.fgd.settings import OURS as OURS
from gpusched_papers.fgd.settings import PLACEMENTS as PLACEMENTS
from gpusched_papers.fgd.tables import SHOWN as SHOWN
from gpusched_papers.fgd.tables import Summary as Summary
from gpusched_papers.fgd.workload import DEFAULT as DEFAULT
from gpusched_papers.fgd.workload import OTHERS as OTHERS
from gpusched_papers.fgd.workload import SHOWN_LISTS as SHOWN_LISTS
from gpusched_papers.fgd.workload import WORKLOADS as WORKLOADS
from gpusched_papers.registry import Paper, register_paper

register_paper(
    Paper(
        name="fgd",
        title="Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
        "Gradient Descent",
        authors="Weng, Yang, Yu, Wang, Tang, Yang, Zhang",
        venue="USENIX ATC 2023",
        summary="6,212 GPUs filled from 17 lists by 13 placements; unallocated, fragmented GPUs.",
        reproduces=("GPUs allocated when the cluster is full", "fragmentation by demand"),
        module="gpusched_papers.fgd.reproduction",
        published="gpusched_papers.fgd.published",
        seeds=10,
    )
)
