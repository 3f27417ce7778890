"""How near a simulated base case comes to what happened: :func:`fidelity`."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched._core import Placement
from gpusched.base.field_checks import check_integer, not_negative
from gpusched.base.progress import OnProgress
from gpusched.base.wording import duration, plural
from gpusched.clusters.cluster import Cluster
from gpusched.clusters.server_group import MAX_GPUS_PER_SERVER, MAX_SERVERS
from gpusched.plugins.policy import PlacementChoice
from gpusched.plugins.policy_labels import AnyPolicy, runs_by_label
from gpusched.studies.fidelity.base_cases import (
    PLACEMENTS,
    BaseCase,
    Setting,
    default_policies,
    default_predictor,
    ordered,
)
from gpusched.studies.fidelity.fidelity_result import Fidelity
from gpusched.studies.fidelity.own_starts import OwnStarts, Window, own_starts
from gpusched.studies.threaded_runs import in_threads

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

GPUS_PER_SERVER: Final = 8
RESOLUTION_S: Final = 60.0


def fidelity(
    trace: Trace,
    cluster: Cluster | Sequence[Cluster] | None = None,
    policies: Sequence[AnyPolicy] | None = None,
    placements: Sequence[str | PlacementChoice | Placement] | None = None,
    *,
    servers: Sequence[int] | None = None,
    gpus_per_server: int = GPUS_PER_SERVER,
    predictor: str | None = None,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    resolution_s: float = RESOLUTION_S,
    seed: int = 0,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Fidelity:
    """Find the simulated base case that is nearest to what happened, and grade it.

    The trace must have starts of its own (``source_wait_s``). Every policy is tried with every
    placement, on the clusters that are named or on the number of equal servers under which the
    mean wait is nearest to the trace's, from the fewest that can have run what ran at once. Where
    jobs wait too little even on those, there may have been fewer for most of the time: then fewer
    are tried for as long as that comes nearer.

    Parameters
    ----------
    cluster
        The cluster of the site, or several to try. None: equal servers.
    policies, placements
        What to try, see :func:`gpusched.policies` and :func:`gpusched.placements`. None:
        non-preemptive policies that a site can have, those that rank jobs by run time only where
        the trace has estimates of all; and the placements ``consolidated`` and ``first-fit``.
        Policies that backfill take true run times for estimates that are missing, and a base case
        that sees the truth so is marked.
    servers
        Without a cluster: the numbers of servers to try. None: one is searched for.
    gpus_per_server
        Without a cluster: GPUs of each server.
    predictor
        What policies know of run times. None: the estimates where every job has one, else the
        truth.
    warm_up_s, tail_s
        Jobs submitted so long after the first submission, or so long before the last, are
        simulated but not compared, seconds. None: until as many GPUs are in use as on average,
        and as long as 95 % of the jobs waited, each at most a tenth of the span.
    resolution_s
        Waits below this count as none, seconds: sites look at their queues in rounds.
    seed, threads, progress, stop
        As for :func:`gpusched.compare`; ``progress`` counts pairs of a policy and a placement.

    Returns
    -------
    Fidelity
        The base cases, the nearest first, with their grades.

    Raises
    ------
    ValueError
        If the trace has no starts of its own, or fewer than ten in the window; jobs are restricted
        to GPU types and no cluster is named; or an argument is out of range. An error in a run
        names its policy and placement.
    TypeError
        If an argument has another type.
    Cancelled
        If ``stop`` was set.

    Examples
    --------
    >>> import gpusched as gs
    >>> cluster = gs.Cluster.uniform(4, 8)
    >>> jobs = gs.generate("philly", 400, load=1.1, cluster=cluster, seed=3)
    >>> log = gs.simulate(jobs, cluster, policy="fifo-skip").to_polars().drop("status")
    >>> names = {"source_wait_s": "queueing_delay_s"}
    >>> gs.fidelity(gs.Trace.from_polars(log, names)).best.name
    'fifo-skip, consolidated, 4 servers'
    """
    own = own_starts(trace)
    window = own.window(warm_up_s, tail_s)
    resolution_s = not_negative("resolution_s", resolution_s, 2.0**43)
    clusters = _clusters(trace, cluster, servers, gpus_per_server)
    said: list[str] = []
    if policies is None:
        policies, said = default_policies(trace)
    known = default_predictor(trace) if predictor is None else predictor
    labels = runs_by_label(policies)
    placements = PLACEMENTS if placements is None else placements
    if isinstance(placements, str | PlacementChoice | Placement) or not placements:
        raise TypeError(f"placements: expected a list of placements, not {placements!r}")
    placements = [PlacementChoice.parse(p) if isinstance(p, str) else p for p in placements]
    least = fewest_servers(own, gpus_per_server)
    settings = {
        f"policy {label}, placement {placement}": Setting(
            trace, own, window, resolution_s, policy, placement, known, clusters, least,
            gpus_per_server, seed,
        )
        for label, policy in labels.items()
        for placement in placements
    }  # fmt: skip
    found = in_threads(
        {name: setting.found for name, setting in settings.items()},
        threads=threads, progress=progress, stop=stop, unit="base cases",
    )  # fmt: skip
    cases = ordered([case for several in found.values() for case in several])
    best = next(
        settings[name]
        for name, several in found.items()
        if any(_same(case, cases[0]) for case, _ in several)
    )
    nearest = {"the nearest": partial(best.runs_on, cases[0].cluster)}
    result = in_threads(nearest, stop=stop)["the nearest"]
    remarks = (*_remarks(own, window, cases[0], least, bool(clusters)), *said)
    return Fidelity(trace, cases, result, own.peak_gpus, resolution_s, remarks, own, window)


def fewest_servers(own: OwnStarts, gpus_per_server: int) -> int:
    """Return the fewest servers that can have run what ran at once, and every job."""
    return -(-max(own.peak_gpus, int(own.trace.gpus.max())) // gpus_per_server)


def no_types(trace: Trace) -> None:
    """Raise ValueError if jobs are restricted to GPU types: then no cluster can be assumed."""
    if trace.type_set is not None:
        types = sorted({name for names in trace.type_sets for name in names})
        raise ValueError(
            f"{trace.name}: jobs are restricted to GPU types ({', '.join(types)}); name the cluster"
        )


def _clusters(
    trace: Trace,
    cluster: Cluster | Sequence[Cluster] | None,
    servers: Sequence[int] | None,
    gpus_per_server: int,
) -> tuple[Cluster, ...]:
    """Return the clusters that are named; none if their size is to be found."""
    check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    if cluster is not None:
        if servers is not None:
            raise ValueError("servers: cannot be combined with a cluster")
        named = tuple(cluster) if isinstance(cluster, list | tuple) else (cluster,)
        if not named or not all(isinstance(entry, Cluster) for entry in named):
            raise TypeError(f"cluster: expected a Cluster or several, not {cluster!r}")
        return named
    no_types(trace)
    if servers is None:
        return ()
    if isinstance(servers, int | str) or not servers:
        raise TypeError(f"servers: expected a list of numbers, not {servers!r}")
    for number in servers:
        check_integer("servers", number, 1, MAX_SERVERS)
    return tuple(Cluster.uniform(number, gpus_per_server) for number in servers)


def _same(case: BaseCase, other: BaseCase) -> bool:
    return (case.policy, case.placement, case.cluster) == (
        other.policy, other.placement, other.cluster,
    )  # fmt: skip


def _remarks(
    own: OwnStarts, window: Window, best: BaseCase, least: int, has_clusters: bool
) -> list[str]:
    """Say what limits the comparison."""
    trace = own.trace
    said = [
        f"compared: {plural(best.likeness.num_compared, 'job')} of {len(trace):,}; left out: "
        f"those submitted in the first {duration(window.warm_up_s)} (the cluster may not have "
        f"been empty before) and the last {duration(window.tail_s)} (what came later is missing)"
    ]
    unknown = len(trace) - int(np.count_nonzero(own.is_known))
    if unknown:
        said.append(f"{plural(unknown, 'job')} without a start were simulated, but not compared")
    like = best.likeness
    if like.num_never_started:
        said.append(f"{plural(like.num_never_started, 'job')} compared never started in the best")
    if best.cluster.num_gpus < own.peak_gpus:
        said.append(
            f"the best has {best.cluster.num_gpus:,} GPUs, but {own.peak_gpus:,} were in use at "
            "once: the capacity was not always the same, or the trace's times are not exact"
        )
    is_small = not has_clusters and best.cluster.num_servers <= least
    if is_small and like.mean_wait_s < like.own_mean_wait_s:
        said.append(
            "jobs waited longer than on the fewest servers that can have run them: something "
            "else than capacity held them, such as limits of users, reservations or failures"
        )
    if not math.isfinite(like.mean_wait_factor):
        said.append("nobody waits on one of the two sides: the mean waits have no factor")
    return said
