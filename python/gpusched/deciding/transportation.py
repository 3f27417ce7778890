"""Bundles of units to columns with room, at the greatest sum of values.

As exact as :mod:`gpusched.deciding.assignment`, and with duals as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import Float64, Int64, read_only
from gpusched.deciding.assignment_inputs import counts_of, matrix_of


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
        ``value[i, j]``, and equal where units flow. Prices are at least 0, and 0 where room is
        left; so are the row duals, where rows may keep units.
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
    """Send units from rows to columns at the greatest sum of values; few columns, any rows.

    Parameters
    ----------
    value
        Per unit, shape ``(num_rows, num_columns)``; minus infinity forbids a pair.
    supply, capacity
        Whole units of each row and room of each column, shapes ``(num_rows,)`` and
        ``(num_columns,)``.
    at_most
        Whether rows may keep units that are worth nothing anywhere; else all are sent.

    Returns
    -------
    Transport
        The units of each pair, and the sum of their values.

    Raises
    ------
    ValueError
        If a shape is wrong, a value is NaN, infinite or beyond 1e300, a count is negative or no
        whole number (the message names row, column and value), or the units cannot be sent.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> gs.deciding.transport([[3, 1], [2, 2]], supply=[2, 1], capacity=[2, 1]).value
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
