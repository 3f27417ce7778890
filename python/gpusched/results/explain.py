"""Explain in sentences what happened to one job, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.suggest import nearest
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.base.wording import duration, plural
from gpusched.model.outages import FAIL as OF_FAILURE
from gpusched.results.cost import row_gpus, sums
from gpusched.results.holds import FAILURE, START, Condition, HoldCauses
from gpusched.results.run_remarks import goes_by_priority
from gpusched.schedules.down_times import down_rows, struck
from gpusched.schedules.schedule import (
    CANCELLED,
    FAILED,
    FINISHED,
    KILLED,
    NEVER,
    REJECT_REASONS,
    REJECTED,
    whole_intervals,
    widths_of,
)
from gpusched.schedules.series import FAIL, INTERRUPT, KILL, intervals_ended
from gpusched.traces.job_columns import HELD

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.results.cost import RunLog
    from gpusched.traces.workload import Trace


_MOST_NAMES = 100_000
"""No name is suggested in longer traces, because that takes seconds."""


def place_of(trace: Trace, job: int | str) -> int:
    """Return the JobId of a job.

    ``job``: an integer: the JobId, its position in the order of submission. A text: its ``id``.
    """
    if isinstance(job, str):
        return _named(trace, job)
    if isinstance(job, bool) or not isinstance(job, int | np.integer):
        raise TypeError(f"job: expected an integer, or the id as a text, not {job!r}")
    if not 0 <= job < len(trace):
        raise IndexError(f"job: {job} is not one of the {plural(len(trace), 'job')}")
    return int(job)


def has_id(trace: Trace, name: str) -> bool:
    """Return whether a job has this id."""
    return bool(np.any(trace.id.astype(str) == name))


def _named(trace: Trace, name: str) -> int:
    names = trace.id.astype(str)
    found = np.flatnonzero(names == name)
    if not len(found):
        known = nearest(name, names.tolist()) if len(names) <= _MOST_NAMES else ""
        raise ValueError(f"job: none has the id {name!r}{known}")
    return int(found[0])


RUNNING: Final = "running"
EARLIER: Final = "earlier"
LATER: Final = "later"
DOWN: Final = "down"
SIDES: Final = (RUNNING, EARLIER, LATER, DOWN)
"""GPUs held since before the wait, or taken in it by jobs submitted earlier or later, or down."""
_NO_JOB: Final = -1
# GPU shares are sums of thousandths.
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class Holder:
    """A job that held GPUs while another waited.

    ``job``: JobId.
    ``gpus``: most GPUs, of those that the other could have used, that it held at a time.
    ``share``: its share of their GPU time.
    ``side``: one of :data:`SIDES`, for the GPUs that it held first.
    """

    job: int
    gpus: float
    share: float
    side: str


@dataclass(frozen=True)
class Wait:
    """A period in which a job had no GPUs.

    Attributes
    ----------
    begin_us, end_us
        Microseconds.
    gpus
        GPUs that the job waited for, or its share of one.
    usable
        GPUs of the types that it may use.
    free_at_begin, holders_at_begin
        How many of those were free when the wait began, and how many jobs held the rest.
    shares
        Shares of their GPU time that were held or down, by :data:`SIDES`.
    holders
        The jobs that held them, largest share first.
    short_us
        Time in which too few GPUs were free.
    fits_us
        Time in which the job would have fitted: on one server; on empty servers, if no server is
        as large; or on enough servers with its GPUs per node. None if jobs share GPUs, which the
        log does not show.
    is_wide
        Whether no server is as large as the job.
    free_of_others
        Mean number of free GPUs that it may not use.
    gpus_per_node
        GPUs that it needs on each server; 0: any.
    down_at_begin
        How many of those that it may use were down when the wait began.
    """

    begin_us: int
    end_us: int
    gpus: float
    usable: int
    free_at_begin: float
    holders_at_begin: int
    shares: Mapping[str, float]
    holders: tuple[Holder, ...]
    short_us: int
    fits_us: int | None
    is_wide: bool
    free_of_others: float
    gpus_per_node: int = 0
    down_at_begin: float = 0.0

    @property
    def length_us(self) -> int:
        """Length of the wait, microseconds."""
        return self.end_us - self.begin_us

    @property
    def free_share(self) -> float:
        """The share of the GPU time that was neither held nor down."""
        return max(0.0, 1.0 - sum(self.shares.values()))

    @property
    def scattered_us(self) -> int | None:
        """Time in which enough GPUs were free, but scattered, microseconds."""
        return None if self.fits_us is None else self.length_us - self.short_us - self.fits_us


class Waits:
    """Measures waits of one job.

    Parameters
    ----------
    rows
        The interval log, as :attr:`gpusched.Result.intervals`.
    outages
        The outages of servers.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        rows: Mapping[str, AnyArray],
        job: int,
        outages: Outages | None = None,
    ) -> None:
        gpus, since_us = row_gpus(trace, rows), _since_us(rows)
        if outages is not None:
            down = down_rows(trace, cluster, rows, outages)
            down["job"] = np.full(len(down["milli"]), _NO_JOB)
            gpus = np.concatenate((gpus, down["milli"] / WHOLE_GPU))
            since_us = np.concatenate((since_us, down["start_us"]))
            names = ("job", "start_us", "end_us", "server")
            rows = {name: np.concatenate((rows[name], down[name])) for name in names}
        self._trace, self._job, self._rows = trace, job, rows
        capacity = cluster.server_gpus.astype(np.int64)
        usable: Bool = np.ones(len(capacity), dtype=np.bool_)
        if trace.type_set is not None and (allowed := trace.type_sets[trace.type_set[job]]):
            kinds = [kind in allowed for kind in cluster.gpu_types]
            usable = np.array(kinds)[cluster.server_type]
        server = rows["server"]
        if (server < 0).any():  # one pool, whose jobs may use all of it
            server = np.zeros_like(server)
            capacity = np.array([capacity.sum()])
            usable = np.ones(1, dtype=np.bool_)
        self._server, self._capacity, self._usable = server, capacity, usable
        self._gpus, self._since_us = gpus, since_us
        share = 1.0 if trace.share_milli is None else trace.share_milli[job] / WHOLE_GPU
        self._needed = float(trace.gpus[job]) * share
        self._is_wide = bool(self._needed > capacity[usable].max(initial=0))
        self._per_node = 0 if trace.gpus_per_node is None else int(trace.gpus_per_node[job])

    def look(self, begin_us: int, end_us: int) -> Wait:
        """Measure the wait from ``begin_us`` to ``end_us``, which is later."""
        rows = self._rows
        meets = (rows["start_us"] < end_us) & (rows["end_us"] > begin_us)
        there = np.flatnonzero(meets & (rows["job"] != self._job))
        own = there[self._usable[self._server[there]]]
        others = there[~self._usable[self._server[there]]]
        usable = int(self._capacity[self._usable].sum())
        window = (begin_us, end_us)
        gpu_us = self._gpus[own] * self._within(own, window)
        total_us = usable * float(end_us - begin_us)
        side = self._sides(own, begin_us)
        at_begin = own[rows["start_us"][own] <= begin_us]
        is_down = rows["job"][at_begin] == _NO_JOB
        short_us, fits_us = self._room(own, window)
        held_of_others = float(np.dot(self._gpus[others], self._within(others, window)))
        return Wait(
            begin_us,
            end_us,
            self._needed,
            usable,
            usable - float(self._gpus[at_begin].sum()),
            len(np.unique(rows["job"][at_begin[~is_down]])),
            {
                name: float(gpu_us[side == number].sum()) / total_us
                for number, name in enumerate(SIDES)
            },
            self._holders(own, gpu_us / total_us, side),
            short_us,
            fits_us if self._trace.share_milli is None else None,
            self._is_wide,
            float(self._capacity[~self._usable].sum()) - held_of_others / (end_us - begin_us),
            self._per_node,
            float(self._gpus[at_begin[is_down]].sum()),
        )

    def _within(self, index: Int64, window: tuple[int, int]) -> Float64:
        """Return the time of each row within the window, microseconds."""
        begin, end = self._rows["start_us"][index], self._rows["end_us"][index]
        length: AnyArray = np.minimum(end, window[1]) - np.maximum(begin, window[0])
        return length.astype(np.float64)

    def _sides(self, index: Int64, begin_us: int) -> Int64:
        """Return the index into :data:`SIDES` of each row; JobIds follow the submissions."""
        job = self._rows["job"][index]
        taken = np.where(job > self._job, 2, 1)
        side: Int64 = np.where(self._since_us[index] < begin_us, 0, taken)
        return np.where(job == _NO_JOB, 3, side)

    def _holders(self, index: Int64, share: Float64, side: Int64) -> tuple[Holder, ...]:
        held = self._rows["job"][index] != _NO_JOB
        index, share, side = index[held], share[held], side[held]
        if not len(index):
            return ()
        jobs, first, code = np.unique(
            self._rows["job"][index], return_index=True, return_inverse=True
        )
        shares = sums(code, share, len(jobs))
        # The rows of one interval on several servers are adjacent.
        starts, of_row = np.unique(
            np.stack([code, self._rows["start_us"][index]]), axis=1, return_inverse=True
        )
        width = sums(of_row.reshape(-1), self._gpus[index], starts.shape[1])
        most = np.zeros(len(jobs))
        np.maximum.at(most, starts[0], width)
        order = np.lexsort((jobs, -shares))
        return tuple(
            Holder(int(jobs[i]), float(most[i]), float(shares[i]), SIDES[side[first[i]]])
            for i in order
        )

    def _room(self, index: Int64, window: tuple[int, int]) -> tuple[int, int]:
        """Return the time with too few free GPUs, and the time in which the job fits, in us."""
        servers = np.flatnonzero(self._usable)
        place = np.cumsum(self._usable) - 1
        begin = np.maximum(self._rows["start_us"][index], window[0])
        end = np.minimum(self._rows["end_us"][index], window[1])
        where = place[self._server[index]]
        every = np.arange(len(servers))
        # Used GPUs of each server over time, from zero at the beginning of the window.
        server = np.concatenate([every, where, where])
        time_us = np.concatenate([np.full(len(servers), window[0]), begin, end])
        change = np.concatenate([np.zeros(len(servers)), self._gpus[index], -self._gpus[index]])
        order = np.lexsort((time_us, server))
        server, time_us = server[order], time_us[order]
        used = np.cumsum(change[order])  # each server's changes sum to zero
        free = self._capacity[servers][server] - used
        last = np.append(server[1:] != server[:-1], True)
        until_us = np.where(last, window[1], np.append(time_us[1:], window[1]))
        if self._per_node:
            piece = (free >= self._per_node - _ROUNDING).astype(np.float64)
            wanted = self._needed / self._per_node
        elif self._is_wide:
            whole = self._capacity[servers][server]
            piece = np.where(free >= whole - _ROUNDING, whole, 0).astype(np.float64)
            wanted = self._needed
        else:
            piece = (free >= self._needed - _ROUNDING).astype(np.float64)
            wanted = 1.0
        moments, (all_free, pieces) = _summed(time_us, until_us, [free, piece])
        length = np.diff(np.append(moments, window[1]))
        short = all_free < self._needed - _ROUNDING
        fits = ~short & (pieces >= wanted - _ROUNDING)
        return int(length[short].sum()), int(length[fits].sum())


def _summed(
    begin_us: Int64, end_us: Int64, values: Sequence[Float64]
) -> tuple[Int64, list[Float64]]:
    """Add step functions; return the times of the steps, and the sums from there on."""
    lasting = end_us > begin_us
    begin_us, end_us = begin_us[lasting], end_us[lasting]
    moments, place = np.unique(np.concatenate([begin_us, end_us]), return_inverse=True)
    found: list[Float64] = []
    for value in values:
        change = np.concatenate([value[lasting], -value[lasting]])
        found.append(np.cumsum(sums(place, change, len(moments)))[:-1])
    return moments[:-1], found


def _since_us(rows: Mapping[str, AnyArray]) -> Int64:
    """Return the start of the uninterrupted run of each row; a resize does not interrupt."""
    first, begins_job = whole_intervals(rows)
    if not len(first):
        return np.empty(0, dtype=np.int64)
    start_us, end_us = rows["start_us"][first], rows["end_us"][first]
    begins = begins_job.copy()
    begins[1:] |= start_us[1:] != end_us[:-1]
    since: Int64 = start_us[begins][np.cumsum(begins) - 1]
    return np.repeat(since, np.diff(np.append(first, len(rows["job"]))))


_MOST_HOLDERS: Final = 5
_HOW: Final = {
    RUNNING: "already running",
    EARLIER: "submitted earlier, started first",
    LATER: "submitted later, started first",
}


def wait_story(trace: Trace, wait: Wait, when: str) -> Iterator[str]:
    """Explain which jobs held the GPUs, and whether GPUs were too few, scattered or refused.

    ``when``: what the wait began with, such as ``At submission``.
    """
    yield _at_begin(wait, when)
    yield _over_time(wait)
    yield from _room(trace, wait)
    if wait.free_of_others >= 0.05:
        yield (
            f"  Of the types that it may not use, {wait.free_of_others:.1f} GPUs were free on "
            "average."
        )
    if wait.holders:
        shown = wait.holders[:_MOST_HOLDERS]
        named = "; ".join(_holder(trace, holder) for holder in shown)
        rest = len(wait.holders) - len(shown)
        more = f"; and {plural(rest, 'more job')}" if rest else ""
        yield f"  Largest shares: {named}{more}."


def _at_begin(wait: Wait, when: str) -> str:
    holders = plural(wait.holders_at_begin, "job")
    free, usable, down = wait.free_at_begin, wait.usable, wait.down_at_begin
    if free == usable:
        return f"  {when}, all {usable:,} GPUs that it may use were free."
    rest = f"; {holders} held {usable - free - down:g}" if wait.holders_at_begin else ""
    rest += f"; {down:g} were down" if down else ""
    return f"  {when}, {free:g} of the {usable:,} GPUs that it may use were free{rest}."


def _over_time(wait: Wait) -> str:
    said = {
        RUNNING: "held by jobs already running",
        EARLIER: "held by jobs submitted earlier that started during the wait",
        LATER: "held by jobs submitted later that started during the wait",
        DOWN: "down",
    }
    parts = [f"{_percent(wait.shares[side])} {text}" for side, text in said.items()
             if wait.shares[side] > 0]  # fmt: skip
    if wait.free_share > 0.0005:
        parts.append(f"{_percent(wait.free_share)} free")
    return f"  Their GPU time during the wait: {', '.join(parts)}."


def _room(trace: Trace, wait: Wait) -> Iterator[str]:
    needed = f"its {wait.gpus:g} GPUs" if wait.gpus > 1 else f"its {wait.gpus:g} GPU"
    if wait.short_us:
        yield f"  Fewer than {needed} were free for {_part(wait.short_us, wait)}."
    if wait.fits_us is None:
        if left := wait.length_us - wait.short_us:
            yield f"  Enough was free in total, perhaps not on one GPU, for {_part(left, wait)}."
        return
    if wait.gpus_per_node:
        num = plural(int(wait.gpus) // wait.gpus_per_node, "server")
        where = room = f"{num} with {wait.gpus_per_node:,} free on each"
    elif wait.is_wide:
        where, room = "empty servers", "empty servers"
    else:
        where, room = "any one server", "one server"
    if wait.scattered_us:
        yield f"  Enough were free, but not on {where}, for {_part(wait.scattered_us, wait)}."
    if wait.fits_us:
        kept = "the policy or the placement"
        if trace.cpu_milli is not None or trace.memory_mib is not None:
            kept = "the policy, the placement, or a lack of CPU or memory"
        yield (
            f"  It would have fitted on {room} for "
            f"{_part(wait.fits_us, wait)}: then {kept} kept it waiting, not a lack of GPUs."
        )


def _holder(trace: Trace, holder: Holder) -> str:
    user = ""
    if trace.user is not None and trace.user[holder.job]:
        user = f" of {trace.user[holder.job]}"
    width = plural(int(holder.gpus), "GPU") if holder.gpus % 1 == 0 else f"{holder.gpus:g} GPUs"
    return f"job {holder.job}{user} ({width}, {_percent(holder.share)}, {_HOW[holder.side]})"


def _part(time_us: int, wait: Wait) -> str:
    return f"{duration(time_us / US_PER_S)} ({_percent(time_us / wait.length_us)})"


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.1:
        return "<0.1%"
    return f"{percent:.1f}%" if percent < 10 else f"{percent:.0f}%"


# Meanings of the reason codes of a decision.
_REASONS: Final = {
    "too dear": "meeting its deadline costs more than its value",
    "no room": "no schedule that meets its deadline fits with the jobs admitted before",
    "too long": "no schedule was found in the searched part of the slots before its deadline",
    "impossible": "no number of GPUs of any type it may use meets its deadline",
    "cannot run": "the speed knows no configuration that it may use",
}
_ENDED: Final = {
    CANCELLED: "It was cancelled",
    KILLED: "It was killed at its time limit",
    FAILED: "It failed, as it was interrupted more often than it may be requeued",
}
_PARTS: Final = {
    "paid_us": "paid for restarts",
    "lost_us": "of work lost",
    "written_us": "writing checkpoints",
}
_OF_TARGET: Final = ("the start", "the end", "the success", "the failure")
_HOW_OTHER: Final = {
    FINISHED: "ended with an error", KILLED: "was killed", FAILED: "failed",
    CANCELLED: "was cancelled", REJECTED: "was rejected",
}  # fmt: skip
_MOST_RUNS: Final = 12
_MOST_WAITS: Final = 3


@dataclass(frozen=True)
class Explanation:
    """The history of a job in sentences; ``print`` it.

    Attributes
    ----------
    job
        JobId.
    lines
        The sentences.
    waits
        The longest waits in order of time, with the jobs that held the GPUs.
    """

    job: int
    lines: tuple[str, ...]
    waits: tuple[Wait, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain(result: RunLog, job: int | str) -> Explanation:
    """Explain what happened to a job: its runs, waits and admission decisions.

    Waits are explained from the schedule, not from the policy's intent: by jobs already running,
    jobs submitted earlier or later that started during the wait, or free GPUs; and by whether too
    few GPUs were free, enough but scattered, or enough for the job to fit.

    Parameters and errors as for :meth:`gpusched.Result.explain`.
    """
    story = _Story(result, place_of(result.trace, job))
    lines = tuple(story.lines())
    return Explanation(story.job, lines, tuple(story.waits.values()))


class _Story:
    def __init__(self, result: RunLog, job: int) -> None:
        self.trace, self.cluster, self.schedule = result.trace, result.cluster, result.schedule
        self.intervals, self.outages, self.job = result.intervals, result.outages, job
        begin, end = np.searchsorted(self.intervals["job"], (job, job + 1))
        self.own = {name: values[begin:end] for name, values in self.intervals.items()}
        self.first, _, self.ends = intervals_ended(
            self.schedule, self.own, self.cluster, self.outages
        )
        self.submit_us = int(self.trace.submit_us[job])
        self.status = int(self.schedule.status[job])
        self.holds = HoldCauses(result)
        eligible_us = self.schedule.eligible_us
        self.joined_us = int(eligible_us[job]) if len(eligible_us) else self.submit_us
        self.gone_us = int(self.holds.cancelled_us[job])
        self.last_us = int(self.intervals["end_us"].max(initial=0))
        is_later = result.is_partial and self.submit_us > self.last_us
        self.was_held = self.joined_us != self.submit_us and not is_later
        self.has_priorities = goes_by_priority(result)
        self.waits = self._longest_waits()

    def lines(self) -> Iterator[str]:
        yield self._submitted()
        if self.status == REJECTED:
            yield f"Rejected: {REJECT_REASONS[self.schedule.reason[self.job]]}."
            return
        if self.was_held:
            yield f"Held{self._held()}."
        yield from self._decisions()
        yield from self._runs()
        yield self._ended()
        if (deadline := self._deadline()) is not None:
            yield deadline

    def _submitted(self) -> str:
        name = self.trace.id[self.job]
        gpus = plural(int(self.trace.gpus[self.job]), "GPU")
        if self.trace.share_milli is not None and self.trace.share_milli[self.job] < 1000:
            gpus = f"{self.trace.share_milli[self.job] / 1000:g} of a GPU"
        service = duration(int(self.trace.service_us[self.job]) / US_PER_S)
        allowed = self.trace.allowed_types
        types = allowed[self.job] if allowed is not None else ()
        kinds = f" of type {' or '.join(types)}" if types else ""
        text = f"Job {self.job} (id {name}) was submitted {self._at(self.submit_us)}: {gpus}{kinds}"
        return f"{text}, run time {service}{self._priority()}."

    def _priority(self) -> str:
        """Return the job's priority, if priorities decided."""
        if not self.has_priorities:
            return ""
        columns = (self.trace.priority, self.trace.nice)
        priority, nice = (0.0 if each is None else float(each[self.job]) for each in columns)
        return f", priority {priority - nice:g}"

    def _held(self) -> str:
        """Return until when the job was held, and why."""
        found = self.holds.conditions(self.job)
        own_us = self.trace.eligible_us
        eligible_us = self.submit_us if own_us is None else int(own_us[self.job])
        if self.joined_us >= 0:
            length = duration((self.joined_us - self.submit_us) / US_PER_S)
            text = f" for {length}, until {self._clock(self.joined_us)}"
            if eligible_us == self.joined_us:
                return f"{text}, its eligible time"
            met = [each for each in found if each.is_met and each.decided_us == self.joined_us]
            if met:
                rank = "first" if self.holds.is_any(self.job) else "last"
                more = f", the {rank} of its {len(found)} dependencies" if len(found) > 1 else ""
                return f"{text}: it waited for {self._condition(met[-1])}{more}"
            return f"{text}: {self._array()}"
        lost = [each for each in found if each.decided_us >= 0 and not each.is_met]
        if self.joined_us == NEVER and lost:
            how = _HOW_OTHER.get(int(self.schedule.status[lost[0].target]), "")
            how = "succeeded" if lost[0].kind == FAILURE else how
            what = f"{self._condition(lost[0])}, which {how}"
            return f": its dependencies can never be met, as it waits for {what}"
        if eligible_us == HELD:
            return " for good: it has no eligible time"
        until_us = self.gone_us if self.gone_us >= 0 else self.last_us + 1
        later = [each for each in found if not (each.is_met and each.decided_us < until_us)]
        if len(later) > (len(found) - 1 if self.holds.is_any(self.job) else 0):
            return f": it waited for {self._condition(later[0])}"
        if eligible_us >= until_us:
            return f": its eligible time is {self._clock(eligible_us)}"
        return f": {self._array()}"

    def _condition(self, condition: Condition) -> str:
        of = f"{_OF_TARGET[condition.kind]} of {self._named(condition.target)}"
        if condition.kind == START and condition.delay_us:
            return f"{duration(condition.delay_us / US_PER_S)} after {of}"
        return of

    def _named(self, job: int) -> str:
        name = str(self.trace.id[job])
        return f"job {job}" if name == str(job) else f"job {job} (id {name})"

    def _array(self) -> str:
        if self.trace.array is None or self.trace.array_limit is None:
            return "its array has no room"
        limit = int(self.trace.array_limit[self.job])
        name = self.trace.array[self.job]
        return f"only {plural(limit, 'task')} of array {name} may be queued or running"

    def _decisions(self) -> Iterator[str]:
        rows = self.schedule.decisions()
        for row in np.flatnonzero(np.asarray(rows["job"]) == self.job).tolist():
            taken = bool(rows["admitted"][row])
            verb = "Admitted" if taken else "Not admitted"
            text = f"{verb} {self._at(int(rows['time_us'][row]))}"
            reason = str(rows["reason"][row])
            if not taken and reason:
                text += f": {_REASONS.get(reason, reason)}"
            elif taken and reason not in ("", "admitted"):
                text += f": {reason}"
            yield text + self._price(rows, row) + "."

    def _price(self, rows: Any, row: int) -> str:
        cost, value = float(rows["cost"][row]), float(rows["value"][row])
        text = ""
        if math.isfinite(cost) and cost > 0:
            text = f"; the cheapest schedule costs {cost:.3g}, value {value:g}"
        scarce = int(rows["type"][row])
        if scarce >= 0 and not rows["admitted"][row]:
            name = self._type(scarce)
            begin, end = int(rows["from_us"][row]), int(rows["until_us"][row])
            text += f"; the {name}s are {'full' if not math.isfinite(cost) else 'most expensive'} "
            text += f"from {self._clock(begin)} to {self._clock(end)}"
        return text

    def _longest_waits(self) -> dict[int, Wait]:
        """Measure the longest waits, keyed by their begin; none for a rejected job."""
        rows = self.intervals
        if self.joined_us < 0 or self.status == REJECTED or not len(rows["job"]):
            return {}
        begins = [self.joined_us, *self.own["end_us"][self.first].tolist()]
        ends = self.own["start_us"][self.first].tolist()
        if self.gone_us >= 0:
            ends.append(self.gone_us)
        elif self.status not in (FINISHED, KILLED, FAILED):
            ends.append(self.last_us)
        found = [(end - begin, begin, end) for begin, end in zip(begins, ends, strict=False)]
        longest = sorted(wait for wait in found if wait[0] > 0)[-_MOST_WAITS:]
        looked = Waits(self.trace, self.cluster, rows, self.job, self.outages)
        chosen = sorted((begin, end) for _, begin, end in longest)
        return {begin: looked.look(begin, end) for begin, end in chosen}

    def _told_wait(self, begin_us: int) -> Iterator[str]:
        if begin_us in self.waits:
            when = "When it lost its GPUs"
            if begin_us == self.joined_us:
                when = "At submission" if begin_us == self.submit_us else "When it was released"
            yield from wait_story(self.trace, self.waits[begin_us], when)

    def _runs(self) -> Iterator[str]:
        if not len(self.first):
            yield "It never ran."
            yield from self._told_wait(self.joined_us)
            return
        widths = widths_of(self.own, self.first, self.trace.gpus)
        bounds = [*self.first.tolist(), len(self.own["job"])]
        last_us = self.joined_us
        for number, (begin, end) in enumerate(pairwise(bounds)):
            rows = {name: values[begin:end] for name, values in self.own.items()}
            begin_us, end_us = int(rows["start_us"][0]), int(rows["end_us"][0])
            if number == _MOST_RUNS:
                yield f"... {plural(len(self.first) - number, 'more run')} follow."
                return
            if begin_us > last_us:
                yield f"Waited for {duration((begin_us - last_us) / US_PER_S)}."
                yield from self._told_wait(last_us)
            where = self._where(rows, int(widths[number]))
            lasted = duration((end_us - begin_us) / US_PER_S)
            until = self._stopped(rows, int(self.ends[number]))
            yield f"Ran from {self._clock(begin_us)} for {lasted} on {where}{until}."
            last_us = end_us
        if self.status != FINISHED and last_us in self.waits:
            waited = duration((self.gone_us - last_us) / US_PER_S)
            since = f"Waits since {self._clock(last_us)}."
            yield since if self.gone_us < 0 else f"Waited for {waited}."
            yield from self._told_wait(last_us)

    def _stopped(self, rows: Mapping[str, AnyArray], kind: int) -> str:
        """Return why an interval ended, if neither the job nor the policy ended it."""
        if kind == KILL:
            return ", until its time limit"
        if kind not in (INTERRUPT, FAIL):
            return ""
        down = rows["server"][struck(rows, self.cluster, self.outages)].tolist()
        failed = rows["server"][struck(rows, self.cluster, self.outages, (OF_FAILURE,))].tolist()
        names = f"server{'s' * (len(down) > 1)} {', '.join(map(str, down))}"
        if failed == down:
            return f", until {names} failed"
        return f", until {names} {'failed or ' * bool(failed)}had maintenance"

    def _where(self, rows: Mapping[str, AnyArray], width: int) -> str:
        servers = rows["server"]
        if servers[0] < 0:
            return plural(width, "GPU")
        counts = np.bitwise_count(rows["mask"])
        types = self.cluster.server_type[servers]
        by_type = [
            f"{int(counts[types == kind].sum())} {self._type(int(kind))}"
            for kind in np.unique(types)
        ]
        if len(servers) > 3:
            return f"{' and '.join(by_type)} of {len(servers)} servers"
        names = ", ".join(str(server) for server in servers.tolist())
        return f"{' and '.join(by_type)} of server{'s' * (len(servers) > 1)} {names}"

    def _ended(self) -> str:
        parts = []
        if preemptions := int(self.schedule.preemptions[self.job]):
            parts.append(plural(preemptions, "preemption"))
        if resizes := int(self.schedule.resizes[self.job]):
            parts.append(plural(resizes, "resize"))
        if len(self.schedule.failures) and (failures := int(self.schedule.failures[self.job])):
            parts.append(plural(failures, "interruption"))
        for column, what in _PARTS.items():
            times_us = getattr(self.schedule, column)
            if len(times_us) and (part_us := int(times_us[self.job])):
                parts.append(f"{duration(part_us / US_PER_S)} {what}")
        more = f" ({', '.join(parts)})." if parts else "."
        if self.status != FINISHED:
            how = _ENDED.get(self.status, "It had not finished when the run ended")
            how += f" {self._at(self.gone_us)}" if self.gone_us >= 0 else ""
            if self.holds.is_ruled_out[self.job]:
                how += ", as its dependencies can never be met"
            return how + more
        finish_us = int(self.schedule.finish_us[self.job])
        jct = duration((finish_us - self.submit_us) / US_PER_S)
        return f"Finished {self._at(finish_us)}, {jct} after submission{more}"

    def _deadline(self) -> str | None:
        if self.trace.deadline_us is None or self.trace.deadline_us[self.job] < 0:
            return None
        deadline_us = int(self.trace.deadline_us[self.job])
        at = self._at(deadline_us)
        if self.status != FINISHED:
            return f"Its deadline was {at}."
        late_s = (int(self.schedule.finish_us[self.job]) - deadline_us) / US_PER_S
        if late_s > 0:
            return f"Missed its deadline, {at}, by {duration(late_s)}."
        spare = f"with {duration(-late_s)} to spare" if late_s < 0 else "exactly"
        return f"Met its deadline, {at}, {spare}."

    def _type(self, index: int) -> str:
        return self.cluster.gpu_types[index] or "GPU"

    def _at(self, time_us: int) -> str:
        return f"at {self._clock(time_us)}"

    def _clock(self, time_us: int) -> str:
        """Return the wall-clock time if the trace has dates, else the time since its start."""
        if self.trace.epoch is not None:
            moment = self.trace.epoch + timedelta(microseconds=time_us)
            return f"{moment:%Y-%m-%d %H:%M:%S}"
        seconds = time_us / US_PER_S
        days, rest = divmod(round(seconds), 86_400)
        clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
        return f"day {days}, {clock}" if days else clock
