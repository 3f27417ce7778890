"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions."""

from __future__ import annotations

from gpusched_papers.registry import Paper, register_paper

register_paper(
    Paper(
        name="matching",
        title="Sampling-Based Multi-Job Placement for Heterogeneous Deep Learning Clusters",
        authors="Liu, Wang, Huang, Pan",
        venue="IEEE TPDS 35(6), 2024",
        summary="A matching market against the optimum and baselines, one decision and online.",
        reproduces=(
            "gap to the optimum of single decisions",
            "coverage of uniform draws",
            "time of a decision",
            "JCT online",
        ),
        module="gpusched_papers.matching.reproduction",
        published="gpusched_papers.matching.published",
        seeds=200,
        has_exact=True,
    )
)
