"""What a plan is: :class:`Plan`, the batch bound to GPUs, and :class:`PlanCandidate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import Float64, Int32, Int64

if TYPE_CHECKING:
    import polars as pl

    from gpusched.results.result import Result

UInt64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PlanCandidate:
    """One way to bind the batch, and how it fared.

    Attributes
    ----------
    kappa
        The widest gang packed by fragments; None where the policy has no such parameter.
    theta_s
        The cap on the busy time of a GPU, in seconds: the tightest that was found, or the one
        asked for, raised where a job fitted nowhere under it.
    busy_s
        The most estimated busy time that was bound to a GPU, at most ``theta_s``.
    planned_makespan_s
        Of the plan if every job took its service: no contention, the least span.
    makespan_s, mean_jct_s
        Of the plan under the speed and the contention asked for.
    caps_tried
        Caps that the search tried.
    """

    kappa: int | None
    theta_s: float
    busy_s: float
    planned_makespan_s: float
    makespan_s: float
    mean_jct_s: float
    caps_tried: int


@dataclass(frozen=True, eq=False)
class Plan:
    """A batch bound to GPUs, and the run of it: what :func:`plan` returns.

    Attributes
    ----------
    policy
        The policy's text; ``simulate`` with it binds and runs the batch in the same way.
    result
        The run under the speed and the contention asked for.
    candidates
        One for each kappa that was tried.
    first, server, mask
        The GPUs bound to each job: job ``j`` has the rows ``first[j]`` to ``first[j + 1]`` of
        ``server`` and ``mask`` (a bit for each GPU); shapes ``(jobs + 1,)`` and ``(rows,)``. In
        mode ``idle`` the GPUs that a job really gets are chosen when it starts.
    planned_busy_s
        U: the estimated busy time bound to each GPU, server by server, in seconds.
    lower_bound_s
        No schedule of the batch has a shorter makespan; see
        :func:`gpusched.bounds.certificates.makespan_bound`.
    """

    policy: str
    result: Result = field(repr=False)
    candidates: tuple[PlanCandidate, ...] = field(repr=False)
    chosen: PlanCandidate
    first: Int64 = field(repr=False)
    server: Int32 = field(repr=False)
    mask: UInt64 = field(repr=False)
    planned_busy_s: Float64 = field(repr=False)
    lower_bound_s: float

    @property
    def kappa(self) -> int | None:
        """The kappa of the chosen plan; None where the policy has none."""
        return self.chosen.kappa

    @property
    def theta_s(self) -> float:
        """The cap of the chosen plan in seconds."""
        return self.chosen.theta_s

    @property
    def makespan_s(self) -> float:
        """Last finish of the run, in seconds."""
        return self.chosen.makespan_s

    @property
    def mean_jct_s(self) -> float:
        """Mean completion time of the run, in seconds."""
        return self.chosen.mean_jct_s

    @property
    def busy_s(self) -> Float64:
        """Time that each GPU really served jobs, server by server, in seconds."""
        rows = self.result.intervals
        length = rows["end_us"] - rows["start_us"]
        gpus = self.result.cluster.server_gpus
        begin = np.concatenate(([0], np.cumsum(gpus)))
        busy = np.zeros(int(begin[-1]), dtype=np.int64)
        for gpu in range(int(gpus.max())):
            has = (rows["mask"] >> np.uint64(gpu)) & np.uint64(1) != 0
            np.add.at(busy, begin[rows["server"][has]] + gpu, length[has])
        seconds: Float64 = busy / 1e6
        return seconds

    def allocation(self, job: int) -> dict[int, tuple[int, ...]]:
        """Give the GPUs bound to a job (a row of the trace), by server.

        Returns
        -------
        dict
            The numbers of the GPUs on each server that it has some of.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0, 0], [60, 30, 30], [4, 2, 2])
        >>> gs.deciding.plan(trace, gs.Cluster.uniform(1, 4), contention="none").allocation(0)
        {0: (0, 1, 2, 3)}
        """
        if not 0 <= job < len(self.first) - 1:
            raise IndexError(f"job: {job} is not one of {len(self.first) - 1} jobs")
        rows = range(int(self.first[job]), int(self.first[job + 1]))
        return {
            int(self.server[row]): tuple(gpu for gpu in range(64) if int(self.mask[row]) >> gpu & 1)
            for row in rows
        }

    def table(self) -> pl.DataFrame:
        """Return one row per candidate, one column per attribute of :class:`PlanCandidate`.

        Returns
        -------
        polars.DataFrame
            In the order of :attr:`candidates`.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0, 0], [60, 30, 30], [4, 2, 2])
        >>> planned = gs.deciding.plan(trace, gs.Cluster.uniform(1, 4), contention="none")
        >>> planned.table()["makespan_s"].min()
        90.0
        """
        import polars as pl

        return pl.from_dicts([vars(known) for known in self.candidates], infer_schema_length=None)
