"""Jobs that ask for the same: what holds one of them holds another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.type_speeds import Measured, allowed_by_set
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import Memo
from gpusched.base.numbering import numbered

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class JobsAlike:
    """The jobs of a trace by what they ask for.

    Attributes
    ----------
    kinds
        A row (which of ``allowed``, GPUs, thousandths of a GPU, of CPU cores, MiB) each.
    of_job
        The kind of each job.
    allowed
        bool[sets, GPU types].
    """

    kinds: list[list[int]]
    of_job: Int64
    allowed: Bool

    @classmethod
    def of(cls, trace: Trace, cluster: Cluster, measured: Measured | None) -> JobsAlike:
        """Tell the jobs apart, by figures per GPU type where the speed has any."""
        if measured is None:
            allowed = allowed_by_set(trace, cluster)
            of_job = np.zeros(len(trace), np.int64) if trace.type_set is None else trace.type_set
        else:
            allowed, of_job = measured.kinds.allowed, measured.kinds.of_job
        demands = (trace.share_milli, trace.cpu_milli, trace.memory_mib)
        kinds, kind_of_job = kinds_of([of_job, trace.gpus, *demands], [0, 1, 1000, 0, 0])
        return cls(kinds, kind_of_job, allowed)

    @classmethod
    def known(cls, trace: Trace, cluster: Cluster, measured: Measured | None) -> JobsAlike:
        """Return the same, computed once for the runs of a trace."""
        key = (cluster, measured)
        return _known.of(trace, key, lambda: cls.of(trace, cluster, measured))

    @property
    def has_demands(self) -> bool:
        """Whether any job asks for more than GPUs: if none does no placement looks at it."""
        return any(kind[2] < 1000 or kind[3] > 0 or kind[4] > 0 for kind in self.kinds)


_known: Memo[Trace, JobsAlike] = Memo(2)


def kinds_of(
    columns: Sequence[AnyArray | None], missing: Sequence[int]
) -> tuple[list[list[int]], Int64]:
    """Tell the rows of integers apart.

    Parameters
    ----------
    columns
        Each int64[num_jobs] or narrower, or None: then every row has what is ``missing`` there.

    Returns
    -------
    tuple
        The rows that differ, in no order, and which of them each job has.
    """
    there = [column for column in columns if column is not None]
    kind_of_job = np.zeros(len(there[0]), dtype=np.int64)
    for column in there:
        known, number = numbered(column)
        if len(known) > 1:
            # Both factors count rows at most: their product does not overflow.
            _, kind_of_job = numbered(kind_of_job * len(known) + number)
    one_of = np.zeros(int(kind_of_job.max()) + 1, dtype=np.int64)
    one_of[kind_of_job] = np.arange(len(kind_of_job))
    parts = [
        [absent] * len(one_of) if column is None else column[one_of].tolist()
        for column, absent in zip(columns, missing, strict=True)
    ]
    return [list(row) for row in zip(*parts, strict=True)], kind_of_job
