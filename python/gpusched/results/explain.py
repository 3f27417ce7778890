"""What happened to one job and why, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.results.job_names import place_of
from gpusched.results.wait_story import wait_story
from gpusched.results.waits import Wait, Waits
from gpusched.schedules.schedule import (
    FINISHED,
    REJECT_REASONS,
    REJECTED,
    whole_intervals,
    widths_of,
)

if TYPE_CHECKING:
    from gpusched.base.arrays import AnyArray
    from gpusched.clusters.cluster import Cluster
    from gpusched.schedules.schedule import Schedule
    from gpusched.traces.workload import Trace

# What the short reasons of a decision mean.
_REASONS: Final = {
    "too dear": "to meet its deadline costs more than it is worth",
    "no room": "no schedule that meets its deadline has room beside what was promised before",
    "too long": "no schedule was found in the first of the many slots before its deadline",
    "impossible": "no number of GPUs of any type it may use meets its deadline",
    "cannot run": "the speed knows no configuration that it may use",
}
_MOST_RUNS: Final = 12
_MOST_WAITS: Final = 3


@dataclass(frozen=True)
class Explanation:
    """The story of a job, a sentence each; ``print`` it.

    Attributes
    ----------
    job
        JobId.
    lines
        The sentences.
    waits
        Who held the GPUs that the job could have used: its longest waits, in their order.
    """

    job: int
    lines: tuple[str, ...]
    waits: tuple[Wait, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain(
    trace: Trace,
    cluster: Cluster,
    schedule: Schedule,
    intervals: Mapping[str, AnyArray],
    job: int | str,
) -> Explanation:
    """Tell what happened to a job: when it ran where, what it waited for, and what was decided.

    Who held its GPUs is judged from the schedule, not by what the policy meant: jobs that were
    running by then, jobs that came earlier or later and started while it waited, or nobody; and
    then whether too few were free, enough but scattered, or enough in one piece.

    Parameters
    ----------
    intervals
        Who held which GPUs when, as in :attr:`gpusched.Result.intervals`.
    job
        An integer is the JobId, the job's place in the order of submission; a text is its ``id``.

    Raises
    ------
    TypeError
        If ``job`` is neither.
    IndexError, ValueError
        If there is no such place, or no such id.
    """
    place = place_of(trace, job)
    story = _Story(trace, cluster, schedule, intervals, place)
    lines = tuple(story.lines())
    return Explanation(place, lines, tuple(story.waits.values()))


class _Story:
    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        schedule: Schedule,
        intervals: Mapping[str, AnyArray],
        job: int,
    ) -> None:
        self.trace, self.cluster, self.schedule = trace, cluster, schedule
        self.intervals, self.job = intervals, job
        self.submit_us = int(self.trace.submit_us[job])
        self.status = int(self.schedule.status[job])
        self.waits = self._longest_waits()

    def lines(self) -> Iterator[str]:
        yield self._submitted()
        if self.status == REJECTED:
            yield f"Rejected: {REJECT_REASONS[self.schedule.reason[self.job]]}."
            return
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
        text = f"Job {self.job} (id {name}) came {self._at(self.submit_us)}: {gpus}{kinds}, "
        return f"{text}{service} of service."

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
            text += f"; the {name}s are {'full' if not math.isfinite(cost) else 'dearest'} "
            text += f"from {self._clock(begin)} to {self._clock(end)}"
        return text

    def _own_runs(self) -> tuple[AnyArray, AnyArray]:
        """Return the first row of every interval, and which of these are of the job."""
        first, _ = whole_intervals(self.intervals)
        return first, np.flatnonzero(self.intervals["job"][first] == self.job)

    def _longest_waits(self) -> dict[int, Wait]:
        """Look at the longest waits, by their begin; at none of a job that could never run."""
        rows = self.intervals
        if self.status == REJECTED or not len(rows["job"]):
            return {}
        first, own = self._own_runs()
        begins = [self.submit_us, *rows["end_us"][first[own]].tolist()]
        ends = rows["start_us"][first[own]].tolist()
        if self.status != FINISHED:
            ends.append(int(rows["end_us"].max()))
        found = [(end - begin, begin, end) for begin, end in zip(begins, ends, strict=False)]
        longest = sorted(wait for wait in found if wait[0] > 0)[-_MOST_WAITS:]
        looked = Waits(self.trace, self.cluster, rows, self.job)
        chosen = sorted((begin, end) for _, begin, end in longest)
        return {begin: looked.look(begin, end) for begin, end in chosen}

    def _told_wait(self, begin_us: int) -> Iterator[str]:
        if begin_us in self.waits:
            is_first = begin_us == self.submit_us
            yield from wait_story(self.trace, self.waits[begin_us], is_first=is_first)

    def _runs(self) -> Iterator[str]:
        rows = self.intervals
        first, own = self._own_runs()
        if len(own) == 0:
            yield "It never ran."
            yield from self._told_wait(self.submit_us)
            return
        widths = widths_of(rows, first, self.trace.gpus)
        last_us = self.submit_us
        for number, index in enumerate(own.tolist()):
            begin_us = int(rows["start_us"][first[index]])
            end_us = int(rows["end_us"][first[index]])
            if number == _MOST_RUNS:
                yield f"... {plural(len(own) - number, 'more run')} follow."
                return
            if begin_us > last_us:
                yield f"Waited for {duration((begin_us - last_us) / US_PER_S)}."
                yield from self._told_wait(last_us)
            where = self._where(rows, int(first[index]), int(widths[index]))
            lasted = duration((end_us - begin_us) / US_PER_S)
            yield f"Ran from {self._clock(begin_us)} for {lasted} on {where}."
            last_us = end_us
        if self.status != FINISHED and last_us in self.waits:
            yield f"Waits since {self._clock(last_us)}."
            yield from self._told_wait(last_us)

    def _where(self, rows: Any, row: int, width: int) -> str:
        if int(rows["server"][row]) < 0:
            return plural(width, "GPU")
        start_us = int(rows["start_us"][row])
        end = row
        while (
            end < len(rows["job"])
            and rows["job"][end] == self.job
            and rows["start_us"][end] == start_us
        ):
            end += 1
        servers: AnyArray = rows["server"][row:end]
        counts = np.bitwise_count(rows["mask"][row:end])
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
        if self.status != FINISHED:
            return "It had not finished when the run ended."
        finish_us = int(self.schedule.finish_us[self.job])
        jct = duration((finish_us - self.submit_us) / US_PER_S)
        text = f"Finished {self._at(finish_us)}, {jct} after it came"
        parts = []
        if preemptions := int(self.schedule.preemptions[self.job]):
            parts.append(plural(preemptions, "preemption"))
        if resizes := int(self.schedule.resizes[self.job]):
            parts.append(plural(resizes, "resize"))
        paid_us = int(self.schedule.paid_us[self.job])
        if paid_us:
            parts.append(f"{duration(paid_us / US_PER_S)} paid for restarts")
        return f"{text} ({', '.join(parts)})." if parts else f"{text}."

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
        spare = f"with {duration(-late_s)} to spare" if late_s < 0 else "to the instant"
        return f"Met its deadline, {at}, {spare}."

    def _type(self, index: int) -> str:
        return self.cluster.gpu_types[index] or "GPU"

    def _at(self, time_us: int) -> str:
        return f"at {self._clock(time_us)}"

    def _clock(self, time_us: int) -> str:
        """The wall clock where the trace knows it, else the time since its first submit."""
        if self.trace.epoch is not None:
            moment = self.trace.epoch + timedelta(microseconds=time_us)
            return f"{moment:%Y-%m-%d %H:%M:%S}"
        seconds = time_us / US_PER_S
        days, rest = divmod(round(seconds), 86_400)
        clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
        return f"day {days}, {clock}" if days else clock
