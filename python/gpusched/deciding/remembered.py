"""A decision of a policy that remembers: its course is done again, and goes on by one decision."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from gpusched import _core
from gpusched.base import container
from gpusched.base.arrays import AnyArray, Int64, read_only
from gpusched.base.container import Kind
from gpusched.base.draws import check_seed
from gpusched.base.files import naming
from gpusched.base.rejects import Rejects
from gpusched.base.ticks import seconds_to_us
from gpusched.clusters.cluster import Cluster
from gpusched.deciding.cluster_state import ClusterState, added_us
from gpusched.engine.seams import Chosen
from gpusched.specs.case import core_cluster, job_columns
from gpusched.traces.deadlines import NO_DEADLINE
from gpusched.traces.intake.merging import merged
from gpusched.traces.trace_store import (
    TRACE_MEMBERS,
    TraceHeader,
    stored_column,
    stored_trace,
    trace_members,
)
from gpusched.traces.workload import Trace

_KIND: Final = Kind("gpusched-memory", 3)
_PER_JOB: Final = ("ended_us", "attained_us", "start_us", "cost_us", "added_us", "least_us")
_FIRST: Final = ("first_attained_us", "first_preemptions", "first_added_us")
_LISTS: Final = (*_FIRST, "asked_us", "refused")


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    policy: str
    placement: str
    seed: int
    cluster: Cluster
    begin_us: int
    last_us: int
    trace: TraceHeader


@dataclass(frozen=True)
class Memory:
    """What a policy remembers from one decision to the next, as bytes that are passed along.

    It is the course of the run so far, from which the engine comes to the same state of the policy
    again.

    Attributes
    ----------
    policy, placement, seed, cluster
        Who decides, and on what: these must stay.
    begin_us, last_us
        When the first and the last decision were.
    jobs
        All jobs so far, in the order in which they were told of. ``submit_us`` is when, but for the
        jobs of the first decision.
    columns
        int64, of each job: ``ended_us``, when it was known that it was gone (-1: it waits or runs),
        and ``attained_us, start_us, cost_us, added_us`` as of ``_core.Standing`` at the last
        decision, of one that is gone when it went; ``least_us``, the least service by which it was
        not over at any decision (0: any). Of the first jobs ``first_attained_us,
        first_preemptions, first_added_us``, as of ``_core.Standing`` at the first decision. And
        ``asked_us``, decisions that were asked for while nothing happened, and ``refused``, the
        rows of jobs that can never run.
    """

    policy: str
    placement: str
    seed: int
    cluster: Cluster
    begin_us: int
    last_us: int
    jobs: Trace
    columns: dict[str, Int64]

    @property
    def asked_us(self) -> Int64:
        """Decisions that were asked for while nothing happened."""
        return self.columns["asked_us"]

    def to_bytes(self) -> bytes:
        """Return it as bytes that are refused if one of them is changed."""
        trace_header, arrays = trace_members(self.jobs)
        header = _Header(
            _core.__version__, self.policy, self.placement, self.seed, self.cluster,
            self.begin_us, self.last_us, trace_header,
        )  # fmt: skip
        columns = {f"course.{name}": self.columns[name] for name in (*_PER_JOB, *_LISTS)}
        return container.encode(_KIND, msgspec.json.encode(header), {**arrays, **columns})

    @classmethod
    def from_bytes(cls, data: bytes) -> Memory:
        """Return what :meth:`to_bytes` was of.

        Raises
        ------
        ValueError
            If it was cut short or changed, is something else, or of another version, whose rules
            may differ.
        """
        with naming("memory", "not what an earlier decision gave"):
            encoded, arrays = container.decode(bytes(data), _KIND)
            header = msgspec.json.decode(encoded, type=_Header, strict=True)
            if header.version != _core.__version__:
                raise ValueError(
                    f"it is of gpusched {header.version}, and this is {_core.__version__}, whose "
                    "rules may differ"
                )
            members = {name: array for name, array in arrays.items() if name in TRACE_MEMBERS}
            jobs = stored_trace(header.trace, members)
            columns: dict[str, Any] = {}
            for name in (*_PER_JOB, *_LISTS):
                is_list = name in _LISTS
                length = np.size(arrays.get(f"course.{name}", ())) if is_list else len(jobs)
                columns[name] = stored_column(arrays, f"course.{name}", "i8", length)
            if len(arrays) != len(members) + len(columns):
                raise ValueError("it has members that are not expected")
            _check(jobs, columns, header)
        return cls(
            header.policy, header.placement, header.seed, header.cluster, header.begin_us,
            header.last_us, jobs, columns,
        )  # fmt: skip


def _check(jobs: Trace, columns: dict[str, AnyArray], header: _Header) -> None:
    """Check what the engine relies on; a forger could have summed up anew."""
    for name, values in {"trace.submit_us": jobs.submit_us, **columns}.items():
        if values.min(initial=0) < -1 or values.max(initial=0) >= 2**61:
            raise ValueError(f"{name}: is out of range")
    if (np.diff(jobs.submit_us) < 0).any() or jobs.submit_us.min() < 0:
        raise ValueError("trace.submit_us: must ascend")
    if not int(jobs.submit_us.max()) <= header.last_us < 2**61:
        raise ValueError("last_us: lies before what was told")
    if not 0 <= header.begin_us <= header.last_us:
        raise ValueError("begin_us: is out of range")
    if len(set(jobs.id.tolist())) < len(jobs) or jobs.id.dtype.kind != "U":
        raise ValueError("trace.id: must be unique texts")


_ALL: Final = 2**63 - 1
_RESIZE: Final = 2  # the last kind of event that is an action


def recalled(
    state: ClusterState,
    memory: bytes,
    policy: Chosen,
    placement: Chosen,
    description: _core.RunDescription,
    seed: int,
) -> tuple[_core.Run, Int64, dict[str, Any], bytes]:
    """Decide with what was remembered; ``b""`` begins anew. Errors as of :func:`decide`.

    Returns
    -------
    tuple
        The core's run, halted after the decision; the row there of each job of the state; the
        decision as of ``_core.decided``, of the jobs of the state and by their rows; and the memory
        that is to be passed to the next one.
    """
    for chosen in (policy, placement):
        if chosen.label.startswith("python:"):
            raise ValueError(
                f"memory: {chosen.label} is an object of Python, which remembers by itself; "
                "register its class and give its name, or pass no memory"
            )
    known = Memory.from_bytes(memory) if memory else None
    here = (policy.label, placement.label, check_seed(seed), state.cluster)
    if known is not None:
        _check_same(known, *here)
        if state.now_us <= known.last_us:
            raise ValueError("now_s: must lie after the decision that gave the memory")
    course = _Course.joined(known, state)
    columns = job_columns(course.jobs, state.cluster, uses_estimates=policy.has("estimate"))
    columns["predicted_us"] = columns["service_us"]
    columns["service_us"] = course.services()
    run = _core.Run(
        _core.JobTable(**columns), core_cluster(state.cluster), description,
        standing=course.beginning(),
    )  # fmt: skip
    course.replay(run)
    course.check(run, state)
    found = course.decide(run)
    return run, course.row_of, found, course.memory(run, here).to_bytes()


@dataclass
class _Course:
    """All jobs so far with those of the state among them, as of now."""

    jobs: Trace
    begin_us: int
    now_us: int
    row_of: Int64  # in the run, of each job of the state
    columns: dict[str, Int64]  # those of a memory

    @classmethod
    def joined(cls, known: Memory | None, state: ClusterState) -> _Course:
        """Tell the state apart from what is known: who is new, and who is gone."""
        now_us, names = state.now_us, state.jobs.id.astype(str)
        old = {} if known is None else dict(zip(known.jobs.id.tolist(), range(2**31), strict=False))
        is_new = np.array([name not in old for name in names.tolist()], np.bool_)
        runs = np.flatnonzero(is_new & state.is_running)
        if runs.size:
            raise ValueError(
                f"jobs: {str(names[runs[0]])!r} runs, and no decision that the memory knows of "
                "started it; a policy that remembers begins where no job runs"
            )
        parts = [] if known is None else [known.jobs]
        if is_new.any():
            told = _plain(dataclasses.replace(state.jobs, id=read_only(names)))
            new = told._take(np.flatnonzero(is_new))
            parts.append(new if known is None else _told_late(new, now_us))
        jobs = parts[0] if len(parts) == 1 else _plain(merged(parts, ["memory", "jobs"]))
        old |= dict(zip(names[is_new].tolist(), range(len(old), len(jobs)), strict=True))
        row_of = np.array([old[name] for name in names.tolist()], np.int64)
        if known is None:
            begin_us = last_us = now_us
            columns = dict.fromkeys((*_PER_JOB, *_LISTS), np.empty(0, np.int64)) | {
                "first_attained_us": seconds_to_us(state.attained_s),
                "first_preemptions": state.preemptions.astype(np.int64),
                "first_added_us": added_us(state),
            }
        else:
            begin_us, last_us, columns = known.begin_us, known.last_us, dict(known.columns)
        for name in _PER_JOB:
            value = -1 if name in ("ended_us", "start_us") else 0
            more = np.full(len(jobs) - len(columns[name]), value, np.int64)
            columns[name] = np.concatenate([columns[name], more])
        ended_us, start_us = columns["ended_us"], columns["start_us"]
        back = np.flatnonzero(ended_us[row_of] >= 0)
        if back.size:
            raise ValueError(f"jobs: {str(names[back[0]])!r} was gone, and is there again")
        begun = (start_us >= 0) & (ended_us < 0)
        paid_us = start_us + columns["cost_us"]
        since = np.maximum(now_us, paid_us) - np.maximum(last_us, paid_us)
        columns["attained_us"] = columns["attained_us"] + np.where(begun, since, 0)
        # What a preemption adds later does not lessen what a job had to do before.
        not_over_us = columns["attained_us"] + 1 - columns["added_us"]
        columns["least_us"] = np.maximum(columns["least_us"], not_over_us)
        is_here = np.zeros(len(jobs), np.bool_)
        is_here[row_of] = True
        ended_us[~is_here & (ended_us < 0)] = now_us
        return cls(jobs, begin_us, now_us, row_of, columns)

    def services(self) -> Int64:
        """Return how long each job takes: no job is over before it is gone."""
        services: Int64 = np.maximum(self.jobs.service_us, self.columns["least_us"])
        return services

    def beginning(self) -> _core.Standing:
        """Return the queue of the first decision, and nobody who runs."""
        preemptions = self.columns["first_preemptions"].astype(np.int32)
        nothing = np.zeros(len(preemptions), np.int64)
        none = np.empty(0, np.int64)
        return _core.Standing(
            self.begin_us,
            is_anew=True,
            attained_us=self.columns["first_attained_us"],
            start_us=nothing - 1,
            cost_us=nothing,
            preemptions=preemptions,
            added_us=self.columns["first_added_us"],
            held_job=none,
            held_server=none,
            held_mask=none.astype(np.uint64),
        )

    def replay(self, run: _core.Run) -> None:
        """Do again what was until now, and not what happens now.

        Policies are shown jobs that are gone as finished, whether they were done or taken back.
        """
        ended_us, refused = self.columns["ended_us"], set(self.columns["refused"].tolist())
        gone = np.flatnonzero(ended_us >= 0)
        done: list[tuple[int, int | None]] = [(int(ended_us[row]), int(row)) for row in gone]
        done += [(at_us, None) for at_us in self.columns["asked_us"].tolist()]
        for at_us, row in sorted(done, key=lambda each: each[0]):
            run.proceed(at_us, _ALL)
            if row is None:
                run.ask(at_us)
            elif row not in refused:
                run.cancel(row, at_us)
        run.proceed(self.now_us, _ALL)
        if run.next_us != self.now_us:
            run.ask(self.now_us)
            self.columns["asked_us"] = np.append(self.columns["asked_us"], self.now_us)

    def check(self, run: _core.Run, state: ClusterState) -> None:
        """Raise a ValueError unless the decisions so far have led to the state."""
        columns = _core.standing_of(run)
        at = columns["jobs"]
        rows = at[columns["held_job"]]
        ends_now = (self.columns["ended_us"] == self.now_us)[rows]
        there = _held(rows[~ends_now], columns, ~ends_now)
        here = _held(self.row_of[state.held_job], vars(state), slice(None))
        for row in sorted(there.keys() | here.keys()):
            if there.get(row) != here.get(row):
                raise ValueError(
                    f"held: {str(self.jobs.id[row])!r} does not hold what its decisions gave "
                    "it; the state is not where they led, and the memory is of no use for it"
                )

    def decide(self, run: _core.Run) -> dict[str, Any]:
        """Take the decision, and return it by the rows of the state."""
        found: dict[str, Any] = _core.decided(run)
        self.columns["refused"] = np.sort(found["rejected"])
        state_row = np.full(len(self.jobs), -1, np.int64)
        state_row[self.row_of] = np.arange(len(self.row_of))
        for name, others in (
            ("job", ("kind",)),
            ("held_job", ("held_server", "held_mask")),
            ("rejected", ("reason",)),
        ):
            rows = state_row[found[name]]
            kept = rows >= 0  # what finished now is no longer in the state
            if name == "job":
                kept &= found["kind"] <= _RESIZE
            found[name] = rows[kept]
            for other in others:
                found[other] = found[other][kept]
        return found

    def memory(self, run: _core.Run, here: tuple[str, str, int, Cluster]) -> Memory:
        """Return what the next decision is to be given."""
        standing = _core.standing_of(run)
        columns = dict(self.columns)
        nothing = np.zeros(len(self.jobs), np.int64)
        columns |= {"start_us": nothing - 1, "cost_us": nothing}
        for name in ("attained_us", "start_us", "cost_us", "added_us"):
            columns[name] = columns[name].copy()
            columns[name][standing["jobs"]] = standing[name]
        return Memory(*here, self.begin_us, self.now_us, self.jobs, columns)


def _check_same(known: Memory, policy: str, placement: str, seed: int, cluster: Any) -> None:
    there = (known.policy, known.placement, known.seed)
    for what, was, now in zip(("policy", "placement", "seed"), there, (policy, placement, seed),
                              strict=True):  # fmt: skip
        if was != now:
            raise ValueError(f"memory: is of {what} {was}, not of {now}")
    if known.cluster != cluster:
        raise ValueError("memory: is of another cluster; a change of servers begins anew")


def _told_late(jobs: Trace, now_us: int) -> Trace:
    """Return the jobs as if they were submitted when they are told of.

    A deadline that has passed by then passes at once.
    """
    due_us = jobs.deadline_us
    if due_us is not None:
        due_us = read_only(np.where(due_us == NO_DEADLINE, due_us, np.maximum(due_us, now_us + 1)))
    late = np.full(len(jobs), now_us, np.int64)
    return dataclasses.replace(jobs, submit_us=read_only(late), deadline_us=due_us)


def _plain(jobs: Trace) -> Trace:
    """Return the jobs without what a decision does not read."""
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
