"""What the policy matching is run on: clusters of unequal GPUs, workloads, and other policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gpusched.clusters.cluster import Cluster, ServerGroup
from gpusched_papers.unequal_gpus import (
    GENERATED_ITP,
    GENERATED_PHILLY,
    PHILLY,
    SERVER_GPUS,
    TYPES,
    Workload,
)

TUNED: Final = (0, 1, 2, 3, 4, 5)
"""Seeds that served to choose the policy's defaults; nothing is reported of them."""
SEEDS: Final = tuple(range(10, 30))
NIC_GBPS: Final = 25.0
INTRA_GBPS: Final = 96.0  # PCIe, 12 GB/s
GRADIENT_BYTES: Final = (10e6, 50e6)
RESTART_S: Final = 30.0
LOADS: Final = (0.7, 1.0, 1.4)
MIDDLE: Final = 1.0
HIGH: Final = 1.4
SPEEDS: Final = ("table", "proportional")
PLACEMENT: Final = "consolidated"
PLACEMENTS: Final = (PLACEMENT, "best-fit", "buddy")


@dataclass(frozen=True)
class Place:
    """As many servers of each type, and how many jobs come."""

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


SMALL: Final = Place("3 x 16 GPUs", 2, 400)
LARGE: Final = Place("3 x 64 GPUs", 8, 1_000)


ITP: Final = Workload("ITP 03", trace="itp/cluster03.csv")
GENERATED: Final = (GENERATED_PHILLY, GENERATED_ITP)
WORKLOADS: Final = (*GENERATED, PHILLY, ITP)


@dataclass(frozen=True)
class Setting:
    """What all policies are run on.

    Attributes
    ----------
    load
        GPU time asked for, counted on each job's best type, over that of all GPUs while jobs
        arrive; a GPU counts by its speed, see
        :func:`gpusched_papers.matching.online.workload.capacity`.
    """

    workload: Workload
    load: float = MIDDLE
    speed: str = SPEEDS[0]
    place: Place = SMALL
    placement: str = PLACEMENT


@dataclass(frozen=True)
class Arm:
    """A policy, and whether jobs keep their own widths under it."""

    name: str
    policy: str
    keeps_widths: bool = True


ELASTIC: Final = Arm("matching", "matching", keeps_widths=False)
OWN: Final = Arm("matching own", "matching:widths=own")
OWN_AT_PERIODS: Final = Arm("matching own, 360 s", "matching:widths=own,period_s=360")
OWN_AT_ONCE: Final = Arm("matching own, hysteresis 0", "matching:widths=own,hysteresis=0")
SHORT_SIGHTED: Final = Arm("matching, focus 0", "matching:focus=0", keeps_widths=False)
OWN_SHORT_SIGHTED: Final = Arm("matching own, focus 0", "matching:widths=own,focus=0")
"""The mean JCT, which the abstract minimises, as we read it: as if nothing changed any more."""
GAVEL: Final = Arm("gavel", "gavel")
GAVEL_THROUGHPUT: Final = Arm("gavel, throughput", "gavel:objective=throughput")
GAVEL_JCT: Final = Arm("gavel, JCT", "gavel:objective=allox")
"""The objective of Gavel's simulator that minimises the mean JCT: jobs matched to places in the
queues of GPUs, and kept there."""
ALLOX: Final = Arm("allox", "allox")
ALLOX_AT_EVENTS: Final = Arm("allox, at events", "allox:period_s=0")
SRTF: Final = Arm("srtf", "srtf")
FIFO: Final = Arm("fifo-skip", "fifo-skip")
OPTIMUS: Final = Arm("optimus", "optimus", keeps_widths=False)
OPTIMUS_AT_EVENTS: Final = Arm("optimus, at events", "optimus:period_s=0", keeps_widths=False)
ARMS: Final = (
    ELASTIC, SHORT_SIGHTED, OPTIMUS, OPTIMUS_AT_EVENTS,
    OWN, OWN_SHORT_SIGHTED, OWN_AT_PERIODS, OWN_AT_ONCE,
    GAVEL, GAVEL_THROUGHPUT, GAVEL_JCT, ALLOX, ALLOX_AT_EVENTS, SRTF, FIFO,
)  # fmt: skip
PAIRS: Final = (
    (OWN, GAVEL), (OWN, GAVEL_THROUGHPUT), (OWN, GAVEL_JCT), (OWN, ALLOX), (OWN, ALLOX_AT_EVENTS),
    (OWN, SRTF), (OWN, FIFO), (OWN, OWN_SHORT_SIGHTED), (OWN, OWN_AT_PERIODS), (OWN, OWN_AT_ONCE),
    (OWN_SHORT_SIGHTED, GAVEL), (OWN_SHORT_SIGHTED, GAVEL_JCT), (OWN_SHORT_SIGHTED, ALLOX),
    (ELASTIC, OPTIMUS), (ELASTIC, OPTIMUS_AT_EVENTS), (ELASTIC, GAVEL), (ELASTIC, GAVEL_JCT),
    (ELASTIC, ALLOX), (ELASTIC, OWN), (ELASTIC, SHORT_SIGHTED),
    (SHORT_SIGHTED, GAVEL), (SHORT_SIGHTED, GAVEL_JCT), (SHORT_SIGHTED, ALLOX),
)  # fmt: skip
"""Who is compared with whom; first at own widths."""


def requests(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run: policies by setting; quickly: 100 generated jobs, under both speeds."""
    if quick:
        few = replace(SMALL, jobs=100)
        return {Setting(GENERATED_ITP, speed=speed, place=few): ARMS for speed in SPEEDS}
    wanted: dict[Setting, tuple[Arm, ...]] = {}
    for speed in SPEEDS:
        for workload in WORKLOADS:
            for load in LOADS:
                setting = Setting(workload, load, speed)
                wanted[setting] = _arms(setting)
        for workload in GENERATED:
            setting = Setting(workload, HIGH, speed, LARGE)
            wanted[setting] = _arms(setting)
    for placement in PLACEMENTS:
        setting = Setting(GENERATED_ITP, placement=placement)
        wanted[setting] = _arms(setting)
    return wanted


def _arms(setting: Setting) -> tuple[Arm, ...]:
    """Leave out what takes more time than all others together: Gavel's programs, round by round."""
    is_middle = (setting.load, setting.place) == (MIDDLE, SMALL)
    slow: tuple[Arm, ...] = () if is_middle else (GAVEL_THROUGHPUT,)
    if setting.place == LARGE:
        slow = (GAVEL_THROUGHPUT, GAVEL_JCT)
    if setting.speed != SPEEDS[0]:
        slow = (GAVEL_THROUGHPUT, GAVEL_JCT) if is_middle else (GAVEL_THROUGHPUT, GAVEL_JCT, GAVEL)
    return tuple(arm for arm in ARMS if arm not in slow)
