"""A stop is heard while a library's solver works inside a policy."""

from __future__ import annotations

import threading
from types import ModuleType

import pytest
import scipy.optimize

import gpusched as gs
from tests.golden import workload as golden

WATCHDOG_S = 60.0


@pytest.mark.parametrize(
    ("library", "solver", "objective"),
    [
        (scipy.optimize, "milp", "ftf"),
        (scipy.optimize, "linprog", "water-filling"),
    ],
)
def test_a_stop_does_not_wait_for_the_linear_program_of_gavel(
    library: ModuleType, solver: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, is_over = threading.Event(), threading.Event()

    def slow(*_args, **_options):
        stop.set()
        assert is_over.wait(WATCHDOG_S), "the run waited for its solver"

    monkeypatch.setattr(library, solver, slow)
    try:
        with pytest.raises(gs.Cancelled):
            gs.simulate(
                golden.trace(is_typed=False),
                golden.networked_cluster(),
                policy=f"gavel:objective={objective}",
                stop=stop,
            )
    finally:
        is_over.set()
