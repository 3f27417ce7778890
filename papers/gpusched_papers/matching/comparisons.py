"""The published results of matching markets beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gpusched.statistics.intervals import Interval
from gpusched_papers.claims import Comparison, beside, with_all
from gpusched_papers.matching.published import PUBLISHED
from gpusched_papers.matching.runs import Run, Timing
from gpusched_papers.matching.settings import DRAWS, OURS, SIZES
from gpusched_papers.matching.tables import chosen, families, of_family
from gpusched_papers.study import mean


def comparisons(
    runs: Sequence[Run], timings: Sequence[Timing], online: Iterable[Comparison] = ()
) -> list[Comparison]:
    """Set our gaps, times and fairness beside what the abstract says."""
    return with_all((*_decided(runs), *_timed(timings), *online), PUBLISHED.results)


def _decided(runs: Sequence[Run]) -> Iterator[Comparison]:
    for family in families(runs):
        for size in SIZES:
            own = chosen(of_family(runs, family), OURS, size, DRAWS)
            if not own:
                continue
            gaps, jain = [run.gap for run in own], [run.fairness for run in own]
            at = f"{len(own)} instances of {size}, {family.title}"
            yield beside(PUBLISHED.claim("gap"), mean(gaps), f"mean of {at}")
            yield beside(PUBLISHED.claim("gap"), _single(max(gaps), len(own)), f"worst of {at}")
            found = _single(min(jain), len(own))
            yield beside(PUBLISHED.claim("fairness"), found, f"Jain's index, least of {at}")


def _timed(timings: Sequence[Timing]) -> Iterator[Comparison]:
    for size in dict.fromkeys((one.jobs, one.workers) for one in timings):
        faster = [one.speedup for one in timings if (one.jobs, one.workers) == size]
        what = f"times faster than enumeration of {size}, least of {len(faster)}"
        yield beside(PUBLISHED.claim("time"), _single(float(np.min(faster)), len(faster)), what)


def _single(value: float, num: int) -> Interval:
    return Interval(value, math.nan, math.nan, num)
