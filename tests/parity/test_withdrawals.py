"""A run from which a waiting job is taken back goes on as one in whose queue it does not stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched as gs
from gpusched import _core
from gpusched.base.run_warning import unwarned
from gpusched.deciding.asked_run import asked, standing_run
from gpusched.engine.seams import placement_seam
from tests.parity.test_decisions_equal_runs import BY_THE_STATE

POLICIES = sorted(BY_THE_STATE)
REMEMBERING = ["2d-las:inside=entry", "2d-las:promote=3"]


def without(
    state: gs.deciding.ClusterState, rows: list[int]
) -> tuple[gs.deciding.ClusterState, Any]:
    """The state without some rows, and which are left."""
    kept = np.ones(len(state.jobs), bool)
    kept[rows] = False
    held = kept[state.held_job]
    return gs.deciding.ClusterState(
        state.cluster, state.jobs._take(kept), state.now_s,
        start_s=state.start_s[kept], attained_s=state.attained_s[kept],
        cost_s=state.cost_s[kept], preemptions=state.preemptions[kept],
        held_job=(np.cumsum(kept) - 1)[state.held_job[held]],
        held_server=state.held_server[held], held_mask=state.held_mask[held],
    ), np.flatnonzero(kept)  # fmt: skip


def finishes(run: _core.Run) -> Any:
    return np.asarray(run.finish().finish_us)


def check(run: gs.Simulation, policy: str, placement: str, pick: int, runs_too: bool) -> bool:
    """Take a job back, or two; compare with a run that begins in that state.

    False, and nothing is done, where too few wait.
    """
    waiting, running = run.state.waiting, run.state.running
    if len(waiting) < 2 or run.done:
        return False
    live = np.sort(np.concatenate([waiting, running]))
    gone = [int(waiting[pick % len(waiting)])]
    if runs_too and len(running):
        gone.append(int(running[pick % len(running)]))
    state, left = without(gs.deciding.ClusterState.of(run), np.searchsorted(live, gone).tolist())
    expected = finishes(standing_run(state, asked(policy), placement_seam(placement), 0))
    for job in gone:
        run.cancel(job)
    run.run()
    found = run.result().schedule
    assert (found.status[gone] == 2).all()
    assert found.finish_us[live[left]].tolist() == expected.tolist()
    return True


job = st.tuples(st.integers(0, 5), st.integers(1, 12), st.integers(1, 6), st.integers(0, 3))


@settings(deadline=None, max_examples=150)
@given(
    st.lists(job, min_size=4, max_size=12),
    st.sampled_from(POLICIES),
    st.sampled_from(["consolidated", "first-fit", "count"]),
    st.integers(0, 20),
    st.integers(0, 9),
    st.booleans(),
)
def test_small_cases(
    jobs: list[tuple[int, ...]], policy: str, placement: str, later: int, pick: int, runs_too: bool
) -> None:
    submit, service, gpus, restart = zip(*jobs, strict=True)
    costs = restart if placement != "count" else [0] * len(jobs)
    trace = gs.Trace.from_columns(submit, service, gpus, restart_s=costs if any(costs) else None)
    with unwarned():
        run = gs.Simulation(trace, gs.Cluster.uniform(2, 4), policy=policy, placement=placement)
        run.run_until(6.25 + later / 2)  # all jobs have come, and none ends at this very instant
        check(run, policy, placement, pick, runs_too)


@pytest.mark.parametrize("placement", ["consolidated", "count"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy(policy: str, placement: str) -> None:
    rng = np.random.default_rng(4)
    trace = gs.Trace.from_columns(
        rng.integers(0, 60, 60), rng.integers(5, 200, 60), rng.integers(1, 9, 60)
    )
    with unwarned():
        run = gs.Simulation(trace, gs.Cluster.uniform(3, 4), policy=policy, placement=placement)
        run.run_until(61)
        for number in range(3):
            assert check(run.fork(), policy, placement, 7 * number, number == 2)
            run.run_until(run.now + 40.25)


@pytest.mark.parametrize("policy", REMEMBERING)
def test_those_that_remember_forget_the_job_alone(policy: str) -> None:
    rng = np.random.default_rng(4)
    trace = gs.Trace.from_columns(
        rng.integers(0, 60, 60), rng.integers(5, 200, 60), rng.integers(1, 9, 60)
    )
    run = gs.Simulation(trace, gs.Cluster.uniform(3, 4), policy=policy)
    run.run_until(61)
    gone = int(run.state.waiting[3])
    run.cancel(gone)
    run.run()
    schedule = run.result().schedule
    assert schedule.start_us[gone] == -1
    assert (np.delete(schedule.status, gone) == 0).all()
