"""What is left of filling a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, freeze_columns
from gpusched.base.field_checks import unmasked
from gpusched.base.units import WHOLE_GPU
from gpusched.clusters.cluster import Cluster
from gpusched.traces.filling_requests import Requests

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class Pieces:
    """What the placed requests hold, a row per request and server.

    Attributes
    ----------
    arrival
        int64: position in the order of arrival, ascending.
    server
        int32: the server.
    mask
        uint64: its GPUs, a bit for each; 0 where the request has none.
    """

    arrival: Int64
    server: Int32
    mask: AnyArray

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)


@dataclass(frozen=True, eq=False, repr=False)
class FillResult:
    """A filled cluster, with what was so after each arrival.

    Attributes
    ----------
    requests, cluster, placement, order, seed
        What was given; ``placement`` as a text.
    arrivals
        int64[n]: the row of ``requests`` that arrived.
    is_placed
        bool[n]: whether it was placed.
    fragmented_milli
        float64[n]: thousandths of free GPUs that are fragmented after the arrival.
    pieces
        What is held.
    """

    requests: Requests
    cluster: Cluster
    placement: str
    order: str
    seed: int
    arrivals: Int64
    is_placed: Bool
    fragmented_milli: Float64
    pieces: Pieces

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    def __len__(self) -> int:
        return len(self.arrivals)

    def __repr__(self) -> str:
        return (
            f"FillResult({self.placement}: {len(self):,} arrivals for {self.arrived[-1]:.1%} of "
            f"{self.cluster.num_gpus:,} GPUs, {self.unallocated[-1]:.1%} unallocated, "
            f"{self.fragmented[-1]:.1%} fragmented, {self.num_lost:,} lost)"
        )

    @cached_property
    def arrived(self) -> Float64:
        """float64[n]: GPUs asked for so far, over the GPUs of the cluster."""
        return self._part(np.cumsum(self._asked))

    @cached_property
    def allocated(self) -> Float64:
        """float64[n]: GPUs allocated, over the GPUs of the cluster."""
        return self._part(np.cumsum(np.where(self.is_placed, self._asked, 0)))

    @property
    def unallocated(self) -> Float64:
        """float64[n]: GPUs not allocated, over the GPUs of the cluster."""
        return 1.0 - self.allocated

    @property
    def fragmented(self) -> Float64:
        """float64[n]: free GPUs that are fragmented, over the GPUs of the cluster."""
        return self._part(self.fragmented_milli)

    @property
    def num_lost(self) -> int:
        """Number of arrivals that were not placed."""
        return int(np.count_nonzero(~self.is_placed))

    def at(self, demand: ArrayLike) -> dict[str, Float64]:
        """Return what was so when ``demand`` had arrived, in parts of the cluster's GPUs.

        Parameters
        ----------
        demand
            GPUs asked for over the GPUs of the cluster, such as 0.95; of any shape, at most what
            has arrived in all.

        Returns
        -------
        dict
            In the shape of ``demand``: ``allocated``, ``unallocated``, ``fragmented`` and
            ``lost``, the part of the arrivals that were not placed.

        Raises
        ------
        ValueError
            If a demand is negative, or more than arrived.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0], [1, 1], [1, 4])
        >>> cluster = gs.Cluster.uniform(2, 8)
        >>> filled = gs.deciding.fill(trace, cluster, placement="first-fit", until=1.0)
        >>> filled.at(0.5)["lost"].item()
        0.0
        """
        wanted = unmasked("demand", demand)
        arrived = self.arrived
        if not ((wanted >= 0) & (wanted <= arrived[-1])).all():
            raise ValueError(f"demand: must lie in 0..{arrived[-1]:g}, what has arrived")
        # The state before the arrival that passes it.
        index = np.searchsorted(arrived, wanted, side="right") - 1
        lost = np.cumsum(~self.is_placed) / np.arange(1, len(self) + 1)
        columns = {
            "allocated": (self.allocated, 0.0),
            "unallocated": (self.unallocated, 1.0),
            "fragmented": (self.fragmented, np.nan),
            "lost": (lost, 0.0),
        }
        return {
            name: np.where(index >= 0, values[np.maximum(index, 0)], before)
            for name, (values, before) in columns.items()
        }

    def to_polars(self) -> polars.DataFrame:
        """Return a row per arrival: what it asked for, whether it was placed, what was so then.

        Returns
        -------
        polars.DataFrame
            In the order of arrival; parts are of the GPUs of the cluster.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0], [1, 1], [1, 4])
        >>> cluster = gs.Cluster.uniform(2, 8)
        >>> filled = gs.deciding.fill(trace, cluster, placement="first-fit", until=1.0)
        >>> filled.to_polars().height == len(filled)
        True
        """
        import polars as pl

        rows = self.arrivals
        return pl.DataFrame(
            {
                "id": self.requests.id[rows],
                "gpus": self.requests.gpus[rows],
                "gpu_share": self.requests.share_milli[rows] / WHOLE_GPU,
                "cpu": self.requests.cpu[rows],
                "memory_gib": self.requests.memory_gib[rows],
                "is_placed": self.is_placed,
                "arrived": self.arrived,
                "allocated": self.allocated,
                "fragmented": self.fragmented,
            }
        )

    @property
    def _asked(self) -> Int64:
        return self.requests.gpu_milli[self.arrivals]

    def _part(self, milli: AnyArray) -> Float64:
        parts: Float64 = milli / float(WHOLE_GPU * self.cluster.num_gpus)
        return parts
