"""SJF-BCO by kappa with an instance for each point, and by lambda: more of Figures 5 and 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusched_papers.sjf_bco.published import KAPPA_MAKESPAN, LAMBDA_MAKESPAN, SERVERS
from gpusched_papers.sjf_bco.runs import least_makespan_s
from gpusched_papers.sjf_bco.settings import Reading
from gpusched_papers.sjf_bco.workload import instance

STAGE: Final = "curves on 20 servers"
_APART: Final = 100_000  # between the seeds of one point and the next; the main ones are below
_CURVES: Final = 100_000
_SEED: Final = 2207


@dataclass(frozen=True)
class CurveRun:
    """Makespan of SJF-BCO at a point of a curve, in seconds.

    Attributes
    ----------
    kind
        ``kappa``: each point has an instance of its own. ``lambda``: kappa is 1, and all points
        are of one instance, the one of that seed in the main comparison.
    at
        kappa, or lambda.
    """

    reading: str
    kind: str
    at: int
    seed: int
    makespan_s: float


@dataclass(frozen=True)
class Chance:
    """How often a curve by kappa looks like the published one where each point has its instance.

    Parts of all curves that take an instance for each point out of those that were run.

    Attributes
    ----------
    is_u
        Its least point is neither the first nor the last.
    as_high
        It falls from kappa = 1 to 8 and rises from 8 to 32 by as much as published, or more.
    least_at_8
        That, and kappa = 8 is the least point.
    steps
        It rises from kappa = 8 to 10, which pack alike, by as much as published, or more.
    """

    is_u: float
    as_high: float
    least_at_8: float
    steps: float


def run_curves(seed: int, reading: Reading) -> list[CurveRun]:
    """Run SJF-BCO at every published point of Figures 5 and 7."""
    servers = max(SERVERS)

    def run(kind: str, at: int, of: int, kappa: int, how: Reading) -> CurveRun:
        drawn = instance(of, servers, reading.calibration)
        return CurveRun(reading.name, kind, at, seed, least_makespan_s(drawn, how, kappa))

    return [
        *(
            run("kappa", kappa, _APART * place + seed, kappa, reading)
            for place, kappa in enumerate(KAPPA_MAKESPAN, 1)
        ),
        *(
            run("lambda", factor, seed, 1, replace(reading, inflation=float(factor)))
            for factor in LAMBDA_MAKESPAN
        ),
    ]


def points(runs: Sequence[CurveRun], reading: Reading, kind: str) -> dict[int, list[float]]:
    """Return the makespans at each point, one for each seed, in seconds."""
    found: dict[int, list[float]] = {}
    for run in sorted(runs, key=lambda run: (run.at, run.seed)):
        if (run.reading, run.kind) == (reading.name, kind):
            found.setdefault(run.at, []).append(run.makespan_s)
    return found


def chance(by_kappa: dict[int, list[float]]) -> Chance:
    """Draw curves, a point each out of the instances of its kappa."""
    rng = np.random.default_rng(_SEED)
    curve = {kappa: rng.choice(values, _CURVES) for kappa, values in by_kappa.items()}
    published = KAPPA_MAKESPAN
    every = np.stack(list(curve.values()))
    ends = np.minimum(every[0], every[-1])
    as_high = (curve[1] / curve[8] >= published[1] / published[8]) & (
        curve[32] / curve[8] >= published[32] / published[8]
    )
    return Chance(
        is_u=float(np.mean(every[1:-1].min(axis=0) < ends)),
        as_high=float(np.mean(as_high)),
        least_at_8=float(np.mean(as_high & (every.min(axis=0) == curve[8]))),
        steps=float(np.mean(curve[10] / curve[8] >= published[10] / published[8])),
    )
