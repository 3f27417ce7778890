"""What a picture shows, whichever library draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.reporting.notes import policy_name

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

MOST_COLOURED: Final = 6
"""Curves that are told apart when they lie over each other; of more, one is highlighted."""

Scale = Literal["linear", "log", "ratio", "duration", "share"]


@dataclass(frozen=True)
class Axis:
    """An axis: ``duration`` is logarithmic in seconds, ``share`` goes from 0 to 1.

    ``log`` has ticks at powers of ten, ``ratio`` between them as well.
    """

    title: str
    scale: Scale = "linear"
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """The points of one policy.

    Attributes
    ----------
    place
        Of the policy in the comparison: it has the same colour in every picture.
    label
        Its name, marked where it sees the truth.
    x, y
        float64, as many of each.
    finding
        What a reader who does not see the curve is told.
    """

    place: int
    label: str
    x: Float64
    y: Float64
    finding: str = ""


@dataclass(frozen=True, eq=False)
class Chart:
    """What all pictures have.

    Attributes
    ----------
    name
        As in :mod:`gpusched.reporting.plot`.
    caption
        How to read it, and by which rule points were left out.
    """

    name: str
    title: str
    caption: str
    x: Axis

    @property
    def findings(self) -> Sequence[str]:
        """A few words on each policy."""
        return ()

    @property
    def alt(self) -> str:
        """The picture in words."""
        return " ".join([f"{self.title}.", *(f"{finding}." for finding in self.findings)])


@dataclass(frozen=True, eq=False)
class Curves(Chart):
    """Steps of each policy: over each other, or each in a strip of its own.

    Attributes
    ----------
    hover
        How y is written under the pointer, in the notation of d3, and what it counts.
    limit
        A line across every strip: its height and its name.
    highlighted
        Places of the policies that stand out; empty if all do.
    """

    y: Axis = field(default_factory=lambda: Axis(""))
    curves: tuple[Curve, ...] = ()
    in_strips: bool = False
    hover: tuple[str, str] = (",.0f", "")
    limit: tuple[float, str] | None = None
    highlighted: frozenset[int] = frozenset()

    @property
    def findings(self) -> Sequence[str]:
        """Those of the curves."""
        return [curve.finding for curve in self.curves if curve.finding]


@dataclass(frozen=True, eq=False)
class Dots(Chart):
    """One value of each policy for each group of jobs; the y of its curves are group numbers."""

    groups: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()
    highlighted: frozenset[int] = frozenset()

    @property
    def findings(self) -> Sequence[str]:
        """Those of the curves."""
        return [curve.finding for curve in self.curves if curve.finding]


@dataclass(frozen=True, eq=False)
class Bars:
    """The bars of one policy, each some neighbouring GPUs of a server that one job holds.

    Attributes
    ----------
    begin, length
        In the unit of the axis, cut at the window.
    bottom, height
        GPUs, counted through the servers that are shown.
    job, gpus
        The job (its JobId), and all that it holds at that time.
    """

    place: int
    label: str
    begin: Float64
    length: Float64
    bottom: Float64
    height: Float64
    job: Int64
    gpus: Int64
    finding: str = ""

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(frozen=True, eq=False)
class Gantt(Chart):
    """Who holds which GPUs when, in a window; one policy is seen at a time.

    Attributes
    ----------
    ticks
        Of each server that is shown, its middle and its name.
    top
        Where the last server ends.
    servers
        Their ids.
    window_s
        The window, seconds since the first submission.
    unit_s, unit
        What 1 on the axis of time is.
    """

    policies: tuple[Bars, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    top: float = 0.0
    servers: tuple[int, ...] = ()
    window_s: tuple[float, float] = (0.0, 0.0)
    unit_s: float = 1.0
    unit: str = "seconds"

    @property
    def findings(self) -> Sequence[str]:
        """Those of the policies."""
        return [bars.finding for bars in self.policies]


@dataclass(frozen=True, eq=False)
class Grid:
    """The share of the GPUs that one policy has allocated, by servers and time.

    Attributes
    ----------
    percent
        uint8[rows, columns].
    """

    place: int
    label: str
    percent: AnyArray
    finding: str = ""


@dataclass(frozen=True, eq=False)
class Grids(Chart):
    """How full servers are over time; one policy is seen at a time.

    Attributes
    ----------
    rows
        The servers of each row, from the bottom.
    edges
        float64, one more than there are columns, in the unit of the axis.
    """

    policies: tuple[Grid, ...] = ()
    rows: tuple[str, ...] = ()
    edges: Float64 = field(default_factory=lambda: np.empty(0))

    @property
    def findings(self) -> Sequence[str]:
        """Those of the policies."""
        return [grid.finding for grid in self.policies]


def policies_of(comparison: Comparison) -> list[tuple[int, str, Result]]:
    """Return place, marked name and result of each policy."""
    return [
        (place, policy_name(label, result), result)
        for place, (label, result) in enumerate(comparison.results.items())
    ]


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
