"""Read lists of servers, and of requests to fill them with."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from gpusched.base.files import naming
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.model.cluster import Cluster, cluster_of
from gpusched.model.topologies import HEADER, topology_of
from gpusched.traces.filling_requests import Requests
from gpusched.traces.formats import openb_pods, slurm_nodes
from gpusched.traces.reading import read_source
from gpusched.traces.server_tables import read_servers


def read_cluster(
    path: str | os.PathLike[str],
    *,
    grouped: bool = True,
    max_bytes: int | None = None,
    **options: Any,
) -> Cluster:
    r"""Read a cluster from a cluster file (TOML) or a list of servers; detects the format.

    Known are the servers of Alibaba's GPU-sharing cluster (``sn,cpu_milli,memory_mib,gpu,model``),
    the inventory of Alibaba PAI, the topology of Alibaba Lingjun (:func:`read_topology`), and
    output of Slurm (``sinfo --json``, ``scontrol show nodes --json``). Servers without GPUs are
    left out, and servers on which Slurm starts no job; the name of the cluster has their number.

    Parameters
    ----------
    grouped
        Whether equal servers of a list are grouped, each group at its first server. If not, the
        servers keep the order of the list, by which placements break ties.
    max_bytes
        As in :func:`read_trace`.
    options
        For Lingjun, those of :func:`read_topology`; for Slurm ``unavailable=True`` keeps servers
        that are down, drained or in maintenance.

    Returns
    -------
    Cluster
        The servers of the file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TypeError
        If the format has no such option.
    ValueError
        If no format is recognised, or the file is malformed or too long; the message names file,
        line, column, value and rule.

    Examples
    --------
    >>> with open("cluster.toml", "w") as file:
    ...     _ = file.write("[[servers]]\ncount = 4\ngpus = 8\n")
    >>> gs.read_cluster("cluster.toml").num_gpus
    32
    """
    source = Source(path, max_bytes=max_bytes)
    with naming(source):
        return _read_cluster(source, grouped, options)


def _read_cluster(source: Source, grouped: bool, options: dict[str, Any]) -> Cluster:
    if source.header == HEADER:
        return topology_of(source, **options)
    if slurm_nodes.recognises(source):
        _check_options(source, options, ("unavailable",))
        return slurm_nodes.read(source, grouped=grouped, **options)
    _check_options(source, options, ())
    if source.suffix == ".toml":
        return cluster_of(source)
    if (cluster := read_servers(source, grouped=grouped)) is not None:
        return cluster
    raise ValueError(
        f"{source}: no known list of servers begins with {source.first_line[:60]!r}; the name of "
        "a cluster file must end in .toml"
    )


def _check_options(source: Source, options: Collection[str], known: Collection[str]) -> None:
    for name in options:
        if name not in known:
            raise TypeError(f"read_cluster: {source} has no option {name!r}")


def read_requests(
    path: str | os.PathLike[str], *, on_bad: OnBad = "reject", max_bytes: int | None = None
) -> Requests:
    r"""Read resource requests to fill a cluster with, see :func:`fill`.

    Parameters
    ----------
    path
        A list of pods of Alibaba's GPU-sharing cluster, with or without times, including its pods
        without GPUs; or any trace that :func:`read_trace` reads.
    on_bad, max_bytes
        As in :func:`read_trace`.

    Returns
    -------
    Requests
        In the order of the file.

    Raises
    ------
    OSError, ValueError
        As :func:`read_trace`.

    Examples
    --------
    >>> with open("jobs.csv", "w") as file:
    ...     _ = file.write("submit_s,service_s,gpus\n0,60,1\n5,60,2\n")
    >>> len(gs.traces.read_requests("jobs.csv"))
    2
    """
    source = Source(path, max_bytes=max_bytes)
    with naming(source):
        if openb_pods.recognises(source):
            return openb_pods.read_requests(source, on_bad=on_bad)
        return Requests.from_trace(read_source(source, on_bad=on_bad))
