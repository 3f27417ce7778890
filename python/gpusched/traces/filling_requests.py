"""Resource requests (GPUs, CPU, memory) without times, to fill a cluster with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, freeze_columns
from gpusched.base.rejects import OnBad, Rejects, Screen
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU
from gpusched.traces import checked_columns as check
from gpusched.traces.job_columns import JOB_COLUMNS
from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Requests:
    """Requests as read-only columns, in the order of their source.

    CPU and memory are those of each worker; a worker is one GPU of the request, and a request
    without GPUs is one worker.

    Attributes
    ----------
    gpus
        int32: GPUs, 0 for a request of CPU and memory alone.
    share_milli
        int32: thousandths of each GPU; less than 1000 only where ``gpus`` is 1.
    cpu_milli, memory_mib
        int64: thousandths of a core, and MiB.
    type_sets, type_set
        Distinct sets of allowed GPU types (``()`` = any), and the int32 index of each request's
        set or None if none is restricted.
    row
        int64: line in the source file, or position in the input.
    id
        int64 or text: the name in the source.
    rejects
        Rejected rows of the source.
    """

    gpus: Int32
    share_milli: Int32
    cpu_milli: Int64
    memory_mib: Int64
    row: Int64
    id: AnyArray
    type_sets: tuple[tuple[str, ...], ...] = ()
    type_set: Int32 | None = None
    name: str = "requests"
    source: str = "columns"
    rejects: Rejects = field(default_factory=Rejects)

    def __post_init__(self) -> None:
        freeze_columns(self)

    @classmethod
    def from_columns(
        cls,
        gpus: Any,
        *,
        gpu_share: Any = None,
        cpu: Any = None,
        memory_gib: Any = None,
        gpu_types: Any = None,
        id: Any = None,
        name: str = "requests",
        on_bad: OnBad = "error",
    ) -> Requests:
        """Build requests from columns of equal length.

        Parameters
        ----------
        gpus
            Whole numbers, 0 or more.
        gpu_share
            Share of each GPU: above 0 and at most 1, below 1 only where ``gpus`` is 1; rounded to
            thousandths. NaN: a whole GPU. Ignored where ``gpus`` is 0.
        cpu, memory_gib
            Cores and GiB of each worker, 0 or more; NaN: none.
        gpu_types
            Allowed types as ``"V100|T4"`` or a collection; empty or None = any.
        id
            Unique integers or text; default: the position in the columns.
        on_bad
            ``"error"`` raises at the first bad row; ``"reject"`` leaves bad rows out and counts
            them in :attr:`rejects`.

        Returns
        -------
        Requests
            In the order of the columns.

        Raises
        ------
        TypeError
            If a column has a wrong type; the message names it.
        ValueError
            If a value is bad (the message names column, row, value and rule), lengths differ, an
            id occurs twice, or nothing is left.

        Examples
        --------
        >>> gs.traces.Requests.from_columns([1, 8], gpu_share=[0.5, 1]).gpu_demand
        8.5
        """
        widths = check.numbers("gpus", gpus)
        num_rows = len(widths)
        screen = Screen("columns", np.arange(num_rows, dtype=np.int64))
        given = {"gpu_share": gpu_share, "cpu": cpu, "memory_gib": memory_gib}
        numeric = check.given_numbers(given, num_rows)
        return screened_requests(
            screen,
            {"gpus": widths, **numeric},
            ids=None if id is None else check.identifiers("id", id, num_rows),
            gpu_types=gpu_types,
            on_bad=on_bad,
            name=name,
        )

    @classmethod
    def from_trace(cls, trace: Trace) -> Requests:
        """Return the requests of the jobs of a trace, in order of submission.

        Returns
        -------
        Requests
            One for each job.

        Raises
        ------
        TypeError
            If ``trace`` is not a Trace.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> gs.traces.Requests.from_trace(jobs).gpus.tolist()
        [4, 1, 1]
        """
        if not isinstance(trace, Trace):
            raise TypeError(f"trace: expected a Trace, not {trace!r:.80}")
        num_jobs = len(trace)
        return cls(
            gpus=trace.gpus,
            share_milli=_known(trace.share_milli, np.full(num_jobs, WHOLE_GPU, np.int32)),
            cpu_milli=_known(trace.cpu_milli, np.zeros(num_jobs, np.int64)),
            memory_mib=_known(trace.memory_mib, np.zeros(num_jobs, np.int64)),
            row=trace.row,
            id=trace.id,
            type_sets=trace.type_sets,
            type_set=trace.type_set,
            name=trace.name,
            source=trace.source,
            rejects=trace.rejects,
        )

    def __len__(self) -> int:
        return len(self.gpus)

    def __repr__(self) -> str:
        rejected = f", {self.rejects.total:,} rows rejected" if self.rejects else ""
        return (
            f"Requests({self.name!r}: {len(self):,} for {self.gpu_demand:,.1f} GPUs, "
            f"{int(np.count_nonzero(self.is_share)):,} of them for a share of one and "
            f"{int(np.count_nonzero(self.gpus == 0)):,} for none{rejected})"
        )

    @property
    def is_share(self) -> Bool:
        """bool: whether each request is for a share of a GPU."""
        shares: Bool = (self.gpus == 1) & (self.share_milli < WHOLE_GPU)
        return shares

    @property
    def gpu_milli(self) -> Int64:
        """int64: thousandths of GPUs of each request, over all its workers."""
        return self.gpus.astype(np.int64) * self.share_milli

    @property
    def gpu_demand(self) -> float:
        """Total GPUs of all requests."""
        return float(self.gpu_milli.sum()) / WHOLE_GPU

    @property
    def cpu(self) -> Float64:
        """float64: cores of each worker."""
        return self.cpu_milli / MILLI_PER_CORE

    @property
    def memory_gib(self) -> Float64:
        """float64: GiB of each worker."""
        return self.memory_mib / MIB_PER_GIB


def screened_requests(
    screen: Screen,
    numeric: dict[str, AnyArray],
    *,
    ids: AnyArray | None = None,
    gpu_types: Any = None,
    on_bad: OnBad = "error",
    name: str = "requests",
    source: str = "columns",
) -> Requests:
    """Check columns named as in :meth:`Requests.from_columns`; drop rejected rows."""
    screen.show_others({**numeric, "id": ids})
    may_be_none = msgspec.structs.replace(JOB_COLUMNS["gpus"], above=None, least=0)
    stored = {"gpus": check.stored_numbers(screen, may_be_none, numeric["gpus"], {})}
    gpus = stored["gpus"]
    for column in (JOB_COLUMNS[column] for column in ("gpu_share", "cpu", "memory_gib")):
        given = numeric.get(column.name, np.full(len(gpus), np.nan))
        if column.name == "gpu_share":
            given = np.where(numeric["gpus"] == 0, np.nan, given)
        stored[column.stored] = check.stored_numbers(screen, column, given, stored)
    cpu_milli, memory_mib = stored["cpu_milli"], stored["memory_mib"]
    is_something = (gpus > 0) | (cpu_milli > 0) | (memory_mib > 0)
    screen.require(is_something, "gpus", "must not be 0 without CPU and memory")
    type_sets, type_set = check.allowed_types(gpu_types, len(gpus))
    rejects = screen.finish(on_bad)
    ids = check.unique_ids(screen, ids)
    good = np.flatnonzero(~screen.bad)
    return Requests(
        **{name: values[good] for name, values in stored.items()},
        row=screen.rows[good],
        id=ids[good],
        type_sets=type_sets,
        type_set=None if type_set is None else type_set[good],
        name=name,
        source=source,
        rejects=rejects,
    )


def _known(values: Any, default: AnyArray) -> Any:
    return default if values is None else values
