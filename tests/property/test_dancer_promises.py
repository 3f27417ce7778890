"""A promise is a promise: no job that `dancer` admits misses its deadline.

`python -m tests.property.test_dancer_promises [runs] [seed]` tries 10,000 random runs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import gpusched as gs

pytestmark = pytest.mark.long

TYPES = ("A", "B", "C")
COUNTS = (1, 2, 4, 8)


def random_profile(random: np.random.Generator, name: str) -> gs.model.JobProfile:
    """Throughputs that need not be concave; some types do not run the model, or not so wide."""
    table = {}
    for gpu_type in TYPES:
        figures = random.choice([1.0, 2.0, 3.5], size=len(COUNTS)).cumsum()
        figures *= random.choice([0.5, 1.0])
        figures[random.integers(1, len(COUNTS) + 1) :] = 0.0
        if random.random() < 0.2:
            figures[:] = 0.0
        table[gpu_type] = dict(zip(COUNTS, figures.tolist(), strict=True))
    table["A"][1] = max(table["A"][1], 1.0)
    return gs.model.JobProfile(name=name, throughput=table)


def random_case(seed: int) -> tuple[gs.Trace, gs.Cluster, gs.Policy]:
    """Few jobs and GPUs, so that they are in each other's way."""
    random = np.random.default_rng(seed)
    groups = [gs.ServerGroup(2, int(random.choice([1, 2, 4])), "A")]
    for gpu_type in TYPES[1 : 1 + random.integers(0, 3)]:
        groups.append(gs.ServerGroup(int(random.integers(1, 4)), 4, gpu_type))
    size = int(random.integers(1, 25))
    slot_s = float(random.choice([60.0, 100.0]))
    submit_s = random.choice(np.arange(0, 1500, 25), size)
    service_s = random.choice([20.0, 100.0, 333.3, 800.0], size)
    deadline_s = submit_s + service_s * random.choice([0.4, 1.0, 1.5, 3.0, 8.0], size)
    has_none = random.random(size) < 0.15
    columns: dict[str, Any] = {
        "submit_s": submit_s,
        "service_s": service_s,
        "gpus": random.choice([1, 1, 2], size),
        "deadline_s": np.where(has_none, np.nan, deadline_s),
        "value": random.choice([0.5, 1.0, 1.0, 4.0], size),
        "restart_s": random.choice([0.0, 7.0, 30.0, 130.0], size),
        "max_gpus": random.choice([2, 4, 8], size),
    }
    trace = gs.Trace.from_columns(**columns)
    profiles = [random_profile(random, name) for name in ("p", "q")]
    trace = trace.with_profiles(profiles, index=random.integers(0, 2, size))
    policy = gs.Policy(
        "dancer",
        slot_s=slot_s,
        prices=str(random.choice(["market", "density", "theory", "constant"])),
        elastic=str(random.choice(["both", "both", "number", "type", "none"])),
        replan=bool(random.random() < 0.7),
        fill=bool(random.random() < 0.7),
        retry=bool(random.random() < 0.7),
        whole_slots=bool(random.random() < 0.2),
        segments=int(random.choice([2, 4, 32])),
        exchange=bool(random.random() < 0.8),
    )
    return trace, gs.Cluster(tuple(groups)), policy


def check_promises(seed: int) -> tuple[int, int]:
    """How many jobs of one random run were admitted, and how many had deadlines."""
    trace, cluster, policy = random_case(seed)
    result = gs.simulate(trace, cluster, policy=policy, placement="buddy", speed="table")
    decisions = result.schedule.decisions()
    admitted = decisions["job"][decisions["admitted"].astype(bool)]
    finish_us = result.schedule.finish_us[admitted]
    late = admitted[finish_us > trace.deadline_us[admitted]]
    assert late.size == 0, f"seed {seed}: jobs {late} miss their deadlines under {policy}"
    assert not any("missed" in warning for warning in result.warnings), result.warnings
    return len(admitted), len(decisions["job"])


@pytest.mark.parametrize("block", range(4))
def test_no_admitted_job_misses_its_deadline(block: int) -> None:
    counts = np.array([check_promises(seed) for seed in range(100 * block, 100 * block + 100)])
    admitted, asked = counts.sum(axis=0)
    assert 0.2 * asked < admitted < asked


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    total = np.zeros(2, np.int64)
    for seed in range(first, first + runs):
        total += check_promises(seed)
    print(f"{runs} runs: {total[0]} of {total[1]} jobs admitted, every promise kept")
