"""Alibaba PAI, 2020 (Weng et al., NSDI 2022): the inventory of its servers, without a header."""

from __future__ import annotations

from typing import Final

from gpusched.base.delimited_text import read_table
from gpusched.base.source import Source
from gpusched.model.cluster import Cluster
from gpusched.traces.server_tables import ServerTable

HEADER: Final = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")


def read(source: Source, *, grouped: bool = True) -> Cluster:
    """Read the inventory; see :func:`gpusched.read_cluster`. Memory is in GB, taken as GiB."""
    table = read_table(source, HEADER, header=HEADER)
    servers = ServerTable(table, name="machine", gpus="cap_gpu", gpu_type="gpu_type")
    return servers.cluster(
        cpu=servers.numbers("cap_cpu"), memory_gib=servers.numbers("cap_mem"), grouped=grouped
    )


def recognises(source: Source) -> bool:
    """Whether a file is this inventory: five fields, the last three whole numbers."""
    fields = source.header
    return len(fields) == len(HEADER) and all(field.isdigit() for field in fields[2:])
