"""The published figures of SJF-BCO beside ours, by the paper's rules and by our own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched_papers.claims import Comparison, beside, compare, with_all
from gpusched_papers.sjf_bco.curves import CurveRun, points
from gpusched_papers.sjf_bco.published import (
    BASELINES,
    KAPPA_MAKESPAN,
    LAMBDA_MAKESPAN,
    MAKESPAN,
    MEAN_JCT,
    PUBLISHED,
    SERVERS,
    TREND,
)
from gpusched_papers.sjf_bco.runs import KappaRun, Run
from gpusched_papers.sjf_bco.settings import MAIN, Reading
from gpusched_papers.sjf_bco.tables import Summary
from gpusched_papers.study import mean

_MOST: Final = max(SERVERS)
_FRESH: Final = "an instance for each kappa"


def comparisons(
    runs: Sequence[Run], kappa_runs: Sequence[KappaRun], curve_runs: Sequence[CurveRun]
) -> list[Comparison]:
    """Compare every published result: an instance of ours for each seed."""
    found: list[Comparison] = []
    for reading in MAIN:
        base = Summary(runs, reading.name)
        found += _by_policy(base, reading.name)
        found += _by_kappa(base, kappa_runs, reading.name)
        if curve_runs:
            found += _on_curves(curve_runs, reading)
    made = {one.claim.key for one in found}  # a quick run has no curves
    return with_all(found, [one for one in PUBLISHED.results if one.lacks or one.key in made])


def _by_policy(base: Summary, what: str) -> Iterator[Comparison]:
    def makespan(policy: str, servers: int) -> Float64:
        return base.values(policy, servers, lambda run: run.makespan_s)

    def below(baseline: str, servers: int) -> Float64:
        return 1 - makespan("sjf-bco", servers) / makespan(baseline, servers)

    for servers in SERVERS:
        for policy in MAKESPAN:
            claim = PUBLISHED.claim(f"makespan-{policy}-{servers}")
            yield compare(claim, makespan(policy, servers), what)
        for baseline in BASELINES:
            claim = PUBLISHED.claim(f"below-{baseline}-{servers}")
            yield compare(claim, below(baseline, servers), what)
    for baseline, (more, less) in TREND.items():
        change = below(baseline, more) - below(baseline, less)
        yield compare(PUBLISHED.claim(f"fewer-{baseline}"), change, what)
    for policy in MEAN_JCT:
        mean_jct = base.values(policy, _MOST, lambda run: run.mean_jct_s)
        yield compare(PUBLISHED.claim(f"mean-jct-{policy}"), mean_jct, what)


def _by_kappa(base: Summary, runs: Sequence[KappaRun], what: str) -> Iterator[Comparison]:
    mine = sorted((run for run in runs if run.reading == what), key=lambda run: run.seed)
    best = {
        kappa: np.array([run.best_s for run in mine if run.kappa == kappa])
        for kappa in {run.kappa for run in mine}
    }
    for kappa in KAPPA_MAKESPAN:
        if kappa in best:
            yield compare(PUBLISHED.claim(f"kappa-{kappa}"), best[kappa], what)
    yield from _arms(best, what)
    ls = base.values("ls", _MOST, lambda run: run.makespan_s)
    yield compare(PUBLISHED.claim("kappa-widest"), best[max(best)] / ls - 1, what)


def _on_curves(runs: Sequence[CurveRun], reading: Reading) -> Iterator[Comparison]:
    def at(kind: str) -> dict[int, Float64]:
        return {key: np.array(found) for key, found in points(runs, reading, kind).items()}

    yield from _arms(at("kappa"), f"{reading.name}; {_FRESH}")
    by_lambda = at("lambda")
    least, most = min(by_lambda), max(by_lambda)
    falls = 1 - by_lambda[most] / by_lambda[least]
    yield compare(PUBLISHED.claim("lambda-falls"), falls, reading.name)
    for factor in LAMBDA_MAKESPAN:
        claim = PUBLISHED.claim(f"lambda-{factor}")
        yield beside(claim, mean(by_lambda[factor]), reading.name)


def _arms(by_kappa: dict[int, Float64], what: str) -> Iterator[Comparison]:
    yield compare(PUBLISHED.claim("kappa-falls"), 1 - by_kappa[8] / by_kappa[1], what)
    yield compare(PUBLISHED.claim("kappa-rises"), by_kappa[32] / by_kappa[8] - 1, what)
