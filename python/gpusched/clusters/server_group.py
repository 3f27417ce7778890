"""A group of equal servers of a cluster."""

from __future__ import annotations

from typing import Final

import msgspec

from gpusched.base.field_checks import check_integer, check_name, check_positive

MAX_GPUS_PER_SERVER: Final = 64
MAX_SERVERS: Final = 262_144
MIN_GBPS: Final = 1e-6
MAX_GBPS: Final = 1e9
_QUANTITIES: Final = ("cpu", "memory_gib")
_BANDWIDTHS: Final = ("nic_gbps", "intra_gbps")


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
    domain
        Name of the domain the servers are directly in; None in a cluster without domains.
    """

    count: int
    gpus: int
    gpu_type: str = "gpu"
    cpu: float | None = None
    memory_gib: float | None = None
    nic_gbps: float | None = None
    intra_gbps: float | None = None
    domain: str | None = None

    def __post_init__(self) -> None:
        check_integer("count", self.count, 1, MAX_SERVERS)
        check_integer("gpus", self.gpus, 1, MAX_GPUS_PER_SERVER)
        if not isinstance(self.gpu_type, str):
            raise TypeError(f"gpu_type: {self.gpu_type!r} must be text")
        if not self.gpu_type.strip() or "|" in self.gpu_type:
            raise ValueError(f"gpu_type: {self.gpu_type!r} must not be empty or contain '|'")
        if self.domain is not None:
            check_name("domain", self.domain)
        for name in (*_QUANTITIES, *_BANDWIDTHS):
            value = getattr(self, name)
            if value is not None:
                limits = (MIN_GBPS, MAX_GBPS) if name in _BANDWIDTHS else ()
                number = check_positive(name, value, *limits)
                msgspec.structs.force_setattr(self, name, number)

    def __str__(self) -> str:
        plural = "server" if self.count == 1 else "servers"
        label = "GPUs" if self.gpu_type == "gpu" else self.gpu_type
        return f"{self.count:,} {plural} x {self.gpus} {label}"
