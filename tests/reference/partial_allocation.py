"""The partial allocation mechanism, by looking at every allocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Bundle = tuple[int, int, float]
"""GPU type, number of GPUs, and how many times better off the bidder is with them."""


def auction(
    free: Mapping[int, int], bids: Sequence[Sequence[Bundle]]
) -> list[tuple[Bundle | None, float]]:
    """Return for each bidder what it wins and the fraction of it that it keeps."""
    _, won = best(dict(free), bids)
    awards = []
    for i, bundle in enumerate(won):
        others = 1.0
        for j in reversed(range(len(bids))):
            taken = won[j]
            if j != i and taken is not None:
                others = taken[2] * others
        without, _ = best(dict(free), [*bids[:i], [], *bids[i + 1 :]])
        awards.append((bundle, 1.0 if bundle is None else others / without))
    return awards


def best(
    free: Mapping[int, int], bids: Sequence[Sequence[Bundle]]
) -> tuple[float, list[Bundle | None]]:
    """Return the greatest product of worths, and the first allocation that has it."""
    if not bids:
        return 1.0, []
    product, won = best(free, bids[1:])
    found: tuple[float, list[Bundle | None]] = (product, [None, *won])
    for bundle in bids[0]:
        gpu_type, gpus, worth = bundle
        if gpus > free[gpu_type]:
            continue
        product, won = best({**free, gpu_type: free[gpu_type] - gpus}, bids[1:])
        if worth * product > found[0]:
            found = (worth * product, [bundle, *won])
    return found
