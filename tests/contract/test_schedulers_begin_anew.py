"""A scheduler that has run before runs as a new one: nothing of a run is left in the next."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched import _core
from gpusched.base.run_warning import unwarned
from tests.parity.test_dancer_equals_slow_twin import crowd
from tests.parity.typed_profiles import TYPES

NATIVE = sorted(
    name
    for name, info in gs.policies().items()
    if info.kind == "scheduler" and not info.alias_of and info.python_class is None
)


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("speed", ["fixed", "table"])
def test_a_scheduler_that_has_run_runs_as_a_new_one(name: str, speed: str) -> None:
    class Kept(_core._testing.TimedScheduler):
        def __init__(self) -> None:
            super().__init__(name, {})

    cluster = gs.Cluster(tuple(gs.ServerGroup(2, 8, gpu_type) for gpu_type in TYPES))
    kept = Kept()
    for seed in range(12):
        trace = crowd(seed, 60)
        with unwarned():
            new = gs.simulate(trace, cluster, policy=name, speed=speed)
            assert gs.simulate(trace, cluster, policy=kept, speed=speed).digest == new.digest
