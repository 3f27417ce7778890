"""The cheapest counts of several kinds for which something holds: :func:`cheapest_mix`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gpusched.studies.sizing.fewest import fewest

Counts = tuple[int, ...]
# Of more kinds, not every set of them is thinned out.
_FEW_KINDS: Final = 4
# Sums of prices are rounded: what is cheaper by less is as dear.
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Mix:
    """The cheapest mix that was found.

    Attributes
    ----------
    counts
        Of each kind.
    is_proven
        Whether every cheaper mix lies below one of the same kinds for which it does not hold: if
        it holds for more of its kinds wherever it holds for less, none of them is an answer.
    """

    counts: Counts
    is_proven: bool


def cheapest_mix(
    holds: Callable[[Counts], bool],
    prices: Sequence[float],
    most: Counts,
    max_asked: int,
) -> Mix | None:
    """Find the counts of least price for which ``holds``, up to ``most`` of each kind.

    For each set of kinds, the largest mix of them is thinned out, one kind after another by
    bisection. Then the greatest mixes are asked for that are cheaper than the best one: if it
    holds for none of them, it holds for no cheaper mix, as each of those lies below one of them.
    One for which it does hold is thinned out in turn, and the rest is asked again below its
    price. Kinds are added to a mix in none of this: a few large servers may keep gangs from many
    small ones.

    Parameters
    ----------
    prices
        Of one of each kind, more than 0.
    max_asked
        After so many questions the best mix so far is returned, without a proof.

    Returns
    -------
    Mix or None
        None if it does not hold for ``most``, nor for all there is of fewer kinds.
    """
    asked = _Asked(holds)
    price = _price(prices)
    supports = list(_supports(most))
    best: Counts | None = None
    for support in supports:
        full = tuple(most[kind] if kind in support else 0 for kind in range(len(most)))
        if asked(full):
            best = min([*filter(None, [best]), *_thinned(asked, full, support, prices)], key=price)
    if best is None:
        return None
    while True:
        better = None
        for counts in _cheaper(prices, most, supports, price(best)):
            if asked.is_below_a_failure(counts):
                continue
            if len(asked.answers) >= max_asked:
                return Mix(best, is_proven=False)
            if asked(counts):
                better = counts
                break
        if better is None:
            return Mix(best, is_proven=True)
        support = tuple(kind for kind, count in enumerate(better) if count)
        best = min(_thinned(asked, better, support, prices), key=price)


class _Asked:
    """Answers, each asked for once."""

    def __init__(self, holds: Callable[[Counts], bool]) -> None:
        self._holds = holds
        self.answers: dict[Counts, bool] = {}

    def __call__(self, counts: Counts) -> bool:
        if counts not in self.answers:
            self.answers[counts] = self._holds(counts)
        return self.answers[counts]

    def is_below_a_failure(self, counts: Counts) -> bool:
        """Whether it did not hold for as many or more of each of the same kinds."""
        return any(
            not held
            and all(
                few <= many and (few > 0) == (many > 0)
                for few, many in zip(counts, other, strict=True)
            )
            for other, held in self.answers.items()
        )


def _price(prices: Sequence[float]) -> Callable[[Counts], float]:
    return lambda counts: math.fsum(
        price * count for price, count in zip(prices, counts, strict=True)
    )


def _supports(most: Counts) -> Iterator[Counts]:
    """Sets of kinds: the single ones, all, and where there are few kinds the others."""
    kinds = [kind for kind, count in enumerate(most) if count]
    sizes = range(1, len(kinds) + 1) if len(kinds) <= _FEW_KINDS else (1, len(kinds))
    for size in sizes:
        yield from itertools.combinations(kinds, size)


def _thinned(
    asked: _Asked, counts: Counts, support: Counts, prices: Sequence[float]
) -> Iterator[Counts]:
    """Take away of each kind as many as can be spared, the dearest first, or the cheapest."""
    dearest = tuple(sorted(support, key=lambda kind: -prices[kind]))
    for order in dict.fromkeys((dearest, dearest[::-1])):
        left = counts
        for kind in order:
            left = _less_of(asked, left, kind)
        yield left


def _less_of(asked: _Asked, counts: Counts, kind: int) -> Counts:
    def with_count(count: int) -> bool:
        return asked((*counts[:kind], count, *counts[kind + 1 :]))

    # Halves first: the way down from a large number is long.
    guess = counts[kind]
    while guess > 1 and with_count(guess // 2):
        guess //= 2
    left = fewest(with_count, 1, guess, counts[kind], neighbours=0)
    assert left is not None, "it holds for the count that it has"
    return (*counts[:kind], left, *counts[kind + 1 :])


def _cheaper(
    prices: Sequence[float], most: Counts, supports: Sequence[Counts], price: float
) -> Iterator[Counts]:
    """Every mix cheaper than ``price`` to which nothing of its kinds can be added.

    Those in the middle come first: the best of all is not often made of one kind.
    """
    limit = price * (1 - _TOLERANCE)
    for support in supports:
        # The cheapest kind fills up: there are the most counts of it.
        filler = min(support, key=lambda kind: prices[kind])
        others = [kind for kind in support if kind != filler]
        ranges = [range(1, min(most[kind], int(limit / prices[kind])) + 1) for kind in others]
        for chosen in itertools.product(*map(_middle_first, ranges)):
            counts = [0] * len(prices)
            for kind, count in zip(others, chosen, strict=True):
                counts[kind] = count
            left = limit - _price(prices)(tuple(counts))
            counts[filler] = min(most[filler], int(left / prices[filler])) if left > 0 else 0
            if counts[filler] > 0:
                yield tuple(counts)


def _middle_first(numbers: range) -> Iterator[int]:
    """All numbers of a range, the middles of its halves, quarters and so on before the rest."""
    parts = [(0, len(numbers))]
    while parts:
        begin, end = parts.pop(0)
        if begin < end:
            middle = (begin + end) // 2
            yield numbers[middle]
            parts += [(begin, middle), (middle + 1, end)]
