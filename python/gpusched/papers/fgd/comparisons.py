"""The published figures of FGD beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusched.base.arrays import Float64
from gpusched.papers.common.seed_means import mean, reduction
from gpusched.papers.common.verdicts import Comparison, beside, compare, with_all
from gpusched.papers.fgd.published import ALLOCATED, PUBLISHED
from gpusched.papers.fgd.runs import DEFAULT, FGD, UNTIL
from gpusched.papers.fgd.tables import Summary

_PACKING: Final = tuple(name for name in ALLOCATED if name not in (FGD, "random"))


def comparisons(summary: Summary) -> list[Comparison]:
    """Compare every published result, on the default list."""
    return with_all(_compared(summary), PUBLISHED.results)


def _compared(summary: Summary) -> Iterator[Comparison]:
    def left(placement: str) -> Float64:
        return summary.values(DEFAULT, placement, "unallocated", UNTIL)

    fgd = left(FGD)
    worst = max(_PACKING, key=lambda name: float(left(name).mean()))
    over = f"over {worst}, of ours the most"
    yield beside(PUBLISHED.claim("largest-reduction"), reduction(fgd, left(worst)), over)
    more = mean((left(worst) - fgd) * summary.num_gpus)
    yield beside(PUBLISHED.claim("more-gpus"), more, over)
    for name in ALLOCATED:
        yield compare(PUBLISHED.claim(f"allocated-{name}"), 1 - left(name))
        if name != FGD:
            yield compare(PUBLISHED.claim(f"less-left-{name}"), 1 - fgd / left(name))
            gpus = (left(name) - fgd) * summary.num_gpus
            yield compare(PUBLISHED.claim(f"more-gpus-{name}"), gpus)
