"""What is told of the results of A-SRPT beside ours: those baselines first that equal it."""

from __future__ import annotations

from collections.abc import Iterator

from gpusched_papers.a_srpt.published import PUBLISHED
from gpusched_papers.a_srpt.settings import (
    A_SRPT,
    BASELINES,
    BY_WORK,
    LARGE,
    TESTBED,
    WAITING,
    Setting,
)
from gpusched_papers.a_srpt.tables import Summary, jct, name_of, p99
from gpusched_papers.common.verdicts import Comparison, beside, with_all


def comparisons(summary: Summary) -> list[Comparison]:
    """Set our gains beside the goal, in the two main settings."""
    return with_all(_beside(summary), PUBLISHED.results)


def _beside(summary: Summary) -> Iterator[Comparison]:
    claim = PUBLISHED.claim("gain")
    for place in (LARGE, TESTBED):
        setting = Setting(place)
        if not all(summary.has(setting, arm) for arm in (*WAITING, *BASELINES, A_SRPT, BY_WORK)):
            continue  # a small run leaves some out
        of = {"the best of five that wait": WAITING, "the best of five": BASELINES}
        for theirs, arms in of.items():
            other = summary.best(setting, arms)
            for arm in (BY_WORK, A_SRPT):
                what = f"mean JCT of {arm.name} below {theirs}, {name_of(setting)}"
                yield beside(claim, summary.below(setting, arm, other, jct), what)
        other = summary.best(setting, BASELINES)
        what = f"p99 of {BY_WORK.name} below the best of five, {name_of(setting)}"
        found = summary.below(setting, BY_WORK, other, p99).scaled(100)
        yield beside(PUBLISHED.claim("tail"), found, f"{what}, %")
