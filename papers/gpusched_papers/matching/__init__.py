"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions."""

from __future__ import annotations

from gpusched_papers.matching.baselines import BASELINES as BASELINES
from gpusched_papers.matching.coverage import count as count
from gpusched_papers.matching.coverage import num_best as num_best
from gpusched_papers.matching.coverage import theory as theory
from gpusched_papers.matching.reproduction import Matching as Matching
from gpusched_papers.matching.reproduction import reproduce as reproduce
from gpusched_papers.matching.settings import DRAWS as DRAWS
from gpusched_papers.matching.settings import MEASURED as MEASURED
from gpusched_papers.matching.settings import OURS as OURS
from gpusched_papers.matching.workload import draw as draw
from gpusched_papers.matching.workload import draw_classes as draw_classes
from gpusched_papers.matching.workload import drawn as drawn
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
