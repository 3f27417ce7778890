"""What Liu et al. (IEEE TPDS 2024) publish: the abstract, as the full text is closed."""

from __future__ import annotations

from typing import Final

from gpusched_papers.claims import Claim, Credit, Published

GAP: Final = 0.0204

PUBLISHED: Final = Published(
    claims=(
        Claim(
            "gap",
            "JCT above the optimum, at most",
            "abstract",
            "abstract",
            GAP,
            unit="%",
            lacks="Neither the instances are known, which decide how far anything is from the "
            "optimum, nor whether it is the worst of them or their mean.",
        ),
        Claim(
            "time",
            "running time less by orders of magnitude",
            "abstract",
            "abstract",
            lacks="It is not known what was timed, on which sizes.",
        ),
        Claim(
            "fairness",
            "high scheduling fairness among jobs",
            "abstract",
            "abstract",
            lacks="Neither the measure nor a figure is known.",
        ),
        Claim(
            "proportional",
            "training workload is assigned in proportion, so that the slowest worker does not "
            "decide",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "categories",
            "feasible solutions are categorised, and a matching market solves each, with "
            "guarantees",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "sampling",
            "categories are sampled",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "objective",
            "the mean JCT is minimised",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "draws",
            "59 uniform draws hold one of the best 5 % of the categories at 95 %",
            "1 - 0.95^59",
            "derived",
            59,
            unit="draws",
            is_setting=True,
        ),
    ),
    credits=(
        Credit(
            "matching",
            "categories of solutions, a matching market in each, sampling of categories",
            "abstract",
        ),
        Credit(
            "proportional",
            "workload in proportion to the speeds of the workers",
            "abstract",
            ("split=proportional",),
        ),
    ),
    named=("TPDS 35(6)",),
)
