"""The published figures of FGD beside ours, of the placements as the authors' program has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusched.base.arrays import Float64
from gpusched_papers.common.seed_means import mean, reduction
from gpusched_papers.common.verdicts import Comparison, beside, compare, with_all
from gpusched_papers.fgd.published import OF_DEFAULT_LIST, PUBLISHED, allocated_key
from gpusched_papers.fgd.settings import AUTHORS, FGD, UNTIL
from gpusched_papers.fgd.tables import Summary
from gpusched_papers.fgd.workload import DEFAULT, OTHERS

_PACKING: Final = tuple(name for name in AUTHORS if name not in (FGD, "random"))


def of_default_list(summary: Summary) -> list[Comparison]:
    """Compare every published result on the default list."""
    return with_all(_of_default_list(summary), OF_DEFAULT_LIST)


def of_other_lists(summary: Summary) -> list[Comparison]:
    """Compare the recorded results on the other lists that were run."""
    return [
        compare(
            PUBLISHED.claim(allocated_key(name, workload.name)),
            1 - summary.values(workload, placement, "unallocated", UNTIL),
        )
        for workload in OTHERS
        if summary.has(workload)
        for name, placement in AUTHORS.items()
    ]


def _of_default_list(summary: Summary) -> Iterator[Comparison]:
    def left(name: str) -> Float64:
        return summary.values(DEFAULT, AUTHORS[name], "unallocated", UNTIL)

    fgd = left(FGD)
    worst = max(_PACKING, key=lambda name: float(left(name).mean()))
    over = f"over {worst}, of ours the most"
    yield beside(PUBLISHED.claim("largest-reduction"), reduction(fgd, left(worst)), over)
    more = mean((left(worst) - fgd) * summary.num_gpus)
    yield beside(PUBLISHED.claim("more-gpus"), more, over)
    for name in AUTHORS:
        yield compare(PUBLISHED.claim(allocated_key(name, DEFAULT.name)), 1 - left(name))
        if name != FGD:
            yield compare(PUBLISHED.claim(f"less-left-{name}"), 1 - fgd / left(name))
            gpus = (left(name) - fgd) * summary.num_gpus
            yield compare(PUBLISHED.claim(f"more-gpus-{name}"), gpus)
