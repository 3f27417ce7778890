"""Among equally good answers gavel takes the one with most throughput, however little it is."""

from typing import Any

import numpy as np
import pytest

from gpusched.plugins.schedulers import gavel_programs
from gpusched.plugins.schedulers.gavel_programs import Array, Jobs, solved

pytestmark = pytest.mark.long

OBJECTIVES = ("max-min", "ftf", "makespan", "deadlines")


def drawn(rng: np.random.Generator) -> Jobs:
    """Draw jobs on three types, which mostly have room for more than all need."""
    num = int(rng.integers(2, 30))
    return Jobs(
        rates=rng.uniform(0.1, 1.0, (num, 3)), gpus=np.ones(num), weight=np.ones(num),
        remaining=np.exp(rng.normal(5, 1, num)), elapsed=np.zeros(num), served=np.zeros(num),
        time_left=np.exp(rng.normal(7, 1, num)), value=np.ones(num),
        capacity=rng.choice([4.0, 12.0], 3),
    )  # fmt: skip


def exactly(
    cost: Array, matrix: Any, bound: Array, *, lowest: Any = 0.0, highest: Any = np.inf
) -> Array:
    """Minimise with the least tolerance that the solver has."""
    from scipy.optimize import linprog

    bounds = np.stack(np.broadcast_arrays(lowest, highest, cost)[:2], axis=1)
    exact = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    found = linprog(cost, matrix, bound, bounds=bounds, method="highs", options=exact)
    solution: Array = found.x
    return solution


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_answer_has_more_throughput(objective, monkeypatch):
    pytest.importorskip("scipy")
    rng = np.random.default_rng(11)
    cases = [drawn(rng) for _ in range(60)]
    ours = [solved(objective, jobs)[0] for jobs in cases]
    monkeypatch.setattr(gavel_programs, "_least", exactly)
    for jobs, fractions in zip(cases, ours, strict=True):
        best, _ = solved(objective, jobs)
        assert (jobs.rates * fractions).sum() == pytest.approx((jobs.rates * best).sum(), rel=1e-6)
