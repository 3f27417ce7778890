"""A-SRPT (Luo et al., INFOCOM 2025)."""

from __future__ import annotations

from gpusched_papers.registry import Paper, register_paper

register_paper(
    Paper(
        name="a-srpt",
        title="Prediction-Assisted Online Distributed Deep Learning Workload Scheduling in GPU "
        "Clusters",
        authors="Luo, Liu, Lee, Shroff",
        venue="INFOCOM 2025",
        text="arXiv 2501.05563",
        summary="A-SRPT against five baselines on the same predictions of a random forest.",
        reproduces=("mean and tail JCT of policies", "patience", "errors of prediction"),
        module="gpusched_papers.a_srpt.reproduction",
        published="gpusched_papers.a_srpt.published",
    )
)
