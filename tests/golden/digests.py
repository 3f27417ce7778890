"""Computes the golden digests, and reads and writes the file they are kept in."""

import json
from pathlib import Path
from typing import NamedTuple

import gpusched as gs
from tests.golden import workload as golden

FILE = Path(__file__).with_name("digests.json")
SEED = 7

# What a registered name does on its defaults is pinned by itself; these are its other faces.
VARIANTS = (
    "a-srpt-p:cost_s=300", "2d-las:inside=entry", "2d-las:preset=lucid",
    "2d-las:preset=tiresias-artefact", "2d-las:promote=1.5", "easy:backfill=shortest",
    "easy:depth=3", "easy:extra=false", "edf-greatest:admission=true",
    "elasticflow:admission=batch", "fifo:scan=skip", "las:epoch=period",
    "ls:mode=queue,start=in-order", "serverfilling-srpt:restart=work,cost_s=20",
    "sjf-bco:mode=queue,theta_s=4000", "sjf-bco:tie=least-u,kappa=2,lambda=2",
    "srsf:quota=hold,wide_cost_s=30", "srtf:displace=true", "srtf:scan=strict",
)  # fmt: skip


def native_policies() -> list[str]:
    """Names of policies that the core implements.

    Those in Python that solve programs with a library follow its versions: nothing is pinned.
    """
    return [name for name, info in gs.policies().items() if info.is_native]


def native_placements() -> list[str]:
    """Names of placements that the core implements."""
    return [name for name, info in gs.placements().items() if info.is_native]


def demanded_placements() -> list[str]:
    """Names of native placements that know jobs that ask for more than GPUs."""
    known = gs.placements()
    return [name for name in native_placements() if known[name].has("demands")]


class Golden(NamedTuple):
    """One run that is pinned."""

    policy: str
    placement: str
    speed: str = "fixed"
    contention: str = "none"
    workload: str = "plain"


def of_policy(text: str) -> Golden:
    """The run of a policy: what it has a flag for the jobs have."""
    workload, speed = golden.fitting(text.partition(":")[0])
    return Golden(text, "consolidated", speed, workload=workload)


def of_speed(speed: str, contention: str, policy: str) -> Golden:
    """The run of a speed and a contention."""
    placement = "heavy-edge" if policy.startswith("a-srpt") else "spread"
    return Golden(policy, placement, speed, contention, "networked")


def contentions(speed: str) -> tuple[str, ...]:
    """The contentions that matter to a speed."""
    if gs.speeds()[speed].has("linkless"):
        return ("none",)
    return (*gs.contentions(), "shared:degradation=0.5,scaling=0.75")


def runs() -> dict[str, Golden]:
    """What is pinned, by label."""
    policies = {f"policy {name}": of_policy(name) for name in native_policies()}
    variants = {f"variant {text}": of_policy(text) for text in VARIANTS}
    placements = {
        f"placement {name} with {policy}": Golden(policy, name)
        for name in native_placements()
        for policy in ("fifo", "srtf")
    }
    demands = {
        f"demands {name} with {policy}": Golden(policy, name, workload="demanding")
        for name in demanded_placements()
        for policy in ("fifo", "srtf", "easy")
    }
    paced = {
        f"speed {speed} with {contention} and {policy}": of_speed(speed, contention, policy)
        for speed in gs.speeds()
        if speed != "fixed"
        for contention in contentions(speed)
        for policy in ("fifo", "srtf", "ada-srsf", "a-srpt")
    }
    return policies | variants | placements | demands | paced


def digest(policy: str, placement: str, speed: str, contention: str, workload: str) -> str:
    """The digest of one run; a pool of GPUs has no types to restrict a job to."""
    is_typed = "pooled" not in gs.placements()[placement].flags
    jobs, servers = {
        "plain": lambda: (golden.trace(is_typed=is_typed), golden.cluster()),
        "networked": lambda: (golden.networked(), golden.networked_cluster()),
        "urgent": lambda: (golden.urgent(is_typed=is_typed), golden.cluster()),
        "demanding": lambda: (golden.demanding(), golden.roomy_cluster()),
    }[workload]()
    return gs.simulate(
        jobs, servers, policy=policy, placement=placement, speed=speed, contention=contention,
        predictor="oracle", seed=SEED,
    ).digest  # fmt: skip


def compute() -> dict[str, str]:
    """All digests as they are now."""
    return {label: digest(*run) for label, run in sorted(runs().items())}


def read() -> dict[str, str]:
    """All digests as they are pinned."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(digests: dict[str, str]) -> None:
    """Pin the digests."""
    FILE.write_text(json.dumps(digests, indent=2) + "\n")


def differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What changed, a line each; a digest is shortened to what the eye compares."""
    lines = []
    for label in sorted(old.keys() | new.keys()):
        was, now = old.get(label), new.get(label)
        if was is None:
            lines.append(f"+ {label}: {now:.12}")
        elif now is None:
            lines.append(f"- {label}: {was:.12}")
        elif was != now:
            lines.append(f"! {label}: {was:.12} -> {now:.12}")
    return lines
