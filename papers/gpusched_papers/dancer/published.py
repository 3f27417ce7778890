"""What Zhang et al. (IEEE TCC 2025) publish: the abstract, as the full text is closed."""

from __future__ import annotations

from typing import Final

from gpusched_papers.claims import Claim, Credit, Published

GAINS: Final = (0.589, 0.742)
"""By how much the deadline satisfactory ratio rises over others, "up to"."""

PUBLISHED: Final = Published(
    claims=(
        Claim(
            "gains",
            "rise of the deadline satisfactory ratio over state-of-the-art approaches, at most",
            "abstract",
            "abstract",
            GAINS[0],
            GAINS[1],
            unit="%",
            lacks="The abstract names neither the approaches nor cluster, jobs and deadlines; the "
            "body was not read.",
        ),
        Claim(
            "both-change",
            "number and type of a job's GPUs change in the course of its life",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "objective",
            "the number of jobs that meet their deadlines is maximised",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "decoupled",
            "placement is decoupled from allocation",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "online",
            "an integer linear program, solved online by primal-dual and dynamic programming with "
            "a competitive ratio",
            "abstract",
            "abstract",
            is_setting=True,
        ),
        Claim(
            "mathematics",
            "prices, the dynamic program and the ratio in their form here",
            "how-to on deadlines",
            "derived",
            is_setting=True,
        ),
    ),
    credits=(
        Credit(
            "dancer",
            "number and type both change; primal-dual with dynamic programming, online",
            "abstract",
        ),
    ),
    named=("IEEE TCC",),
)
