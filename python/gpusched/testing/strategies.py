"""Hypothesis strategies: small traces and clusters that shrink to few jobs and whole seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.libraries import need
from gpusched.base.suggest import nearest
from gpusched.engine.open_run import Simulation
from gpusched.model.cluster import Cluster
from gpusched.model.job_graphs import JobGraph, Stage
from gpusched.model.outages import KINDS, Outages
from gpusched.model.profiles import JobProfile
from gpusched.testing.cases import cluster_of
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


need("hypothesis", "gpusched.testing", "gpusched-core[testing]")

from hypothesis import strategies as st  # noqa: E402


def profiles(name: str, types: Sequence[str], max_gpus: int) -> SearchStrategy[JobProfile]:
    """Profiles with the data of every speed, for up to ``max_gpus`` GPUs."""
    widths = [width for width in (1, 2, 4, 8, 16, 32, 64) if width < 2 * max_gpus]
    return st.builds(
        _profile,
        st.just(name),
        st.just(tuple(types)),
        st.just(widths),
        st.sampled_from((1e8, 1e9, 0.0)),
        st.sampled_from((0.125, 0.5)),
        st.sampled_from((0, 8, 64)),
    )


def _profile(
    name: str,
    types: tuple[str, ...],
    widths: list[int],
    gradient_bytes: float,
    compute_s: float,
    drag: int,
) -> JobProfile:
    curve = {width: 8.0 * width * 64 / (64 + drag * width) for width in widths}
    return JobProfile(
        name,
        gradient_bytes=gradient_bytes,
        batch=1,
        forward_s=compute_s / 2,
        backward_s=compute_s / 2,
        throughput=dict.fromkeys(types, curve),
        samples_per_s=dict.fromkeys(types, 100.0),
        global_batch=128,
    )


@st.composite
def graphs_of(draw: DrawFn, widths: Sequence[int]) -> list[JobGraph]:
    """A graph for each number of GPUs, of one or two stages."""
    graphs = []
    for width in widths:
        parts = [width]
        if width > 1 and draw(st.booleans()):
            parts = [1, width - 1]
        parameter_bytes = draw(st.sampled_from((0.0, 1e8)))
        stages: list[Any] = [
            Stage(
                replicas=count,
                compute_s=0.25,
                parameter_bytes=parameter_bytes,
                activation_bytes=0.0 if stage + 1 == len(parts) else 1e7,
            )
            for stage, count in enumerate(parts)
        ]
        graphs.append(JobGraph(f"width{width}", tuple(stages)))
    return graphs


MAX_SUBMIT_S: Final = 20
MAX_SERVICE_S: Final = 10

_WEIGHTS: Final = (1, 2, 0.5)
_COSTS: Final = (0, 1, 2)
_POINTS: Final = (0, 1, 2, 10, -1, 0.5)
_ARRAYS: Final = ("a", "b")
_KINDS: Final = ("afterany", "afterok", "afternotok", "after", "aftercorr")
_DELAYS: Final = st.sampled_from(("", "+0", "+0.05", "+0.1"))
"""Minutes that are whole seconds."""

COLUMNS: Final = (
    "estimate_s", "weight", "deadline_s", "checkpoint_s", "restart_s", "gpu_types", "time_limit_s",
    "checkpoint_every_s", "checkpoint_write_s", "max_requeues", "requeue_back", "eligible_s",
    "cancel_at_s", "array", "dependency", "priority", "nice", "profile", "graph",
)  # fmt: skip
"""Columns that a drawn trace may have besides submit times, services and GPUs."""


def traces(
    *,
    max_jobs: int = 12,
    max_gpus: int = 8,
    gpu_types: Sequence[str] = ("gpu",),
    columns: Sequence[str] = (),
) -> SearchStrategy[Trace]:
    """Traces of a few jobs, whose times are whole seconds and often equal.

    Parameters
    ----------
    max_jobs, max_gpus
        Maximum number of jobs, and of GPUs per job.
    gpu_types
        Types that jobs may be restricted to, and that profiles have figures for.
    columns
        Columns besides submit, service and number of GPUs, from ``COLUMNS``: ``"estimate_s"``,
        ``"weight"``, ``"deadline_s"``, ``"checkpoint_s"``, ``"restart_s"``, ``"gpu_types"``,
        ``"time_limit_s"``, ``"checkpoint_every_s"``, ``"checkpoint_write_s"``, ``"max_requeues"``,
        ``"requeue_back"``, ``"eligible_s"``, ``"cancel_at_s"``, ``"array"`` (with limits),
        ``"dependency"`` (with statuses, and without circles), ``"priority"``, ``"nice"``,
        ``"profile"``, ``"graph"``. The last two are then always present, the others sometimes.

    Returns
    -------
    SearchStrategy
        Each example is a :class:`~gpusched.Trace`.

    Raises
    ------
    ValueError
        If a column is unknown, or a number is less than 1. ImportError without Hypothesis.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(gs.testing.traces(max_jobs=5))
    ... def test_no_job_is_wider_than_eight(trace):
    ...     assert trace.gpus.max() <= 8
    >>> test_no_job_is_wider_than_eight()
    """
    for name, number in (("max_jobs", max_jobs), ("max_gpus", max_gpus)):
        if number < 1:
            raise ValueError(f"{name}: {number} must be at least 1")
    for column in columns:
        if column not in COLUMNS:
            raise ValueError(f"columns: unknown column {column!r}{nearest(column, list(COLUMNS))}")
    return _traces(max_jobs, max_gpus, tuple(gpu_types), tuple(columns))


@st.composite
def _traces(
    draw: DrawFn, max_jobs: int, max_gpus: int, types: tuple[str, ...], columns: tuple[str, ...]
) -> Trace:
    job = st.tuples(
        st.integers(0, MAX_SUBMIT_S), st.integers(1, MAX_SERVICE_S), st.integers(1, max_gpus)
    )
    jobs = draw(st.lists(job, min_size=1, max_size=max_jobs))
    submit_s, service_s, gpus = (list(values) for values in zip(*jobs, strict=True))
    more: dict[str, Any] = {}

    def column(name: str, values: list[SearchStrategy[Any]]) -> None:
        if name in columns and draw(st.booleans()):
            more[name] = [draw(value) for value in values]

    column("estimate_s", [st.integers(1, 2 * MAX_SERVICE_S)] * len(jobs))
    column("weight", [st.sampled_from(_WEIGHTS)] * len(jobs))
    column("deadline_s", [st.integers(at + 1, at + 3 * service) for at, service, _ in jobs])
    for name in ("checkpoint_s", "restart_s"):
        column(name, [st.sampled_from(_COSTS)] * len(jobs))
    none = st.just(float("nan"))
    column("time_limit_s", [none | st.integers(1, 2 * MAX_SERVICE_S)] * len(jobs))
    column("checkpoint_every_s", [none | st.integers(1, MAX_SERVICE_S)] * len(jobs))
    column("max_requeues", [none | st.integers(0, 2)] * len(jobs))
    column("requeue_back", [st.integers(0, 1)] * len(jobs))
    if "checkpoint_every_s" in more:
        writes = [st.sampled_from(_COSTS if every == every else (0,))
                  for every in more["checkpoint_every_s"]]  # fmt: skip
        column("checkpoint_write_s", writes)
    column("eligible_s", [none | st.integers(at, at + MAX_SERVICE_S) | st.just(float("inf"))
                          for at in submit_s])  # fmt: skip
    column("cancel_at_s", [none | st.integers(at + 1, at + MAX_SUBMIT_S) for at in submit_s])
    column("array", [st.sampled_from(("", *_ARRAYS))] * len(jobs))
    if "array" in more:
        limit = {name: draw(none | st.integers(1, 3)) for name in _ARRAYS}
        more["array_limit"] = [limit.get(name, float("nan")) for name in more["array"]]
    if "dependency" in columns and draw(st.booleans()):
        more["dependency"] = draw(_dependencies(submit_s, more.get("array", [""] * len(jobs))))
        more["status"] = [draw(st.sampled_from(("ok", "failed", "killed"))) for _ in jobs]
    for name in ("priority", "nice"):
        column(name, [none | st.sampled_from(_POINTS)] * len(jobs))
    if len(types) > 1:
        column("gpu_types", [st.sampled_from(("", *types))] * len(jobs))
    if "profile" in columns:
        last = draw(st.integers(0, 1))
        names = [f"model{i}" for i in range(last + 1)]
        more["profiles"] = [draw(profiles(name, types, max_gpus)) for name in names]
        more["profile"] = [draw(st.integers(0, last)) for _ in jobs]
    if "graph" in columns:
        more["graphs"] = draw(graphs_of(sorted(set(gpus))))
        more["graph"] = [sorted(set(gpus)).index(width) for width in gpus]
    return Trace.from_columns(submit_s, service_s, gpus, **more)


@st.composite
def _dependencies(draw: DrawFn, submit_s: Sequence[int], arrays: Sequence[str]) -> list[str]:
    """Dependencies on jobs before and after, in some order: each on those before it there."""
    jobs = sorted(range(len(submit_s)), key=submit_s.__getitem__)
    has_singletons = draw(st.booleans())  # they wait for all jobs before
    order = jobs if has_singletons else draw(st.permutations(jobs))
    texts = [""] * len(jobs)
    for place, job in enumerate(order):
        terms = [f"{kind}:{target}" for target in order[:place] for kind in _KINDS]
        joined = draw(st.sampled_from(("", ",", "?")))
        if joined == ",":  # of an array all tasks, which "?" does not define
            whole = {*arrays} - {arrays[other] for other in order[place:]} - {""}
            terms += [f"{kind}:{name}" for name in sorted(whole) for kind in _KINDS]
            terms += ["singleton"] * has_singletons
        if joined and terms:
            chosen = draw(st.lists(st.sampled_from(terms), min_size=1, max_size=3))
            texts[job] = joined.join(
                term + draw(_DELAYS) if term.startswith("after:") else term for term in chosen
            )
    return texts


def clusters(
    *,
    max_servers: int = 4,
    max_gpus: int = 4,
    gpu_types: Sequence[str] = ("gpu",),
    has_links: bool = False,
) -> SearchStrategy[Cluster]:
    """Clusters of a few servers with a few GPUs.

    Parameters
    ----------
    max_servers, max_gpus
        Maximum number of servers, and of GPUs per server.
    gpu_types
        GPU types.
    has_links
        Whether bandwidths are known: 10 Gbit/s for network cards, and 100 within servers.

    Returns
    -------
    SearchStrategy
        Each example is a :class:`~gpusched.Cluster`.

    Raises
    ------
    ImportError
        Without Hypothesis; the message names the extra.

    Examples
    --------
    >>> cluster = gs.testing.clusters(max_servers=2, max_gpus=2)
    """
    links = {"nic_gbps": 10.0, "intra_gbps": 100.0} if has_links else {}
    server = st.tuples(st.integers(1, max_gpus), st.sampled_from(tuple(gpu_types)))
    listed = st.lists(server, min_size=1, max_size=max_servers)
    return listed.map(lambda servers: cluster_of(servers, **links))


def outages(
    cluster: Cluster, *, max_outages: int = 4, is_known: bool = False
) -> SearchStrategy[Outages]:
    """Outages of servers of a cluster, at whole seconds and often at the same time.

    Parameters
    ----------
    max_outages
        Maximum number of them.
    is_known
        Whether maintenance may be known before it begins.

    Returns
    -------
    SearchStrategy
        Each example is an :class:`~gpusched.Outages`.

    Raises
    ------
    ImportError
        Without Hypothesis; the message names the extra.

    Examples
    --------
    >>> drawn = gs.testing.outages(gs.Cluster.uniform(2))
    """
    outage = st.tuples(
        st.integers(0, cluster.num_servers - 1),
        st.integers(0, 2 * MAX_SUBMIT_S),
        st.integers(1, MAX_SERVICE_S) | st.just(float("nan")),
        st.sampled_from(KINDS),
        st.sampled_from([0.0, 0.5, 1.0] if is_known else [1.0]),
    )

    def build(rows: list[tuple[int, int, float, str, float]]) -> Outages:
        server, start_s, lasts_s, kind, share = zip(*rows, strict=True)
        known_s = np.where(np.array(kind) == "maint", np.floor(np.multiply(start_s, share)), np.nan)
        return Outages.from_columns(server, start_s, np.add(start_s, lasts_s), kind, known_s)

    return st.lists(outage, min_size=1, max_size=max_outages).map(build)


def workloads(
    *,
    max_jobs: int = 12,
    max_servers: int = 4,
    max_gpus: int = 4,
    gpu_types: Sequence[str] = ("gpu",),
    columns: Sequence[str] = (),
    is_fitting: bool = True,
) -> SearchStrategy[tuple[Trace, Cluster]]:
    """A trace and a cluster for it.

    Parameters
    ----------
    max_jobs, columns
        As for :func:`traces`.
    max_servers, max_gpus
        As for :func:`clusters`, which have links if jobs have profiles or graphs.
    gpu_types
        As for both.
    is_fitting
        Whether every job has at most the GPUs of the cluster; else some have one more. A placement
        may still refuse a job, and its allowed types may be missing.

    Returns
    -------
    SearchStrategy
        Each example is a tuple of a :class:`~gpusched.Trace` and a :class:`~gpusched.Cluster`.

    Raises
    ------
    ValueError
        As for :func:`traces`. ImportError without Hypothesis.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(gs.testing.workloads())
    ... def test_all_jobs_finish(workload):
    ...     trace, cluster = workload
    ...     result = gs.simulate(trace, cluster, policy="srtf", placement="first-fit")
    ...     assert result.summary()["num_finished"] == len(trace)
    >>> test_all_jobs_finish()
    """
    has_links = bool({"profile", "graph"} & set(columns))
    servers = clusters(
        max_servers=max_servers, max_gpus=max_gpus, gpu_types=gpu_types, has_links=has_links
    )

    def beside(cluster: Cluster) -> SearchStrategy[tuple[Trace, Cluster]]:
        widest = cluster.num_gpus + (not is_fitting)
        jobs = traces(max_jobs=max_jobs, max_gpus=widest, gpu_types=gpu_types, columns=columns)
        return st.tuples(jobs, st.just(cluster))

    return servers.flatmap(beside)


def states(
    *, policy: Any = "fifo-skip", placement: Any = "consolidated", max_instants: int = 12,
    **workload: Any,
) -> SearchStrategy[Simulation]:  # fmt: skip
    """Open runs at some instant: states in which a policy may have to decide.

    The state is in ``run.state``, the jobs in ``run.trace``, the servers in ``run.cluster``.

    Parameters
    ----------
    policy, placement
        Of the run so far, as for :func:`gpusched.simulate`.
    max_instants
        Maximum number of instants processed.
    workload
        As for :func:`workloads`.

    Returns
    -------
    SearchStrategy
        Each example is a :class:`~gpusched.Simulation`.

    Raises
    ------
    ValueError, TypeError, ImportError
        As for :func:`workloads` and :func:`gpusched.simulate`.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(gs.testing.states(max_jobs=6))
    ... def test_who_waits_holds_nothing(run):
    ...     assert not set(run.state.waiting) & set(run.state.held_job)
    >>> test_who_waits_holds_nothing()
    """

    def after(drawn: tuple[tuple[Trace, Cluster], int]) -> Simulation:
        (trace, cluster), num_instants = drawn
        run = Simulation(trace, cluster, policy=policy, placement=placement)
        for _ in range(num_instants):
            run.step()
        return run

    return st.tuples(workloads(**workload), st.integers(1, max_instants)).map(after)
