"""SJF-BCO (Yu et al., MobiHoc 2022)."""

from __future__ import annotations

from gpusched_papers.registry import Paper, register_paper
from gpusched_papers.sjf_bco.curves import Chance as Chance
from gpusched_papers.sjf_bco.curves import chance as chance
from gpusched_papers.sjf_bco.curves import points as points
from gpusched_papers.sjf_bco.curves import run_curves as run_curves
from gpusched_papers.sjf_bco.published import BASELINES as BASELINES
from gpusched_papers.sjf_bco.published import ITERATION_S as ITERATION_S
from gpusched_papers.sjf_bco.published import JOBS_OF_WIDTH as JOBS_OF_WIDTH
from gpusched_papers.sjf_bco.published import KAPPA_MAKESPAN as KAPPA_MAKESPAN
from gpusched_papers.sjf_bco.published import LAMBDA_MAKESPAN as LAMBDA_MAKESPAN
from gpusched_papers.sjf_bco.published import MAKESPAN as MAKESPAN
from gpusched_papers.sjf_bco.published import MOST_LOST as MOST_LOST
from gpusched_papers.sjf_bco.published import POLICIES as POLICIES
from gpusched_papers.sjf_bco.published import SERVERS as SERVERS
from gpusched_papers.sjf_bco.published import SERVICE_S as SERVICE_S
from gpusched_papers.sjf_bco.published import reduction as reduction
from gpusched_papers.sjf_bco.reproduction import SjfBco as SjfBco
from gpusched_papers.sjf_bco.reproduction import reproduce as reproduce
from gpusched_papers.sjf_bco.runs import least_makespan_s as least_makespan_s
from gpusched_papers.sjf_bco.settings import BASE as BASE
from gpusched_papers.sjf_bco.settings import ESTIMATE_ERROR as ESTIMATE_ERROR
from gpusched_papers.sjf_bco.settings import MAIN as MAIN
from gpusched_papers.sjf_bco.settings import PAPER as PAPER
from gpusched_papers.sjf_bco.tables import Summary as Summary
from gpusched_papers.sjf_bco.wang_anchor import LARGEST_RING_SHARE as LARGEST_RING_SHARE
from gpusched_papers.sjf_bco.wang_anchor import anchors as anchors
from gpusched_papers.sjf_bco.workload import CALIBRATION as CALIBRATION
from gpusched_papers.sjf_bco.workload import Calibration as Calibration
from gpusched_papers.sjf_bco.workload import Instance as Instance
from gpusched_papers.sjf_bco.workload import build as build
from gpusched_papers.sjf_bco.workload import instance as instance

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
