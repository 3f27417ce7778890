"""What is filled, and with what: the servers and the lists of pods of the recorded results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from gpusched.base.real_data import need_data
from gpusched.clusters.cluster import Cluster
from gpusched.traces.filling_requests import Requests
from gpusched.traces.inventories import read_cluster, read_requests

_SERVERS: Final = "openb_node_list_all_node.csv"


@dataclass(frozen=True)
class Workload:
    """A list of pods.

    Attributes
    ----------
    name, title
        As in the recorded results, and for people.
    """

    name: str
    title: str

    @property
    def file(self) -> str:
        """Its name in the folder of the data."""
        return f"openb_pod_list_{self.name}.csv"

    def requests(self) -> Requests:
        """Read it; errors as of :func:`data_file`."""
        return _requests(data_file(self.file))


DEFAULT: Final = Workload("default", "default list")
TYPED: Final = Workload("gpuspec33", "33 % name GPU types")
WIDE: Final = Workload("multigpu50", "gangs ask for 50 % of the GPUs")
SHOWN_LISTS: Final = (DEFAULT, TYPED, WIDE)
"""Those whose filling is shown step by step."""
OTHERS: Final = (
    Workload("cpu050", "5 % ask for no GPU"),
    Workload("cpu100", "10 % ask for no GPU"),
    Workload("cpu200", "20 % ask for no GPU"),
    Workload("cpu250", "25 % ask for no GPU"),
    Workload("gpushare40", "shares ask for 40 % of the GPUs"),
    Workload("gpushare60", "shares ask for 60 % of the GPUs"),
    Workload("gpushare80", "shares ask for 80 % of the GPUs"),
    Workload("gpushare100", "shares ask for all GPUs"),
    Workload("gpuspec10", "10 % name GPU types"),
    Workload("gpuspec20", "20 % name GPU types"),
    Workload("gpuspec25", "25 % name GPU types"),
    TYPED,
    Workload("multigpu20", "gangs ask for 20 % of the GPUs"),
    Workload("multigpu30", "gangs ask for 30 % of the GPUs"),
    Workload("multigpu40", "gangs ask for 40 % of the GPUs"),
    WIDE,
)
WORKLOADS: Final = (DEFAULT, *OTHERS)


def cluster() -> Cluster:
    """Read the servers; errors as of :func:`data_file`."""
    return _cluster(data_file(_SERVERS))


def data_file(name: str) -> Path:
    """Return a file of the cluster's data; errors as of :func:`need_data`."""
    return need_data(f"openb/{name}", "fgd")


@lru_cache(maxsize=1)
def _cluster(path: Path) -> Cluster:
    return read_cluster(path, grouped=False)


@lru_cache(maxsize=len(WORKLOADS))
def _requests(path: Path) -> Requests:
    return read_requests(path, on_bad="error")
