"""Solve assignment and transportation problems: the solvers of the matching market, for any use.

All methods return duals, by which a solution can be checked cheaply, and are exact up to rounding:
a sum differs from the optimum by less than ``rows * 2**-30`` of the largest finite value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import Float64, Int32, Int64, read_only
from gpusched.base.field_checks import unmasked

_MOST_UNITS: Final = 2**31 - 1
_MOST: Final = 1e300  # keeps sums of costs finite


def matrix_of(values: npt.ArrayLike, name: str) -> Float64:
    """Return the values as a non-empty C-contiguous matrix."""
    try:
        matrix = unmasked(name, values)
    except OverflowError:
        raise ValueError(f"{name}: an integer is beyond 1e300") from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"{name}: must be a non-empty matrix, has shape {matrix.shape}")
    return matrix


def check_costs(costs: Float64, forbidden: float) -> None:
    """Raise ValueError naming row, column and rule; ``-forbidden`` marks a forbidden pair."""
    is_bad = ~((np.abs(costs) <= _MOST) | (costs == -forbidden))
    if is_bad.any():
        row, column = np.unravel_index(int(np.argmax(is_bad)), costs.shape)
        cost = costs[row, column]
        rule = "beyond 1e300" if np.isfinite(cost) else f"neither a number nor {-forbidden}"
        raise ValueError(f"cost of row {row}, column {column}: {cost} is {rule}")


def counts_of(values: npt.ArrayLike, name: str, size: int) -> Int32:
    """Return ``size`` whole numbers; raise ValueError naming the first invalid one."""
    counts = unmasked(name, values)
    if counts.shape != (size,):
        raise ValueError(f"{name}: must have shape ({size},), has {counts.shape}")
    is_bad = ~((counts >= 0) & (counts <= _MOST_UNITS) & (counts == np.floor(counts)))
    if is_bad.any():
        first = int(np.argmax(is_bad))
        raise ValueError(
            f"{name}[{first}]: must be a whole number from 0 to {_MOST_UNITS}, is {counts[first]}"
        )
    return np.ascontiguousarray(counts, dtype=np.int32)


Method = Literal["jonker-volgenant", "auction"]

_RELATIVE_ERROR: Final = 1e-6  # of an auction with real costs, relative to their range
# Smaller ranges are scaled to avoid subnormal numbers; a power of two is exact.
_LEAST_RANGE: Final = 1e-250
_UP: Final = 2.0**600


@dataclass(frozen=True, eq=False)
class Matching:
    """Rows assigned to columns.

    Attributes
    ----------
    rows, columns
        The pairs, by row: ``min(num_rows, num_columns)`` of them.
    cost
        The sum over the pairs (of the values, if maximised).
    row_dual, column_dual
        Shapes ``(num_rows,)`` and ``(num_columns,)``: ``row_dual[i] + column_dual[j]`` is at
        most ``cost[i, j]`` for every pair, with equality for assigned pairs; duals of unassigned
        rows or columns are 0, and those of their side at most 0. So they sum to ``cost``. If
        maximised, all signs are reversed. This holds up to rounding, for an auction up to its
        epsilon.
    """

    rows: Int64
    columns: Int64
    cost: float
    row_dual: Float64
    column_dual: Float64


class AssignmentSolver:
    """A minimum-cost assignment with changeable rows; a change takes one augmenting path.

    Examples
    --------
    >>> solver = AssignmentSolver()
    >>> solver.solve([[4.0, 1.0], [2.0, 0.0]]).cost
    3.0
    >>> solver.change_row(0, [0.0, 1.0]).cost
    0.0
    """

    def __init__(self) -> None:
        self._solver = _core.Assignment()

    def solve(self, cost: npt.ArrayLike) -> Matching:
        """Solve from scratch; ``cost`` is copied. See :func:`assign`.

        Returns
        -------
        Matching
            The cheapest one.

        Raises
        ------
        ValueError
            As :func:`assign`, or if the solver is busy in another thread or in this call (from a
            signal handler). The last solution is kept, also on Ctrl-C.

        Examples
        --------
        >>> solver = gs.online.AssignmentSolver()
        >>> solver.solve([[4.0, 1.0], [2.0, 0.0]]).cost
        3.0
        """
        costs = matrix_of(cost, "cost")
        if isinstance(cost, np.ndarray) and np.may_share_memory(costs, cost):
            costs = costs.copy()
        return _matching(*self._solver.solve(costs.reshape(-1), *costs.shape))

    def change_row(self, row: int, cost: npt.ArrayLike) -> Matching:
        """Replace the costs of ``row`` and solve, starting from the current duals.

        If much larger earlier costs made the duals too coarse, they are recomputed, which takes as
        long as :meth:`solve`.

        Parameters
        ----------
        cost
            Shape ``(num_columns,)``; infinity forbids a pair.

        Returns
        -------
        Matching
            The cheapest one at the new costs.

        Raises
        ------
        ValueError
            If nothing has been solved, the row does not exist, a cost is NaN, minus infinity or
            beyond 1e300, the solver is busy, or the allowed pairs would no longer suffice. The
            costs then do not change.
        KeyboardInterrupt
            On Ctrl-C, within a second; the costs then do not change.

        Examples
        --------
        >>> solver = gs.online.AssignmentSolver()
        >>> _ = solver.solve([[4.0, 1.0], [2.0, 0.0]])
        >>> solver.change_row(0, [0.0, 1.0]).cost
        0.0
        """
        costs = unmasked("cost", cost)
        num_rows, num_columns = self._solver.shape
        if num_rows == 0:
            raise ValueError("change_row: no solution yet; call solve first")
        if not 0 <= row < num_rows:
            raise ValueError(f"row: must be 0 to {num_rows - 1}, is {row}")
        if costs.shape != (num_columns,):
            raise ValueError(f"cost: must have shape ({num_columns},), has {costs.shape}")
        return _matching(*self._solver.change_row(row, costs))


def assign(
    cost: npt.ArrayLike,
    *,
    maximise: bool = False,
    method: Method = "jonker-volgenant",
    epsilon: float | None = None,
) -> Matching:
    """Assign rows to columns, one to one, at the minimum total cost.

    Parameters
    ----------
    cost
        Shape ``(num_rows, num_columns)``; the shorter side is assigned in full. Infinity forbids a
        pair (minus infinity, if maximised); other costs lie between -1e300 and 1e300.
        C-contiguous float64 is read in place, other types are converted.
    maximise
        Whether to maximise the sum.
    method
        ``"jonker-volgenant"``: shortest augmenting paths (Jonker, Volgenant 1987) on short lists
        of candidates. ``"auction"``: forward auction with epsilon scaling (Bertsekas 1988).
    epsilon
        Minimum increment of the auction: the sum exceeds the minimum by at most this per column
        (per row, if there are more rows). Default: for whole costs less than 1 over the longer
        side, which makes the result exact; else such that the total error is 1e-6 of the range of
        the costs. Prices above ``2**48`` times that cannot grow by so little; then the smallest
        possible increment is used.

    Returns
    -------
    Matching
        The pairs, and the sum of their costs.

    Raises
    ------
    ValueError
        If the shape is wrong, a cost is NaN, infinite with the wrong sign or beyond 1e300 (the
        message names row, column and value), the allowed pairs do not suffice, or the given
        ``epsilon`` is too small (the message has the minimum).
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> gs.online.assign([[4, 1], [2, 3]]).cost
    3.0
    """
    costs = matrix_of(cost, "cost")
    if maximise or method == "auction":  # check before the signs change, for the messages
        check_costs(costs, np.inf if maximise else -np.inf)
    if maximise:
        costs = -costs
    if method == "jonker-volgenant":
        if epsilon is not None:
            raise ValueError("epsilon: applies only to method 'auction'")
        found = _matching(*_core.assign(costs.reshape(-1), *costs.shape))
    elif method == "auction":
        found = _auction(costs, epsilon)
    else:
        raise ValueError(f"method: must be 'jonker-volgenant' or 'auction', is {method!r}")
    if not maximise:
        return found
    return Matching(
        found.rows,
        found.columns,
        -found.cost,
        read_only(-found.row_dual),
        read_only(-found.column_dual),
    )


def _auction(costs: Float64, epsilon: float | None) -> Matching:
    """Run an auction in which the shorter side bids."""
    bids = costs if costs.shape[0] <= costs.shape[1] else np.ascontiguousarray(costs.T)
    num_bidders, num_items = bids.shape
    spread = _range(bids)
    scale = _UP if 0 < spread < _LEAST_RANGE and np.abs(bids[np.isfinite(bids)]).max() < 1 else 1.0
    least = _default_epsilon(bids, spread * scale) if epsilon is None else epsilon * scale
    demand = np.ones(num_bidders, dtype=np.int32)
    owner, dual, price, value, resolved = _core.auction(
        (bids * -scale).reshape(-1), demand, num_items, least
    )
    if epsilon is not None and resolved > least:
        raise ValueError(
            f"epsilon: {epsilon:g} is too small for these costs; it must be at least "
            f"{resolved / scale:.3g}"
        )
    dual, price, value = dual / scale, price / scale, value / scale
    items = np.flatnonzero(owner >= 0)
    bidders = owner[items].astype(np.int64)
    if bids is not costs:
        return Matching(
            read_only(items), read_only(bidders), -value, read_only(-price), read_only(-dual)
        )
    order = np.argsort(bidders)
    return Matching(
        read_only(bidders[order]),
        read_only(items[order]),
        -value,
        read_only(-dual),
        read_only(-price),
    )


def _range(bids: Float64) -> float:
    """Return the range of the allowed pairs."""
    allowed = bids[np.isfinite(bids)]
    return float(np.ptp(allowed)) if allowed.size > 0 else 0.0


def _default_epsilon(bids: Float64, spread: float) -> float:
    """Return the default of :func:`assign`; always positive."""
    num_items: int = bids.shape[1]
    allowed = bids[np.isfinite(bids)]
    if spread == 0.0 or np.array_equal(allowed, np.rint(allowed)):
        return 1.0 / (num_items + 1)
    return spread * _RELATIVE_ERROR / num_items


def _matching(
    column_of_row: Int32, row_dual: Float64, column_dual: Float64, cost: float
) -> Matching:
    rows = np.flatnonzero(column_of_row >= 0)
    columns = column_of_row[rows].astype(np.int64)
    return Matching(
        read_only(rows), read_only(columns), cost, read_only(row_dual), read_only(column_dual)
    )


@dataclass(frozen=True, eq=False)
class Transport:
    """Units sent from rows to columns.

    Attributes
    ----------
    flow
        Shape ``(num_rows, num_columns)``, whole units.
    value
        The sum of value times flow.
    row_dual, price
        Shapes ``(num_rows,)`` and ``(num_columns,)``: ``row_dual[i] + price[j]`` is at least
        ``value[i, j]``, and equal where units flow. Prices are at least 0, and 0 where capacity is
        left; likewise row duals, if rows may keep units.
    """

    flow: Int64
    value: float
    row_dual: Float64
    price: Float64


def transport(
    value: npt.ArrayLike,
    supply: npt.ArrayLike,
    capacity: npt.ArrayLike,
    *,
    at_most: bool = False,
) -> Transport:
    """Send units from rows to columns at the maximum total value; for few columns.

    Parameters
    ----------
    value
        Value per unit, shape ``(num_rows, num_columns)``; minus infinity forbids a pair.
    supply, capacity
        Whole units of each row and capacity of each column, shapes ``(num_rows,)`` and
        ``(num_columns,)``.
    at_most
        Whether rows may keep units without positive value; else all are sent.

    Returns
    -------
    Transport
        The units of each pair, and their total value.

    Raises
    ------
    ValueError
        If a shape is wrong, a value is NaN, infinite or beyond 1e300, a count is negative or not
        whole (the message names row, column and value), or the units cannot be sent.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> gs.online.transport([[3, 1], [2, 2]], supply=[2, 1], capacity=[2, 1]).value
    8.0
    """
    values = matrix_of(value, "value")
    num_rows, num_columns = values.shape
    flow, row_dual, price, total = _core.Transportation().solve(
        values.reshape(-1),
        counts_of(supply, "supply", num_rows),
        counts_of(capacity, "capacity", num_columns),
        is_exact=not at_most,
    )
    return Transport(
        read_only(flow.astype(np.int64).reshape(values.shape)),
        total,
        read_only(row_dual),
        read_only(price),
    )
