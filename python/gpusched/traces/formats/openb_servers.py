"""Alibaba's GPU-sharing cluster, 2023 (Weng et al., ATC 2023): the list of its servers."""

from __future__ import annotations

from typing import Final

from gpusched.base.delimited_text import read_table
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE
from gpusched.model.cluster import Cluster
from gpusched.traces.server_tables import ServerTable

HEADER: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


def read(source: Source, *, grouped: bool = True) -> Cluster:
    """Read the list; see :func:`gpusched.read_cluster`."""
    table = read_table(source, HEADER)
    servers = ServerTable(table, name="sn", gpus="gpu", gpu_type="model")
    return servers.cluster(
        cpu=servers.numbers("cpu_milli") / MILLI_PER_CORE,
        memory_gib=servers.numbers("memory_mib") / MIB_PER_GIB,
        grouped=grouped,
    )


def recognises(source: Source) -> bool:
    """Whether a file is this list."""
    return source.header == HEADER
