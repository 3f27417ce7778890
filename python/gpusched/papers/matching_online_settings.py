"""What is run online: clusters of unequal GPUs, workloads, and policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpusched.cluster import Cluster, ServerGroup

TYPES: Final = ("V100", "P100", "K80")
SERVER_GPUS: Final = 8
NIC_GBPS: Final = 25.0
INTRA_GBPS: Final = 96.0  # PCIe, 12 GB/s
GRADIENT_BYTES: Final = (10e6, 50e6)
RESTART_S: Final = 30.0
# The tables go up to this many GPUs.
MAX_GPUS: Final = 8
LOADS: Final = (0.7, 1.0, 1.4)
SPEEDS: Final = ("proportional", "table")


@dataclass(frozen=True)
class Place:
    """As many servers of each type."""

    name: str
    servers: int
    jobs: int

    def cluster(self) -> Cluster:
        """Return the servers."""
        return Cluster(
            tuple(
                ServerGroup(
                    self.servers, SERVER_GPUS, kind, nic_gbps=NIC_GBPS, intra_gbps=INTRA_GBPS
                )
                for kind in TYPES
            )
        )


SMALL: Final = Place("3 x 16 GPUs", 2, 300)
LARGE: Final = Place("3 x 64 GPUs", 8, 1_000)


@dataclass(frozen=True)
class Workload:
    """Where jobs come from: a generator, or a file below the data folder."""

    name: str
    profile: str = ""
    trace: str = ""


PHILLY: Final = Workload("Philly, generated", profile="philly")
GAVEL: Final = Workload("Gavel", trace="gavel/traces/ee9e8c.trace")
ITP: Final = Workload("ITP 02", trace="itp/cluster02.csv")
WORKLOADS: Final = (GAVEL, ITP, PHILLY)


@dataclass(frozen=True)
class Arm:
    """A policy, and whether jobs keep their own widths under it."""

    name: str
    policy: str
    keeps_widths: bool


ELASTIC: Final = Arm("matching", "matching", False)
OWN: Final = Arm("matching, own widths", "matching:widths=own", True)
BASELINES: Final = (
    Arm("gavel", "gavel", True),
    Arm("allox", "allox", True),
    Arm("srtf", "srtf", True),
    Arm("fifo-skip", "fifo-skip", True),
    Arm("optimus", "optimus", False),
)
ARMS: Final = (ELASTIC, OWN, *BASELINES)
PLACEMENT: Final = "best-fit"


@dataclass(frozen=True)
class Setting:
    """What all policies are run on."""

    place: Place
    workload: Workload
    load: float
    speed: str


def settings(quick: bool) -> tuple[Setting, ...]:
    """Return what is run; quickly: one load of one workload on the small cluster."""
    if quick:
        return tuple(Setting(SMALL, GAVEL, 1.0, speed) for speed in SPEEDS)
    small = [
        Setting(SMALL, workload, load, speed)
        for speed in SPEEDS
        for workload in WORKLOADS
        for load in LOADS
    ]
    large = [Setting(LARGE, workload, 1.0, speed) for speed in SPEEDS for workload in WORKLOADS]
    return (*small, *large)
