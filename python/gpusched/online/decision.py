"""Take one decision of a policy on a cluster snapshot: :func:`decide`."""

from __future__ import annotations

import dataclasses
import operator
import time
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base import container
from gpusched.base.arrays import AnyArray, FrozenColumns, Int64, read_only
from gpusched.base.container import Kind
from gpusched.base.defaults import POLICY
from gpusched.base.draws import check_seed
from gpusched.base.files import naming
from gpusched.base.libraries import polars as pl
from gpusched.base.rejects import Rejects
from gpusched.base.suggest import HintedError
from gpusched.base.ticks import US_PER_S, seconds_to_us
from gpusched.engine.seams import Chosen, placement_seam, policy_seam
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.online.cluster_state import (
    ClusterState,
    added_us,
    asked,
    description_of,
    refused,
    shortest_run,
    some_of,
    usable,
    with_outages,
)
from gpusched.online.holding import holds_now
from gpusched.plugins.policy import PlacementChoice, Policy
from gpusched.schedules.schedule import REJECT_REASONS
from gpusched.specs.case import core_cluster, job_columns
from gpusched.traces.job_columns import NOT_GIVEN
from gpusched.traces.trace_store import (
    TRACE_MEMBERS,
    TraceHeader,
    stored_column,
    stored_trace,
    trace_members,
)
from gpusched.traces.workload import Trace

# In the order of the core.
_WHAT: Final = np.array(["start", "preempt", "resize", "finish", "reject", "cancel"])
# Of the core, about a policy that cannot decide by a state alone.
_REMEMBERS: Final = "keeps more than the state"
_WITH_MEMORY: Final = (
    '; pass memory=b"" while no job runs, and then the memory of each decision to the next',
    '; use gpusched decide --stream, whose requests have a "memory": "" while no job runs, and '
    "then that of the answer before",
)


@dataclass(frozen=True, eq=False)
class ClusterDecision(FrozenColumns):
    """The actions of a policy now, returned by :func:`decide`. Jobs are rows of ``state.jobs``.

    Attributes
    ----------
    state
        The input of the decision.
    what
        Text, one per action, in a feasible order: ``"preempt"`` first, then ``"start"`` (or resume)
        and ``"resize"``.
    job
        int64, one per action.
    held_job, held_server, held_mask
        int64, int64 and uint64, a row per server of each started or resized job: the GPUs that it
        gets there; bit i is GPU i. Empty under a placement without servers.
    rejected, reason
        int64, and texts: jobs that can never run on this cluster, and why.
    wake_s
        Time of the policy's requested wake-up, even if nothing happens before; None if it only
        reacts to events.
    decision_s
        Seconds that the decision took.
    memory
        Memory for the next decision, if this one was given some.
    holds
        Why jobs are held, by row: what the source says, ``"until 60 s"``, ``"waits for afterok:7"``
        or the limit of the array. The policy does not know them.
    """

    state: ClusterState = field(repr=False)
    what: AnyArray
    job: Int64
    held_job: Int64 = field(repr=False)
    held_server: Int64 = field(repr=False)
    held_mask: npt.NDArray[np.uint64] = field(repr=False)
    rejected: Int64
    reason: tuple[str, ...]
    wake_s: float | None
    decision_s: float
    memory: bytes | None = field(repr=False)
    _num_free: int = field(repr=False)
    _run: _core.Run | None = field(repr=False)  # None: no job
    _row_of: Int64 | None = field(repr=False)  # row of each job in the run, if different
    holds: dict[int, str] = field(default_factory=dict, repr=False)

    def why(self, job: int) -> str:
        """Explain what happens to a job of the state, and why.

        Returns
        -------
        str
            A clause without a full stop.

        Raises
        ------
        IndexError
            If there is no such row.
        TypeError
            If ``job`` is not a whole number.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [60, 60], [8, 16])
        >>> state = gs.online.ClusterState(gs.Cluster.uniform(2, 8), jobs, now_s=20)
        >>> gs.decide(state, policy="fifo").why(1)
        'waits: it needs 16 GPUs, but 8 are free after this decision'
        """
        job, jobs = operator.index(job), self.state.jobs
        if not 0 <= job < len(jobs):
            raise IndexError(f"job: {job} is not one of the {len(jobs):,} rows")
        if job in self.holds:
            return f"is held: {self.holds[job]}"
        if job in self.rejected:
            return f"can never run: {self.reason[self.rejected.tolist().index(job)]}"
        done = [what for what, row in zip(self.what, self.job, strict=True) if row == job]
        if "start" in done or "resize" in done:
            count = int((self.held_job == job).sum())
            where = f" on {count} server{'s' if count > 1 else ''}" if count else ""
            return f"{'starts' if 'start' in done else 'is resized'}{where}"
        if "preempt" in done:
            return "is preempted: other jobs come first"
        if self.state.is_running[job]:
            return "keeps running"
        need, then = int(jobs.gpus[job]), " after this decision" if len(self.what) else ""
        if jobs.share_milli is None and need > self._num_free:
            gone = self.state.num_withheld
            more = f" ({gone:,} out of use)" if gone else ""
            return f"waits: it needs {need:,} GPUs, but {self._num_free:,} are free{then}{more}"
        assert self._run is not None
        if not _core.can_place(self._run, job if self._row_of is None else int(self._row_of[job])):
            return f"waits: the placement cannot fit it into {self._num_free:,} free GPUs{then}"
        return "waits: it would fit, but the policy holds it back for other jobs"

    def to_polars(self) -> pl.DataFrame:
        """Return a row per action and server, and one per job that can never run.

        Returns
        -------
        polars.DataFrame
            Columns what, id, server and mask; the last two are null if no GPUs are assigned.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [60, 60], [8, 16])
        >>> state = gs.online.ClusterState(gs.Cluster.uniform(2, 8), jobs, now_s=20)
        >>> gs.decide(state, policy="fifo").to_polars().rows()
        [('start', '0', 0, 255)]
        """
        ids = self.state.jobs.id
        rows = []
        for what, job in zip(self.what.tolist(), self.job.tolist(), strict=True):
            mine = self.held_job == job
            held = zip(self.held_server[mine].tolist(), self.held_mask[mine].tolist(), strict=True)
            places = list(held) if what != "preempt" else []
            rows += [(what, str(ids[job]), *place) for place in places or [(None, None)]]
        rows += [("reject", str(ids[job]), None, None) for job in self.rejected.tolist()]
        types = {"what": pl.String, "id": pl.String, "server": pl.Int64, "mask": pl.UInt64}
        return pl.DataFrame(rows, schema=types, orient="row")


def decide(
    state: ClusterState,
    *,
    policy: str | Policy | _core.Order | _core.Scheduler = POLICY,
    placement: str | PlacementChoice | _core.Placement = "consolidated",
    seed: int = 0,
    memory: bytes | None = None,
    outages: Outages | None = None,
) -> ClusterDecision:
    """Return the decision that ``policy`` would take in a simulation in this ``state``.

    The engine is the same: a simulation replayed decision by decision has the same digest.
    Policies that depend only on the state need nothing else. Policies that keep more between
    decisions (reservations, guarantees, plans, a clock) are refused unless they get a ``memory``;
    a table in *Open runs* lists them. Jobs run for their ``service_s`` on any GPUs. Held jobs are
    not started: see :attr:`ClusterDecision.holds
    <gpusched.online.ClusterDecision.holds>`.

    Parameters
    ----------
    state
        Running and waiting jobs; may be without jobs.
    policy, placement
        As for :func:`simulate`. A Python object is used as is, and keeps its own state.
    seed
        Seed of random orders and placements, which draw by the rows of jobs without held ones.
    memory
        ``b""`` for the first decision, then the memory of the previous one: opaque bytes with a
        checksum, valid for this version of gpusched. They hold the history, which the engine
        replays, so decisions take longer with each job. The first state must have no running job;
        later states must match the decisions, and report each new job, each job that is gone and
        each requested wake-up (``wake_s``) at its own ``now_s``. Jobs are remembered by ``id``,
        with the ``service_s`` first reported. Jobs of the first state keep their submit times;
        later jobs count as submitted when they are first reported, and a deadline that has passed
        by then passes immediately. Held jobs are not reported.
    outages
        As for :func:`gpusched.online.when`; not with a memory. No job starts that would reach
        maintenance known by now.

    Returns
    -------
    ClusterDecision
        Which jobs to start on which GPUs, and which to preempt.

    Raises
    ------
    ValueError
        If a name or a parameter is wrong, the policy needs a memory, the state is impossible, or
        the memory is not from an earlier decision or does not match the state; the message says
        which.
    TypeError
        If an argument has a wrong type.
    InvariantError
        If a policy or a placement requests something impossible.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> jobs = gs.Trace.from_columns([0, 10, 20], [3600, 60, 60], [8, 16, 4], id=["a", "b", "c"])
    >>> state = gs.online.ClusterState(
    ...     cluster, jobs, now_s=20, start_s=[0, float("nan"), float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> decision = gs.decide(state, policy="fifo-skip")
    >>> decision.what.tolist(), decision.job.tolist(), decision.held_server.tolist()
    (['start'], [2], [0])
    >>> decision.why(1)
    'waits: it needs 16 GPUs, but 4 are free after this decision'
    """
    if not isinstance(state, ClusterState):
        raise TypeError(f"state: expected a ClusterState, not {state!r}")
    begin = time.perf_counter()
    row_of = passed = None
    holds = holds_now(state)
    free = np.delete(np.arange(len(state.jobs)), list(holds))
    there = some_of(state, free) if holds else state
    if not len(free) and not memory:  # nothing to decide or remember
        check_seed(seed)
        policy_seam(policy), placement_seam(placement)
        return _nothing(state, begin, memory, holds)
    planned = None
    if outages is not None:
        if memory is not None:
            raise ValueError("outages: cannot be combined with memory")
        there, planned = with_outages(there, outages)
    if memory is None:
        try:
            seams = asked(policy), placement_seam(placement)
            run, rows = shortest_run(there, *seams, seed, planned)
        except ValueError as error:
            if _REMEMBERS not in str(error):
                raise
            raise HintedError(str(error), *_WITH_MEMORY) from None
        found = _core.decided(run)
        if rows is not None:
            for name in ("job", "held_job", "rejected"):
                found[name] = rows[found[name]]
            row_of = np.full(len(there.jobs), -1, np.int64)
            row_of[rows] = np.arange(len(rows))
    else:
        chosen = policy_seam(policy), placement_seam(placement)
        run, row_of, found, passed = _with_memory(there, *chosen, seed, memory)
    if holds:
        for name in ("job", "held_job", "rejected"):
            found[name] = free[found[name]]
        of_free = np.arange(len(free)) if row_of is None else row_of
        row_of = np.full(len(state.jobs), -1, np.int64)
        row_of[free] = of_free
    wake_us = found.pop("wake_us")
    what = _WHAT[found.pop("kind").astype(np.int64)]
    # A policy may start a job on GPUs of another before it preempts that one.
    order = np.argsort(what != "preempt", kind="stable")
    reasons = [REJECT_REASONS[code] for code in found.pop("reason").tolist()]
    return ClusterDecision(
        state=state,
        what=what[order],
        job=found.pop("job")[order],
        reason=tuple(reasons),
        wake_s=None if wake_us is None else wake_us / US_PER_S,
        decision_s=time.perf_counter() - begin,
        memory=passed,
        _num_free=found.pop("num_free"),
        _run=run,
        _row_of=row_of,
        holds=holds,
        **found,
    )


def _nothing(
    state: ClusterState, begin: float, memory: bytes | None, holds: dict[int, str]
) -> ClusterDecision:
    none = np.empty(0, np.int64)
    num_free = state.cluster.num_gpus - state.num_withheld
    return ClusterDecision(
        state, _WHAT[none], none, none, none, np.empty(0, np.uint64), none, (), None,
        time.perf_counter() - begin, memory, num_free, None, None, holds,
    )  # fmt: skip


def _with_memory(
    state: ClusterState, policy: Chosen, placement: Chosen, seed: int, memory: bytes
) -> tuple[_core.Run, Int64, dict[str, Any], bytes]:
    """Replay the history, and take one more decision; ``b""`` starts a new history.

    The core's run, halted after the decision; the row there of each job of the state; the decision
    as of ``_core.decided``, of the jobs of the state and by their rows; and the memory that is to
    be passed to the next one.
    """
    if not isinstance(memory, bytes):
        raise TypeError(f"memory: expected bytes, not {memory!r:.80}")
    description = description_of(policy, placement, seed)
    with refused(policy, placement):
        for chosen in (policy, placement):
            if chosen.label.startswith("python:"):
                raise ValueError(
                    f"memory: {chosen.label} is a Python object, which keeps its own state; "
                    "register its class and give its name, or pass no memory"
                )
        if state.num_withheld:
            return _with_memory_of_what_is_up(state, policy, placement, seed, memory)
        here = (policy.label, placement.label, check_seed(seed), state.cluster, state)
        if memory:
            known = Memory.from_bytes(memory)
            known.check_same(*here)
        else:
            known = Memory.begun(*here)
        row_of = known.come_to(state)
        run = known.replayed(policy, description)
        known.check(run, state, row_of)
        found = known.decide(run, row_of)
        return run, row_of, found, known.to_bytes()


def _with_memory_of_what_is_up(
    state: ClusterState, policy: Chosen, placement: Chosen, seed: int, memory: bytes
) -> tuple[_core.Run, Int64, dict[str, Any], bytes]:
    """Decide on a cluster without unavailable GPUs, which the memory does not know.

    The memory stays valid while the same GPUs are up. Jobs that fit only on the full cluster wait.
    """
    there, server_of, bits_of = usable(state)
    run, row_of, found, passed = _with_memory(there, policy, placement, seed, memory)
    never = _core.decided(shortest_run(state, asked("fifo"), placement, seed)[0])
    on_all = set(never["rejected"].tolist())
    kept = np.array([row in on_all for row in found["rejected"].tolist()], np.bool_)
    for name in ("rejected", "reason"):
        found[name] = found[name][kept]
    at = found["held_server"].tolist()
    masks = [
        sum(1 << bits_of[server][bit] for bit in range(64) if mask >> bit & 1)
        for server, mask in zip(at, found["held_mask"].tolist(), strict=True)
    ]
    found["held_mask"] = np.array(masks, np.uint64)
    found["held_server"] = np.array([server_of[server] for server in at], np.int64)
    return run, row_of, found, passed


_MEMORY: Final = Kind("gpusched-memory", 3)
_PER_JOB: Final = ("ended_us", "attained_us", "start_us", "cost_us", "added_us", "least_us")
_FIRST: Final = ("first_attained_us", "first_preemptions", "first_added_us")
_AWAY: Final = ("away_job", "away_from_us", "away_until_us")
_LISTS: Final = (*_FIRST, "asked_us", "refused", *_AWAY)


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    policy: str
    placement: str
    seed: int
    cluster: Cluster
    begin_us: int
    last_us: int
    trace: TraceHeader


_ALL: Final = 2**63 - 1
_RESIZE: Final = 2  # the last kind of event that is an action


@dataclass
class Memory:
    """The history of a policy's decisions, serialised between decisions.

    The engine replays it to restore the policy's internal state.

    ``policy``, ``placement``, ``seed``, ``cluster``: these must not change.
    ``begin_us``, ``last_us``: times of the first and the last decision.
    ``jobs``: all jobs so far, in the order in which they were reported. ``submit_us`` is when they
        were reported, except for jobs of the first decision.
    ``columns``: int64, one per job: ``ended_us``, when it was known to be gone (-1: it waits or
        runs), and ``attained_us, start_us, cost_us, added_us`` as in ``_core.Snapshot`` at the last
        decision (for jobs that are gone, when they went); ``least_us``, the lower bound on its run
        time because it had not finished at a decision (0: none). For the first jobs
        ``first_attained_us, first_preemptions, first_added_us``, as in ``_core.Snapshot`` at the
        first decision. And ``asked_us``, times of decisions without an event; ``refused``, the
        rows of jobs that can never run; and ``away_job, away_from_us, away_until_us``, the times
        in which a job that waited was not in the queue.
    """

    policy: str
    placement: str
    seed: int
    cluster: Cluster
    begin_us: int
    last_us: int
    jobs: Trace
    columns: dict[str, Int64]

    def to_bytes(self) -> bytes:
        """Return it as bytes with a checksum."""
        trace_header, arrays = trace_members(self.jobs)
        header = _Header(
            _core.__version__, self.policy, self.placement, self.seed, self.cluster,
            self.begin_us, self.last_us, trace_header,
        )  # fmt: skip
        columns = {f"course.{name}": self.columns[name] for name in (*_PER_JOB, *_LISTS)}
        return container.encode(_MEMORY, msgspec.json.encode(header), {**arrays, **columns})

    @classmethod
    def from_bytes(cls, data: bytes) -> Memory:
        """Restore the history from :meth:`to_bytes`."""
        with naming("memory", "not the memory of an earlier decision"):
            encoded, arrays = container.decode(bytes(data), _MEMORY)
            header = msgspec.json.decode(encoded, type=_Header, strict=True)
            if header.version != _core.__version__:
                raise ValueError(
                    f"written by gpusched {header.version}; this is {_core.__version__}, which "
                    "may have other rules"
                )
            members = {name: array for name, array in arrays.items() if name in TRACE_MEMBERS}
            jobs = stored_trace(header.trace, members)
            columns: dict[str, Any] = {}
            for name in (*_PER_JOB, *_LISTS):
                is_list = name in _LISTS
                length = np.size(arrays.get(f"course.{name}", ())) if is_list else len(jobs)
                columns[name] = stored_column(arrays, f"course.{name}", "i8", length)
            if len(arrays) != len(members) + len(columns):
                raise ValueError("it has unexpected members")
            _check(jobs, columns, header)
        return cls(
            header.policy, header.placement, header.seed, header.cluster, header.begin_us,
            header.last_us, jobs, columns,
        )  # fmt: skip

    @classmethod
    def begun(
        cls, policy: str, placement: str, seed: int, cluster: Cluster, state: ClusterState
    ) -> Self:
        """Return an empty history for a first decision at the state."""
        columns = dict.fromkeys((*_PER_JOB, *_LISTS), np.empty(0, np.int64)) | {
            "first_attained_us": seconds_to_us(state.attained_s),
            "first_preemptions": state.preemptions.astype(np.int64),
            "first_added_us": added_us(state),
        }
        nobody = state.jobs._take(slice(0))
        return cls(policy, placement, seed, cluster, state.now_us, state.now_us, nobody, columns)

    def check_same(
        self, policy: str, placement: str, seed: int, cluster: Cluster, state: ClusterState
    ) -> None:
        """Raise ValueError unless policy and cluster are the same and the state is later."""
        given = {"policy": policy, "placement": placement, "seed": seed}
        for what, now in given.items():
            if getattr(self, what) != now:
                raise ValueError(f"memory: belongs to {what} {getattr(self, what)}, not {now}")
        if self.cluster != cluster:
            raise ValueError("memory: belongs to another cluster; after a change, start with b''")
        if state.now_us <= self.last_us:
            raise ValueError("now_s: must be later than the decision that returned the memory")

    def come_to(self, state: ClusterState) -> Int64:
        """Update to a state with new and gone jobs; return the row of each of its jobs here."""
        now_us, names = state.now_us, state.jobs.id.astype(str)
        old = dict(zip(self.jobs.id.tolist(), range(2**31), strict=False))
        is_new = np.array([name not in old for name in names.tolist()], np.bool_)
        runs = np.flatnonzero(is_new & state.is_running)
        if runs.size:
            raise ValueError(
                f"jobs: {str(names[runs[0]])!r} runs, but no decision in the memory started it; "
                "the first decision with a memory must have no running jobs"
            )
        if is_new.any():
            told = _plain(dataclasses.replace(state.jobs, id=read_only(names)))
            new = told._take(np.flatnonzero(is_new))
            if old:
                new = _plain(Trace.concat([self.jobs, _told_late(new, now_us)], ["memory", "jobs"]))
            self.jobs = new
        jobs, columns = self.jobs, self.columns
        old |= dict(zip(names[is_new].tolist(), range(len(old), len(jobs)), strict=True))
        row_of = np.array([old[name] for name in names.tolist()], np.int64)
        for name in _PER_JOB:
            value = -1 if name in ("ended_us", "start_us") else 0
            more = np.full(len(jobs) - len(columns[name]), value, np.int64)
            columns[name] = np.concatenate([columns[name], more])
        ended_us, start_us = columns["ended_us"], columns["start_us"]
        back = row_of[ended_us[row_of] >= 0]
        if (ran := back[start_us[back] >= 0]).size:
            raise ValueError(f"jobs: {str(jobs.id[ran[0]])!r} ran, had gone and must not return")
        for name, values in zip(
            _AWAY, (back, ended_us[back], np.full_like(back, now_us)), strict=True
        ):
            columns[name] = np.concatenate([columns[name], values])
        ended_us[back] = -1
        begun = (start_us >= 0) & (ended_us < 0)
        paid_us = start_us + columns["cost_us"]
        since = np.maximum(now_us, paid_us) - np.maximum(self.last_us, paid_us)
        columns["attained_us"] = columns["attained_us"] + np.where(begun, since, 0)
        # Work added by a later preemption does not count towards the earlier lower bound.
        not_over_us = columns["attained_us"] + 1 - columns["added_us"]
        columns["least_us"] = np.maximum(columns["least_us"], not_over_us)
        is_here = np.zeros(len(jobs), np.bool_)
        is_here[row_of] = True
        ended_us[~is_here & (ended_us < 0)] = now_us
        self.last_us = now_us
        return row_of

    def replayed(self, policy: Chosen, description: _core.RunDescription) -> _core.Run:
        """Replay the history up to now, without the current decision.

        Policies see gone jobs as finished, whether they finished or were withdrawn.
        """
        columns = self.columns
        table = job_columns(self.jobs, self.cluster, uses_estimates=policy.has("estimate"))
        table["predicted_us"] = table["service_us"]
        # No job may finish in the replay before it is gone.
        table["service_us"] = np.maximum(self.jobs.service_us, columns["least_us"])
        nothing, none = np.zeros_like(columns["first_preemptions"]), np.empty(0, np.int64)
        first = _core.Snapshot(  # the queue of the first decision, without running jobs
            self.begin_us,
            is_anew=True,
            attained_us=columns["first_attained_us"],
            start_us=nothing - 1,
            cost_us=nothing,
            preemptions=columns["first_preemptions"].astype(np.int32),
            added_us=columns["first_added_us"],
            held_job=none,
            held_server=none,
            held_mask=none.astype(np.uint64),
        )
        run = _core.Run(
            _core.JobTable(**table), core_cluster(self.cluster), description, snapshot=first
        )
        ended_us, refused = columns["ended_us"], set(columns["refused"].tolist())
        gone = np.flatnonzero(ended_us >= 0)
        done = [(int(ended_us[row]), "cancel", row) for row in gone.tolist()]
        for row, from_us, until_us in zip(*(columns[at].tolist() for at in _AWAY), strict=True):
            done += [(from_us, "hold", row), (until_us, "release", row)]
        done += [(at_us, "ask", -1) for at_us in columns["asked_us"].tolist()]
        for at_us, what, row in sorted(done, key=lambda each: each[0]):
            run.proceed(at_us, _ALL)
            if what == "ask":
                run.ask(at_us)
            elif row not in refused:
                getattr(run, what)(row, at_us)
        run.proceed(self.last_us, _ALL)
        if run.next_us != self.last_us:
            run.ask(self.last_us)
            columns["asked_us"] = np.append(columns["asked_us"], self.last_us)
        return run

    def check(self, run: _core.Run, state: ClusterState, row_of: Int64) -> None:
        """Raise ValueError unless the decisions so far lead to the state."""
        columns = _core.snapshot_of(run)
        rows = columns["jobs"][columns["held_job"]]
        stays = self.columns["ended_us"][rows] != self.last_us
        there = _held(rows[stays], columns, stays)
        here = _held(row_of[state.held_job], vars(state), slice(None))
        for row in sorted(there.keys() | here.keys()):
            if there.get(row) != here.get(row):
                raise ValueError(
                    f"held: {str(self.jobs.id[row])!r} does not hold the GPUs that it was given; "
                    "the memory does not match this state"
                )

    def decide(self, run: _core.Run, row_of: Int64) -> dict[str, Any]:
        """Take and record the decision; return it by the rows of the state."""
        found: dict[str, Any] = _core.decided(run)
        columns, nothing = self.columns, np.zeros(len(self.jobs), np.int64)
        # Of a job that is gone it stays known whether it ran.
        start_us = np.where(columns["ended_us"] >= 0, columns["start_us"], -1)
        columns |= {"start_us": start_us, "cost_us": nothing}
        snapshot = _core.snapshot_of(run)
        for name in ("attained_us", "start_us", "cost_us", "added_us"):
            columns[name][snapshot["jobs"]] = snapshot[name]
        columns["refused"] = np.sort(found["rejected"])
        state_row = np.full(len(self.jobs), -1, np.int64)
        state_row[row_of] = np.arange(len(row_of))
        for name, others in (
            ("job", ("kind",)),
            ("held_job", ("held_server", "held_mask")),
            ("rejected", ("reason",)),
        ):
            rows = state_row[found[name]]
            kept = rows >= 0  # jobs that finished now are not in the state
            if name == "job":
                kept &= found["kind"] <= _RESIZE
            found[name] = rows[kept]
            for other in others:
                found[other] = found[other][kept]
        return found


def _check(jobs: Trace, columns: dict[str, AnyArray], header: _Header) -> None:
    """Check what the engine relies on, since a forged memory can have a valid checksum."""
    for name, values in {"trace.submit_us": jobs.submit_us, **columns}.items():
        if values.min(initial=0) < -1 or values.max(initial=0) >= 2**61:
            raise ValueError(f"{name}: is out of range")
    if (np.diff(jobs.submit_us) < 0).any() or jobs.submit_us.min() < 0:
        raise ValueError("trace.submit_us: must ascend")
    if not int(jobs.submit_us.max()) <= header.last_us < 2**61:
        raise ValueError("last_us: must not lie before the last submission")
    if not 0 <= header.begin_us <= header.last_us:
        raise ValueError("begin_us: is out of range")
    away = [columns[name] for name in _AWAY]
    if len({*map(len, away)}) > 1 or not np.isin(away[0], np.arange(len(jobs))).all():
        raise ValueError("away_job: is out of range")
    if len(set(jobs.id.tolist())) < len(jobs) or jobs.id.dtype.kind != "U":
        raise ValueError("trace.id: must be unique texts")


def _told_late(jobs: Trace, now_us: int) -> Trace:
    """Return the jobs with ``now_us`` as submit time; passed deadlines pass immediately."""
    due_us = jobs.deadline_us
    if due_us is not None:
        due_us = read_only(np.where(due_us == NOT_GIVEN, due_us, np.maximum(due_us, now_us + 1)))
    late = np.full(len(jobs), now_us, np.int64)
    return dataclasses.replace(jobs, submit_us=read_only(late), deadline_us=due_us)


def _plain(jobs: Trace) -> Trace:
    """Return the jobs without data that decisions do not read."""
    return dataclasses.replace(
        jobs, name="memory", source="memory", epoch=None, origin_s=0.0, rejects=Rejects(), notes=(),
        profile=None, profiles=(), graph=None, graphs=(),
    )  # fmt: skip


def _held(rows: Int64, columns: Any, kept: Any) -> dict[int, dict[int, int]]:
    held: dict[int, dict[int, int]] = {}
    pieces = (columns["held_server"][kept], columns["held_mask"][kept])
    for row, server, mask in zip(rows.tolist(), *(each.tolist() for each in pieces), strict=True):
        held.setdefault(row, {})[server] = mask
    return held
