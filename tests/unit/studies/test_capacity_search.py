"""The capacity under which jobs wait as long as they did."""

from __future__ import annotations

import pytest

from gpusched.studies.capacity_search import MOST_TIMES, nearest_capacity


class Site:
    """Mean waits that fall with the servers, counted as they are asked for."""

    def __init__(self, scale: float = 1e6) -> None:
        self.scale = scale
        self.asked: list[int] = []

    def __call__(self, servers: int) -> float:
        self.asked.append(servers)
        return self.scale / servers**2


@pytest.mark.parametrize("true", [10, 11, 12, 17, 25, 39, 40])
def test_the_true_number_is_found(true: int) -> None:
    site = Site()
    assert nearest_capacity(site, 10, 1e6 / true**2) == true
    assert len(set(site.asked)) == len(site.asked)


@pytest.mark.parametrize("true", [1000, 1001, 1234, 2345, 3999])
def test_few_runs_find_it_among_many(true: int) -> None:
    site = Site()
    assert nearest_capacity(site, 1000, 1e6 / true**2) == true
    assert len(site.asked) <= 20


def test_the_nearer_of_two_numbers_is_taken() -> None:
    site = Site()
    assert nearest_capacity(site, 10, (site(20) * 0.9 + site(21) * 0.1)) == 20
    assert nearest_capacity(site, 10, (site(20) * 0.1 + site(21) * 0.9)) == 21


def test_no_number_below_the_least_and_none_beyond_the_most_is_tried() -> None:
    low, high = Site(), Site()
    assert nearest_capacity(low, 10, 1e9) == 10
    assert low.asked == [10]
    assert nearest_capacity(high, 10, 0.0) == 10 * MOST_TIMES
    assert max(high.asked) == 10 * MOST_TIMES


def test_waits_that_do_not_change_give_the_fewest_servers() -> None:
    assert nearest_capacity(lambda servers: 5.0, 10, 4.0) == 10
    assert nearest_capacity(lambda servers: 5.0, 1, 4.0) == 1
