"""SJF-BCO (Yu et al., MobiHoc 2022)."""

from __future__ import annotations

from gpusched_papers.registry import Paper, register_paper

register_paper(
    Paper(
        name="sjf-bco",
        title="On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU Clusters with "
        "Communication Contention",
        authors="Yu, Ji, Rajan, Liu",
        venue="MobiHoc 2022",
        text="arXiv 2207.07817",
        summary="SJF-BCO, LS, FF and RAND on 160 ring all-reduce jobs; figures 4 to 7.",
        reproduces=("figure 4", "figure 5", "figure 6", "figure 7"),
        module="gpusched_papers.sjf_bco.reproduction",
        published="gpusched_papers.sjf_bco.published",
        has_exact=True,
    )
)
