"""No registered bound exceeds the exact optimum of a small instance."""

from functools import partial
from typing import Final

import numpy as np

import gpusched as gs
from tests.theorems.exact_schedules import Jobs, least_makespan, least_sum_of_jct
from tests.theorems.theorem import Theorem, kept


def drawn(seed: int) -> tuple[Jobs, int]:
    """Draw two to six gangs; ties and gangs that exclude each other are likely."""
    rng = np.random.default_rng([7, seed])
    num_gpus = int(rng.choice([1, 2, 4, 8]))
    rows = [
        (int(rng.integers(0, 6)), int(rng.integers(1, 5)), int(rng.integers(1, num_gpus + 1)))
        for _ in range(int(rng.integers(2, 7)))
    ]
    return sorted(rows), num_gpus


def share(of: str, seed: int) -> float:
    """Return the greatest bound over the optimum; every bound is held against it.

    Raises
    ------
    AssertionError
        If one is above; it says which.
    """
    jobs, num_gpus = drawn(seed)
    submit, service, gpus = zip(*jobs, strict=True)
    trace = gs.Trace.from_columns(submit, service, gpus)
    cluster = gs.Cluster.uniform(servers=1, gpus=num_gpus)
    found = gs.bounds.lower_bounds(trace, cluster, thorough=True)
    if of == "makespan":
        optimum, values = least_makespan(jobs, num_gpus), found.makespans_us
    else:
        optimum, values = least_sum_of_jct(jobs, num_gpus), found.total_jct_us
    used = [0.0]
    for name, value in values.items():
        assert value <= optimum * 1_000_000, f"seed {seed}: {name} is {value} us, best {optimum} s"
        used.append(kept(float(value), optimum * 1e6, seed))
    return max(used)


THEOREMS: Final = tuple(
    Theorem(
        name=f"bounds-{name}",
        says=f"no registered bound on the {said} is above the least there is",
        constant="1",
        against="the preemptive integer program (HiGHS)",
        check=partial(share, name),
    )
    for name, said in (("total-jct", "sum of JCT"), ("makespan", "makespan"))
)
