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

Scale = Literal["linear", "log", "duration", "share"]


@dataclass(frozen=True)
class Axis:
    """An axis: ``duration`` is logarithmic in seconds, ``share`` goes from 0 to 1."""

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
        As in :mod:`gpusched.plot`.
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
