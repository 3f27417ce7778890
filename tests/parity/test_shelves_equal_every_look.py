"""Placements that find servers on shelves, where the readable engine would be too slow: many
servers of several sizes and types, and a kind of demand for nearly every job.
"""

import numpy as np
import pytest

import gpusched as gs
from gpusched.reference.packing import NAMES
from tests.parity.slow_twins import equal_runs

pytestmark = pytest.mark.long

CHOICES = (*NAMES, "dot-product:product=least", "fgd:artefact=true")
SHARES = ((0.25, 0.5), (0.07, 0.13, 0.31, 0.59, 0.83))


def many_kinds(seed: int, jobs: int = 600) -> tuple[gs.Trace, gs.Cluster]:
    """Return jobs that nearly fill 97 servers, or overfill them, each of a kind of its own."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 1, 1, 1, 2, 3, 4, 8, 20], jobs)
    grain = rng.choice([0.001, 4.0])  # fine grains make kinds, coarse ones ties
    is_share = (gpus == 1) & (rng.random(jobs) < 0.5)
    typed = rng.random(jobs) < 0.3
    trace = gs.Trace.from_columns(
        submit_s=np.sort(rng.integers(0, 200, jobs)).astype(float),
        service_s=rng.integers(1, rng.choice([90, 400]), jobs).astype(float),
        gpus=gpus,
        gpu_share=np.where(is_share, rng.choice(SHARES[seed % 2], jobs), 1.0),
        cpu=np.ceil(rng.uniform(0.0, 12.0, jobs) / grain) * grain,
        memory_gib=np.ceil(rng.uniform(0.0, 96.0, jobs) / grain) * grain,
        gpu_types=[["V100"] if is_typed else None for is_typed in typed],
    )
    cpu, memory_gib = (None, None) if seed % 3 == 2 else (64.0, 512.0)
    groups = (
        gs.ServerGroup(count=60, gpus=8, gpu_type="V100", cpu=96.0, memory_gib=768.0),
        gs.ServerGroup(count=30, gpus=4, gpu_type="K80", cpu=cpu, memory_gib=memory_gib),
        gs.ServerGroup(count=7, gpus=6, gpu_type="V100", cpu=cpu, memory_gib=memory_gib),
    )
    return trace, gs.Cluster(groups)


@pytest.mark.parametrize("policy", ["sjf", "easy", "srtf"])
@pytest.mark.parametrize("placement", CHOICES)
def test_what_stands_on_shelves_goes_where_a_look_at_every_server_puts_it(placement, policy):
    for seed in range(3):
        equal_runs(*many_kinds(seed), policy=policy, placement=placement, seed=seed)
