"""A job on the GPUs that are best for it runs for its service to the tick, however these lie."""

from __future__ import annotations

import gpusched as gs

RATES = {"slow": 0.1, "middle": 0.3, "fast": 0.5}
"""Their sum is greatest from the fastest on: other orders round to less."""


def test_rates_of_workers_are_added_from_the_fastest_on_wherever_these_are():
    assert 0.5 + 0.3 + 0.1 > 0.1 + 0.5 + 0.3
    service_us = 8 * 10**15  # of which the last bit is a tick
    profile = gs.model.JobProfile("p", samples_per_s=RATES, global_batch=6)
    trace = gs.Trace.from_columns(
        [0, 0], [service_us / 1e6] * 2, [1, 3], gpu_types=[["slow"], None],
        profiles=[profile], profile=[0, 0],
    )  # fmt: skip
    cluster = gs.Cluster(
        tuple(gs.ServerGroup(1, 1, name) for name in ("slow", "middle", "fast", "slow"))
    )
    result = gs.simulate(trace, cluster, policy="fifo", speed="proportional", placement="first-fit")
    assert result.intervals["server"].tolist() == [0, 1, 2, 3]
    assert result.schedule.finish_us.tolist() == [service_us] * 2
