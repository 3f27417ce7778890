"""The capacity under which jobs wait as long as they did."""

from __future__ import annotations

import pytest

from gpusched.studies.fidelity_grades import (
    MOST_TIMES,
    PATIENCE,
    nearest_capacity,
    smaller_capacity,
)
from tests.each import each


class Site:
    """Mean waits that fall with the servers, counted as they are asked for."""

    def __init__(self, scale: float = 1e6) -> None:
        self.scale = scale
        self.asked: list[int] = []

    def __call__(self, servers: int) -> float:
        self.asked.append(servers)
        return self.scale / servers**2


@each("true", [10, 11, 12, 17, 25, 39, 40])
def test_the_true_number_is_found(true):
    site = Site()
    assert nearest_capacity(site, 10, 1e6 / true**2) == true
    assert len(set(site.asked)) == len(site.asked)


@each("true", [1000, 1001, 1234, 2345, 3999])
def test_few_runs_find_it_among_many(true):
    site = Site()
    assert nearest_capacity(site, 1000, 1e6 / true**2) == true
    assert len(site.asked) <= 20


def test_the_nearer_of_two_numbers_is_taken():
    site = Site()
    assert nearest_capacity(site, 10, (site(20) * 0.9 + site(21) * 0.1)) == 20
    assert nearest_capacity(site, 10, (site(20) * 0.1 + site(21) * 0.9)) == 21


def test_no_number_below_the_least_and_none_beyond_the_most_is_tried():
    low, high = Site(), Site()
    assert nearest_capacity(low, 10, 1e9) == 10
    assert low.asked == [10]
    assert nearest_capacity(high, 10, 0.0) == 10 * MOST_TIMES
    assert max(high.asked) == 10 * MOST_TIMES


def test_waits_that_do_not_change_give_the_fewest_servers():
    assert nearest_capacity(lambda servers: 5.0, 10, 4.0) == 10
    assert nearest_capacity(lambda servers: 5.0, 1, 4.0) == 1


@pytest.mark.parametrize(("nearest", "found"), [(100, 100), (90, 90), (71, 70), (0, 50)])
def test_fewer_servers_are_tried_while_that_comes_nearer(nearest, found):
    asked: list[int] = []

    def distance(servers: int) -> float:
        asked.append(servers)
        return abs(servers - nearest)

    assert smaller_capacity(distance, 100, 50) == found
    assert min(asked) >= 50
    assert len(asked) <= 1 + PATIENCE + (100 - found) // 5


def test_a_bump_on_the_way_down_is_passed_and_a_plain_is_not():
    bumpy = {100: 5.0, 95: 6.0, 90: 5.5, 85: 3.0, 80: 4.0, 75: 4.0, 70: 4.0, 65: 1.0}
    assert smaller_capacity(bumpy.__getitem__, 100, 65) == 85


def test_one_server_is_the_least():
    assert smaller_capacity(lambda servers: 1.0, 1, 1) == 1
    assert smaller_capacity(lambda servers: servers, 3, 2) == 2
