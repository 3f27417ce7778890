"""What the study of Dancer runs: clusters, workloads, policies, and what is varied."""

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

PLACEMENT: Final = "buddy"
SPEED: Final = "table"
RESTART_S: Final = 30.0
LOADS: Final = (1.0, 2.0, 4.0)
MIDDLE: Final = 2.0
TUNING_SEEDS: Final = range(15)
"""Of the instances on which the policy was made (0 to 9), and first studied (10 to 14)."""
FIRST_SEED: Final = 1000
"""All that is told is of seeds from here."""


@dataclass(frozen=True)
class Place:
    """Servers of 8 GPUs of each type, and how many jobs come."""

    name: str
    servers: tuple[int, int, int]
    jobs: int

    def cluster(self) -> Cluster:
        """Return the servers."""
        return Cluster(
            tuple(
                ServerGroup(count, SERVER_GPUS, kind)
                for count, kind in zip(self.servers, TYPES, strict=True)
                if count
            )
        )


SMALL: Final = Place("3 x 16 GPUs", (2, 2, 2), 300)
LARGE: Final = Place("3 x 64 GPUs", (8, 8, 8), 1_000)


ITP: Final = Workload("ITP 02", trace="itp/cluster02.csv")
WORKLOADS: Final = (ITP, PHILLY, GENERATED_ITP, GENERATED_PHILLY)


@dataclass(frozen=True)
class Setting:
    """What all policies are run on.

    Attributes
    ----------
    load
        GPU time asked for, counted on the fastest type, over that of all GPUs while jobs arrive.
    recipe, tightness
        Of the deadlines, see :meth:`gpusched.Trace.with_deadlines`.
    slot_s
        Of the policies that have slots or leases; 0: their own.
    error
        Policies are told services that are wrong by up to this part, either way.
    """

    workload: Workload
    load: float = MIDDLE
    place: Place = SMALL
    recipe: str = "elasticflow"
    tightness: float = 1.0
    slot_s: float = 0.0
    restart_s: float = RESTART_S
    error: float = 0.0


@dataclass(frozen=True)
class Arm:
    """A policy.

    Attributes
    ----------
    slot
        Its parameter for the length of a slot.
    """

    name: str
    policy: str
    slot: str = ""

    def text(self, setting: Setting) -> str:
        """Return the policy with the setting's slot."""
        if not (setting.slot_s and self.slot):
            return self.policy
        mark = "," if ":" in self.policy else ":"
        return f"{self.policy}{mark}{self.slot}={setting.slot_s:g}"


DANCER: Final = Arm("dancer", "dancer", "slot_s")
PLAIN: Final = Arm("dancer, plain primal-dual", "dancer:preset=theory", "slot_s")
"""What the competitive ratio is of, and nothing else: theory prices, whole slots."""
ABLATIONS: Final = (
    *(
        Arm(f"dancer, {name.replace('-', ' ')}", f"dancer:preset={name}", "slot_s")
        for name in ("count-only", "type-only", "constant-price")
    ),
    PLAIN,
)
EDF: Final = Arm("edf", "edf")
EDF_FASTEST: Final = Arm("edf-fastest", "edf-fastest")
ORDERED: Final = Arm("elasticflow", "elasticflow", "slot_s")
PINNED: Final = Arm("elasticflow, pinned", "elasticflow:types=pinned", "slot_s")
CHRONUS: Final = Arm("chronus", "chronus", "lease_s")
GAVEL: Final = Arm("gavel", "gavel")
GAVEL_DEADLINES: Final = Arm("gavel, deadlines", "gavel:objective=deadlines")
TIRESIAS: Final = Arm("tiresias", "2d-las:preset=tiresias")
THEMIS: Final = Arm("themis-greedy", "themis-greedy")
BASELINES: Final = (
    ORDERED, EDF_FASTEST, PINNED, CHRONUS, GAVEL_DEADLINES, GAVEL, TIRESIAS, THEMIS, EDF,
    Arm("llf", "llf"),
)  # fmt: skip
COMPARED: Final = (EDF, TIRESIAS, GAVEL, THEMIS, PINNED)
"""Our choice, as the abstract names no baseline: the gain over these stands beside the paper's."""
ARMS: Final = (DANCER, *ABLATIONS, *BASELINES)

_ADDITIONS: Final = ("exchange", "retry", "replan", "fill")
"""What is ours beside the prices, and no part of the primal-dual form."""


def _without(*additions: str) -> Arm:
    options = ",".join(f"{addition}=false" for addition in additions)
    return Arm(f"without {', '.join(additions)}", f"dancer:{options}", "slot_s")


_DENSITY: Final = "prices=density"
ONE_TAKEN_AWAY: Final = (
    *map(_without, _ADDITIONS),
    Arm("without market prices", f"dancer:{_DENSITY}", "slot_s"),
)
"""One of our additions taken away, the others kept."""
_BARE: Final = _without(*_ADDITIONS)
TAKEN_AWAY: Final = (
    *(_without(*_ADDITIONS[:count]) for count in range(1, len(_ADDITIONS))),
    _BARE,
    Arm(f"{_BARE.name}, market prices", f"{_BARE.policy},{_DENSITY}", "slot_s"),
    PLAIN,
)
"""One more of them taken away from each to the next, down to the primal-dual form alone."""
VARIED: Final = (DANCER, ORDERED, PINNED, EDF_FASTEST, EDF)
"""Policies run where something but the load is varied."""
SLOTTED: Final = (DANCER, ORDERED, PINNED, CHRONUS)


@dataclass(frozen=True)
class Series:
    """One quantity varied, the rest as it is."""

    name: str
    title: str
    heading: str
    settings: dict[str, Setting]
    arms: tuple[Arm, ...] = VARIED


def _mixed(name: str, servers: tuple[int, int, int]) -> Place:
    return SMALL if servers == SMALL.servers else Place(f"{name} servers", servers, SMALL.jobs)


_BASE: Final = Setting(GENERATED_ITP)
_MIXES: Final = {"6/0/0": (6, 0, 0), "4/1/1": (4, 1, 1), "2/2/2": (2, 2, 2), "1/1/4": (1, 1, 4)}

SERIES: Final = (
    Series(
        "tightness",
        "how tight deadlines are",
        "deadline after the submit, in run times",
        {
            f"{part:g}": replace(_BASE, recipe="constant", tightness=part)
            for part in (0.5, 1.0, 1.5, 2.0, 3.0)
        },
    ),
    Series(
        "mix",
        "the types of the GPUs",
        "servers with V100/P100/K80",
        {mix: replace(_BASE, place=_mixed(mix, servers)) for mix, servers in _MIXES.items()},
    ),
    Series(
        "slot",
        "the length of a slot",
        "slot, s",
        {f"{slot:g}": replace(_BASE, slot_s=slot) for slot in (60.0, 150.0, 300.0, 600.0, 1200.0)},
        SLOTTED,
    ),
    Series(
        "restart",
        "what a restart costs",
        "restart, s",
        {f"{cost:g}": replace(_BASE, restart_s=cost) for cost in (0.0, 30.0, 120.0, 300.0)},
    ),
    Series(
        "error",
        "errors of the run times that policies know",
        "up to, %",
        {f"{error:.0%}"[:-1]: replace(_BASE, error=error) for error in (0.0, 0.05, 0.1, 0.2)},
        (DANCER, ORDERED, PINNED, CHRONUS),
    ),
)


def requests(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run: policies by setting; quickly: one generated workload."""
    everyone = tuple(dict.fromkeys((*ARMS, *ONE_TAKEN_AWAY, *TAKEN_AWAY)))
    if quick:
        few = tuple(arm for arm in everyone if arm not in (GAVEL, GAVEL_DEADLINES))
        return {Setting(GENERATED_ITP, load, place=replace(SMALL, jobs=100)): few for load in LOADS}
    wanted: dict[Setting, tuple[Arm, ...]] = {}

    def want(setting: Setting, arms: tuple[Arm, ...]) -> None:
        wanted[setting] = tuple(dict.fromkeys((*wanted.get(setting, ()), *arms)))

    for workload in WORKLOADS:
        for load in LOADS:
            # Its linear programs took more time than all others together.
            slow = () if load == MIDDLE else (GAVEL_DEADLINES,)
            want(Setting(workload, load), tuple(arm for arm in everyone if arm not in slow))
        few = tuple(arm for arm in everyone if arm != GAVEL_DEADLINES)
        want(Setting(workload, place=LARGE), few)
    for series in SERIES:
        for setting in series.settings.values():
            want(setting, series.arms)
    return wanted
