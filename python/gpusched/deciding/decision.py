"""One decision of a policy, on a cluster as it is: :func:`decide`."""

from __future__ import annotations

import operator
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import AnyArray, Int64, freeze_columns
from gpusched.base.draws import check_seed
from gpusched.base.ticks import US_PER_S
from gpusched.deciding.cluster_state import (
    ClusterState,
    asked,
    description_of,
    refused,
    shortest_run,
)
from gpusched.deciding.remembered import Memory as Memory
from gpusched.engine.seams import Chosen, placement_seam, policy_seam
from gpusched.plugins.policy import PlacementChoice, Policy
from gpusched.schedules.schedule import REJECT_REASONS

if TYPE_CHECKING:
    import polars as pl

# In the order of the core.
_WHAT: Final = np.array(["start", "preempt", "resize", "finish", "reject", "cancel"])


@dataclass(frozen=True, eq=False)
class ClusterDecision:
    """What a policy does now: what :func:`decide` returns. Jobs are rows of ``state.jobs``.

    Attributes
    ----------
    state
        What was decided on.
    what
        Text, one per action, in an order in which they can be done: ``"preempt"`` first, then
        ``"start"`` (or resume) and ``"resize"``.
    job
        int64, one per action.
    held_job, held_server, held_mask
        int64, int64 and uint64, a row per job that starts or is resized and server: the GPUs that
        it gets there; bit i is GPU i. Empty under a placement without servers.
    rejected, reason
        int64, and texts: jobs that can never run on this cluster, and why.
    wake_s
        When the policy wants to be asked again, whatever happens by then; None if only what
        happens matters.
    decision_s
        Seconds that it took.
    memory
        What the next decision is to be given, if this one was given some.
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
    _row_of: Int64 | None = field(repr=False)  # of each job in the run, where that is another

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    def why(self, job: int) -> str:
        """Say what is done with a job of the state, and why.

        Returns
        -------
        str
            A clause without a full stop.

        Raises
        ------
        IndexError
            If there is no such row.
        TypeError
            If it is no whole number.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [60, 60], [8, 16])
        >>> state = gs.deciding.ClusterState(gs.Cluster.uniform(2, 8), jobs, now_s=20)
        >>> gs.decide(state, policy="fifo").why(1)
        'waits: it needs 16 GPUs, and 8 are free'
        """
        job, jobs = operator.index(job), self.state.jobs
        if not 0 <= job < len(jobs):
            raise IndexError(f"job: {job} is none of the {len(jobs):,} rows")
        if job in self.rejected:
            return f"can never run: {self.reason[self.rejected.tolist().index(job)]}"
        done = [what for what, row in zip(self.what, self.job, strict=True) if row == job]
        if "start" in done or "resize" in done:
            count = int((self.held_job == job).sum())
            where = f" on {count} server{'s' if count > 1 else ''}" if count else ""
            return f"{'starts' if 'start' in done else 'is resized'}{where}"
        if "preempt" in done:
            return "gives way to jobs that come first"
        if self.state.is_running[job]:
            return "goes on"
        need = int(jobs.gpus[job])
        if jobs.share_milli is None and need > self._num_free:
            return f"waits: it needs {need:,} GPUs, and {self._num_free:,} are free"
        assert self._run is not None
        if not _core.can_place(self._run, job if self._row_of is None else int(self._row_of[job])):
            return f"waits: the placement finds no place for it in {self._num_free:,} free GPUs"
        return "waits: there are GPUs for it, and the policy keeps it behind others"

    def to_polars(self) -> pl.DataFrame:
        """Return a row per action and server, and one per job that can never run.

        Returns
        -------
        polars.DataFrame
            Columns what, id, server and mask; the last two are null where no GPUs are given.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [60, 60], [8, 16])
        >>> state = gs.deciding.ClusterState(gs.Cluster.uniform(2, 8), jobs, now_s=20)
        >>> gs.decide(state, policy="fifo").to_polars().rows()
        [('start', '0', 0, 255)]
        """
        import polars as pl

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
    policy: str | Policy | _core.Order | _core.Scheduler = "fifo",
    placement: str | PlacementChoice | _core.Placement = "consolidated",
    seed: int = 0,
    memory: bytes | None = None,
) -> ClusterDecision:
    """Take the decision that ``policy`` takes in a simulation that has come to ``state``.

    It is the same engine: a simulation that is done again decision by decision has the same digest.
    Policies that decide by the state alone need nothing else. Those that keep more than that from
    one decision to the next (reservations, promises, plans, a clock of their own) are refused by
    name unless they are given a ``memory``; a table in *Open runs* says which. Jobs run for their
    service, wherever they are.

    Parameters
    ----------
    state
        Who runs where, and who waits; perhaps nobody.
    policy, placement
        As of :func:`simulate`. An object of Python is asked as it is, and remembers what it does.
    seed
        Of random orders and placements, which draw by the rows of jobs.
    memory
        ``b""`` for the first decision, then what the decision before gave: opaque bytes under a
        checksum, of this version of gpusched. They hold the course so far, which the engine does
        again, so that a decision takes longer with each job. The first state has no job that runs;
        later ones must be where the decisions led, and have each new job, each job that is gone and
        each time that the policy wants to be asked (``wake_s``) at its own ``now_s``. All that is
        remembered are jobs by their ``id``; their ``service_s`` is the first that was told. Jobs of
        the first state are as old as it says; a job that is told of later counts as submitted when
        it is first told of, and a deadline that has passed by then as one that passes at once.

    Returns
    -------
    ClusterDecision
        What to start on which GPUs, and what to preempt.

    Raises
    ------
    ValueError
        If a name or a parameter is wrong, the policy keeps more than the state and has no memory,
        the state cannot be, or the memory is not what an earlier decision gave, or not of this
        state; the message names it.
    TypeError
        If an argument has another type.
    InvariantError
        If a policy or a placement asks for something impossible.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> jobs = gs.Trace.from_columns([0, 10, 20], [3600, 60, 60], [8, 16, 4], id=["a", "b", "c"])
    >>> state = gs.deciding.ClusterState(
    ...     cluster, jobs, now_s=20, start_s=[0, float("nan"), float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> decision = gs.decide(state, policy="fifo-skip")
    >>> decision.what.tolist(), decision.job.tolist(), decision.held_server.tolist()
    (['start'], [2], [0])
    >>> decision.why(1)
    'waits: it needs 16 GPUs, and 4 are free'
    """
    if not isinstance(state, ClusterState):
        raise TypeError(f"state: expected a ClusterState, not {state!r}")
    begin = time.perf_counter()
    row_of = passed = None
    if not len(state.jobs) and not memory:  # nothing to decide, or to remember
        check_seed(seed)
        policy_seam(policy), placement_seam(placement)
        return _nothing(state, begin, memory)
    if memory is None:
        run, rows = shortest_run(state, asked(policy), placement_seam(placement), seed)
        found = _core.decided(run)
        if rows is not None:
            for name in ("job", "held_job", "rejected"):
                found[name] = rows[found[name]]
            row_of = np.full(len(state.jobs), -1, np.int64)
            row_of[rows] = np.arange(len(rows))
    else:
        chosen = policy_seam(policy), placement_seam(placement)
        run, row_of, found, passed = _with_memory(state, *chosen, seed, memory)
    wake_us = found.pop("wake_us")
    what = _WHAT[found.pop("kind").astype(np.int64)]
    # A policy may start a job where another is, and then see that this one has to go.
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
        **found,
    )


def _nothing(state: ClusterState, begin: float, memory: bytes | None) -> ClusterDecision:
    none = np.empty(0, np.int64)
    return ClusterDecision(
        state, _WHAT[none], none, none, none, np.empty(0, np.uint64), none, (), None,
        time.perf_counter() - begin, memory, state.cluster.num_gpus, None, None,
    )  # fmt: skip


def _with_memory(
    state: ClusterState, policy: Chosen, placement: Chosen, seed: int, memory: bytes
) -> tuple[_core.Run, Int64, dict[str, Any], bytes]:
    from gpusched.deciding.remembered import recalled

    if not isinstance(memory, bytes):
        raise TypeError(f"memory: expected bytes, not {memory!r:.80}")
    description = description_of(policy, placement, seed)
    with refused(policy, placement):
        return recalled(state, memory, policy, placement, description, seed)
