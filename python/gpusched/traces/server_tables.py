"""Convert tables with one server per row to clusters: two lists of Alibaba, and Slurm's.

The list of the GPU-sharing cluster (Weng et al., ATC 2023) has a header; the inventory of PAI (Weng
et al., NSDI 2022) has none, and its memory is in GB, read as GiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.delimited_text import Table, read_table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, Cluster, ServerGroup
from gpusched.traces import text_columns as parse

OPENB: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
PAI: Final = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")


def read_servers(source: Source, *, grouped: bool = True) -> Cluster | None:
    """Read one of Alibaba's two lists, see :func:`gpusched.read_cluster`; None for other files."""
    if source.header == OPENB:
        servers = ServerTable(read_table(source, OPENB), name="sn", gpus="gpu", gpu_type="model")
        return servers.cluster(
            cpu=servers.numbers("cpu_milli") / MILLI_PER_CORE,
            memory_gib=servers.numbers("memory_mib") / MIB_PER_GIB,
            grouped=grouped,
        )
    if len(source.header) == len(PAI) and all(field.isdigit() for field in source.header[2:]):
        table = read_table(source, PAI, header=PAI)
        servers = ServerTable(table, name="machine", gpus="cap_gpu", gpu_type="gpu_type")
        cpu, memory_gib = servers.numbers("cap_cpu"), servers.numbers("cap_mem")
        return servers.cluster(cpu=cpu, memory_gib=memory_gib, grouped=grouped)
    return None


class ServerTable:
    """A table with the name, GPUs and GPU type of each server.

    ``name``, ``gpus``, ``gpu_type``: the columns.
    """

    def __init__(self, table: Table, *, name: str, gpus: str, gpu_type: str) -> None:
        self._table = table
        self._screen = table.screen()
        self._gpus = gpus
        self._name = name
        self._gpu_type = gpu_type

    def numbers(self, column: str) -> AnyArray:
        """Read a column of finite numbers of at least 0."""
        values = parse.numbers(self._screen, column, column, self._table.columns[column])
        self._screen.require(np.isfinite(values), column, "must be a finite number")
        self._screen.require(values >= 0, column, "must not be negative")
        return values

    def cluster(self, *, cpu: AnyArray, memory_gib: AnyArray, grouped: bool) -> Cluster:
        """Return the servers with GPUs; the cluster's name has the number of others."""
        screen, source = self._screen, self._table.source
        gpus = self.numbers(self._gpus)
        screen.require(gpus == np.rint(gpus), self._gpus, "must be a whole number")
        rule = f"must be at most {MAX_GPUS_PER_SERVER}"
        screen.require(gpus <= MAX_GPUS_PER_SERVER, self._gpus, rule)
        has_gpus = gpus > 0
        types = self._table.columns[self._gpu_type].str.strip_chars()
        screen.show(self._gpu_type, self._gpu_type, types)
        is_named = (types != "").to_numpy() & ~types.str.contains("|", literal=True).to_numpy()
        screen.require(
            is_named | ~has_gpus, self._gpu_type, "must name one type where there are GPUs"
        )
        for column, values in (("cpu", cpu), ("memory", memory_gib)):
            screen.require((values > 0) | ~has_gpus, column, "must be positive")
        on_bad: OnBad = "error"  # a cluster without its unreadable servers would be a different one
        screen.finish(on_bad)
        self._check_names()
        if not has_gpus.any():
            raise ValueError(f"{source}: no server has a GPU")
        rows = np.flatnonzero(has_gpus).tolist()
        names = types.to_list()
        servers = [
            ServerGroup(1, int(gpus[row]), names[row], float(cpu[row]), float(memory_gib[row]))
            for row in rows
        ]
        num_others = len(gpus) - len(rows)
        others = f" without {num_others:,} servers that have no GPU" if num_others else ""
        return Cluster(tuple(_groups(servers, grouped)), f"{source.name}{others}")

    def _check_names(self) -> None:
        names = self._table.columns[self._name].to_list()
        first_line: dict[str, int] = {}
        for name, line in zip(names, self._table.lines.tolist(), strict=True):
            if first_line.setdefault(name, line) != line:
                raise ValueError(
                    f"{self._table.source}, line {line}, column {self._name!r}: {name!r} must be "
                    f"unique, line {first_line[name]} has it too"
                )


def _groups(servers: list[ServerGroup], grouped: bool) -> Iterator[ServerGroup]:
    """Group equal servers, all of them or only neighbours."""
    if grouped:
        counts: dict[ServerGroup, int] = {}
        for server in servers:
            counts[server] = counts.get(server, 0) + 1
        for server, count in counts.items():
            yield msgspec.structs.replace(server, count=count)
        return
    for server, equal in groupby(servers):
        yield msgspec.structs.replace(server, count=len(list(equal)))
