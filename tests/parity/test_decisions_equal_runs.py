"""A run whose every decision is taken by ``gs.decide`` is the run."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.boundary.workloads import FirstFit, ShortestFirst, Strict
from tests.campaigns.decided_runs import Job, Replay, compared, drawn
from tests.campaigns.deciding import Deciding
from tests.contract.runs import CLUSTER, DEMANDING, FINISHED, POOLED, REJECTED, ROOMY_CLUSTER, TYPED
from tests.golden import workload as golden

pytestmark = pytest.mark.long

BY_THE_STATE = {
    "2d-las", "a-srpt-p", "easy", "edf", "fifo", "fifo-skip", "las", "llf", "qssf",
    "serverfilling-srpt", "sgf", "sjf", "spjf", "spwf", "srsf", "srtf", "swf", "wcs-duration",
    "wcs-subtime", "wcs-workload", "wspt",
}  # fmt: skip
"""The policies without a memory, as they are without options."""
BY_ROWS = {"random"}
"""Draw by the rows of jobs, which are others in a state than in a run."""
LOOKS_AT_ALL_JOBS = {"fgd"}
"""Placements that look at what all jobs of the run ask for."""
PLACEMENTS = sorted(set(gs.placements()) - BY_ROWS - LOOKS_AT_ALL_JOBS)


def digests(
    jobs: gs.Trace, cluster: gs.Cluster, policy: Any, placement: Any = "consolidated"
) -> tuple[str, str]:
    """The digest of the run, and of the one that is decided step by step."""
    options = {"placement": placement, "predictor": "oracle", "speed": "fixed"}
    with unwarned():
        run = gs.simulate(jobs, cluster, policy=policy, **options)
        decided = gs.simulate(
            jobs, cluster, policy=Deciding(jobs, cluster, policy, placement), **options
        )
    return run.digest, decided.digest


REMEMBERED = 50
"""Jobs of a run whose course is done again at each decision."""


def of_those_that_run(jobs: gs.Trace, cluster: gs.Cluster, policy: str) -> gs.Trace:
    """The first jobs but for those that are turned down, of which a scheduler is never told."""
    jobs = jobs._take(np.arange(REMEMBERED))
    with unwarned():
        whole = gs.simulate(jobs, cluster, policy=policy, predictor="oracle", speed="fixed")
    return jobs._take(np.flatnonzero(np.asarray(whole.schedule.status) == FINISHED))


@pytest.mark.parametrize("policy", sorted(gs.policies()))
def test_every_policy_with_its_memory_is_decided_as_it_runs(policy):
    jobs = of_those_that_run(workload(policy), CLUSTER, policy)
    assert len(jobs) > REMEMBERED // 2
    decider = Deciding(jobs, CLUSTER, policy, "consolidated", remembers=True)
    with unwarned():
        whole = gs.simulate(jobs, CLUSTER, policy=policy, predictor="oracle", speed="fixed")
        decided = gs.simulate(jobs, CLUSTER, policy=decider, predictor="oracle", speed="fixed")
    assert decided.digest == whole.digest


@pytest.mark.parametrize("policy", sorted(gs.policies()))
def test_jobs_that_leave_the_queue_and_return_are_decided_as_they_run(policy):
    jobs = of_those_that_run(workload(policy), CLUSTER, policy)
    ends = []
    for chosen in (policy, Deciding(jobs, CLUSTER, policy, "consolidated", remembers=True)):
        run = gs.Simulation(jobs, CLUSTER, policy=chosen, predictor="oracle", speed="fixed")
        num_held = 0
        for number in range(60):
            if number % 3 == 0 and len(run.state.waiting):
                run.hold(int(run.state.waiting[number % len(run.state.waiting)]))
                num_held += 1
            elif number % 5 == 0 and len(run.state.held):
                run.release(int(run.state.held[-1]))
            run.step()
        for job in run.state.held.tolist():
            run.release(job)
        with unwarned():
            run.run()
            ends.append((run.result().digest, num_held))
    assert ends[0] == ends[1]
    assert ends[0][1] > 1


@pytest.mark.parametrize("policy", ["las", "2d-las:limits=30/300"])
def test_instants_at_which_nothing_is_told(policy):
    """Jobs that are turned down arrive, and are not shown; the policy decides all the same."""
    jobs = TYPED["plain"]._take(np.arange(2 * REMEMBERED))
    decider = Deciding(jobs, CLUSTER, policy, "consolidated", remembers=True)
    with unwarned():
        whole = gs.simulate(jobs, CLUSTER, policy=policy, predictor="oracle", speed="fixed")
        decided = gs.simulate(jobs, CLUSTER, policy=decider, predictor="oracle", speed="fixed")
    assert (np.asarray(whole.schedule.status) == REJECTED).any()
    assert decided.digest == whole.digest


def workload(policy: str, placement: str = "consolidated") -> gs.Trace:
    kind, _ = golden.fitting(policy)
    return (POOLED if "pooled" in gs.placements()[placement].flags else TYPED)[kind]


@pytest.mark.parametrize("policy", sorted(gs.policies()))
def test_every_policy_is_decided_as_it_runs_or_refused_by_name(policy):
    if policy in BY_THE_STATE:
        whole, decided = digests(workload(policy), CLUSTER, policy)
        assert decided == whole
    elif policy not in BY_ROWS:
        why = "keeps more than the state|written in Python and may remember"
        with pytest.raises(ValueError, match=rf"{policy}.*({why})"):
            gs.decide(gs.online.ClusterState(CLUSTER, workload(policy), 1e6), policy=policy)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", ["fifo", "fifo-skip", "srtf", "easy"])
def test_every_placement(policy, placement):
    whole, decided = digests(workload(policy, placement), CLUSTER, policy, placement)
    assert decided == whole


@pytest.mark.parametrize("policy", ["fifo-skip", "srtf", "serverfilling-srpt", "easy"])
@pytest.mark.parametrize("placement", ["best-fit", "gpu-packing"])
def test_shares_cpu_and_memory(policy, placement):
    whole, decided = digests(DEMANDING, ROOMY_CLUSTER, policy, placement)
    assert decided == whole


@pytest.mark.parametrize("policy", ["2d-las:promote=2", "2d-las:inside=entry"])
def test_options_that_make_a_policy_remember_are_refused(policy):
    with pytest.raises(ValueError, match=r'keeps more than the state.* pass memory=b"" while'):
        gs.decide(gs.online.ClusterState(CLUSTER, TYPED["plain"], 1e6), policy=policy)


@pytest.mark.parametrize("chosen", [ShortestFirst, Strict])
def test_objects_of_python(chosen):
    whole, decided = digests(TYPED["plain"], CLUSTER, chosen())
    assert decided == whole
    untyped = POOLED["plain"]
    whole, decided = digests(untyped, CLUSTER, chosen(), FirstFit())
    assert decided == whole


@pytest.mark.parametrize("policy", sorted(gs.policies()))
def test_an_operator_who_does_as_decided_has_the_run(policy):
    """A few of the replays of ``python -m tests.campaigns.decided_runs``."""
    for number in range(6):
        replay = drawn(0, number, policy)
        assert compared(replay) in ("same", "refused"), replay


def test_a_job_that_was_preempted_past_its_estimate_is_not_over():
    """What a preemption adds to its work does not make less of what it had to do before."""

    jobs = (
        Job(0, 0, 7000, 1, 5000, 2000, 1.0, None, None),
        Job(5000, 5000, 11_000, 5, 1000, 0, 1.0, None, None),
        Job(6000, 6000, 11_000, 4, 9000, 0, 1.0, None, None),
    )
    policy = "serverfilling-srpt:overrun_s=0.001,epoch=period,period_s=0.003,restart=work"
    replay = Replay(
        jobs, (2, 3), policy, "best-fit", seed=0, remembers=True, is_predicted=True,
        begin_us=None, twice=False,
    )  # fmt: skip
    assert compared(replay) == "same"
