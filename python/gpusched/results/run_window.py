"""The measured part of a run: after a warm-up and before a tail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Bool
from gpusched.base.field_checks import not_negative
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration

if TYPE_CHECKING:
    from gpusched.schedules.schedule import Schedule
    from gpusched.traces.workload import Trace

MOST_S: Final = 2.0**43


class RunWindow(msgspec.Struct, frozen=True):
    """A part of a run: the jobs submitted in it, and its time.

    ``warm_up_s``: begin after the first submission, seconds.
    ``tail_s``: end before the last submission, seconds. None: it ends with the last finish, and
        every job submitted after the warm-up counts.
    """

    warm_up_s: float = 0.0
    tail_s: float | None = None

    @classmethod
    def of(cls, warm_up_s: float | None, tail_s: float | None = None) -> RunWindow | None:
        """Return the window between the two; None (the whole run) if neither cuts."""
        begin = 0.0 if warm_up_s is None else not_negative("warm_up_s", warm_up_s, MOST_S)
        end = None if tail_s is None else not_negative("tail_s", tail_s, MOST_S)
        return None if begin == 0 and end is None else cls(begin, end)

    @classmethod
    def checked(
        cls, trace: Trace, warm_up_s: float | None, tail_s: float | None = None
    ) -> RunWindow | None:
        """Make the window as :meth:`of`, and :meth:`check` it."""
        window = cls.of(warm_up_s, tail_s)
        if window is not None:
            window.check(trace)
        return window

    @property
    def cuts(self) -> dict[str, float | None]:
        """The arguments of ``Result.summary`` for this window."""
        return {"warm_up_s": self.warm_up_s, "tail_s": self.tail_s}

    def check(self, trace: Trace) -> None:
        """Raise ValueError if no job of ``trace`` is submitted in it."""
        if self.counted(trace).any():
            return
        span_s = float(trace.submit_s[-1] - trace.submit_s[0]) if len(trace) else 0.0
        tail = "" if self.tail_s is None else f" and the last {self.tail_s:,g} s (tail_s)"
        raise ValueError(
            f"{trace.name}: all jobs are submitted within {span_s:,g} s, so none is left without "
            f"the first {self.warm_up_s:,g} s (warm_up_s){tail}"
        )

    def begin_us(self, trace: Trace) -> int:
        """Return its begin, microseconds on the clock of ``submit_us``."""
        return int(trace.submit_us[0]) + round(self.warm_up_s * US_PER_S)

    def end_us(self, trace: Trace, schedule: Schedule) -> int:
        """Return its end, microseconds; not before its begin."""
        if self.tail_s is None:
            last = int(np.asarray(schedule.finish_us).max())
        else:
            last = self._last_submit_us(trace)
        return max(self.begin_us(trace), last)

    def counted(self, trace: Trace) -> Bool:
        """Return which jobs are submitted in it, both ends included: bool, one per job."""
        if not len(trace):
            return np.zeros(0, dtype=np.bool_)
        counted: Bool = trace.submit_us >= self.begin_us(trace)
        if self.tail_s is not None:
            counted &= trace.submit_us <= self._last_submit_us(trace)
        return counted

    def __str__(self) -> str:
        parts = []
        if self.warm_up_s:
            parts.append(f"after a warm-up of {duration(self.warm_up_s)}")
        if self.tail_s is not None:
            parts.append(f"until {duration(self.tail_s)} before the last submission")
        return " and ".join(parts)

    def _last_submit_us(self, trace: Trace) -> int:
        assert self.tail_s is not None
        return int(trace.submit_us[-1]) - round(self.tail_s * US_PER_S)


def clipped(rows: Mapping[str, AnyArray], begin_us: int, end_us: int) -> dict[str, AnyArray]:
    """Cut an interval log to the time between two ends; keep the order."""
    kept = np.flatnonzero((rows["start_us"] < end_us) & (rows["end_us"] > begin_us))
    part = {name: values[kept] for name, values in rows.items()}
    part["start_us"] = np.maximum(part["start_us"], begin_us)
    part["end_us"] = np.minimum(part["end_us"], end_us)
    return part
