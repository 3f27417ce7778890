"""Generators of random cases, written once: Hypothesis drives them and shrinks what they made, and
a seeded random number generator drives them faster by far.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
P = ParamSpec("P")


class Source(Protocol):
    """Where a generator takes its choices from; the first choice is the simplest."""

    def between(self, low: int, high: int) -> int:
        """Return a whole number, both ends among them."""

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of the options; one that stands there twice comes twice as often."""


class Seeded:
    """Choices out of a seed."""

    def __init__(self, seed: str | int) -> None:
        self.random = random.Random(seed)

    def between(self, low: int, high: int) -> int:
        """Return a whole number."""
        return self.random.randint(low, high)

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.random.randrange(len(options))]


class Shrinking:
    """Choices of Hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def between(self, low: int, high: int) -> int:
        """Return a whole number."""
        return self.draw(_whole_numbers(low, high))

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.draw(_positions(len(options)))]


# Kept, since a case is hundreds of choices: a strategy takes longer to make than to draw from.
@functools.lru_cache(maxsize=4096)
def _whole_numbers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@functools.cache
def _positions(count: int) -> st.SearchStrategy[int]:
    return st.sampled_from(range(count))


class Generator(Generic[P, T]):
    """Called it is a strategy of Hypothesis; :meth:`draw` makes one value out of any source."""

    def __init__(self, make: Callable[Concatenate[Source, P], T]) -> None:
        self.make = make
        functools.update_wrapper(self, make)  # type: ignore[arg-type]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> st.SearchStrategy[T]:
        return strategy(self.make, args, kwargs)

    def draw(self, source: Source, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return one value."""
        return self.make(source, *args, **kwargs)


@st.composite
def strategy(
    draw: st.DrawFn, make: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> T:
    """Return what a generator makes of the choices of Hypothesis."""
    return make(Shrinking(draw), *args, **kwargs)


def flag(source: Source) -> bool:
    """Return False or True."""
    return source.one_of((False, True))


def is_rare(source: Source, one_in: int) -> bool:
    """Return True once in so many times."""
    return source.between(1, one_in) == one_in


def some_of(source: Source, pools: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return a value of each of some keys, at times of all."""
    is_whole = is_rare(source, 4)
    return {
        name: source.one_of(values) for name, values in pools.items() if is_whole or flag(source)
    }


def distinct(source: Source, low: int, high: int, most: int) -> list[int]:
    """Return up to so many different numbers, at least one, in rising order."""
    return sorted({source.between(low, high) for _ in range(source.between(1, most))})


def shuffled(source: Source, values: Sequence[T]) -> list[T]:
    """Return the values in any order."""
    left, order = list(values), []
    while left:
        order.append(left.pop(source.between(0, len(left) - 1)))
    return order
