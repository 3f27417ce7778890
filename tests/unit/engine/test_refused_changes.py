"""An open run does not take what it cannot go on with; one that was described is that one alone."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gpusched as gs
from gpusched.engine.prepare import check_object, check_same

CLUSTER = gs.Cluster.uniform(1, 4)
JOBS: dict[str, Any] = {"submit_s": [0, 0, 5], "service_s": [60, 9, 9], "gpus": [4, 1, 1]}


def test_policies_change_between_those_that_read_estimates_or_those_that_do_not():
    run = gs.Simulation(
        gs.Trace.from_columns(**JOBS, estimate_s=[60, 9, 9]), CLUSTER, policy="easy"
    )
    with pytest.raises(ValueError, match="policy: fifo and easy do not both read estimates"):
        run.set(policy="fifo")


class Locked(gs.Order):
    """Holds what cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs]


class Plain(gs.Order):
    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs]


def test_what_cannot_be_pickled_cannot_be_saved(tmp_path):
    class Local(Plain):
        """No other process finds it."""

    run = gs.Simulation(gs.Trace.from_columns(**JOBS), CLUSTER, policy=Local())
    with pytest.raises(TypeError, match=r"policy: .*Local cannot be saved: .*local"):
        run.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def spec_of(policy: Any, **how: Any) -> Any:
    return gs.simulate(gs.Trace.from_columns(**JOBS), CLUSTER, policy=policy, **how).spec


def test_another_run_is_told_from_one_by_what_differs():
    fifo, plain = spec_of("fifo"), spec_of(Plain())
    check_same(plain, plain)
    with pytest.raises(ValueError, match="policy: sjf is not that of the specification: fifo"):
        check_same(fifo, spec_of("sjf"))
    (thing,) = plain.python
    with pytest.raises(ValueError, match=r"policy: the specification has .*Plain, which is not"):
        check_object(thing, None)
    (locked,) = spec_of(Locked()).python
    with pytest.raises(ValueError, match=r"policy: .*Locked cannot be told from others"):
        check_object(locked, locked)
    check_object(locked, locked, takes_unreadable=True)
    with pytest.raises(ValueError, match=r"differs from the specification's .*Plain in name"):
        check_object(thing, locked)
