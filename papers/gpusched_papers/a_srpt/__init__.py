"""A-SRPT (Luo et al., INFOCOM 2025)."""

from __future__ import annotations

from gpusched_papers.a_srpt.reproduction import ASrpt as ASrpt
from gpusched_papers.a_srpt.reproduction import reproduce as reproduce
from gpusched_papers.a_srpt.runs import run_arms as run_arms
from gpusched_papers.a_srpt.settings import A_SRPT as A_SRPT
from gpusched_papers.a_srpt.settings import BASELINES as BASELINES
from gpusched_papers.a_srpt.settings import BY_WORK as BY_WORK
from gpusched_papers.a_srpt.settings import FOREST as FOREST
from gpusched_papers.a_srpt.settings import LARGE as LARGE
from gpusched_papers.a_srpt.settings import SRTF as SRTF
from gpusched_papers.a_srpt.settings import TESTBED as TESTBED
from gpusched_papers.a_srpt.settings import Place as Place
from gpusched_papers.a_srpt.settings import Setting as Setting
from gpusched_papers.a_srpt.settings import ablations as ablations
from gpusched_papers.a_srpt.settings import by_tau as by_tau
from gpusched_papers.a_srpt.tables import Summary as Summary
from gpusched_papers.a_srpt.workload import workload as workload
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
