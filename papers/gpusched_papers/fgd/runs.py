"""One filling of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.deciding.filling import fill
from gpusched_papers.fgd.settings import DEMANDS, ORDER, UNTIL
from gpusched_papers.fgd.workload import Workload, cluster


@dataclass(frozen=True)
class Run:
    """A filled cluster: the columns have an entry for each of ``DEMANDS``, over its GPUs.

    Attributes
    ----------
    lost
        The part of the arrivals that were not placed.
    num_gpus
        Of the cluster.
    """

    workload: str
    placement: str
    seed: int
    unallocated: Float64
    fragmented: Float64
    lost: Float64
    num_gpus: int

    def at(self, column: str, demand: float) -> float:
        """One column's value at a demand of ``DEMANDS``."""
        index = int(np.argmin(np.abs(DEMANDS - demand)))
        values: Float64 = getattr(self, column)
        return float(values[index])


def run(workload: Workload, placement: str, seed: int) -> Run:
    """Fill the cluster once.

    Raises
    ------
    ValueError
        If the data are not there.
    """
    filled = fill(
        workload.requests(), cluster(), placement=placement, until=UNTIL, order=ORDER, seed=seed
    )
    state = filled.at(DEMANDS)
    return Run(
        workload.name,
        placement,
        seed,
        state["unallocated"],
        state["fragmented"],
        state["lost"],
        filled.cluster.num_gpus,
    )
