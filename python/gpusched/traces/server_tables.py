"""A table with a row per server, as a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.delimited_text import Table
from gpusched.base.rejects import OnBad
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, Cluster, ServerGroup
from gpusched.traces import text_columns as parse


class ServerTable:
    """A table that names each server, its GPUs and their type.

    Parameters
    ----------
    name, gpus, gpu_type
        The columns.
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
        """Return the servers that have GPUs; the name tells how many others there are.

        Raises
        ------
        ValueError
            If a row is malformed (the message names file, line, column, value and rule), a
            server occurs twice, or none has a GPU.
        """
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
        on_bad: OnBad = "error"  # a cluster without a server that could not be read is another one
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
    """Join equal servers, all of them or neighbours alone."""
    if grouped:
        counts: dict[ServerGroup, int] = {}
        for server in servers:
            counts[server] = counts.get(server, 0) + 1
        for server, count in counts.items():
            yield msgspec.structs.replace(server, count=count)
        return
    for server, equal in groupby(servers):
        yield msgspec.structs.replace(server, count=len(list(equal)))
