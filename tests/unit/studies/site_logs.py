"""Logs of made-up sites: jobs that have starts of their own, by a policy that is known."""

import dataclasses
from typing import Any

import numpy as np

import gpusched as gs

SITE = gs.Cluster.uniform(6, 8)


def jobs(seed: int, num_jobs: int = 500, *, load: float = 0.95) -> gs.Trace:
    """Jobs of many widths with estimates one to four times their run times."""
    rng = np.random.default_rng(seed)
    service_s = rng.lognormal(8.5, 1.0, num_jobs).round() + 60
    trace = gs.Trace.from_columns(
        np.sort(rng.uniform(0, 1e6, num_jobs)).round(),
        service_s,
        rng.choice([1, 2, 3, 4, 6, 8, 12, 16], num_jobs),
        estimate_s=(service_s * rng.uniform(1, 4, num_jobs)).round(),
        user=rng.choice(["ann", "bob", "eve"], num_jobs),
        name="site",
    )
    return trace.with_load(load, SITE.num_gpus)


def logged(trace: gs.Trace, cluster: gs.Cluster = SITE, **how: Any) -> gs.Trace:
    """The same jobs with the starts that a policy gave them."""
    how = {"predictor": "estimate", **how}
    start_us = gs.simulate(trace, cluster, **how).schedule.start_us
    return with_waits(trace, start_us - trace.submit_us)


def with_waits(trace: gs.Trace, wait_us: Any) -> gs.Trace:
    """The same jobs with these waits, int64 microseconds, -1 where there is none."""
    return dataclasses.replace(trace, source_wait_us=np.asarray(wait_us, dtype=np.int64))
