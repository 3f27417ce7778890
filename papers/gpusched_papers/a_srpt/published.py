"""What is known of what Luo et al. (INFOCOM 2025) publish: the abstract, and what others tell."""

from __future__ import annotations

from typing import Final

from gpusched_papers.common.published import Claim, Credit, Published

GAIN: Final = (0.23, 0.41)
"""Not the paper's words: of a summary by others, without baselines, measure or setting."""
BASELINES: Final = ("spjf", "spwf", "wcs-duration", "wcs-workload", "wcs-subtime")
"""Names that others give for the baselines of the paper; their rules are as we read the names."""

PUBLISHED: Final = Published(
    claims=(
        Claim(
            "gain",
            "scheduling efficiency better than that of state-of-the-art baselines",
            "a summary by others",
            "second-hand",
            GAIN[0],
            GAIN[1],
            unit="%",
            lacks="Neither the baselines nor the measure, traces and clusters are named, and the "
            "figure was not seen in the paper: it is a goal here, and nobody's result.",
        ),
        Claim(
            "tail",
            "mean and tail completion times fall significantly",
            "a summary by others",
            "second-hand",
            lacks="No figure is given.",
        ),
        Claim(
            "single-machine",
            "the cluster is mapped to one machine under preemptive SRPT, whose schedule guides the "
            "real one",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "competitive",
            "a competitive bound is proved",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "bound",
            "the bound of completion times that is tested here, with its terms",
            "tests/a_srpt_bound.py",
            "derived",
            is_setting=True,
        ),
        Claim(
            "forest",
            "a random forest predicts the iterations of jobs, most of which recur",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "graphs",
            "jobs are graphs of their models and parallel configurations, placed so that little is "
            "sent between servers",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "experiments",
            "a testbed and simulations",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "baselines",
            "baselines called SPJF, SPWF, WCS-Duration, WCS-Workload and WCS-SubTime",
            "not known",
            "second-hand",
            is_setting=True,
        ),
    ),
    credits=(
        Credit("a-srpt", "one machine under SRPT whose schedule guides the real one", "abstract"),
        Credit("a-srpt-by-work", "that machine; who goes first in the queue is ours", "abstract"),
        Credit(
            "heavy-edge", "job graphs placed so that little is sent between servers", "abstract"
        ),
        Credit("stages", "jobs as graphs of stages", "abstract"),
        Credit(
            "forest", "a random forest that predicts the iterations of recurring jobs", "abstract"
        ),
        *(Credit(name, "a baseline of that name", "second-hand") for name in BASELINES),
    ),
    named=("INFOCOM 2025",),
)
