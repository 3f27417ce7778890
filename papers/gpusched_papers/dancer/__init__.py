"""Dancer (Zhang et al., IEEE TCC 2025)."""

from __future__ import annotations

from gpusched_papers.dancer.milp import Gap as Gap
from gpusched_papers.dancer.milp import gap as gap
from gpusched_papers.dancer.reproduction import Dancer as Dancer
from gpusched_papers.dancer.runs import Run as Run
from gpusched_papers.dancer.runs import run_arms as run_arms
from gpusched_papers.dancer.settings import ARMS as ARMS
from gpusched_papers.dancer.settings import COMPARED as COMPARED
from gpusched_papers.dancer.settings import DANCER as DANCER
from gpusched_papers.dancer.settings import EDF as EDF
from gpusched_papers.dancer.settings import FIRST_SEED as FIRST_SEED
from gpusched_papers.dancer.settings import GAVEL_DEADLINES as GAVEL_DEADLINES
from gpusched_papers.dancer.settings import LARGE as LARGE
from gpusched_papers.dancer.settings import LOADS as LOADS
from gpusched_papers.dancer.settings import MIDDLE as MIDDLE
from gpusched_papers.dancer.settings import ONE_TAKEN_AWAY as ONE_TAKEN_AWAY
from gpusched_papers.dancer.settings import ORDERED as ORDERED
from gpusched_papers.dancer.settings import PINNED as PINNED
from gpusched_papers.dancer.settings import PLAIN as PLAIN
from gpusched_papers.dancer.settings import SERIES as SERIES
from gpusched_papers.dancer.settings import SMALL as SMALL
from gpusched_papers.dancer.settings import TAKEN_AWAY as TAKEN_AWAY
from gpusched_papers.dancer.settings import TUNING_SEEDS as TUNING_SEEDS
from gpusched_papers.dancer.settings import WORKLOADS as WORKLOADS
from gpusched_papers.dancer.settings import Setting as Setting
from gpusched_papers.dancer.settings import requests as requests
from gpusched_papers.dancer.summary import Summary as Summary
from gpusched_papers.dancer.workload import workload as workload
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
