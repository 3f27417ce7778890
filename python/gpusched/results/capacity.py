"""Where the GPU time of a run went: what :attr:`gpusched.Result.capacity` returns."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.results.run_window import clipped
from gpusched.schedules.down_times import down_rows, held_milli
from gpusched.schedules.schedule import KILLED

if TYPE_CHECKING:
    from gpusched.results.run_facts import RunFacts

PER_GPU_S: Final = WHOLE_GPU * US_PER_S


@dataclass(frozen=True)
class Capacity:
    """The GPU time of a run as exact integers, in thousandths of a GPU x microseconds.

    From the first submit to the last release, in a part of a run its window. ``capacity = down +
    held + idle``, and ``held`` is the sum of the attributes after ``idle``. In a part of a run
    these are spread evenly over the time of a job, and where jobs change their GPUs they count its
    mean number of GPUs.

    Attributes
    ----------
    capacity
        All GPUs over that time.
    down
        GPUs of servers with an outage that no job held.
    held
        GPUs that jobs held.
    idle
        The others.
    useful
        Run times of the finished jobs on their GPUs.
    lost_to_failures, lost_to_limits
        Work that was lost; the second of jobs that were killed at their time limit.
    checkpoint_writes, restarts
        Checkpoints written, and restart costs.
    unfinished
        Work that jobs without a finish did and did not lose.
    slowed
        Time of finished jobs beyond all these: slower GPUs, spread, contention, and added work.
    """

    capacity: int
    down: int
    held: int
    idle: int
    useful: int
    lost_to_failures: int
    lost_to_limits: int
    checkpoint_writes: int
    restarts: int
    unfinished: int
    slowed: int

    @classmethod
    def of(cls, run: RunFacts) -> Self:
        """Sum the GPU time of a run, or of its window."""
        begin_us, end_us = run.held_ends_us
        log = clipped(run.intervals, begin_us, end_us)
        down_log = down_rows(run.trace, run.cluster, run.intervals, run.outages)
        down_log = clipped(down_log, begin_us, end_us)
        capacity = int(run.cluster.num_gpus) * WHOLE_GPU * (end_us - begin_us)
        down = exact_dot(down_log["milli"], down_log["end_us"] - down_log["start_us"])
        held = exact_dot(held_milli(run.trace, log), log["end_us"] - log["start_us"])
        parts = {name: _sum(run, part_us) for name, part_us in _parts_us(run).items()}
        return cls(
            capacity, down, held, capacity - down - held,
            **parts, slowed=held - sum(parts.values()),
        )  # fmt: skip

    @property
    def up(self) -> int:
        """GPUs that were not down."""
        return self.capacity - self.down

    @property
    def gpu_s(self) -> dict[str, float]:
        """The attributes in GPU seconds, by name."""
        return {each.name: getattr(self, each.name) / PER_GPU_S for each in fields(self)}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:,.0f} GPU s" for name, value in self.gpu_s.items())


def _parts_us(run: RunFacts) -> dict[str, Int64]:
    """Return the parts of each job's time with GPUs."""
    schedule, none = run.schedule, np.zeros(len(run.trace), np.int64)
    done, is_killed = run.all_finished, np.asarray(schedule.status) == KILLED
    paid_us: AnyArray = np.asarray(schedule.paid_us)
    lost_us, written_us = (
        none if run.failures is None else np.asarray(column)
        for column in (schedule.lost_us, schedule.written_us)
    )
    kept_us = np.asarray(schedule.held_us) - paid_us - lost_us - written_us
    return {
        "useful": np.where(done, run.trace.service_us, 0),
        "lost_to_failures": np.where(is_killed, 0, lost_us),
        "lost_to_limits": np.where(is_killed, lost_us, 0),
        "checkpoint_writes": written_us,
        "restarts": paid_us,
        "unfinished": np.where(done, 0, kept_us),
    }


def _sum(run: RunFacts, part_us: Int64) -> int:
    """Sum a part of the jobs' times over their GPUs."""
    if run.is_fixed and run.window is None:
        return exact_dot(run.milli, part_us)
    milli = run.milli * (run.mean_widths / run.trace.gpus)
    return round(float(np.dot(run.within(milli), part_us)))


def exact_dot(weights: Int64, values: Int64) -> int:
    """Sum the products without overflow or rounding; none is negative."""
    if float(np.dot(weights.astype(np.float64), values.astype(np.float64))) < 2.0**62:
        return int(np.dot(weights, values))
    return sum(map(operator.mul, weights.tolist(), values.tolist()))
