"""Borders that pass over the open jobs that nothing can be done for, and such that look at all."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.parity.slow_twins import slow_twins
from tests.parity.typed_profiles import TYPES, typed_profiles

OPTIONS = (
    "slot_s=20",
    "slot_s=60,retries=2",
    "slot_s=20,fill=false",
    "slot_s=20,supply=2",
    "slot_s=20,elastic=type,retries=100",
    "slot_s=7,preset=theory",
)


def crowd(seed: int, jobs: int) -> gs.Trace:
    """Draw jobs of great and small value that come at a few instants, at borders and between."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.choice([0, 13, 140, 300], jobs, p=[0.5, 0.2, 0.2, 0.1])).astype(float)
    service_s = rng.choice([5, 20, 45, 300], jobs) + rng.integers(0, 30, jobs).astype(float)
    slack = rng.uniform(0.9, rng.choice([1.5, 4.0, 30.0], jobs))
    profiles = typed_profiles()
    return gs.Trace.from_columns(
        submit_s,
        service_s,
        rng.choice([1, 1, 1, 2, 4, 8], jobs),
        deadline_s=np.where(rng.random(jobs) < 0.9, np.ceil(submit_s + slack * service_s), np.nan),
        value=rng.choice([0.1, 1.0, 5.0], jobs) * service_s,
        restart_s=np.full(jobs, float(rng.choice([0.0, 4.0, 25.0]))),
        profiles=profiles,
        profile=rng.integers(0, len(profiles), jobs),
    )


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("speed", "placement"), [("fixed", "count"), ("table", "best-fit")])
def test_a_crowd_is_treated_as_if_every_open_job_were_looked_at_at_each_border(
    options: str, speed: str, placement: str
) -> None:
    cluster = gs.Cluster(tuple(gs.ServerGroup(2, 8, name) for name in TYPES))
    for seed, jobs in enumerate((40, 40, 150, 400)):
        trace = crowd(seed, jobs)
        made = {"policy": f"dancer:{options}", "speed": speed, "placement": placement}
        with unwarned():
            fast = gs.simulate(trace, cluster, **made)
            with slow_twins():
                slow = gs.simulate(trace, cluster, **made)
        assert fast.digest == slow.digest
        told, known = fast.schedule.decisions(), slow.schedule.decisions()
        assert told.keys() == known.keys()
        for name in told:
            assert list(told[name]) == list(known[name])
        is_admitted = np.asarray(told["admitted"])
        assert 0 < is_admitted.sum() < len(is_admitted)
