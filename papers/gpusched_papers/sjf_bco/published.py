"""What Yu et al. (MobiHoc 2022) publish, in slots; one slot is one second here."""

from __future__ import annotations

from typing import Final

from gpusched_papers.claims import Claim, Credit, Published

POLICIES: Final = ("sjf-bco", "ls", "ff", "rand")
BASELINES: Final = ("ls", "ff", "rand")
SERVERS: Final = (10, 15, 20)
MAKESPAN: Final = {
    "sjf-bco": {10: 939, 15: 715, 20: 535},
    "ls": {10: 1160, 15: 870, 20: 595},
    "ff": {10: 1404, 15: 963, 20: 719},
    "rand": {10: 1488, 15: 1260, 20: 1128},
}
"""Figures 4 and 6: by policy and number of servers."""
MEAN_JCT: Final = {"sjf-bco": 178, "ls": 187, "ff": 452, "rand": 261}
"""Figure 4: average completion on 20 servers."""
KAPPA_MAKESPAN: Final = {1: 626, 2: 564, 4: 541, 8: 535, 10: 700, 16: 749, 32: 736}
"""Figure 5: SJF-BCO on 20 servers with one threshold kappa."""
LAMBDA_MAKESPAN: Final = {1: 1043, 2: 882, 4: 730, 8: 538}
"""Figure 7: SJF-BCO with kappa = 1, by lambda."""
JOBS_OF_WIDTH: Final = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}
ITERATIONS: Final = (1000.0, 6000.0)
ITERATION_S: Final = (0.01, 0.05)
SERVICE_S: Final = (50.0, 300.0)
SERVER_GPUS: Final = (4, 8, 16, 32)
MOST_LOST: Final = 0.15
"""The part of the execution time that contention and overhead take, at most."""


def reduction(baseline: str, servers: int) -> float:
    """By how much SJF-BCO's published makespan is below a baseline's, a ratio."""
    return 1 - MAKESPAN["sjf-bco"][servers] / MAKESPAN[baseline][servers]


TREND: Final = {"ls": (10, 20), "ff": (10, 20), "rand": (20, 10)}
"""On how many servers SJF-BCO leads a baseline by more, and by less."""
_ALIKE: Final = "No job is 9 or 10 GPUs wide, so kappa = 10 packs every job as kappa = 8 does."
_FIGURE_7: Final = (
    "Figure 5 has 626 for kappa = 1 and lambda = 1, Figure 7 has 1043: their settings differ, and "
    "it is not published in what."
)

PUBLISHED: Final = Published(
    claims=(
        *(
            Claim(
                f"makespan-{policy}-{servers}",
                f"makespan of {policy}, {servers} servers",
                "Figure 4" if servers == 20 else "Figure 6",
                "text",
                value,
                unit="s",
                better="lower",
            )
            for policy, by_servers in MAKESPAN.items()
            for servers, value in by_servers.items()
        ),
        *(
            Claim(
                f"mean-jct-{policy}",
                f"average completion of {policy}, 20 servers",
                "Figure 4",
                "text",
                value,
                unit="s",
                better="lower",
            )
            for policy, value in MEAN_JCT.items()
        ),
        *(
            Claim(
                f"below-{baseline}-{servers}",
                f"makespan of sjf-bco below that of {baseline}, {servers} servers",
                "Figures 4 and 6",
                "derived",
                reduction(baseline, servers),
                unit="%",
                better="higher",
            )
            for baseline in BASELINES
            for servers in SERVERS
        ),
        *(
            Claim(
                f"kappa-{kappa}",
                f"makespan of sjf-bco with kappa = {kappa}",
                "Figure 5",
                "text",
                value,
                unit="s",
                better="lower",
                lacks=_ALIKE if kappa == 10 else "",
            )
            for kappa, value in KAPPA_MAKESPAN.items()
        ),
        Claim(
            "kappa-falls",
            "fall of the makespan from kappa = 1 to 8",
            "Figure 5",
            "derived",
            1 - KAPPA_MAKESPAN[8] / KAPPA_MAKESPAN[1],
            unit="%",
            better="higher",
        ),
        Claim(
            "kappa-rises",
            "rise of the makespan from kappa = 8 to 32",
            "Figure 5",
            "derived",
            KAPPA_MAKESPAN[32] / KAPPA_MAKESPAN[8] - 1,
            unit="%",
            better="higher",
        ),
        Claim(
            "kappa-widest",
            "makespan with kappa = n_g = 32 above that of ls",
            "Figures 4 and 5",
            "derived",
            KAPPA_MAKESPAN[32] / MAKESPAN["ls"][20] - 1,
            unit="%",
            better="higher",
        ),
        *(
            Claim(
                f"fewer-{baseline}",
                f"lead of sjf-bco over {baseline}, {more} servers less {less} servers",
                "Figure 6",
                "derived",
                round(reduction(baseline, more) - reduction(baseline, less), 3),
                unit="%",
                better="higher",
            )
            for baseline, (more, less) in TREND.items()
        ),
        Claim(
            "lambda-falls",
            "fall of the makespan from lambda = 1 to 8, kappa = 1",
            "Figure 7",
            "derived",
            1 - LAMBDA_MAKESPAN[8] / LAMBDA_MAKESPAN[1],
            unit="%",
            better="higher",
        ),
        *(
            Claim(
                f"lambda-{factor}",
                f"makespan of sjf-bco with kappa = 1, lambda = {factor}",
                "Figure 7",
                "text",
                value,
                unit="s",
                lacks=_FIGURE_7,
            )
            for factor, value in LAMBDA_MAKESPAN.items()
        ),
        Claim(
            "jobs",
            "160 jobs by width: "
            + ", ".join(f"{jobs} of {width}" for width, jobs in JOBS_OF_WIDTH.items()),
            "experiments",
            "text",
            160,
            unit="jobs",
            is_setting=True,
        ),
        Claim(
            "iterations", "iterations of a job", "experiments", "text", *ITERATIONS, is_setting=True
        ),
        Claim(
            "iteration-time",
            "time of an iteration",
            "experiments",
            "text",
            *ITERATION_S,
            unit="s",
            is_setting=True,
        ),
        Claim(
            "service",
            "execution time of a job",
            "experiments",
            "text",
            *SERVICE_S,
            unit="s",
            is_setting=True,
        ),
        Claim(
            "servers",
            "10, 15 or 20 servers of 4, 8, 16 or 32 GPUs, drawn evenly",
            "experiments",
            "text",
            is_setting=True,
        ),
        Claim(
            "lost",
            "contention and overhead take at most this part of the execution time",
            "experiments",
            "text",
            MOST_LOST,
            unit="%",
            is_setting=True,
        ),
        Claim("xi", "xi1 = xi2, and lambda = 1", "experiments", "text", is_setting=True),
        Claim(
            "fa-ffp",
            "FA-FFP takes the GPUs of least busy time under the cap",
            "Algorithm 2, line 4",
            "text",
            is_setting=True,
        ),
        Claim(
            "ratio",
            "the makespan is at most n_g phi u / l times the optimum",
            "Theorem 5",
            "text",
            is_setting=True,
        ),
    ),
    credits=(
        Credit(
            "sjf-bco",
            "the narrowest job first, FA-FFP up to kappa and LBSGF beyond, a cap by bisection",
            "text",
            ("kappa", "lambda", "theta_s", "u", "tie=least-u"),
        ),
        Credit("ff", "a baseline: the first GPUs under a cap", "text", ("theta_s", "u")),
        Credit("ls", "a baseline: the least busy GPUs under a cap", "text", ("theta_s", "u")),
        Credit("rand", "a baseline: any GPUs under a cap", "text", ("theta_s", "u")),
        Credit(
            "ring",
            "the time of an iteration",
            "text",
            ("overhead_s", "reduction_bytes_per_s"),
        ),
        Credit("shared", "the loss f(a, k) = k + a (k - 1)", "text", ("degradation", "scaling")),
    ),
    named=("MobiHoc 2022",),
)
