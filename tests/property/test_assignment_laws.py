"""The laws of assignment, transportation and auction: equal optima, and prices that prove them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from gpusched import _core
from gpusched.base.arrays import Float64
from gpusched.online.assignment import AssignmentSolver, Matching, transport
from tests.each import each
from tests.examples import examples

pytestmark = pytest.mark.long

TOLERANCE = 1e-9


def optimum(cost: Float64) -> float | None:
    """The least cost as SciPy finds it, None where there is none."""
    try:
        rows, columns = linear_sum_assignment(cost)
    except ValueError:
        return None
    return float(cost[rows, columns].sum())


def is_proven(cost: Float64, found: Matching, error: float = TOLERANCE) -> bool:
    """Whether the duals show that no assignment costs less by more than ``error`` per pair."""
    slack = cost - found.row_dual[:, None] - found.column_dual
    free_rows = np.delete(found.row_dual, found.rows)
    free_columns = np.delete(found.column_dual, found.columns)
    total = found.row_dual.sum() + found.column_dual.sum()
    long_side = found.row_dual if cost.shape[0] > cost.shape[1] else found.column_dual
    return bool(
        slack.min() >= -error
        and np.abs(slack[found.rows, found.columns]).max() <= error
        and np.abs(free_rows).sum() + np.abs(free_columns).sum() <= error * max(cost.shape)
        and abs(total - found.cost) <= 2 * error * max(cost.shape)
        and (cost.shape[0] == cost.shape[1] or long_side.max() <= error)
    )


units = st.integers(0, 3)
small = st.integers(-3, 3).map(float) | st.just(-np.inf)


@st.composite
def transports(draw: st.DrawFn) -> tuple[Float64, list[int], list[int]]:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    value = draw(st.lists(small, min_size=rows * columns, max_size=rows * columns))
    supply = draw(st.lists(units, min_size=rows, max_size=rows))
    capacity = draw(st.lists(units, min_size=columns, max_size=columns))
    return np.array(value).reshape(rows, columns), supply, capacity


@given(transports(), st.booleans())
def test_prices_clear_the_market_of_a_transport(problem, may_keep):
    value, supply, capacity = problem
    try:
        found = transport(value, supply, capacity, at_most=may_keep)
    except ValueError:
        return
    flow, used = found.flow, found.flow.sum(axis=0)
    assert (flow >= 0).all()
    assert (used <= capacity).all()
    assert (flow.sum(axis=1) <= supply if may_keep else flow.sum(axis=1) == supply).all()
    gain = value - found.price
    assert (gain <= found.row_dual[:, None]).all()
    assert (gain == found.row_dual[:, None])[flow > 0].all()
    assert (found.price >= 0).all()
    assert (found.price[used < capacity] == 0).all()
    if may_keep:
        assert (found.row_dual >= 0).all()
        assert (found.row_dual[flow.sum(axis=1) < supply] == 0).all()


def wide(random: np.random.Generator, kind: str, size: int) -> Float64:
    """Costs of some size: alike rows, ties, and adverse orders."""
    shape = (size, size) if kind != "rectangle" else (size - 20, size + 20)
    if kind == "types":
        gain = random.random((20, 4))
        return -gain[np.sort(random.integers(0, 20, size))][:, random.integers(0, 4, size)]
    if kind == "ties":
        return random.integers(0, 4, shape).astype(np.float64)
    if kind == "product":
        return np.outer(np.arange(size) + 0.0, np.arange(size) + 0.0)
    if kind == "sparse":
        return np.where(random.random(shape) < 0.8, np.inf, random.random(shape))
    return np.sort(random.random(shape), axis=1)


# Up to 256 columns rows are read in full, above they have short lists.
@each("size", [40, 150, 236, 237, 290])
@each("is_turned", [False, True])
@each("kind", ["types", "ties", "product", "sparse", "rectangle"])
def test_larger_problems_are_proven_too_and_stay_so(kind, is_turned, size):
    random = np.random.Generator(np.random.PCG64(4))
    cost = wide(random, kind, size)
    cost = np.ascontiguousarray(cost.T) if is_turned else cost
    solver = AssignmentSolver()
    found = solver.solve(cost)
    assert is_proven(cost, found)
    assert found.cost == pytest.approx(optimum(cost))
    for row in range(0, min(40, len(cost) - 1), 4):
        cost[row] = cost[row + 1] + random.integers(0, 2, cost.shape[1])
        assert is_proven(cost, solver.change_row(row, cost[row]))
    assert solver.solve(cost).cost == pytest.approx(optimum(cost))


agreeing = st.sampled_from(["product", "noisy", "worth", "steps", "types", "forbidden"])


def of_one_order(random: np.random.Generator, kind: str, size: int) -> Float64:
    """Square costs of which most rows rank the columns alike, so that a sample starts them."""
    product = np.outer(random.random(size), random.random(size))
    if kind == "noisy":
        return product * random.uniform(0.95, 1.05, product.shape)
    if kind == "worth":
        return np.sort(random.random(size)) * 4 + 0.05 * random.random(product.shape)
    if kind == "steps":  # whole numbers, and ties
        return np.rint(product * 50)
    if kind == "types":
        return -np.rint(np.kron(random.random((size // 8, 4)) * 900, np.ones((8, size // 4))))
    if kind == "forbidden":
        product[random.random(product.shape) < random.choice([0.0005, 0.3])] = np.inf
    return product


def assert_optimal(cost: Float64, found: Matching) -> None:
    assert found.cost == pytest.approx(optimum(cost), abs=TOLERANCE)
    assert is_proven(cost, found)


def change_and_check(
    solver: AssignmentSolver, cost: Float64, row: int, random: np.random.Generator
) -> None:
    """Give the row other costs, in the solver and in ``cost``."""
    cost[row] = random.random(cost.shape[1])
    assert_optimal(cost, solver.change_row(row, cost[row]))


@examples(20)
@given(agreeing, st.sampled_from([128, 136, 200, 264, 520]), st.integers(0, 2**32 - 1))
def test_rows_that_agree_on_the_columns_cost_what_scipy_says(kind, size, seed):
    random = np.random.Generator(np.random.PCG64(seed))
    cost, solver = of_one_order(random, kind, size), AssignmentSolver()
    found = solver.solve(cost)
    assert_optimal(cost, found)
    assert found.column_dual.max() <= 0
    if kind in ("steps", "types"):
        assert found.cost == optimum(cost)
        assert is_proven(cost, found, error=0.0)
    change_and_check(solver, cost, int(random.integers(size)), random)


def of_many_rows(random: np.random.Generator, kind: str, shape: tuple[int, int]) -> Float64:
    """Costs whose rows are left over by their bids: all want the same columns, or near ones."""
    rows, columns = shape
    product = np.outer(random.random(rows), random.random(columns))
    if kind == "product":
        return product
    if kind == "steps":  # whole numbers, and a row to which all columns are equal
        return np.outer(np.arange(rows) // 2.0, np.arange(columns) // 2.0)
    if kind == "noisy":
        return product * random.uniform(0.8, 1.2, shape)
    if kind == "forbidden":
        product[random.random(shape) < random.choice([0.001, 0.3])] = np.inf
        return product
    across = random.random((rows, 1, 2)) - random.random((columns, 2))
    cost = np.sqrt((across**2).sum(axis=2))
    if kind == "near":
        cost[random.random(shape) < 0.1] = np.inf
    return cost


rectangles = st.sampled_from(
    [(40, 41), (60, 40), (33, 300), (96, 100), (130, 170), (240, 240), (250, 260), (300, 310)]
)


@examples(60)
@given(
    st.sampled_from(["product", "steps", "noisy", "forbidden", "plane", "near"]),
    rectangles,
    st.integers(0, 2**32 - 1),
)
def test_rows_that_bids_leave_over_cost_what_scipy_says(kind, shape, seed):
    random = np.random.Generator(np.random.PCG64(seed))
    cost, solver = of_many_rows(random, kind, shape), AssignmentSolver()
    found = solver.solve(cost)
    assert_optimal(cost, found)
    assert shape[0] > shape[1] or found.column_dual.max() <= 0
    for row in random.integers(shape[0], size=5).tolist():
        change_and_check(solver, cost, row, random)


def similar(random: np.random.Generator, shape: tuple[int, int]) -> Float64:
    """Rows that want the same columns, each a little otherwise: their lists are used up soon."""
    worth = np.sort(random.random(shape[1])) * random.choice([1.0, 4.0])
    noise = random.choice([0.05, 0.3, 1.0])
    return worth + noise * random.random(shape)


@pytest.mark.parametrize("shape", [(20, 48), (36, 40), (40, 36), (45, 45), (48, 20), (3, 70)])
def test_rows_changed_again_and_again_cost_what_scipy_says(shape):
    random = np.random.Generator(np.random.PCG64(shape[0]))
    for _ in range(12):
        cost, solver = similar(random, shape), AssignmentSolver()
        solver.solve(cost)
        before = cost.copy()
        for _ in range(100):
            row = int(random.integers(shape[0]))
            # Dear for all columns, or for none: prices rise and fall by as much.
            cost[row] = similar(random, (1, shape[1]))[0] + random.choice([-3.0, 0.0, 0.0, 3.0])
            found = solver.change_row(row, cost[row])
            assert found.cost == pytest.approx(optimum(cost), abs=TOLERANCE)
            assert is_proven(cost, found)
        for row in range(shape[0]):
            found = solver.change_row(row, before[row])
        assert found.cost == pytest.approx(optimum(before), abs=TOLERANCE)
        assert is_proven(before, found)


@examples(60)
@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_an_auction_ends_within_epsilon_of_clearing(data, jobs, items):
    numbers = st.lists(st.integers(-5, 5).map(float), min_size=items, max_size=items)
    value = np.array(data.draw(st.lists(numbers, min_size=jobs, max_size=jobs)))
    wishes = st.lists(units, min_size=jobs, max_size=jobs)
    demand = data.draw(wishes.filter(lambda drawn: sum(drawn) <= items))
    epsilon = data.draw(st.sampled_from([2.0, 0.5, 0.9 / items]))
    wanted = np.array(demand, dtype=np.int32)
    owner, dual, price, total, _ = _core.auction(value.reshape(-1), wanted, items, epsilon)
    assert np.bincount(owner[owner >= 0], minlength=jobs).tolist() == demand
    best = transport(value, demand, [1] * items).value
    assert best - items * epsilon <= total <= best
    if epsilon < 1 / items:
        assert total == best
    gain = value - price
    is_own = owner == np.arange(jobs)[:, None]
    loss = dual[:, None] - gain
    assert (loss >= -TOLERANCE).all()
    assert (loss[is_own] <= epsilon + TOLERANCE).all()
    assert (price >= 0).all()
    assert (price[owner < 0] <= epsilon + TOLERANCE).all()


def ascending_prices(value: Float64) -> tuple[Float64, float]:
    """The least clearing prices of whole values, raised by 1 on a constricted set at a time.

    Demange, Gale, Sotomayor, "Multi-item auctions", Journal of Political Economy 94, 1986. One
    item per bidder, who may go without; the set that is raised is the one that alternating paths
    from the bidders left out reach.
    """
    bidders, items = value.shape
    price = np.zeros(items)
    while True:
        gain = value - price
        best = np.maximum(gain.max(axis=1), 0.0)
        wants = [np.flatnonzero(gain[b] == best[b]).tolist() for b in range(bidders)]
        left_out = [b for b in range(bidders) if best[b] > 0]
        owner: dict[int, int] = {}
        constricted: set[int] = set()
        for bidder in left_out:
            seen: dict[int, int] = {}
            queue = [bidder]
            end = None
            while queue and end is None:
                now = queue.pop(0)
                for item in wants[now]:
                    if item in seen:
                        continue
                    seen[item] = now
                    if item not in owner:
                        end = item
                        break
                    queue.append(owner[item])
            if end is None:
                constricted = set(seen)
                break
            while True:
                now = seen[end]
                before = next((i for i, b in owner.items() if b == now), None)
                owner[end] = now
                if now == bidder or before is None:
                    break
                end = before
        if not constricted:
            return price, float(best.sum() + price.sum())
        price[sorted(constricted)] += 1.0


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_no_clearing_prices_are_below_those_of_the_ascending_auction(data, bidders, items):
    numbers = st.lists(st.integers(0, 6).map(float), min_size=items, max_size=items)
    value = np.array(data.draw(st.lists(numbers, min_size=bidders, max_size=bidders)))
    least, worth = ascending_prices(value)
    found = transport(value, [1] * bidders, [1] * items, at_most=True)
    assert found.value == worth
    assert (found.price >= least).all()
    best = max(
        sum(value[b, i] for b, i in enumerate(order) if i < items)
        for order in itertools.permutations(range(items + bidders), bidders)
    )
    assert worth == best


def test_all_units_go_somewhere_unless_it_is_said_otherwise():
    loss = np.array([-1.0]), np.array([1], np.int32), np.array([1], np.int32)
    assert _core.Transportation().solve(*loss)[0].tolist() == [1]
    assert _core.Transportation().solve(*loss, is_exact=False)[0].tolist() == [0]


def test_transports_begin_anew_unless_it_is_said_otherwise():
    random = np.random.default_rng(3)
    values = random.random((30, 4 * 5))
    counts = np.array([2, 1, 3, 1], np.int32), np.array([1, 2, 2, 1, 2], np.int32)
    lasting, warm = _core.Transportation(), _core.Transportation()
    for value in values:
        cold = _core.Transportation().solve(value, *counts)
        for own, other in zip(lasting.solve(value, *counts), cold, strict=True):
            assert np.array_equal(own, other)
        kept = warm.solve(value, *counts, is_warm=True)
    assert not all(np.array_equal(own, other) for own, other in zip(kept, cold, strict=True))
