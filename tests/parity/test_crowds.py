"""Policies that look only at whom what is left may help decide as if they looked at all."""

import math

import numpy as np
import pytest

import gpusched as gs

pytestmark = pytest.mark.long

JOBS = 2000
TYPES = ("A", "B")
SPEEDS = ((1.0, 0.5), (1.0, 0.9), (0.25, 1.0))
"""Of each model on each type, of one GPU; two make it 1.5 times that, four 2 times."""


def crowd(*, elastic: bool) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs, two thirds of which come at once, for 320 GPUs of two types."""
    draws = np.random.default_rng(5)
    submit_s = np.sort(np.where(draws.random(JOBS) < 2 / 3, 0, draws.integers(1, 3000, JOBS)))
    service_s = draws.integers(1, 40, JOBS) * 30
    gpus = draws.choice([1, 1, 2, 4], JOBS)
    deadline_s = np.where(draws.random(JOBS) < 0.2, math.nan, submit_s + 3 * service_s)
    trace = gs.Trace.from_columns(
        submit_s=submit_s.tolist(),
        service_s=service_s.tolist(),
        gpus=gpus.tolist(),
        min_gpus=np.where(draws.random(JOBS) < 0.5, gpus, 1).tolist() if elastic else None,
        max_gpus=np.where(draws.random(JOBS) < 0.5, gpus, 4).tolist() if elastic else None,
        restart_s=draws.choice([0, 5, 90], JOBS).tolist(),
        deadline_s=deadline_s.tolist(),
        gpu_types=[
            [TYPES[draws.integers(2)]] if draws.random() < 0.2 else None for _ in range(JOBS)
        ],
    )
    if elastic:
        profiles = [
            gs.model.JobProfile(
                f"m{index}",
                throughput={
                    name: {1: speed, 2: 1.5 * speed, 4: 2 * speed}
                    for name, speed in zip(TYPES, speeds, strict=True)
                },
            )
            for index, speeds in enumerate(SPEEDS)
        ]
        trace = trace.with_profiles(profiles, index=draws.integers(0, len(SPEEDS), JOBS))
    return trace, gs.Cluster((gs.ServerGroup(30, 8, "A"), gs.ServerGroup(20, 4, "B")))


DIGESTS: dict[tuple[str, bool], str] = {
    ("edf-fastest", False): "a22e8e1404e63e08",
    ("edf-greatest", False): "9e3ea55fc984a33b",
    ("edf-greatest:admission=true", False): "14e62151117b99e4",
    ("themis-greedy", False): "cb034fbea0530e92",
    ("themis", False): "f88694582fcf5e2d",
    ("optimus", False): "561476adb9c7cf8c",
    ("allox", False): "4a7e3c1f2fd7f8c7",
    ("afs", False): "9e0c7c3c27945b8e",
    ("gandiva", False): "b1f12d7c9dbf6a4c",
    ("matching", False): "00d9c7e5359047ee",
    ("edf-fastest", True): "6f5db30d904047a9",
    ("edf-greatest", True): "49bb0b1e8b2492b1",
    ("edf-greatest:admission=true", True): "6a1ee8e1c1b22c4d",
    ("themis-greedy", True): "49cf6baa9a304f6d",
    ("themis", True): "626a3b7c25899745",
    ("optimus", True): "d6f8064858cd3024",
    ("allox", True): "df6968950d262d6f",
    ("afs", True): "dc9372387fe549cd",
    ("gandiva", True): "85cf95f3e27467b4",
    ("matching", True): "16416323eef2a95d",
}


@pytest.mark.parametrize(("policy", "elastic"), list(DIGESTS))
def test_a_crowd_runs_as_if_all_who_wait_were_looked_at(policy, elastic):
    """The digests are of a build that went through all of them at each decision."""
    trace, cluster = crowd(elastic=elastic)
    speed = "table" if elastic else "fixed"
    result = gs.simulate(trace, cluster, policy=policy, speed=speed, placement="first-fit")
    assert result.digest.startswith(DIGESTS[policy, elastic])
