"""Fill a cluster: requests arrive one by one, are placed or lost, and never leave."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from gpusched import _core
from gpusched.base.arrays import AnyArray, Bool, Float64, FrozenColumns, Int32, Int64
from gpusched.base.draws import ARRIVALS, check_seed, uniform
from gpusched.base.field_checks import unmasked
from gpusched.base.libraries import polars
from gpusched.base.progress import OnProgress
from gpusched.base.supervision import supervised
from gpusched.base.units import WHOLE_GPU
from gpusched.engine.seams import placement_seam
from gpusched.model.cluster import Cluster
from gpusched.plugins.policy import PlacementChoice
from gpusched.traces.filling_requests import Requests
from gpusched.traces.model_columns import demand_columns
from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class Pieces(FrozenColumns):
    """The GPUs of placed requests, a row per request and server.

    ``arrival``: int64: position in the order of arrival, ascending.
    ``server``: int32: the server.
    ``mask``: uint64: its GPUs, a bit for each; 0 where the request has none.
    """

    arrival: Int64
    server: Int32
    mask: AnyArray


@dataclass(frozen=True, eq=False, repr=False)
class FillResult(FrozenColumns):
    """A filled cluster, with figures after each arrival.

    Attributes
    ----------
    requests, cluster, placement, order, seed
        The arguments; ``placement`` as a text.
    arrivals
        int64[n]: the row of ``requests`` that arrived.
    is_placed
        bool[n]: whether it was placed.
    fragmented_milli
        float64[n]: thousandths of free GPUs that are fragmented after the arrival.
    pieces
        The allocated GPUs.
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
        """float64[n]: GPUs requested so far, over the GPUs of the cluster."""
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
        """Return figures at the time when ``demand`` had arrived, relative to the cluster's GPUs.

        Parameters
        ----------
        demand
            Requested GPUs over the GPUs of the cluster, such as 0.95; of any shape, at most the
            total that arrived.

        Returns
        -------
        dict
            In the shape of ``demand``: ``allocated``, ``unallocated``, ``fragmented`` and
            ``lost``, the fraction of arrivals that were not placed.

        Raises
        ------
        ValueError
            If a demand is negative, or more than arrived.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0], [1, 1], [1, 4])
        >>> cluster = gs.Cluster.uniform(2, 8)
        >>> filled = gs.online.fill(trace, cluster, placement="first-fit", until=1.0)
        >>> filled.at(0.5)["lost"].item()
        0.0
        """
        wanted = unmasked("demand", demand)
        arrived = self.arrived
        if not ((wanted >= 0) & (wanted <= arrived[-1])).all():
            raise ValueError(f"demand: must lie in 0..{arrived[-1]:g}, the demand that arrived")
        # The last arrival up to this demand.
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
        """Return a row per arrival: its request, whether it was placed, and figures after it.

        Returns
        -------
        polars.DataFrame
            In order of arrival; fractions are of the cluster's GPUs.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0], [1, 1], [1, 4])
        >>> cluster = gs.Cluster.uniform(2, 8)
        >>> filled = gs.online.fill(trace, cluster, placement="first-fit", until=1.0)
        >>> filled.to_polars().height == len(filled)
        True
        """
        rows = self.arrivals
        return polars.DataFrame(
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


Order = Literal["drawn", "listed", "shuffled"]
MAX_ARRIVALS: Final = 50_000_000
_EVERY_TYPE: Final = 2**64 - 1


def fill(
    requests: Requests | Trace,
    cluster: Cluster,
    *,
    placement: str | PlacementChoice | _core.Placement = "fgd",
    until: float = 1.3,
    order: Order = "drawn",
    seed: int = 0,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> FillResult:
    """Fill ``cluster`` with ``requests`` until their total is ``until`` times its GPUs.

    Each request is placed when it arrives, or lost; none ever leaves. The result has the allocated
    and the fragmented GPUs after each arrival (Weng et al., Beware of Fragmentation, ATC 2023,
    section 6): the free GPUs that a request drawn from ``requests`` is expected to be unable to
    use.

    Parameters
    ----------
    requests
        Requests, or a trace (its times are ignored).
    placement
        A name listed by :func:`gpusched.placements`, with parameters in the same way, or an
        instance of a Python :class:`gpusched.Placement`. It must support shares, CPU and memory if
        requests have them.
    until
        Stop with the arrival at which the requested GPUs reach this multiple of the cluster's.
    order
        ``"drawn"``: each arrival is a random request, with equal probability and replacement.
        ``"listed"``: the requests in their order, repeated if needed. ``"shuffled"``: each request
        once in random order, then as ``"drawn"`` if needed.
    seed
        Seed of the draws and of random placements, 0 to 2**64 - 1. Equal arguments give equal
        results; arrivals do not depend on the placement.
    progress
        As for :func:`gpusched.simulate`; counts arrivals.
    stop
        Event that cancels the filling, as for :func:`gpusched.simulate`.

    Returns
    -------
    FillResult
        Allocated, fragmented and lost GPUs after each arrival.

    Raises
    ------
    ValueError
        If a name, a parameter or a value is wrong, no request has GPUs, or the placement does not
        support the requested resources.
    TypeError
        If an argument has a wrong type.
    InvariantError
        If the placement returns GPUs that a request cannot have.
    Cancelled
        If ``stop`` was set, within a second; it has the number of finished arrivals.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 0], [1, 1], [1, 4])
    >>> filled = gs.online.fill(trace, gs.Cluster.uniform(2, 8), placement="first-fit", until=1.0)
    >>> bool(filled.at([0.5])["lost"][0] == 0)
    True
    """
    if isinstance(requests, Trace):
        requests = Requests.from_trace(requests)
    if not isinstance(requests, Requests):
        raise TypeError(f"requests: expected Requests or a Trace, not {requests!r}")
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
    seed = check_seed(seed)
    places = placement_seam(placement)
    arrivals = _arrivals(requests, cluster, until, order, seed)
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())
    table = _core.JobTable(**_columns(requests, cluster))
    control = _core.RunControl()

    def run() -> dict[str, Any]:
        filled: dict[str, Any] = _core.fill(
            table, arrivals, servers, places.native, places.parameters, seed, control
        )
        return filled

    filled = supervised(run, control, progress, stop, len(arrivals), "arrivals")
    return FillResult(
        requests=requests,
        cluster=cluster,
        placement=places.label,
        order=order,
        seed=seed,
        arrivals=arrivals,
        is_placed=filled["is_placed"].astype(np.bool_),
        fragmented_milli=filled["fragmented_milli"],
        pieces=Pieces(filled["piece_arrival"], filled["piece_server"], filled["piece_mask"]),
    )


def _arrivals(requests: Requests, cluster: Cluster, until: float, order: Order, seed: int) -> Int64:
    """Return the rows of requests in order of arrival, until the demand is reached."""
    if order not in get_args(Order):
        raise ValueError(f"order: {order!r} must be 'drawn', 'listed' or 'shuffled'")
    if isinstance(until, bool) or not isinstance(until, int | float):
        raise TypeError(f"until: {until!r} must be a number")
    if not (np.isfinite(until) and until > 0):
        raise ValueError(f"until: {until!r} must be finite and positive")
    asked = requests.gpu_milli
    if not asked.any():
        raise ValueError(f"{requests.name}: no request asks for GPUs")
    wanted = until * cluster.num_gpus * WHOLE_GPU
    expected = wanted / float(asked.mean())
    if expected > MAX_ARRIVALS:
        raise ValueError(
            f"until: {until:g} needs about {expected:,.0f} arrivals, more than {MAX_ARRIVALS:,}"
        )
    num_rows = len(requests)
    rows: Int64 = np.empty(0, dtype=np.int64)
    num_drawn = int(expected * 1.1) + num_rows
    while True:
        position = np.arange(num_drawn, dtype=np.int64)
        if order == "listed":
            rows = position % num_rows
        else:
            draws = uniform(seed, ARRIVALS, position)
            rows = (draws * num_rows).astype(np.int64)
            if order == "shuffled":
                rows[:num_rows] = np.argsort(draws[:num_rows], kind="stable")
        reached = np.cumsum(asked[rows]) >= wanted
        if reached.any():
            return rows[: int(np.argmax(reached)) + 1].copy()
        num_drawn *= 2


def _columns(requests: Requests, cluster: Cluster) -> dict[str, Any]:
    """Return the arguments of the core's job table; times are dummies."""
    position = {name: index for index, name in enumerate(cluster.gpu_types)}
    return {
        "submit_us": np.zeros(len(requests), dtype=np.int64),
        "service_us": np.ones(len(requests), dtype=np.int64),
        "gpus": requests.gpus,
        "type_set": requests.type_set,
        "type_masks": np.array([_mask(n, position) for n in requests.type_sets], np.uint64),
        # It reads only the three demand columns.
        **demand_columns(cast(Trace, requests)),
    }


def _mask(names: Iterable[str], position: dict[str, int]) -> int:
    named = list(names)
    if not named:
        return _EVERY_TYPE
    return sum(1 << position[name] for name in named if name in position)
