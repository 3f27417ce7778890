"""A scheduler that has run before runs as a new one: nothing of a run is left in the next."""

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.base.run_warning import unwarned
from tests.each import each
from tests.examples import number_of
from tests.parity.typed_profiles import TYPES, typed_profiles

NATIVE = sorted(
    name
    for name, info in gs.policies().items()
    if info.kind == "scheduler" and not info.alias_of and info.python_class is None
)


def crowd(seed: int, jobs: int) -> gs.Trace:
    """Draw jobs of great and small value that come at a few instants, at borders and between."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.choice([0, 13, 140, 300], jobs, p=[0.5, 0.2, 0.2, 0.1])).astype(float)
    service_s = rng.choice([5, 20, 45, 300], jobs) + rng.integers(0, 30, jobs).astype(float)
    slack = rng.uniform(0.9, rng.choice([1.5, 4.0, 30.0], jobs))
    profiles = typed_profiles()
    return gs.Trace.from_columns(
        submit_s, service_s, rng.choice([1, 1, 1, 2, 4, 8], jobs),
        deadline_s=np.where(rng.random(jobs) < 0.9, np.ceil(submit_s + slack * service_s), np.nan),
        value=rng.choice([0.1, 1.0, 5.0], jobs) * service_s,
        restart_s=np.full(jobs, float(rng.choice([0.0, 4.0, 25.0]))), profiles=profiles,
        profile=rng.integers(0, len(profiles), jobs),
    )  # fmt: skip


@each("name", NATIVE)
@each("speed", ["fixed", "table"])
def test_a_scheduler_that_has_run_runs_as_a_new_one(name, speed):
    class Kept(_core._testing.TimedScheduler):
        def __init__(self) -> None:
            super().__init__(name, {})

    cluster = gs.Cluster(tuple(gs.ServerGroup(2, 8, gpu_type) for gpu_type in TYPES))
    kept = Kept()
    for seed in range(number_of(12)):
        trace = crowd(seed, 60)
        with unwarned():
            new = gs.simulate(trace, cluster, policy=name, speed=speed)
            assert gs.simulate(trace, cluster, policy=kept, speed=speed).digest == new.digest
