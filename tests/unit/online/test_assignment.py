"""Assignments and transports: shapes, answers known by hand, and what is refused."""

import numpy as np
import pytest

from gpusched import _core
from gpusched.online.assignment import AssignmentSolver, Matching, assign, transport
from tests.each import each

INF = np.inf
NAN = np.nan
METHODS = ("jonker-volgenant", "auction")

methods = pytest.mark.parametrize("method", METHODS)


def pairs(found: Matching) -> list[tuple[int, int]]:
    return list(zip(found.rows.tolist(), found.columns.tolist(), strict=True))


@methods
def test_the_cheapest_pairs_are_found(method):
    found = assign([[4, 1, 3], [2, 0, 5], [3, 2, 2]], method=method)
    assert pairs(found) == [(0, 1), (1, 0), (2, 2)]
    assert found.cost == 5.0


@methods
def test_the_greatest_sum_is_found_and_its_duals_bound_it(method):
    value = np.array([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]])
    found = assign(value, maximise=True, method=method)
    assert pairs(found) == [(0, 0), (1, 2), (2, 1)]
    assert found.cost == 11.0
    assert (found.row_dual[:, None] + found.column_dual >= value - 0.5).all()


@methods
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 4), (4, 2)])
def test_the_shorter_side_is_assigned_in_full(method, shape):
    cost = np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
    found = assign(cost, method=method)
    assert len(found.rows) == min(shape)
    assert len(set(found.columns.tolist())) == min(shape)
    assert (np.diff(found.rows) > 0).all()
    assert found.cost == cost[found.rows, found.columns].sum()
    assert found.row_dual.shape == shape[:1]
    assert found.column_dual.shape == shape[1:]


def test_any_layout_and_dtype_gives_the_same_answer():
    cost = np.random.Generator(np.random.PCG64(1)).integers(0, 50, (30, 40)).astype(np.float64)
    expected = assign(cost)
    for other in (np.asfortranarray(cost), cost.astype(np.int16), cost.tolist(), cost[::1]):
        assert pairs(assign(other)) == pairs(expected)
    assert pairs(assign(cost[::-1, ::2])) == pairs(assign(cost[::-1, ::2].copy()))


def test_what_is_returned_cannot_be_written_to():
    found = assign([[1.0, 2.0]])
    with pytest.raises(ValueError, match="read-only"):
        found.row_dual[0] = 1.0


@methods
def test_a_forbidden_pair_is_not_used(method):
    assert pairs(assign([[0, 9], [INF, 0]], method=method)) == [(0, 0), (1, 1)]
    assert pairs(assign([[0, 9], [0, INF]], method=method)) == [(0, 1), (1, 0)]
    assert assign([[-INF, 1], [2, -INF]], maximise=True, method=method).cost == 3.0


@methods
@pytest.mark.parametrize(
    "cost", [[[INF]], [[0, INF], [1, INF]], [[INF, INF], [0, 0]], [[0, INF], [1, INF], [2, INF]]]
)
def test_too_few_allowed_pairs_are_refused(method, cost):
    with pytest.raises(ValueError, match="too few allowed pairs"):
        assign(cost, method=method)


@methods
@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3)])
@pytest.mark.parametrize("bad", [NAN, -INF])
def test_the_message_names_row_column_and_value(method, maximise, shape, bad):
    cost = np.ones(shape)
    cost[2, 1] = -bad if maximise else bad
    with pytest.raises(ValueError, match=f"row 2, column 1: {cost[2, 1]} is neither"):
        assign(cost, maximise=maximise, method=method)


@each("cost", [[], [1.0, 2.0], [[]], 3.0, [[[1.0]]]])
def test_what_is_no_matrix_is_refused(cost):
    with pytest.raises(ValueError, match="cost: must be a non-empty matrix, has shape"):
        assign(cost)


def test_unknown_methods_and_options_are_refused():
    with pytest.raises(ValueError, match="'jonker-volgenant' or 'auction', is 'hungarian'"):
        assign([[1.0]], method="hungarian")
    with pytest.raises(ValueError, match="applies only to method 'auction'"):
        assign([[1.0]], epsilon=0.1)
    for epsilon in (0.0, -1.0, NAN, INF):
        with pytest.raises(ValueError, match="epsilon must be a positive number"):
            assign([[1.0]], method="auction", epsilon=epsilon)


def test_a_changed_row_is_all_that_changes():
    cost = np.array([[4.0, 1], [2, 0]])
    solver = AssignmentSolver()
    assert solver.solve(cost).cost == 3.0
    cost[:] = 100  # the solver has its own
    assert pairs(solver.change_row(0, [0.0, 1.0])) == [(0, 0), (1, 1)]
    assert solver.change_row(1, [0.0, 7.0]).cost == 1.0
    assert solver.solve([[5.0], [3.0], [4.0]]).cost == 3.0
    assert solver.change_row(1, [6.0]).cost == 4.0


def test_bad_changes_are_refused_and_leave_the_answer():
    solver = AssignmentSolver()
    with pytest.raises(ValueError, match="call solve first"):
        solver.change_row(0, [1.0])
    solver.solve([[4.0, 1.0], [2.0, 0.0]])
    for row in (-1, 2):
        with pytest.raises(ValueError, match=f"row: must be 0 to 1, is {row}"):
            solver.change_row(row, [1.0, 1.0])
    with pytest.raises(ValueError, match=r"cost: must have shape \(2,\), has \(3,\)"):
        solver.change_row(0, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="row 1, column 0: nan"):
        solver.change_row(1, [NAN, 1.0])
    assert solver.change_row(0, [4.0, 1.0]).cost == 3.0


def test_after_an_impossible_change_all_is_as_it_was():
    solver = AssignmentSolver()
    solver.solve([[4.0, 1.0], [2.0, INF]])
    with pytest.raises(ValueError, match="too few allowed pairs"):
        solver.change_row(0, [1.0, INF])
    assert solver.change_row(0, [4.0, 1.0]).cost == 3.0
    for refused in ([[NAN]], [[INF]], [[1.0, 2.0, INF], [1.0, 2.0, INF], [NAN, 2.0, INF]]):
        with pytest.raises(ValueError, match="assignment"):
            solver.solve(refused)
    assert solver.change_row(1, [2.0, 0.0]).cost == 3.0
    assert pairs(solver.change_row(0, [0.0, 9.0])) == [(0, 0), (1, 1)]


@each("shape", [(5, 5), (3, 40), (40, 3), (60, 60), (300, 310), (310, 300)])
def test_changes_after_impossible_ones_cost_what_solving_anew_does(shape):
    random = np.random.default_rng(7)
    cost = random.random(shape)
    short = shape[0] <= shape[1]
    cost[:, 1:3] = cost[:, 1:3] if short else INF  # of three columns, two for none but a few rows
    if not short:
        cost[:2, 1:3] = random.random((2, 2))
    solver = AssignmentSolver()
    solver.solve(cost)
    for turn in range(6):
        row = int(random.integers(shape[0])) if short else turn % 2
        impossible = np.full(shape[1], INF)
        with pytest.raises(ValueError, match="too few allowed pairs"):
            solver.change_row(row, impossible)
        cost[row] = random.random(shape[1])
        assert solver.change_row(row, cost[row]).cost == pytest.approx(assign(cost).cost)


def test_prices_of_a_transport_that_was_refused_are_not_those_of_the_next_warm_one():
    value = np.array([3.0, 1.0, 2.0, 2.0])
    ones = np.ones(2, np.int32)

    def asked(*, refused: bool) -> list[list[float]]:
        solver = _core.Transportation()
        solver.solve(value, ones, ones)
        if refused:
            with pytest.raises(ValueError, match="has no allowed column"):
                solver.solve(np.array([9.0, 1.0, -INF, -INF]), ones, ones, is_warm=True)
        found = solver.solve(value[::-1].copy(), ones, ones, is_warm=True)
        return [np.asarray(part).tolist() for part in found]

    assert asked(refused=True) == asked(refused=False)


def test_units_go_where_they_are_worth_most():
    found = transport([[5, 1], [4, 3]], supply=[2, 2], capacity=[3, 2])
    assert found.flow.tolist() == [[2, 0], [1, 1]]
    assert found.value == 17.0
    assert found.price.tolist() == [1.0, 0.0]
    assert found.row_dual.tolist() == [4.0, 3.0]


def test_rows_keep_what_is_worth_nothing_only_where_they_may():
    assert transport([[2, -1]], [3], [1, 5]).value == 0.0
    found = transport([[2, -1]], [3], [1, 5], at_most=True)
    assert found.flow.tolist() == [[1, 0]]
    assert found.value == 2.0
    assert transport([[2.0]], [3], [1], at_most=True).price.tolist() == [2.0]


def test_rows_and_columns_of_nothing_are_fine():
    found = transport([[5.0, 1.0], [-INF, -INF]], [2, 0], [0, 2])
    assert found.flow.tolist() == [[0, 2], [0, 0]]


@each(
    ("arguments", "message"),
    [
        (([[NAN]], [1], [1]), "row 0, column 0: nan"),
        (([[1, 2], [3, INF]], [1, 1], [1, 1]), "row 1, column 1: inf"),
        (([[1.0]], [2], [1]), "a supply of 2 exceeds the capacity of 1"),
        (([[1.0], [1.0]], [1, -1], [1]),
         r"supply\[1\]: must be a whole number from 0 to 2147483647, is -1"),
        (([[1.0]], [1], [1.5]),
         r"capacity\[0\]: must be a whole number from 0 to 2147483647, is 1.5"),
        (([[1.0]], [1], [1, 1]), r"capacity: must have shape \(1,\), has \(2,\)"),
        (([[1.0]], [2**31], [2**31]), "must be a whole number from 0"),
        (([[1.0]], [2**31 - 1], [1]), "more than 1073741823 units"),
        (([1.0], [1], [1]), "value: must be a non-empty matrix"),
        (([[-INF]], [1], [1]), "row 0 has no allowed column"),
        (([[1, -INF], [1, -INF]], [1, 1], [1, 1]), "the allowed pairs have too little capacity"),
    ],
)  # fmt: skip
def test_bad_transports_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        transport(*arguments)


def test_a_job_of_an_auction_gets_as_many_items_as_it_wants():
    value = np.array([[9.0, 8, 1], [5, 5, 0]])
    demand = np.array([2, 1], dtype=np.int32)
    owner, dual, price, total, _ = _core.auction(value.reshape(-1), demand, 3, 0.25)
    assert owner.tolist() == [0, 0, 1]
    assert total == 17.0
    assert (dual[owner] <= value[owner, range(3)] - price + 0.25).all()


@each(
    ("value", "demand", "message"),
    [
        ([1.0, NAN], [1], "job 0, item 1: nan"),
        ([1.0, INF], [1], "job 0, item 1: inf"),
        ([1.0, 2.0], [3], "a demand of 3 exceeds 2 items"),
        ([1.0, 2.0], [-1], "demand of job 0: -1 is negative"),
        ([1.0], [1], "must have a value for each job and each item"),
        ([1.0, -INF], [2], "too few allowed pairs"),
    ],
)
def test_bad_auctions_are_refused(value, demand, message):
    with pytest.raises(ValueError, match=message):
        _core.auction(np.array(value), np.array(demand, dtype=np.int32), 2, 0.1)
