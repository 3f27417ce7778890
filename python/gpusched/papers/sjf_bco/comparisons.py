"""The published figures of SJF-BCO beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.papers.common.verdicts import Comparison, compare, with_all
from gpusched.papers.sjf_bco.published import (
    BASELINES,
    KAPPA_MAKESPAN,
    MAKESPAN,
    MEAN_JCT,
    PUBLISHED,
    SERVERS,
)
from gpusched.papers.sjf_bco.runs import KappaRun, Run
from gpusched.papers.sjf_bco.tables import Summary

_MAIN: Final = 20


def comparisons(runs: Sequence[Run], kappa_runs: Sequence[KappaRun]) -> list[Comparison]:
    """Compare every published result: an instance of ours for each seed."""
    return with_all((*_by_policy(Summary(runs)), *_by_kappa(kappa_runs)), PUBLISHED.results)


def _by_policy(base: Summary) -> Iterator[Comparison]:
    def makespan(policy: str, servers: int) -> Float64:
        return base.values(policy, servers, lambda run: run.makespan_s)

    for servers in SERVERS:
        for policy in MAKESPAN:
            claim = PUBLISHED.claim(f"makespan-{policy}-{servers}")
            yield compare(claim, makespan(policy, servers))
        for baseline in BASELINES:
            claim = PUBLISHED.claim(f"below-{baseline}-{servers}")
            yield compare(claim, 1 - makespan("sjf-bco", servers) / makespan(baseline, servers))
    for policy in MEAN_JCT:
        mean_jct = base.values(policy, _MAIN, lambda run: run.mean_jct_s)
        yield compare(PUBLISHED.claim(f"mean-jct-{policy}"), mean_jct)


def _by_kappa(runs: Sequence[KappaRun]) -> Iterator[Comparison]:
    ordered = sorted(runs, key=lambda run: run.seed)
    best = {
        kappa: np.array([run.best_s for run in ordered if run.kappa == kappa])
        for kappa in {run.kappa for run in runs}
    }
    for kappa in KAPPA_MAKESPAN:
        if kappa in best:
            yield compare(PUBLISHED.claim(f"kappa-{kappa}"), best[kappa])
    yield compare(PUBLISHED.claim("kappa-falls"), 1 - best[8] / best[1])
    yield compare(PUBLISHED.claim("kappa-rises"), best[32] / best[8] - 1)
