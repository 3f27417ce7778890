"""A figure with the interval in which the truth is expected."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from gpusched.base.suggest import nearest

Method = Literal["bootstrap-t", "t", "bca", "percentile"]
"""How the limits of an interval are found."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and a confidence interval of what it estimates.

    Attributes
    ----------
    value
        The estimate, in the unit of the values.
    low, high
        Limits of the interval; NaN for a single value. Those of a ratio are infinite where the
        values leave open whether the mean of the baseline is zero.
    num
        Values, or pairs, from which it follows.
    level
        Share of the intervals so made that hold the truth.
    method
        How the limits were found: another than asked for where there were too few values for that.
    """

    value: float
    low: float
    high: float
    num: int
    level: float = 0.95
    method: str = "bootstrap-t"

    @property
    def half_width(self) -> float:
        """Half of the distance between the limits."""
        return (self.high - self.low) / 2

    @property
    def is_known(self) -> bool:
        """Whether both limits are numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies in the interval, its limits included.

        Returns
        -------
        bool
            False if a limit is NaN.

        Raises
        ------
        TypeError
            If it is no number.

        Examples
        --------
        >>> gs.studies.Interval(5.0, 4.0, 6.0, num=10).holds(6.0)
        True
        """
        return self.low <= value <= self.high

    def shifted(self, by: float) -> Interval:
        """Return the interval of the estimate plus ``by``.

        Returns
        -------
        Interval
            As wide as this one.

        Raises
        ------
        TypeError
            If ``by`` is no number.

        Examples
        --------
        >>> moved = gs.studies.Interval(5.0, 4.0, 6.0, num=10).shifted(-5.0)
        >>> moved.value, moved.low, moved.high
        (0.0, -1.0, 1.0)
        """
        return replace(self, value=self.value + by, low=self.low + by, high=self.high + by)

    def scaled(self, by: float) -> Interval:
        """Return the interval in another unit: the estimate times a positive ``by``.

        Returns
        -------
        Interval
            As many times as wide.

        Raises
        ------
        ValueError
            If ``by`` is not positive.

        Examples
        --------
        >>> hours = gs.studies.Interval(7200.0, 3600.0, 10800.0, num=10).scaled(1 / 3600)
        >>> hours.low, hours.high
        (1.0, 3.0)
        """
        if not by > 0:
            raise ValueError(f"by: {by!r} must be positive")
        return replace(self, value=self.value * by, low=self.low * by, high=self.high * by)


def check_method(method: str) -> None:
    """Raise a ValueError if there is no such method."""
    known = get_args(Method)
    if method not in known:
        raise ValueError(f"method: {method!r} is not known{nearest(method, known)}")


def check_level(level: float) -> None:
    """Raise a ValueError if ``level`` is no share between zero and one."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: {level!r} must lie between 0 and 1, as 0.95 does")
