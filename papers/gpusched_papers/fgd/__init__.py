"""Fragmentation gradient descent (Weng et al., ATC 2023)."""

from __future__ import annotations

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
