"""The cut of a job graph: which replicas share a server, by examples worked out by hand."""

from __future__ import annotations

import pytest

from gpusched._core import _testing
from tests.each import each

cut = _testing.heavy_edge_cut


def test_the_heaviest_edge_stays_inside_the_first_server():
    # Vertices 0, 1 | 2, 3. The pair of stage 1 weighs most.
    assert cut([2, 2], [1.0], [3.0, 5.0], [2, 2]) == [2, 3, 0, 1]
    assert cut([2, 2], [1.0], [5.0, 3.0], [2, 2]) == [0, 1, 2, 3]
    # Pipeline edges weigh most: one replica of each stage together.
    assert cut([2, 2], [6.0], [3.0, 5.0], [2, 2]) == [0, 2, 1, 3]


def test_the_set_grows_by_the_largest_weight_into_it():
    # A chain 0 - 1 - 2 - 3 of weights 2, 7, 4: the seed {1, 2}, then 3 (4 against 2).
    assert cut([1, 1, 1, 1], [2.0, 7.0, 4.0], [0.0] * 4, [3, 1]) == [1, 2, 3, 0]
    # Into {0, 1} vertex 2 has 3 + 3 by all-reduce; a replica of stage 1 has 2 * 2.
    assert cut([3, 3], [2.0], [3.0, 1.0], [3, 3]) == [0, 1, 2, 3, 4, 5]
    # And 2 * 4 > 3 + 3; then stage 1 has 8 + 1, stage 0 has 6 + 4.
    assert cut([3, 3], [4.0], [3.0, 1.0], [3, 3]) == [0, 1, 3, 2, 4, 5]
    # The seed is the edge of 4: {0, 3}; into it stage 0 has 3 + 4, stage 1 has 1 + 4.
    assert cut([3, 3], [4.0], [3.0, 1.0], [4, 2]) == [0, 1, 2, 3, 4, 5]


def test_equal_weights_into_the_set_go_to_the_smaller_weight_outside():
    # Into the seed {1, 2} both ends have 3; stage 0 has nothing else, stage 3 has an edge of 1.
    assert cut([1, 1, 1, 1, 1], [3.0, 5.0, 3.0, 1.0], [0.0] * 5, [3, 2]) == [0, 1, 2, 3, 4]
    # The other way round stage 4 is the end that has nothing else.
    assert cut([1, 1, 1, 1, 1], [1.0, 3.0, 5.0, 3.0], [0.0] * 5, [3, 2]) == [2, 3, 4, 0, 1]


def test_what_still_ties_goes_to_the_lower_vertex():
    assert cut([1, 1, 1], [3.0, 3.0], [0.0] * 3, [2, 1]) == [0, 1, 2]
    assert cut([2, 2], [1.0], [1.0, 1.0], [2, 2]) == [0, 1, 2, 3]
    assert cut([1, 1, 1, 1], [3.0, 5.0, 3.0], [0.0] * 4, [3, 1]) == [0, 1, 2, 3]


def test_a_quota_of_one_takes_the_vertex_with_the_least_incident_weight():
    # Of the chain 0 - 1 - 2 the ends weigh 5 and 2, the middle 7.
    assert cut([1, 1, 1], [5.0, 2.0], [0.0] * 3, [1, 2]) == [2, 0, 1]
    assert cut([1, 1, 1], [2.0, 5.0], [0.0] * 3, [1, 2]) == [0, 1, 2]
    # The weight counts all edges, those to vertices elsewhere among them: 6 against 5, 7, 2.
    assert cut([1, 1, 1, 1], [6.0, 1.0, 2.0], [0.0] * 4, [2, 1, 1]) == [0, 1, 3, 2]


def test_no_edge_is_needed_to_grow():
    assert cut([2, 1], [0.0], [0.0, 0.0], [2, 1]) == [0, 1, 2]
    # Only vertices without edges among them are left for the second server.
    assert cut([1, 2, 1], [4.0, 4.0], [0.0] * 3, [2, 2]) == [0, 1, 2, 3]
    assert cut([1, 1, 1], [4.0, 0.0], [0.0] * 3, [2, 1]) == [0, 1, 2]


def test_one_stage_and_one_server_leave_nothing_to_choose():
    assert cut([5], [], [1.0], [3, 1, 1]) == [0, 1, 2, 3, 4]
    assert cut([1, 3, 2], [1.0, 9.0], [1.0, 5.0, 2.0], [6]) == [0, 1, 2, 3, 4, 5]


@each(
    ("arguments", "rule"),
    [
        (([], [], [], []), "a weight for each stage"),
        (([1, 1], [], [0.0, 0.0], [2]), "a weight for each stage"),
        (([1, 1], [1.0], [0.0], [2]), "a weight for each stage"),
        (([1, 0], [1.0], [0.0, 0.0], [1]), "at least 1"),
        (([1, 1], [1.0], [0.0, 0.0], [2, 0]), "at least 1"),
        (([1, 1], [1.0], [0.0, 0.0], [3]), "add up to all replicas"),
    ],
)
def test_what_is_no_graph_or_no_quota_is_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        cut(*arguments)


def test_an_exchange_is_kept_only_if_it_lowers_the_cost():
    seen: list[list[int]] = []

    def cost(ranks: list[int]) -> float:
        seen.append(ranks)
        return 0.0 if ranks == [0, 2, 1, 3] else 1.0

    # Stages {0, 1} and {2, 3}, wholly apart; the first exchange that there is mixes them.
    assert _testing.swap_down([2, 2], [2, 2], [0, 1], cost, [0, 1, 2, 3]) == ([0, 2, 1, 3], 0.0)
    assert seen[:2] == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert _testing.swap_down([2, 2], [2, 2], [0, 1], lambda _: 1.0, [0, 1, 2, 3]) == (
        [0, 1, 2, 3],
        1.0,
    )


def test_exchanges_go_on_until_a_whole_pass_finds_none():
    # Ranks that come closer to the goal one exchange at a time.
    goal = [4, 5, 2, 3, 0, 1]

    def cost(ranks: list[int]) -> float:
        return sum(abs(rank // 2 - wanted // 2) for rank, wanted in zip(ranks, goal, strict=True))

    ranks, best = _testing.swap_down([2, 2, 2], [2, 2, 2], [0, 1, 2], cost, [0, 1, 2, 3, 4, 5])
    assert (ranks, best) == (goal, 0.0)


def test_as_many_exchanges_are_tried_as_the_square_of_the_vertices():
    calls = 0

    def falls(_: list[int]) -> float:
        nonlocal calls
        calls += 1
        return -float(calls)

    _testing.swap_down([2, 1], [2, 1], [0, 1], falls, [0, 1, 2])
    assert calls == 1 + 3 * 3
