"""SJF-BCO's Lemma 4 and Theorem 5, on small instances that a mixed-integer program solves.

By the printed line of Algorithm 2 (``tie=least-u``), where a job starts when all its GPUs are idle.
``phi`` is the slowest iteration over the fastest that any placement of a job can have here, rings
on its most loaded link as many as there can be; the paper's range of bandwidths is wider, and its
``phi`` greater, so what holds here holds there.
"""

from typing import Final, NamedTuple

import numpy as np

import gpusched as gs
from gpusched_papers import exact
from gpusched_papers.sjf_bco import ITERATION_S, SERVICE_S, Calibration, Instance, build
from tests.theorems.theorem import Theorem, kept

U: Final = 1.15
TIME_LIMIT_S: Final = 60.0
# So few rings meet here that they must be long for contention to count.
CALIBRATION: Final = Calibration(ring_share=0.3, overhead_s=2e-4, degradation=0.5)
_ROUNDING_S: Final = 1e-5


class Planned(NamedTuple):
    """A plan and what its instance is made of."""

    plan: gs.online.Plan
    problem: exact.Instance
    phi: float
    widest: int


def drawn(seed: int, num_jobs: int) -> Instance:
    """Draw jobs of 1 to 4 GPUs for two servers of 2 or 4."""
    rng = np.random.default_rng([22, seed])
    sizes = rng.choice([2, 4], 2)
    service_s = rng.uniform(*SERVICE_S, num_jobs)
    iteration_s = rng.uniform(*ITERATION_S, num_jobs)
    gpus = rng.integers(1, 5, num_jobs)
    return build(seed, gpus, service_s / iteration_s, iteration_s, sizes, CALIBRATION)


def planned(seed: int, num_jobs: int) -> Planned:
    """Plan an instance as the paper prints it."""
    instance = drawn(seed, num_jobs)
    plan = gs.online.plan(
        instance.trace, instance.cluster, policy="sjf-bco:tie=least-u", u=U, start="ready",
        speed=CALIBRATION.speed, contention=CALIBRATION.contention,
    )  # fmt: skip
    problem = exact.instance(
        instance.trace, instance.cluster, overhead_s=CALIBRATION.overhead_s,
        reduction_bytes_per_s=CALIBRATION.reduction_bytes_per_s,
        degradation=CALIBRATION.degradation, scaling=CALIBRATION.scaling,
    )  # fmt: skip
    phi = max(1 / float(rates.min()) for rates in problem.rates)
    return Planned(plan, problem, phi, int(problem.gpus.max()))


def lemma_share(seed: int) -> float:
    """Return the makespan over ``n_g phi u theta``, and hold both laws per GPU.

    Raises
    ------
    AssertionError
        If one of the three is broken.
    """
    found = planned(seed, num_jobs=int(np.random.default_rng(seed).integers(2, 9)))
    theta_s = found.plan.theta_s
    per_gpu_s = found.phi * U * theta_s
    kept(float(found.plan.planned_busy_s.max()), theta_s, seed, _ROUNDING_S)
    kept(float(found.plan.busy_s.max()), per_gpu_s, seed, _ROUNDING_S)
    return kept(found.plan.makespan_s, found.widest * per_gpu_s, seed, _ROUNDING_S)


def theorem_share(seed: int) -> float:
    """Return the makespan over ``n_g phi u`` times the optimum.

    Raises
    ------
    AssertionError
        If it is above 1, or the plan below the optimum, or the program was not solved in time.
    """
    found = planned(seed, num_jobs=4)
    best = exact.solve(
        found.problem, time_limit_s=TIME_LIMIT_S, upper_bound_s=found.plan.makespan_s * (1 + 1e-6)
    )
    assert best.is_optimal, f"seed {seed}: not solved within {TIME_LIMIT_S:g} s"
    kept(best.lower_bound_s, found.plan.makespan_s, seed, 1e-4)
    promised = found.widest * found.phi * U * best.makespan_s
    return kept(found.plan.makespan_s, promised, seed, _ROUNDING_S)


THEOREMS: Final = (
    Theorem(
        name="sjf-bco-lemma-4",
        says="planned time per GPU is at most theta, busy time at most phi u theta, and the "
        "makespan at most n_g phi u theta",
        constant="n_g phi u",
        against="the plan's own cap",
        check=lemma_share,
    ),
    Theorem(
        name="sjf-bco-theorem-5",
        says="the makespan is at most n_g phi u / l times the optimum, l = 1",
        constant="n_g phi u / l",
        against="the mixed-integer program (HiGHS)",
        check=theorem_share,
        instances=1_000,
    ),
)
