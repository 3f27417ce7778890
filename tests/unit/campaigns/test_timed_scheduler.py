"""The scheduler that times another one: the same schedule, and a time for each decision."""

import time

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.golden import workload as golden


class Timed(_core._testing.TimedScheduler):
    def __init__(self) -> None:
        super().__init__("dancer", {"slot_s": 600.0})


def test_timing_changes_nothing_and_sees_every_decision():
    jobs, servers, policy = golden.urgent(is_typed=True), golden.networked_cluster(), Timed()
    more = {"placement": "best-fit", "speed": "table"}
    plain = gs.simulate(jobs, servers, policy="dancer:slot_s=600", **more)
    for _ in range(2):  # a run forgets the one before
        begin_ns = time.process_time_ns()
        timed = gs.simulate(jobs, servers, policy=policy, **more)
        assert timed.digest == plain.digest
        times = policy.times()
        assert times["num_finished"].sum() == plain.summary()["num_finished"]
        came = len(jobs) - plain.summary()["num_rejected"]
        assert came <= times["num_arrived"].sum() <= len(jobs)
        assert (np.diff(times["at_us"]) > 0).all()
        assert (times["decision_ns"] > 0).all()
        # No more than all threads of this process have had since then.
        assert times["decision_ns"].sum() <= time.process_time_ns() - begin_ns


def test_only_registered_schedulers_are_timed():
    with pytest.raises(ValueError, match="'fifo' is not a registered scheduler"):
        _core._testing.TimedScheduler("fifo")
