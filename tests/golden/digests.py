"""Computes the golden digests, and reads and writes the file they are kept in."""

from __future__ import annotations

import json
from pathlib import Path

import gpusched as gs
from tests.golden.workload import cluster, networked, networked_cluster, trace

FILE = Path(__file__).with_name("digests.json")
SEED = 7

# What a registered name does on its defaults is pinned by itself; these are its other faces.
VARIANTS = (
    "a-srpt-p:cost_s=300",
    "2d-las:inside=entry",
    "2d-las:preset=lucid",
    "2d-las:promote=1.5",
    "fifo:scan=skip",
    "las:epoch=period",
    "ls:mode=queue,start=in-order",
    "serverfilling-srpt:restart=work,cost_s=20",
    "sjf-bco:mode=queue,theta_s=4000",
    "sjf-bco:tie=least-u,kappa=2,lambda=2",
    "srsf:quota=hold,wide_cost_s=30",
    "srtf:displace=true",
    "srtf:scan=strict",
)


def native_policies() -> list[str]:
    """Names of policies that the core implements."""
    return [name for name, info in gs.policies().items() if info.is_native]


def native_placements() -> list[str]:
    """Names of placements that the core implements."""
    return [name for name, info in gs.placements().items() if info.is_native]


def runs() -> dict[str, tuple[str, str, str, str]]:
    """What is pinned: (policy, placement, speed, contention) by label."""
    policies = {f"policy {name}": (name, "consolidated") for name in native_policies()}
    variants = {f"variant {text}": (text, "consolidated") for text in VARIANTS}
    placements = {
        f"placement {name} with {policy}": (policy, name)
        for name in native_placements()
        for policy in ("fifo", "srtf")
    }
    fixed = {
        label: (*names, "fixed", "none")
        for label, names in (policies | variants | placements).items()
    }
    paced = {
        f"speed {speed} with {contention} and {policy}": (
            policy,
            "spread" if policy != "a-srpt" else "heavy-edge",
            speed,
            contention,
        )
        for speed in gs.speeds()
        if speed != "fixed"
        for contention in (*gs.contentions(), "shared:degradation=0.5,scaling=0.75")
        for policy in ("fifo", "srtf", "ada-srsf", "a-srpt")
    }
    return fixed | paced


def digest(policy: str, placement: str, speed: str, contention: str) -> str:
    """The digest of one run; a pool of GPUs has no types to restrict a job to."""
    options = {"policy": policy, "placement": placement, "seed": SEED}
    if speed != "fixed":
        return gs.simulate(
            networked(), networked_cluster(), speed=speed, contention=contention, **options
        ).digest
    is_typed = "pooled" not in gs.placements()[placement].flags
    jobs = trace(is_typed=is_typed)
    return gs.simulate(jobs, cluster(), **options).digest


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
