"""What a picture of a study shows: estimates with their intervals, by policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.charts.chart import Axis, Chart


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of one policy, each with its interval.

    Attributes
    ----------
    place
        Of the policy in the study: it has the same colour in every picture.
    label
        Its name, marked where it sees the truth.
    x, y
        float64, as many of each.
    low, high
        float64, as many: the ends of the intervals, in the direction that the chart says. NaN
        where there is none.
    finding
        What a reader who does not see it is told.
    is_joined
        Whether lines go from one to the next, where x is a number.
    """

    place: int
    label: str
    x: Float64
    y: Float64
    low: Float64
    high: Float64
    finding: str = ""
    is_joined: bool = True


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several pictures with the same axes."""

    title: str
    curves: tuple[Estimates, ...]


@dataclass(frozen=True, eq=False)
class Lines(Chart):
    """Lines with bands; where x has names instead of numbers, points with bars.

    Attributes
    ----------
    names
        Of x = 0, 1, ... where x has names; empty if x is a number.
    is_across
        Whether the intervals are of x, instead of y.
    """

    y: Axis = field(default_factory=lambda: Axis(""))
    panels: tuple[Panel, ...] = ()
    names: tuple[str, ...] = ()
    is_across: bool = False

    @property
    def findings(self) -> Sequence[str]:
        """Those of the curves of all panels."""
        return [curve.finding for panel in self.panels for curve in panel.curves if curve.finding]


@dataclass(frozen=True, eq=False)
class HeatMap(Chart):
    """A value in each field of a table.

    Attributes
    ----------
    rows, columns
        Names, from the top and from the left.
    values
        float64[rows, columns]; NaN where there is none.
    texts
        What is written in each field.
    middle
        The value that has the middle colour, between two hues; None takes one hue from the least
        to the largest value.
    scale_title
        What the values are.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    values: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    texts: tuple[tuple[str, ...], ...] = ()
    middle: float | None = None
    scale_title: str = ""

    @property
    def findings(self) -> Sequence[str]:
        """The fields of each row."""
        found = []
        for row, texts in zip(self.rows, self.texts, strict=True):
            fields = zip(self.columns, texts, strict=True)
            found.append(f"{row}: {', '.join(f'{text} at {name}' for name, text in fields)}")
        return found


@dataclass(frozen=True, eq=False)
class Forest(Chart):
    """Estimates with their intervals, one below the other; the y of its curves are rows.

    Attributes
    ----------
    rows
        Names, from the top.
    reference
        Where the vertical line of "no difference" stands.
    """

    rows: tuple[str, ...] = ()
    curves: tuple[Estimates, ...] = ()
    reference: float = 0.0

    @property
    def findings(self) -> Sequence[str]:
        """Those of the curves."""
        return [curve.finding for curve in self.curves if curve.finding]


@dataclass(frozen=True, eq=False)
class Front(Chart):
    """Two metrics of each policy, and the line of those that none beats in both.

    Attributes
    ----------
    points
        float64 of x and y with the intervals of y, one of each.
    x_low, x_high
        float64[points]: the intervals of x.
    front
        Indices of the points on the front, from the left.
    """

    y: Axis = field(default_factory=lambda: Axis(""))
    points: tuple[Estimates, ...] = ()
    x_low: Float64 = field(default_factory=lambda: np.empty(0))
    x_high: Float64 = field(default_factory=lambda: np.empty(0))
    front: tuple[int, ...] = ()

    @property
    def findings(self) -> Sequence[str]:
        """Those of the points."""
        return [point.finding for point in self.points if point.finding]


@dataclass(frozen=True, eq=False)
class Swing:
    """How far one parameter moves the metric: the least and the largest mean, and where."""

    name: str
    low: float
    high: float
    low_text: str
    high_text: str

    @property
    def width(self) -> float:
        """The distance between the two."""
        return self.high - self.low


@dataclass(frozen=True, eq=False)
class Tornado(Chart):
    """The swings of some parameters about a base, the widest at the top."""

    base: float = 0.0
    swings: tuple[Swing, ...] = ()

    @property
    def findings(self) -> Sequence[str]:
        """Both ends of each swing."""
        return [f"{s.name}: from {s.low_text} to {s.high_text}" for s in self.swings]
