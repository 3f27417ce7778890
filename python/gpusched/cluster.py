"""The cluster: groups of equal servers, frozen and strictly decoded from TOML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from gpusched.arrays import Int32, read_only

if TYPE_CHECKING:
    from gpusched.workload import Trace

MAX_GPUS_PER_SERVER: Final = 64
MAX_GPU_TYPES: Final = 64
MAX_SERVERS: Final = 262_144
_QUANTITIES: Final = ("cpu", "memory_gib", "nic_gbps", "intra_gbps")


class ServerGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Equal servers.

    Attributes
    ----------
    count
        Number of servers, 1 or more.
    gpus
        GPUs of each server, 1 to 64.
    gpu_type
        Model of the GPUs.
    cpu, memory_gib
        CPU cores and memory of each server; None = never short.
    nic_gbps, intra_gbps
        Bandwidth of the network card, and between the GPUs of one server, in Gbit/s.
    """

    count: int
    gpus: int
    gpu_type: str = "gpu"
    cpu: float | None = None
    memory_gib: float | None = None
    nic_gbps: float | None = None
    intra_gbps: float | None = None

    def __post_init__(self) -> None:
        _check_integer("count", self.count, 1, MAX_SERVERS)
        _check_integer("gpus", self.gpus, 1, MAX_GPUS_PER_SERVER)
        if not isinstance(self.gpu_type, str):
            raise TypeError(f"gpu_type: {self.gpu_type!r} must be text")
        if not self.gpu_type.strip() or "|" in self.gpu_type:
            raise ValueError(f"gpu_type: {self.gpu_type!r} must not be empty or contain '|'")
        for name in _QUANTITIES:
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name}: {value!r} must be a number")
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name}: {value!r} must be finite and positive")
            msgspec.structs.force_setattr(self, name, float(value))

    def __str__(self) -> str:
        plural = "server" if self.count == 1 else "servers"
        label = "GPUs" if self.gpu_type == "gpu" else self.gpu_type
        return f"{self.count:,} {plural} x {self.gpus} {label}"


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Servers in groups; server ids count through the groups in order.

    Attributes
    ----------
    servers
        The groups, at least one; at most 262,144 servers and 64 GPU types in all.
    name
        A title.
    """

    servers: tuple[ServerGroup, ...]
    name: str = "cluster"

    def __post_init__(self) -> None:
        if not isinstance(self.servers, tuple) or not all(
            isinstance(group, ServerGroup) for group in self.servers
        ):
            raise TypeError("servers: must be a tuple of ServerGroup")
        if not isinstance(self.name, str):
            raise TypeError(f"name: {self.name!r} must be text")
        if not self.servers:
            raise ValueError("servers: there must be at least one group of servers")
        if self.num_servers > MAX_SERVERS:
            raise ValueError(f"servers: {self.num_servers:,} are more than {MAX_SERVERS:,}")
        if len(self.gpu_types) > MAX_GPU_TYPES:
            raise ValueError(
                f"servers: {len(self.gpu_types)} GPU types are more than {MAX_GPU_TYPES}"
            )

    @classmethod
    def uniform(
        cls,
        servers: int,
        gpus: int = 8,
        gpu_type: str = "gpu",
        *,
        cpu: float | None = None,
        memory_gib: float | None = None,
        nic_gbps: float | None = None,
        intra_gbps: float | None = None,
        name: str = "cluster",
    ) -> Cluster:
        """Return a cluster of ``servers`` equal servers; parameters as in :class:`ServerGroup`.

        Raises
        ------
        ValueError
            If a value is out of range; the message names it.
        """
        _check_integer("servers", servers, 1, MAX_SERVERS)
        group = ServerGroup(servers, gpus, gpu_type, cpu, memory_gib, nic_gbps, intra_gbps)
        return cls((group,), name)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Cluster:
        """Read a cluster file.

        Raises
        ------
        ValueError
            If it is not TOML, or a field is unknown, missing, of a wrong type or out of range;
            the message names the file and the path of the field.
        """
        return _decode(Path(path).read_bytes(), os.fspath(path))

    @classmethod
    def loads(cls, text: str) -> Cluster:
        """Decode TOML text; errors as in :meth:`from_toml`."""
        return _decode(text.encode(), "cluster")

    def to_toml(self) -> str:
        """Return TOML text that :meth:`loads` turns back into an equal cluster."""
        lines = [f"name = {_toml(self.name)}"]
        for group in self.servers:
            lines += ["", "[[servers]]"]
            for field in msgspec.structs.fields(group):
                value = getattr(group, field.name)
                if value is not None:
                    lines.append(f"{field.name} = {_toml(value)}")
        return "\n".join(lines) + "\n"

    @property
    def num_servers(self) -> int:
        """Number of servers."""
        return sum(group.count for group in self.servers)

    @property
    def num_gpus(self) -> int:
        """Number of GPUs."""
        return sum(group.count * group.gpus for group in self.servers)

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """Distinct GPU types in order of first appearance."""
        return tuple(dict.fromkeys(group.gpu_type for group in self.servers))

    @property
    def server_gpus(self) -> Int32:
        """int32[num_servers]: GPUs of each server."""
        return self._per_server([group.gpus for group in self.servers])

    @property
    def server_type(self) -> Int32:
        """int32[num_servers]: index in :attr:`gpu_types` of each server's GPUs."""
        index = {name: position for position, name in enumerate(self.gpu_types)}
        return self._per_server([index[group.gpu_type] for group in self.servers])

    def _per_server(self, values: list[int]) -> Int32:
        counts = [group.count for group in self.servers]
        return read_only(np.repeat(np.array(values, dtype=np.int32), counts))

    def __str__(self) -> str:
        groups = " + ".join(map(str, self.servers))
        return f"{groups} ({self.num_gpus:,} {'GPU' if self.num_gpus == 1 else 'GPUs'})"


def smallest_cluster(trace: Trace, gpus_per_server: int = 8, max_load: float = 0.9) -> Cluster:
    """Return the fewest equal servers with load at most ``max_load`` and room for every job.

    Parameters
    ----------
    gpus_per_server
        GPUs of each server.
    max_load
        Bound on :meth:`Trace.load <gpusched.workload.Trace.load>`. Where all jobs arrive at one
        instant no load is defined, and the widest job alone decides.

    Raises
    ------
    ValueError
        If that takes more than 262,144 servers.
    """
    _check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    if not (np.isfinite(max_load) and max_load > 0):
        raise ValueError(f"max_load: {max_load!r} must be finite and positive")
    servers = -(-int(trace.gpus.max()) // gpus_per_server)
    load = trace.load(servers * gpus_per_server)
    if np.isfinite(load) and load > max_load:
        wanted = load * servers / max_load
        if wanted > MAX_SERVERS:
            raise ValueError(
                f"{trace.name}: load {max_load:g} takes {wanted:,.0f} servers of "
                f"{gpus_per_server} GPUs; name a cluster, or lower the load"
            )
        # One more or less than the quotient: the division above is rounded.
        servers = max(servers, int(wanted) - 1)
        while trace.load(servers * gpus_per_server) > max_load:
            servers += 1
    return Cluster.uniform(servers, gpus_per_server)


def _check_integer(name: str, value: Any, minimum: int, maximum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: {value!r} must be an integer")
    if not minimum <= value <= maximum:
        raise ValueError(f"{name}: {value} must lie in {minimum:,}..{maximum:,}")


def _decode(text: bytes, source: str) -> Cluster:
    try:
        return msgspec.toml.decode(text, type=Cluster, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        path = "" if " at `$" in str(error) else " - at `$`"
        raise ValueError(f"{source}: {error}{path}") from None


def _toml(value: str | float) -> str:
    # A JSON string is a TOML basic string, but for the delete character.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
