"""A cluster snapshot: running jobs with their GPUs, and waiting jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, freeze_columns
from gpusched.base.draws import check_seed
from gpusched.base.files import naming
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us
from gpusched.engine.open_run import Simulation, snapshot
from gpusched.engine.prepare import described
from gpusched.engine.seams import Chosen, policy_seam
from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.model.outages import KINDS, NEVER, Outages, core_outages
from gpusched.plugins.policy import ContentionChoice, Policy, SpeedChoice
from gpusched.specs.case import core_cluster, job_columns
from gpusched.traces.workload import Trace

_TYPES: Final[Mapping[str, Any]] = {
    "start_s": np.float64, "attained_s": np.float64, "cost_s": np.float64,
    "preemptions": np.int32, "added_s": np.float64, "held_job": np.int64,
    "held_server": np.int64, "held_mask": np.uint64,
}  # fmt: skip

# Placeholders for columns that are filled in later.
_LEFT_OUT: Any = None
_NOTHING: Any = ()
_HELD: Final = ("held_job", "held_server", "held_mask")


class NamedServer(NamedTuple):
    """Name of a server in the source of a state, and the source's numbers of its GPUs."""

    name: str
    gpus: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClusterState:
    """A snapshot of a real or simulated cluster, for :func:`decide` and :func:`when`.

    By default, all jobs have waited since their submission.

    Attributes
    ----------
    cluster
        The servers.
    jobs
        The waiting and running jobs, submitted by now; None: no jobs. ``service_s`` is their
        predicted run time, the only one that policies see. A job that has already run longer is
        assumed to end now.
    now_s
        The time, on the clock of the jobs' ``submit_s``.
    start_s
        float64 seconds, one per job: start of its current run; NaN where it waits. Default: all
        wait.
    attained_s
        float64 seconds, one per job: run time so far, without restart overhead. Default, and where
        NaN: the time since ``start_s`` plus ``cost_s``.
    cost_s
        float64 seconds, one per job: restart overhead at the start of the current run. Default: 0.
    preemptions
        int32, one per job: number of preemptions. Default: 0.
    held_job, held_server, held_mask
        int64, int64 and uint64, a row per running job and server, in any order: the row of the job,
        the position of the server in the cluster, and the GPUs allocated there; bit i is GPU i.
        Job -1 holds GPUs that no job of the state may have now: on servers that are down, drained
        or reserved, or held by jobs outside the snapshot.
    servers
        Name of each server and numbers of its GPUs in the source; empty: no names.
    added_s
        float64 seconds, one per job: work added to its run time, at its arrival or by preemptions.
        Default, and where NaN: what the policy adds (``overrun_s``, and with ``restart=work`` its
        cost for each of the ``preemptions``).
    hold
        One text per job: why it is held for good, such as ``"JobHeldUser"``; ``""``: it is not.
        Jobs are also held by their columns ``eligible_s``, ``dependency`` and ``array_limit``.

    Raises
    ------
    ValueError, TypeError
        If a column has a wrong length or type, a value is out of range, or a job does not hold its
        number of GPUs; the message names column, row and rule.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16], id=["runs", "waits"])
    >>> state = gs.online.ClusterState(
    ...     cluster, jobs, now_s=20, start_s=[0, float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> state.attained_s.tolist(), state.is_running.tolist()
    ([20.0, 0.0], [True, False])
    """

    cluster: Cluster
    jobs: Trace
    now_s: float
    start_s: Float64 = field(default=_LEFT_OUT, repr=False)
    attained_s: Float64 = field(default=_LEFT_OUT, repr=False)
    cost_s: Float64 = field(default=_LEFT_OUT, repr=False)
    preemptions: Int32 = field(default=_LEFT_OUT, repr=False)
    held_job: Int64 = field(default=_NOTHING, repr=False)
    held_server: Int64 = field(default=_NOTHING, repr=False)
    held_mask: npt.NDArray[np.uint64] = field(default=_NOTHING, repr=False)
    servers: tuple[NamedServer, ...] = field(default=(), repr=False)
    added_s: Float64 = field(default=_LEFT_OUT, repr=False)
    hold: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {self.cluster!r:.80}")
        if self.jobs is None:
            object.__setattr__(self, "jobs", no_jobs())
        if not isinstance(self.jobs, Trace):
            raise TypeError(f"jobs: expected a Trace, not {self.jobs!r:.80}")
        num_jobs = len(self.jobs)
        given = {name: getattr(self, name) for name in _TYPES}
        defaults = {
            "start_s": np.nan, "attained_s": np.nan, "cost_s": 0.0, "preemptions": 0,
            "added_s": np.nan,
        }  # fmt: skip
        for name, default in defaults.items():
            if given[name] is None:
                given[name] = np.full(num_jobs, default, _TYPES[name])
        columns = {name: _column(name, values) for name, values in given.items()}
        if len({len(columns[name]) for name in _HELD}) > 1:
            raise ValueError("held_job, held_server, held_mask: must be equally long")
        for name in defaults:
            if len(columns[name]) != num_jobs:
                raise ValueError(f"{name}: {len(columns[name])} values for {num_jobs} jobs")
        now_s = _column("now_s", [self.now_s])[0]
        _check(columns, self.jobs, float(now_s))
        since_s = np.maximum(0.0, now_s - columns["start_s"] - columns["cost_s"])
        known_s = np.where(np.isnan(columns["start_s"]), 0.0, since_s)
        given_s = columns["attained_s"]
        columns["attained_s"] = np.where(np.isnan(given_s), known_s, given_s)
        order = np.lexsort((columns["held_server"], columns["held_job"]))
        for name, values in columns.items():
            is_held = name.startswith("held")
            object.__setattr__(self, name, values[order] if is_held else values)
        object.__setattr__(self, "now_s", float(now_s))
        if self.servers and len(self.servers) != self.cluster.num_servers:
            raise ValueError(
                f"servers: {len(self.servers)} names for {self.cluster.num_servers} servers"
            )
        if self.hold and len(self.hold) != num_jobs:
            raise ValueError(f"hold: {len(self.hold)} texts for {num_jobs} jobs")
        _check_held(self)
        freeze_columns(self)

    @classmethod
    def of(cls, run: Simulation) -> Self:
        """Return the current state of an open run, with run times as its policy knows them.

        Returns
        -------
        ClusterState
            The waiting and running jobs, without finished and held ones.

        Raises
        ------
        ValueError
            If the run has ended with an error, or has outages of servers.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(30)
        >>> gs.online.ClusterState.of(run).is_running.tolist()
        [True, False, False]
        """
        jobs, columns = snapshot(run)
        start_us = columns["start_us"]
        return cls(
            run.cluster,
            jobs,
            columns["now_us"] / US_PER_S,
            start_s=np.where(start_us < 0, np.nan, start_us / US_PER_S),
            attained_s=columns["attained_us"] / US_PER_S,
            cost_s=columns["cost_us"] / US_PER_S,
            added_s=columns["added_us"] / US_PER_S,
            **{name: columns[name] for name in ("preemptions", *_HELD)},
        )

    @property
    def is_running(self) -> Bool:
        """bool, one per job: whether it holds GPUs."""
        found: Bool = ~np.isnan(self.start_s)
        return found

    @property
    def num_withheld(self) -> int:
        """Number of GPUs that no job of the state may have now."""
        return int(np.bitwise_count(self.held_mask[self.held_job < 0]).sum())

    @property
    def now_us(self) -> int:
        """The time in microseconds."""
        return int(seconds_to_us(np.asarray(self.now_s)))


@cache
def no_jobs(name: str = "state") -> Trace:
    """Return a trace without jobs."""
    return Trace.from_columns([0], [1], [1], name=name)._take(slice(0))


def _column(name: str, values: Any) -> AnyArray:
    array = np.asarray(values)
    if not array.size:
        array = array.astype(_TYPES.get(name, np.float64))
    if array.ndim != 1 or array.dtype.kind not in "iuf" or np.ma.is_masked(values):
        raise TypeError(f"{name}: expected numbers in one dimension, not {values!r:.80}")
    wanted = np.dtype(_TYPES.get(name, np.float64))
    if wanted.kind in "iu" and array.dtype.kind == "f":
        raise TypeError(f"{name}: expected whole numbers, not {array.dtype}")
    if wanted.kind == "u" and array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ValueError(f"{name}: row {int(np.argmin(array))} is negative")
    made: AnyArray = array.astype(wanted)
    return made


def _check(columns: Mapping[str, AnyArray], jobs: Trace, now_s: float) -> None:
    """Check the ranges of values."""
    if not 0 <= now_s <= MAX_SUBMIT_US / US_PER_S:
        raise ValueError(f"now_s: {now_s} must lie between 0 and {MAX_SUBMIT_US / US_PER_S:g}")
    late = np.flatnonzero(jobs.submit_s > now_s)
    if late.size:
        raise ValueError(
            f"jobs: row {late[0]} is submitted at {jobs.submit_s[late[0]]:g} s, after now_s"
        )
    rules = {
        "start_s": ("NaN, or from 0 to now_s", 0.0, now_s, True),
        "attained_s": ("NaN, or 0 or more, and finite", 0.0, MAX_SUBMIT_US / US_PER_S / 64, True),
        "cost_s": ("0 or more, and finite", 0.0, MAX_SUBMIT_US / US_PER_S / 64, False),
        "preemptions": ("0 or more", 0, 2**31 - 1, False),
        "added_s": ("NaN, or 0 or more, and finite", 0.0, MAX_SUBMIT_US / US_PER_S / 64, True),
    }
    for name, (rule, least, most, may_lack) in rules.items():
        values = columns[name]
        fits = (values >= least) & (values <= most)
        if may_lack:
            fits |= np.isnan(values)
        if not fits.all():
            row = int(np.argmin(fits))
            raise ValueError(f"{name}: row {row} is {values[row]}; must be {rule}")


def _check_held(state: ClusterState) -> None:
    """Check that running jobs hold their number of GPUs, on existing servers."""
    job, server = state.held_job, state.held_server
    for name, values, least, count in (
        ("held_job", job, -1, len(state.jobs)),
        ("held_server", server, 0, state.cluster.num_servers),
    ):
        outside = (values < least) | (values >= count)
        if outside.any():
            wrong = values[int(np.argmax(outside))]
            raise ValueError(f"{name}: {wrong} is out of range; there are {count:,}")
    if (state.held_mask == 0).any():
        raise ValueError(f"held_mask: row {int(np.argmin(state.held_mask))} holds no GPU")
    if not len(job):  # no job runs, or the cluster is a single pool
        return
    of_jobs = job >= 0
    held = np.bincount(job[of_jobs], np.bitwise_count(state.held_mask[of_jobs]), len(state.jobs))
    wanted = np.where(state.is_running, state.jobs.gpus, 0)
    wrong_rows = np.flatnonzero(held != wanted)
    if wrong_rows.size:
        row = int(wrong_rows[0])
        raise ValueError(f"held_mask: job {row} holds {int(held[row])} GPUs, not {wanted[row]}")


def some_of(state: ClusterState, rows: Int64) -> ClusterState:
    """Return the state with only these jobs, which include all that run."""
    row_of = np.full(len(state.jobs) + 1, -1)  # the last is that of job -1
    row_of[rows] = np.arange(len(rows))
    names = ("start_s", "attained_s", "cost_s", "preemptions", "added_s")
    columns: dict[str, Any] = {name: getattr(state, name)[rows] for name in names}
    return dataclasses.replace(
        state,
        jobs=state.jobs._take(rows),
        held_job=row_of[state.held_job],
        hold=tuple(state.hold[row] for row in rows.tolist()) if state.hold else (),
        **columns,
    )


def usable(state: ClusterState) -> tuple[ClusterState, list[int], list[list[int]]]:
    """Return the state on a cluster of the available GPUs only, and their original places.

    The state, and for each of its servers the position in the full cluster and the numbers of its
    GPUs there.
    """
    cluster, of_jobs = state.cluster, state.held_job >= 0
    gone = np.zeros(cluster.num_servers, np.uint64)
    np.bitwise_or.at(gone, state.held_server[~of_jobs], state.held_mask[~of_jobs])
    groups = [group for group in cluster.servers for _ in range(group.count)]
    bits = [
        [bit for bit in range(group.gpus) if not mask >> bit & 1]
        for group, mask in zip(groups, gone.tolist(), strict=True)
    ]
    kept = [place for place, mine in enumerate(bits) if mine]
    if not kept:
        raise ValueError("held_job: every GPU is out of use")
    position = {place: number for number, place in enumerate(kept)}
    masks = [
        sum(1 << number for number, bit in enumerate(bits[place]) if mask >> bit & 1)
        for place, mask in zip(
            state.held_server[of_jobs].tolist(), state.held_mask[of_jobs].tolist(), strict=True
        )
    ]
    part_of = cluster.server_part_of
    names = [
        None if part_of is None or group.part_of is None else f"server {part_of[at]}"
        for at, group in enumerate(groups)
    ]
    left = tuple(
        msgspec.structs.replace(groups[at], count=1, gpus=len(bits[at]), part_of=names[at])
        for at in kept
    )
    there = dataclasses.replace(
        state,
        cluster=msgspec.structs.replace(cluster, servers=left, domains=_domains_of(cluster, left)),
        held_job=state.held_job[of_jobs],
        held_server=np.array(
            [position[at] for at in state.held_server[of_jobs].tolist()], np.int64
        ),
        held_mask=np.array(masks, np.uint64),
        servers=(),
    )
    return there, kept, [bits[at] for at in kept]


def _domains_of(cluster: Cluster, servers: Sequence[ServerGroup]) -> tuple[Domain, ...]:
    """Return the domains that these servers are in, from the innermost to the root."""
    parent = {domain.name: domain.parent for domain in cluster.domains}
    there = set()
    for group in servers:
        name = group.domain
        while name is not None and name not in there:
            there.add(name)
            name = parent[name]
    return tuple(domain for domain in cluster.domains if domain.name in there)


def asked(policy: str | Policy | _core.Order | _core.Scheduler) -> Chosen:
    """Return a policy for a single decision without memory."""
    chosen = policy_seam(policy)
    is_object = isinstance(policy, _core.Order | _core.Scheduler)
    if not is_object and isinstance(chosen.native, _core.Scheduler):
        raise ValueError(
            f"policy: {chosen.label} is written in Python and may remember its decisions; pass an "
            "object of its class, which is used as is"
        )
    return chosen


DRAIN: Final = KINDS.index("drain")


def with_outages(state: ClusterState, outages: Outages) -> tuple[ClusterState, dict[str, Any]]:
    """Return the core's outages from the time of the state on.

    One that has begun has hit its server already: until its end no job starts there. Then all GPUs
    of the server are back, so none is out of use in the returned state.
    """
    if not isinstance(outages, Outages):
        raise TypeError(f"outages: expected Outages, not {outages!r:.80}")
    now_us = state.now_us
    kept = (outages.end_us == NEVER) | (outages.end_us > now_us)
    columns = {name: each for name, each in vars(outages).items() if isinstance(each, np.ndarray)}
    left = dataclasses.replace(outages, **{name: each[kept] for name, each in columns.items()})
    begun, known_us = left.start_us <= now_us, left.known_us
    if known_us is not None:  # maintenance that was known ahead is known to end
        known_us = np.where(begun, now_us - (known_us < left.start_us), known_us)
    left = dataclasses.replace(
        left,
        start_us=np.maximum(left.start_us, now_us),
        kind=np.where(begun, DRAIN, left.kind).astype(np.uint8),
        known_us=known_us,
    )
    found = core_outages(left, state.cluster)
    pairs = zip(found["outage_server"], found["outage_start_us"], strict=True)
    closed = [server for server, start_us in pairs if start_us == now_us]
    rows = (state.held_job >= 0) | ~np.isin(state.held_server, closed)
    held = {name: getattr(state, name)[rows] for name in ("held_job", "held_server", "held_mask")}
    return dataclasses.replace(state, **held), found


def shortest_run(
    state: ClusterState,
    policy: Chosen,
    placement: Chosen,
    seed: int,
    outages: Mapping[str, Any] | None = None,
) -> tuple[_core.Run, Int64 | None]:
    """Return a smaller run with the same first decision, and its jobs (None: all).

    If the decision depends only on free GPUs and waiting jobs, the run has no other jobs.
    """
    is_of_the_queue = _is_of_the_queue(policy, placement, state) and _holds_allowed_types(state)
    if len(state.held_job) and is_of_the_queue:
        rows = np.flatnonzero(~state.is_running)
        try:
            return _begun(state, policy, placement, seed, rows, outages), rows
        except ValueError:
            pass  # the run of all jobs raises the error with the right row
    return _begun(state, policy, placement, seed, None, outages), None


def _begun(
    state: ClusterState,
    policy: Chosen,
    placement: Chosen,
    seed: int,
    rows: Int64 | None,
    outages: Mapping[str, Any] | None,
) -> _core.Run:
    uses_estimates = policy.has("estimate")
    states = outages is not None
    columns = job_table(state, uses_estimates=uses_estimates, rows=rows, states=states)
    snapshot = snapshot_of(state, rows=rows)
    description = description_of(policy, placement, seed, outages)
    cluster = core_cluster(state.cluster)
    with refused(policy, placement):
        return _core.Run(_core.JobTable(**columns), cluster, description, snapshot=snapshot)


def job_table(
    state: ClusterState, *, uses_estimates: bool, rows: Int64 | None = None, states: bool = False
) -> dict[str, Any]:
    """Return the arguments of the core's job table.

    ``rows``: the jobs of the table; default: all.
    ``states``: as for :func:`~gpusched.specs.case.job_columns`.
    """
    columns = job_columns(state.jobs, state.cluster, uses_estimates=uses_estimates, states=states)
    if rows is not None:
        columns = {
            name: values[rows] if name != "type_masks" else values
            for name, values in columns.items()
        }
    columns["predicted_us"] = columns["service_us"]
    return columns


def snapshot_of(
    state: ClusterState, first_us: int | None = None, rows: Int64 | None = None
) -> _core.Snapshot:
    """Return the core's snapshot from which a run starts.

    ``first_us``: time of the first decision, unless an event comes earlier; default: the state's
        time.
    ``rows``: the jobs of the run, all waiting; GPUs of other jobs remain held. Default: all.
    """
    start_us = np.full(len(state.jobs), -1, np.int64)
    running = state.is_running
    start_us[running] = seconds_to_us(state.start_s[running])
    columns: dict[str, Any] = {
        "attained_us": seconds_to_us(state.attained_s),
        "start_us": start_us,
        "cost_us": seconds_to_us(state.cost_s),
        "preemptions": state.preemptions,
        "added_us": added_us(state),
    }
    held_job = state.held_job
    if rows is not None:
        columns = {name: values[rows] for name, values in columns.items()}
        columns["cost_us"] = np.zeros(len(rows), np.int64)
        held_job = held_job - len(state.jobs)
    return _core.Snapshot(
        state.now_us,
        first_us=first_us,
        held_job=held_job,
        held_server=state.held_server,
        held_mask=state.held_mask,
        **columns,
    )


def added_us(state: ClusterState) -> Int64:
    """Return the work added to each job in microseconds; -1: what the policy adds."""
    is_told = ~np.isnan(state.added_s)
    added: Int64 = np.full(len(state.jobs), -1, np.int64)
    added[is_told] = seconds_to_us(state.added_s[is_told])
    return added


def _is_of_the_queue(policy: Chosen, placement: Chosen, state: ClusterState) -> bool:
    """Whether the decision is independent of running jobs and of row numbers."""
    jobs = state.jobs
    asks_for_more = (jobs.share_milli, jobs.cpu_milli, jobs.memory_mib, jobs.gpus_per_node)
    return (
        policy.info.kind == "order"
        and isinstance(policy.native, str)
        and isinstance(placement.native, str)
        and not policy.has("preemptive")
        and not policy.has("random")
        and not placement.has("random")
        and not placement.has("pooled")
        and all(column is None for column in asks_for_more)
        and not state.is_running.all()
    )


def _holds_allowed_types(state: ClusterState) -> bool:
    """Whether all running jobs hold only GPUs of allowed types."""
    if state.jobs.type_set is None:
        return True
    kinds = state.cluster.gpu_types
    is_allowed = np.array(
        [[not names or kind in names for kind in kinds] for names in state.jobs.type_sets]
    )
    of_jobs = state.held_job >= 0
    sets = state.jobs.type_set[state.held_job[of_jobs]]
    return bool(is_allowed[sets, state.cluster.server_type[state.held_server[of_jobs]]].all())


def refused(policy: Chosen, placement: Chosen) -> AbstractContextManager[None]:
    """Add the policy and the placement to errors of the core."""
    return naming(f"policy {policy.label}, placement {placement.label}")


def description_of(
    policy: Chosen, placement: Chosen, seed: int, outages: Mapping[str, Any] | None = None
) -> _core.RunDescription:
    """Return the core's description of a run with fixed run times."""
    return described(policy, placement, _FIXED, _ALONE, check_seed(seed), outages=outages)


_FIXED: Final = SpeedChoice("fixed")
_ALONE: Final = ContentionChoice("none")
