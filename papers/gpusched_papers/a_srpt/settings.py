"""What is run: clusters, workloads, policies, and which of them are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gpusched.clusters.cluster import Cluster
from gpusched_papers.a_srpt import published

PCIE_GBPS: Final = 96.0  # 12 GB/s
NVLINK_GBPS: Final = 2400.0  # 300 GB/s
FOREST: Final = "forest:trees=20,new_share=0.2,batch_jobs=20"
FIRST_SEED: Final = 1000
"""Policies and options were chosen on the seeds 0 to 7; all that is told is of seeds from here."""
LOADS: Final = (0.6, 0.8, 0.95)
HEAVY_SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
TAUS: Final = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0)
NOISES: Final = (0.25, 0.5, 1.0, 1.5, 2.0)
MAX_GPUS: Final = 32


@dataclass(frozen=True)
class Place:
    """A cluster, and as many jobs as make it busy for long.

    Attributes
    ----------
    trace
        File of a real trace below the data folder; empty: generated.
    profile
        What generated jobs are like.
    """

    name: str
    servers: int
    gpus: int
    nic_gbps: float
    intra_gbps: float
    jobs: int
    trace: str = ""
    profile: str = "itp"

    def cluster(self) -> Cluster:
        """Return the servers."""
        return Cluster.uniform(
            servers=self.servers,
            gpus=self.gpus,
            nic_gbps=self.nic_gbps,
            intra_gbps=self.intra_gbps,
        )


TESTBED: Final = Place("8 x 4, 10 Gbit/s, PCIe", 8, 4, 10.0, PCIE_GBPS, 2_000)
LARGE: Final = Place("64 x 8, 25 Gbit/s, NVLink", 64, 8, 25.0, NVLINK_GBPS, 5_000)
OTHERS: Final = (
    Place("64 x 8, 100 Gbit/s, NVLink", 64, 8, 100.0, NVLINK_GBPS, 5_000),
    Place("64 x 8, 25 Gbit/s, PCIe", 64, 8, 25.0, PCIE_GBPS, 5_000),
    Place("64 x 8, 100 Gbit/s, PCIe", 64, 8, 100.0, PCIE_GBPS, 5_000),
    Place("125 x 8, 25 Gbit/s, NVLink", 125, 8, 25.0, NVLINK_GBPS, 8_000),
    Place("250 x 8, 25 Gbit/s, NVLink", 250, 8, 25.0, NVLINK_GBPS, 12_000),
)
PROFILES: Final = tuple(
    replace(place, name=f"{place.name}, {profile} jobs", profile=profile)
    for place in (TESTBED, LARGE)
    for profile in ("philly", "helios", "pai")
)
REAL: Final = (
    Place("ITP 02 on 12 x 8", 12, 8, 25.0, NVLINK_GBPS, 0, "itp/cluster02.csv"),
    Place("ITP 03 on 19 x 8", 19, 8, 25.0, NVLINK_GBPS, 0, "itp/cluster03.csv"),
    Place("ITP 06 on 12 x 8", 12, 8, 25.0, NVLINK_GBPS, 0, "itp/cluster06.csv"),
    Place("Philly on 80 x 8", 80, 8, 25.0, NVLINK_GBPS, 12_000, "philly/philly.csv"),
)


@dataclass(frozen=True)
class Setting:
    """A place with a workload, and what the policies know of it.

    Attributes
    ----------
    load
        GPUs x run time on good placements over the GPU time until the last arrival; None: that
        of the real trace.
    heavy_share
        Of the jobs with more than one GPU; None: as the models give it.
    predictor
        ``FOREST``: one forest, trained online in the run of a-srpt-by-work, whose predictions all
        policies get. Else a predictor of its own for each run.
    """

    place: Place
    load: float | None = 0.95
    heavy_share: float | None = None
    contention: str = "reserved"
    predictor: str = FOREST
    shares_predictions: bool = True


@dataclass(frozen=True)
class Arm:
    """A policy with its placement, and what tables call it."""

    name: str
    policy: str
    placement: str = "heavy-edge"


A_SRPT: Final = Arm("a-srpt", "a-srpt")
BY_WORK: Final = Arm("a-srpt-by-work", "a-srpt-by-work")
PREEMPTIVE: Final = Arm("a-srpt-p", "a-srpt-p:cost_s=60", "consolidated")
OURS: Final = (BY_WORK, A_SRPT, PREEMPTIVE)

BASELINES: Final = tuple(Arm(name, name) for name in published.BASELINES)
"""With the placement of A-SRPT; what is known of them stands with the names."""
WAITING: Final = tuple(
    Arm(f"{name}, waiting", name, "consolidated") for name in published.BASELINES
)
"""The same, but a gang waits until it fits on as few servers as it can: ours."""

FIFO: Final = Arm("fifo", "fifo", "consolidated")
SRTF: Final = Arm("srtf", "srtf", "consolidated")

_CHANGES: Final = (
    ("tau=0", "heavy-edge"),
    ("idle=false", "heavy-edge"),
    ("fill=most-free", "heavy-edge"),
    ("scan=strict", "heavy-edge"),
    ("", "heavy-edge:swaps=false"),
    ("", "first-fit"),
    ("", "random"),
    ("", "consolidated"),
)
STEPS: Final = (
    Arm("a-srpt: queue=work", "a-srpt:queue=work"),
    Arm("a-srpt: wait=loss", "a-srpt:wait=loss"),
    Arm("a-srpt: queue=work, wait=loss", "a-srpt:queue=work,wait=loss"),
    Arm("a-srpt: tau=4", "a-srpt:tau=4"),
)
"""From ``a-srpt`` to ``a-srpt-by-work``."""


def ablations(base: Arm) -> tuple[Arm, ...]:
    """One thing changed at a time."""
    return tuple(_changed(base, change, placement) for change, placement in _CHANGES)


def by_tau(base: Arm, tau: float) -> Arm:
    """The same with another patience."""
    return _changed(base, f"tau={tau:g}", base.placement)


def _changed(base: Arm, change: str, placement: str) -> Arm:
    name, _, given = base.policy.partition(":")
    options = dict(part.split("=") for part in (*given.split(","), change) if part)
    values = ",".join(f"{key}={value}" for key, value in options.items())
    told = change or f"placement {placement}"
    return Arm(f"{base.name}: {told}", f"{name}:{values}".rstrip(":"), placement)


def reference(setting: Setting) -> Setting:
    """The same jobs where no network is shared, and the truth is known."""
    return replace(setting, contention="none", predictor="oracle")


def main_settings(quick: bool) -> list[Setting]:
    """Where all policies are compared with the same predictions of a forest."""
    places = (TESTBED, LARGE) if quick else (TESTBED, LARGE, *OTHERS)
    settings = [Setting(place) for place in places]
    if not quick:
        settings += [Setting(place) for place in PROFILES]
        settings += [Setting(place, load) for place in places[:2] for load in LOADS[:-1]]
        settings += [Setting(place, contention="shared") for place in places[:2]]
        settings += [Setting(LARGE, heavy_share=share) for share in HEAVY_SHARES]
    return settings


def noise(sigma: float) -> str:
    """Text of a predictor with this error; 0 is the truth."""
    return f"noise:sigma={sigma:g}" if sigma else "oracle"


def error_predictors() -> tuple[str, ...]:
    """Predictors from the truth to twice the error that matters, and two that learn."""
    return (*(noise(sigma) for sigma in (0.0, *NOISES)), "group-mean", "last-value", FOREST)


def requests(quick: bool, real: tuple[Place, ...]) -> list[tuple[Setting, Arm]]:
    """All pairs to run for one seed, first the one whose predictions the others need."""
    compared = (*OURS, *BASELINES, *WAITING)
    wanted: list[tuple[Setting, Arm]] = []
    for setting in main_settings(quick):
        wanted += [(setting, arm) for arm in compared]
        wanted += [(reference(setting), arm) for arm in (FIFO, SRTF)]
    if not quick:
        for place in (TESTBED, LARGE):
            setting = Setting(place)
            wanted += [(setting, arm) for arm in STEPS]
            for base in (A_SRPT, BY_WORK):
                taus = [by_tau(base, tau) for tau in TAUS]
                wanted += [(setting, arm) for arm in (*ablations(base), *taus)]
            for name in error_predictors():
                changed = Setting(place, predictor=name, shares_predictions=False)
                wanted += [(changed, arm) for arm in (*OURS, *BASELINES, WAITING[2])]
    # Without users and groups there is not much to learn from: only to say how little.
    wanted += [(Setting(place, None), BY_WORK) for place in real if not place.jobs]
    for place in real:
        for sigma in (0.0, 1.0):
            setting = Setting(place, None, predictor=noise(sigma))
            wanted += [(setting, arm) for arm in compared]
        wanted += [(reference(setting), arm) for arm in (FIFO, SRTF)]
    return list(dict.fromkeys(wanted))
