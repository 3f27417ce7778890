"""AlloX as the simulator of Gavel's authors has it: who once has a GPU keeps it.

Le, Sun, Chowdhury, Liu, "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended

Array = np.ndarray[Any, Any]


class Matching:
    """Jobs, matched to GPUs and to places in their queues.

    There jobs are of one GPU. A wider one is matched to one, and keeps as many as it needs.
    """

    def __init__(self) -> None:
        self.kept: dict[int, tuple[int, int]] = {}  # type and GPUs, by job

    def solve(
        self, ids: list[int], rates: Array, gpus: Array, remaining: Array, capacity: Array
    ) -> Array:
        """Return 1 for the type that a job is to have all the time.

        The jobs without a GPU, by arrival, at most as many as there are GPUs or such jobs, are
        matched to free GPUs and places counted from the last, so that their completion times have
        the least sum; the first of each GPU gets it.
        """
        need_library("scipy", "a policy with matchings", "scipy")
        from scipy.optimize import linear_sum_assignment

        known = set(ids)
        self.kept = {job: held for job, held in self.kept.items() if job in known}
        left = capacity.astype(int)
        for kind, width in self.kept.values():
            left[kind] -= width
        rows = [row for row, job in enumerate(ids) if job not in self.kept]
        kinds = np.repeat(np.arange(len(left)), np.maximum(left, 0))
        if rows and len(kinds):
            times = remaining[rows, None] / np.maximum(rates[rows][:, kinds], 1e-10)
            cost = np.hstack([times * place for place in range(1, len(rows) + 1)])
            found = attended(lambda: linear_sum_assignment(cost))
            first: dict[int, tuple[int, int]] = {}  # by GPU: the greatest place, whose row
            for row, column in zip(*(side.tolist() for side in found), strict=True):
                place, gpu = divmod(column, len(kinds))
                first[gpu] = max(first.get(gpu, (-1, -1)), (place, rows[row]))
            self.kept.update(
                {
                    ids[row]: (int(kinds[gpu]), int(gpus[row]))
                    for gpu, (_, row) in first.items()
                    if rates[row, kinds[gpu]] > 0
                }
            )
        fractions = np.zeros_like(rates)
        for row, job in enumerate(ids):
            if job in self.kept:
                fractions[row, self.kept[job][0]] = 1.0
        return fractions
