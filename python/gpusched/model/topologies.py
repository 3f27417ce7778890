"""Clusters from published topologies of real networks."""

from __future__ import annotations

import csv
import io
import os
from typing import Final

from gpusched.base.files import naming
from gpusched.base.source import Source
from gpusched.model.cluster import Cluster, Domain, ServerGroup

HEADER: Final = ("ip", "DSW", "PSW", "ASW")


def read_topology(
    path: str | os.PathLike[str],
    *,
    gpus: int = 8,
    gpu_type: str = "gpu",
    nic_gbps: float = 200.0,
    intra_gbps: float = 2400.0,
    leaf_oversubscription: float = 1.0,
    block_oversubscription: float = 1.0,
    core_oversubscription: float = 1.0,
    max_bytes: int | None = None,
) -> Cluster:
    r"""Read a table of servers and their switches, as published by Alibaba for Lingjun.

    The columns are ``ip,DSW,PSW,ASW``: a server, and its switches from the top of the network
    down. Servers of one pair (PSW, ASW) share a leaf; the leaves of one PSW are a block, the
    blocks of one DSW share a core switch. Several core switches are joined by a root. Servers are
    ordered by leaf, and within a leaf as in the file.

    The source has no GPUs or bandwidths, so the other parameters are assumptions.

    Parameters
    ----------
    gpus, gpu_type, nic_gbps, intra_gbps
        For each server, see :class:`~gpusched.model.cluster.ServerGroup`.
    leaf_oversubscription, block_oversubscription, core_oversubscription
        For the uplinks of leaves, blocks, and core switches if there are several, see
        :class:`~gpusched.model.cluster.Domain`.
    max_bytes
        As in :func:`gpusched.read_trace`.

    Returns
    -------
    Cluster
        With a domain for each switch.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the header differs, a row has too few, too many or empty fields, or a server occurs
        twice; the message names file and line. Also if a parameter is out of range.

    Examples
    --------
    >>> with open("topo.csv", "w") as file:
    ...     _ = file.write("ip,DSW,PSW,ASW\n10.0.0.1,d1,p1,a1\n10.0.0.2,d1,p1,a2\n")
    >>> gs.model.read_topology("topo.csv", gpus=8).num_gpus
    16
    """
    source = Source(path, max_bytes=max_bytes)
    with naming(source):
        return topology_of(
            source, gpus=gpus, gpu_type=gpu_type, nic_gbps=nic_gbps, intra_gbps=intra_gbps,
            leaf_oversubscription=leaf_oversubscription,
            block_oversubscription=block_oversubscription,
            core_oversubscription=core_oversubscription,
        )  # fmt: skip


def topology_of(
    source: Source,
    *,
    gpus: int = 8,
    gpu_type: str = "gpu",
    nic_gbps: float = 200.0,
    intra_gbps: float = 2400.0,
    leaf_oversubscription: float = 1.0,
    block_oversubscription: float = 1.0,
    core_oversubscription: float = 1.0,
) -> Cluster:
    """Read such a table; see :func:`read_topology`."""
    sizes: dict[tuple[str, str, str], int] = {}
    for switches in _rows(source):
        sizes[switches] = sizes.get(switches, 0) + 1
    leaves = sorted(sizes, key=lambda names: tuple(map(_natural, names)))
    cores = list(dict.fromkeys(core for core, _, _ in leaves))
    domains = [Domain(cores[0])]
    if len(cores) > 1:
        domains = [Domain("root")]
        domains += [Domain(core, "root", oversubscription=core_oversubscription) for core in cores]
    domains += [
        Domain(f"{core}/{block}", core, oversubscription=block_oversubscription)
        for core, block in dict.fromkeys((core, block) for core, block, _ in leaves)
    ]
    groups = []
    for core, block, leaf in leaves:
        name = f"{core}/{block}/{leaf}"
        domains.append(Domain(name, f"{core}/{block}", oversubscription=leaf_oversubscription))
        groups.append(
            ServerGroup(
                sizes[core, block, leaf],
                gpus,
                gpu_type,
                nic_gbps=nic_gbps,
                intra_gbps=intra_gbps,
                domain=name,
            )
        )
    return Cluster(tuple(groups), source.name, tuple(domains))


def _rows(source: Source) -> list[tuple[str, str, str]]:
    """Return the three switches of each server; ValueError with the line of the first bad row."""
    lines = csv.reader(io.StringIO(source.text, newline="\n"))
    try:
        if tuple(next(lines, ())) != HEADER:
            raise ValueError(f"{source}: line 1: expected {','.join(HEADER)}")
        first_line: dict[str, int] = {}
        rows = []
        for fields in lines:
            where = f"{source}: line {lines.line_num}"
            if len(fields) != len(HEADER):
                raise ValueError(f"{where}: has {len(fields)} fields, not {len(HEADER)}")
            for column, value in zip(HEADER, fields, strict=True):
                if not value.strip():
                    raise ValueError(f"{where}, column {column!r}: must not be empty")
            server, *switches = (value.strip() for value in fields)
            if first_line.setdefault(server, lines.line_num) != lines.line_num:
                raise ValueError(
                    f"{where}, column 'ip': {server!r} is on line {first_line[server]} too"
                )
            rows.append((switches[0], switches[1], switches[2]))
    except csv.Error as error:
        raise ValueError(f"{source}: line {lines.line_num + 1}: {error}") from None
    if not rows:
        raise ValueError(f"{source}: has no servers")
    return rows


def _natural(name: str) -> tuple[str, int, str, str]:
    """Order ``S2`` before ``S10``."""
    digits = name[len(name.rstrip("0123456789")) :]
    number = digits.lstrip("0")
    return name[: len(name) - len(digits)], len(number), number, name
