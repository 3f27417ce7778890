"""Dancer (Zhang et al., IEEE TCC 2025)."""

from __future__ import annotations

from gpusched_papers.registry import Paper, register_paper

register_paper(
    Paper(
        name="dancer",
        title="Deadline-Aware Online Job Scheduling for Distributed Training in Heterogeneous "
        "Clusters",
        authors="Zhang, Luo, Sun, Yu, Li",
        venue="IEEE TCC 13(2), 2025",
        text="doi 10.1109/TCC.2025.3548604",
        summary="Deadlines met on unequal GPUs, against baselines of ours and an upper bound.",
        reproduces=("deadlines met by load", "what each part of the policy gains"),
        module="gpusched_papers.dancer.reproduction",
        published="gpusched_papers.dancer.published",
        has_exact=True,
    )
)
