"""The least number and the cheapest mix, compared with trying all of them."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.studies.sizing import NEIGHBOURS, cheapest_mix, fewest


@given(data=st.data())
def test_the_fewest_is_found_from_anywhere(data):
    least = data.draw(st.integers(0, 30))
    most = data.draw(st.integers(least, 400))
    guess = data.draw(st.integers(least, most))
    threshold = data.draw(st.integers(0, 450))
    asked: list[int] = []

    def holds(number: int) -> bool:
        assert least <= number <= most
        asked.append(number)
        return number >= threshold

    found = fewest(holds, least, guess, most)
    assert found == (None if threshold > most else max(threshold, least))
    assert len(set(asked)) <= 3 * (most - least + 2).bit_length() + 2 * NEIGHBOURS + 2


def test_neighbours_below_the_answer_are_tried_until_none_of_them_holds():
    held = {10, *range(12, 41)}
    assert fewest(held.__contains__, 1, 20, 40) == 10
    assert fewest(held.__contains__, 1, 20, 40, neighbours=0) == 12
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number >= 12

    fewest(holds, 1, 20, 40)
    assert {13, 14, 15, 11, 10, 9} <= set(asked)


@given(data=st.data())
def test_the_cheapest_mix_is_that_of_a_search_through_all(data):
    """Of several kinds, each with a strength; held by what is strong enough, so for more, too."""
    size = data.draw(st.integers(1, 3))
    prices = data.draw(st.lists(st.sampled_from([1, 1.5, 2, 3.7, 5]), min_size=size, max_size=size))
    most = tuple(data.draw(st.lists(st.integers(0, 7), min_size=size, max_size=size)))
    strength = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    wanted = data.draw(st.integers(1, 40))
    few = data.draw(st.integers(0, 3))

    def holds(counts: tuple[int, ...]) -> bool:
        assert any(counts)
        assert all(count <= limit for count, limit in zip(counts, most, strict=True))
        power = sum(s * min(n, 5) for s, n in zip(strength, counts, strict=True))
        return power >= wanted and counts[0] >= min(few, most[0])

    def price(counts: tuple[int, ...]) -> float:
        return sum(p * n for p, n in zip(prices, counts, strict=True))

    every = [c for c in itertools.product(*(range(n + 1) for n in most)) if any(c) and holds(c)]
    found = cheapest_mix(holds, prices, most, 10_000)
    assert (found is None) == (not every)
    if found is not None:
        assert found.is_proven
        assert price(found.counts) == pytest.approx(min(map(price, every)))


def test_kinds_that_spoil_a_mix_are_left_out():
    """Forty small ones do, unless there is a large one: then that must do alone."""

    def holds(counts: tuple[int, ...]) -> bool:
        small, large = counts
        return large >= 30 or (large == 0 and small >= 40)

    found = cheapest_mix(holds, [1.0, 2.0], (60, 60), 1_000)
    assert found is not None
    assert (found.counts, found.is_proven) == ((40, 0), True)


def test_a_search_that_runs_out_says_so():
    rng = random.Random(1)
    wall = {a: rng.randint(0, 3) + 200 - 2 * a for a in range(101)}

    def holds(counts: tuple[int, ...]) -> bool:
        return counts[1] >= min(wall[a] for a in range(counts[0] + 1))

    proven = cheapest_mix(holds, [2.0, 1.0], (100, 250), 100_000)
    short = cheapest_mix(holds, [2.0, 1.0], (100, 250), 40)
    assert proven is not None
    assert short is not None
    assert proven.is_proven
    assert not short.is_proven
    assert holds(short.counts)
