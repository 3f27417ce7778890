"""What is published of matching markets beside our runs online."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched_papers.claims import Claim, Comparison, beside
from gpusched_papers.matching.online.settings import ELASTIC, OWN, SHORT_SIGHTED
from gpusched_papers.matching.online.tables import Summary
from gpusched_papers.study import mean


def comparisons(summary: Summary, fairness: Claim) -> Iterator[Comparison]:
    """Set Jain's index of jobs that come and go beside what is published of fairness."""
    for arm in (SHORT_SIGHTED, ELASTIC, OWN):
        here = [setting for setting in summary.small() if summary.has(setting, arm)]
        if here:
            by_seed = np.mean(
                [summary.values(setting, arm, lambda run: run.fairness) for setting in here], axis=0
            )
            what = f"Jain's index online, {arm.name}, mean of {len(here)} settings"
            yield beside(fairness, mean(by_seed), what)
