"""What is run: readings of what the paper leaves open, and which of them are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gpusched_papers.sjf_bco.workload import CALIBRATION, Calibration

SJF_BCO: Final = "sjf-bco"
ESTIMATE_ERROR: Final = 1.15
"""``u``: by how much estimates may be too high."""


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open.

    Attributes
    ----------
    name
        For tables.
    calibration
        Of the workload.
    tie
        Of FA-FFP, see ``gpusched policies sjf-bco``.
    start
        When a bound job starts: see the same.
    baseline_order
        In which order LS, FF and RAND bind the jobs.
    cap
        Which cap the baselines get. ``published``: FF and LS the tightest of each, RAND the sum of
        all jobs' time, T. ``common``: the least one under which every policy binds all jobs,
        SJF-BCO's chosen plan included. ``sjf-bco``: the one of that plan, raised where a job fits
        nowhere under it, so not the same for all. ``own``: the tightest of each. ``best``: of as
        many caps as SJF-BCO runs with one kappa, the one with the least makespan.
    caps_run
        Whether SJF-BCO runs caps above the tightest one of each kappa as well.
    inflation
        ``lambda``.
    """

    name: str
    calibration: Calibration = CALIBRATION
    tie: str = "servers-first"
    start: str = "ready"
    baseline_order: str = "width"
    cap: Literal["published", "common", "sjf-bco", "own", "best"] = "common"
    caps_run: Literal["ladder", "tightest"] = "ladder"
    inflation: float = 1.0


PAPER: Final = Reading("by the paper's rules", tie="least-u", cap="published")
BASE: Final = Reading("ours")
MAIN: Final = (PAPER, BASE)
"""What every published figure is held against."""
VARIANTS: Final = (
    Reading("SJF-BCO runs the tightest caps alone", caps_run="tightest"),
    Reading("baselines: each its own tightest cap", cap="own"),
    Reading("baselines: the best of 16 caps each", cap="best"),
    Reading("baselines: the cap of SJF-BCO's plan", cap="sjf-bco"),
    Reading("baselines bind in order of submission", baseline_order="submit"),
    Reading("FA-FFP takes the least busy GPUs", tie="least-u"),
    Reading("a GPU waits for the next job bound to it", start="in-order"),
    Reading("no contention, no overhead", Calibration(ring_share=0.0, overhead_s=0.0)),
    Reading("no job loses 15 % of its time", Calibration(ring_share=0.009, overhead_s=5e-5)),
)
