"""Every registered policy with every registered placement: ends, is sound, is repeatable."""

from __future__ import annotations

import pytest

import gpusched as gs
from tests.contract.runs import check, run

POLICIES, PLACEMENTS = gs.policies(), gs.placements()


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_feasible_job_finishes_once_and_the_audit_holds(policy: str, placement: str) -> None:
    check(run(policy, placement))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_repeated_run_has_the_same_digest(policy: str, placement: str) -> None:
    assert run(policy, placement, seed=3).digest == run(policy, placement, seed=3).digest


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_seed_matters_exactly_where_chance_is_declared(policy: str, placement: str) -> None:
    is_random = "random" in POLICIES[policy].flags + PLACEMENTS[placement].flags
    digests = {run(policy, placement, seed=seed).digest for seed in (0, 1, 2**64 - 1)}
    assert len(digests) == (3 if is_random else 1)


@pytest.mark.parametrize("policy", POLICIES)
def test_only_policies_that_say_so_preempt(policy: str) -> None:
    num_preemptions = sum(
        int(run(policy, placement).schedule.preemptions.sum()) for placement in PLACEMENTS
    )
    assert (num_preemptions > 0) == ("preemptive" in POLICIES[policy].flags)


@pytest.mark.parametrize("policy", POLICIES)
def test_only_policies_that_say_so_look_at_predictions(policy: str) -> None:
    # The estimates of the workload are far from the truth: whoever reads them decides otherwise.
    reads = run(policy).digest != run(policy, predictor="estimate").digest
    is_told = "estimate" in POLICIES[policy].flags  # reads estimates with the oracle as well
    assert reads == ("clairvoyant" in POLICIES[policy].flags and not is_told)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_says_whether_it_saw_the_truth(policy: str) -> None:
    assert run(policy).clairvoyant == ("clairvoyant" in POLICIES[policy].flags)
    assert not run(policy, predictor="estimate").clairvoyant


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_only_a_pool_has_no_servers(placement: str) -> None:
    intervals = run("fifo", placement).intervals
    is_pooled = "pooled" in PLACEMENTS[placement].flags
    assert (intervals["server"] == -1).all() == is_pooled
    assert (intervals["mask"] == 0).all() == is_pooled
