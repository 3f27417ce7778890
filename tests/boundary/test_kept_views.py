"""Whatever Python keeps of a run, and whenever it uses it, is open in its call or refused."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import gpusched as gs
from gpusched import _core
from tests.boundary.kept_views import (
    LOOKS,
    KeepingOrder,
    KeepingPlacement,
    KeepingScheduler,
    World,
    refusal,
    twin_of,
)
from tests.boundary.workloads import CLUSTER, trace
from tests.examples import examples

NUM_JOBS = 12
PLANS = ["collect", "drop the owners", "look from another thread", "run itself"]
# Freed memory is overwritten at once and not kept for the next allocation of its size.
HARSH = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def started(seed: int, policy: Any, placement: Any) -> _core.Run:
    """Start a run whose jobs come one after the other; nothing else holds what it borrows."""
    rng = np.random.default_rng(seed)
    submit_us = np.arange(NUM_JOBS) * 3_000_000
    service_us = rng.integers(1, 20, NUM_JOBS) * 1_000_000
    gpus = rng.integers(1, 9, NUM_JOBS).astype(np.int32)
    table = _core.JobTable(submit_us, service_us, gpus)
    servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type)
    described = _core.RunDescription(
        policy=policy, policy_flags=["skip"], placement=placement, seed=seed
    )
    return _core.Run(table, servers, described)


class KeptViews(RuleBasedStateMachine):
    """Runs that are halted, mixed and dropped, of plug-ins that are shared, kept and dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        # Of each run also the digest of its native twin, and whether it must succeed.
        self.runs: list[tuple[_core.Run, str]] = []

    @rule(kind=st.sampled_from([KeepingOrder, KeepingPlacement, KeepingScheduler]))
    def make_a_plug_in(self, kind: type) -> None:
        self.world.owners.append(kind(self.world))

    @precondition(lambda self: self.world.owners)
    @rule(data=st.data(), seed=st.integers(0, 3))
    def start_a_run(self, data: st.DataObject, seed: int) -> None:
        plug_in = data.draw(st.sampled_from(self.world.owners), "plug-in")
        if isinstance(plug_in, gs.Placement):
            choice, twin = ("fifo", plug_in), ("fifo", twin_of(plug_in))
        else:
            choice, twin = (plug_in, "first-fit"), (twin_of(plug_in), "first-fit")
        self.runs.append((started(seed, *choice), started(seed, *twin).finish().digest))

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), num_jobs=st.integers(1, NUM_JOBS - 1))
    def advance_a_run(self, data: st.DataObject, num_jobs: int) -> None:
        self.attempt(data, lambda run: run.advance(num_jobs))

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def finish_a_run(self, data: st.DataObject) -> None:
        position = data.draw(st.integers(0, len(self.runs) - 1), "run")
        _, digest = self.runs[position]
        made = self.attempt(data, lambda run: run.finish(), position)
        assert made is None or made.digest == digest

    def attempt(self, data: st.DataObject, call: Any, position: int | None = None) -> Any:
        """Go on with a run; that of a scheduler which began another one since is refused."""
        if position is None:
            position = data.draw(st.integers(0, len(self.runs) - 1), "run")
        run, _ = self.runs[position]
        try:
            return call(run)
        except ValueError as error:
            if str(error) != "the run is over" and "one run at a time" not in str(error):
                raise
            return None

    @rule(plan=st.sampled_from(PLANS))
    def plan_for_a_call(self, plan: str) -> None:
        self.world.plans.append(plan)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def drop_a_run(self, data: st.DataObject) -> None:
        self.runs.pop(data.draw(st.integers(0, len(self.runs) - 1), "run"))

    @rule()
    def drop_the_plug_ins(self) -> None:
        self.world.owners.clear()
        gc.collect()

    @precondition(lambda self: self.world.kept)
    @rule(data=st.data())
    def look_at_what_was_kept(self, data: st.DataObject) -> None:
        self.world.check(data.draw(st.sampled_from(self.world.kept), "kept"))

    @invariant()
    def columns_stay_what_they_were(self) -> None:
        for column, copied in self.world.columns:
            assert np.array_equal(column, copied)

    def teardown(self) -> None:
        self.runs.clear()
        self.world.owners.clear()
        gc.collect()
        for shown in self.world.kept:
            self.world.check(shown)


def test_what_was_shown_is_open_in_its_call_and_closed_after_it():
    world = World()
    for kind in (KeepingOrder, KeepingPlacement, KeepingScheduler):
        plug_in = kind(world)
        seam = "placement" if kind is KeepingPlacement else "policy"
        gs.simulate(trace(20), CLUSTER, **{seam: plug_in})
    assert {type(shown).__name__ for shown in world.kept} == set(LOOKS)
    for shown in world.kept:
        world.check(shown)


TestKeptViews = pytest.mark.long(KeptViews.TestCase)
TestKeptViews.settings = examples(12, stateful_step_count=25)


@pytest.mark.long
@pytest.mark.skipif("GPUSCHED_HARSH" in os.environ, reason="this is the process with harsh memory")
def test_the_same_holds_where_freed_memory_is_overwritten():
    made = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__],
        cwd=Path(__file__).resolve().parents[2], env={**os.environ, **HARSH, "GPUSCHED_HARSH": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-1000:]


def test_a_look_that_is_not_refused_is_told_from_one_that_is():
    assert refusal(lambda shown: shown, 3) == "found 3"
