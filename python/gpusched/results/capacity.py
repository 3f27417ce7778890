"""Where the GPU time of a run went: what :attr:`gpusched.Result.capacity` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Self

from gpusched.base.arrays import AnyArray, exact_dot
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.results.run_window import clipped
from gpusched.schedules.down_times import down_rows, held_milli

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.traces.workload import Trace

PER_GPU_S: Final = WHOLE_GPU * US_PER_S


@dataclass(frozen=True)
class Capacity:
    """The GPU time of a run as exact integers, in thousandths of a GPU x microseconds.

    From the first submit to the last release, in a part of a run its window. ``capacity = down +
    held + idle``, and ``held`` is the sum of the attributes after ``idle``. In a part of a run
    these are spread evenly over the time of a job, and where jobs change their GPUs they count its
    mean number of GPUs.

    ``capacity``: all GPUs over that time.
    ``down``: GPUs of servers with an outage that no job held.
    ``held``: GPUs that jobs held.
    ``idle``: the others.
    ``useful``: run times of the finished jobs on their GPUs.
    ``lost_to_failures``, ``lost_to_limits``: work that was lost; the second of jobs that were
        killed at their time limit.
    ``checkpoint_writes``, ``restarts``: checkpoints written, and restart costs.
    ``unfinished``: work that jobs without a finish did and did not lose.
    ``slowed``: time of finished jobs beyond all these: slower GPUs, spread, contention, and added
        work.
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
    def of(
        cls,
        trace: Trace,
        cluster: Cluster,
        rows: Mapping[str, AnyArray],
        outages: Outages | None,
        ends_us: tuple[int, int],
        parts: Mapping[str, int],
    ) -> Self:
        """Sum the GPU time of an interval log between two ends.

        ``parts``: the parts of ``held``, except for ``slowed``, which is the rest.
        """
        log = clipped(rows, *ends_us)
        down_log = clipped(down_rows(trace, cluster, rows, outages), *ends_us)
        capacity = int(cluster.num_gpus) * WHOLE_GPU * (ends_us[1] - ends_us[0])
        down = exact_dot(down_log["milli"], down_log["end_us"] - down_log["start_us"])
        held = exact_dot(held_milli(trace, log), log["end_us"] - log["start_us"])
        slowed = held - sum(parts.values())
        return cls(capacity, down, held, capacity - down - held, **parts, slowed=slowed)

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
