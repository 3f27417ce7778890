"""The runs of the filling experiment: cluster, requests, placements, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.real_data import need_data
from gpusched.clusters.cluster import Cluster
from gpusched.deciding.filling import fill
from gpusched.papers.fgd.published import ALLOCATED
from gpusched.traces.filling_requests import Requests
from gpusched.traces.inventories import read_cluster, read_requests

FGD: Final = "fgd"
OURS: Final = ("first-fit", "worst-fit")
PLACEMENTS: Final = (*ALLOCATED, *OURS)
"""Those of the authors' recorded results, and two of ours."""
UNTIL: Final = 1.3
DEMANDS: Final = np.round(np.arange(0.5, UNTIL + 0.005, 0.01), 2)
"""At which the state of the cluster is taken down, over the GPUs of the cluster."""
_SERVERS: Final = "openb_node_list_all_node.csv"


@dataclass(frozen=True)
class Workload:
    """A list of pods.

    Attributes
    ----------
    name, title
        For files, and for people.
    file
        In the folder of the data.
    """

    name: str
    title: str
    file: str


DEFAULT: Final = Workload("default", "default list", "openb_pod_list_default.csv")
VARIANTS: Final = (
    Workload("gpuspec33", "a third names GPU types", "openb_pod_list_gpuspec33.csv"),
    Workload("multigpu50", "gangs ask for half of the GPUs", "openb_pod_list_multigpu50.csv"),
)


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
    filled = fill(_requests(workload), _cluster(), placement=placement, until=UNTIL, seed=seed)
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


def data_file(name: str) -> Path:
    """Return a file of the cluster's data; errors as of :func:`need_data`."""
    return need_data(f"openb/{name}", "fgd")


def _cluster() -> Cluster:
    return _cached_cluster(data_file(_SERVERS))


def _requests(workload: Workload) -> Requests:
    return _cached_requests(data_file(workload.file))


@lru_cache(maxsize=1)
def _cached_cluster(path: Path) -> Cluster:
    return read_cluster(path, grouped=False)


@lru_cache(maxsize=4)
def _cached_requests(path: Path) -> Requests:
    return read_requests(path, on_bad="error")
