"""Every registered policy with every registered placement: ends, is sound, is repeatable."""

import dataclasses

import numpy as np
import pytest

import gpusched as gs
from tests.contract.runs import (
    NETWORKED_CLUSTER,
    URGENT,
    check,
    run,
    run_demanding,
    run_networked,
    run_urgent,
)
from tests.each import each

POLICIES, PLACEMENTS = gs.policies(), gs.placements()
POOLED = [name for name, info in PLACEMENTS.items() if "pooled" in info.flags]

# A policy that chooses GPUs itself asks no placement, and a pool has none to choose.
PLACING = [name for name, info in POLICIES.items() if "places" in info.flags]
PAIRS = [(policy, name) for policy in POLICIES if policy not in PLACING for name in PLACEMENTS]
PAIRS += [(policy, "consolidated") for policy in PLACING]

# What is no question of the two together: each policy with these, and each placement with those.
WITH_PLACEMENTS = ("count", "consolidated", "random", "buddy")
WITH_POLICIES = ("fifo", "easy", "srtf", "2d-las")


def is_some(policy: str, placement: str) -> bool:
    return policy in WITH_POLICIES or placement in WITH_PLACEMENTS


@each(("policy", "placement"), [pair for pair in PAIRS if is_some(*pair)])
def test_the_audit_holds_and_the_seed_matters_exactly_where_chance_is_declared(policy, placement):
    result = run(policy, placement)
    check(result)
    is_random = "random" in POLICIES[policy].flags + PLACEMENTS[placement].flags
    others = {run(policy, placement, seed=seed).digest for seed in (1, 2**64 - 1)[: 1 + is_random]}
    assert len(others | {result.digest}) == (3 if is_random else 1)


@pytest.mark.long
@each(("policy", "placement"), [pair for pair in PAIRS if not is_some(*pair)])
def test_the_audit_holds_for_all_other_pairs(policy, placement):
    check(run(policy, placement))


@each("policy", POLICIES)
def test_only_policies_that_say_so_preempt(policy):
    num_preemptions = sum(
        int(run(policy, placement).schedule.preemptions.sum())
        for placement in WITH_PLACEMENTS
        if (policy, placement) in PAIRS
    )
    assert (num_preemptions > 0) == ("preemptive" in POLICIES[policy].flags)


@each("policy", POLICIES)
def test_only_policies_that_say_so_look_at_predictions(policy):
    # The estimates of the workload are far from the truth: whoever reads them decides otherwise.
    reads = run(policy).digest != run(policy, predictor="estimate").digest
    is_told = "estimate" in POLICIES[policy].flags  # reads estimates with the oracle as well
    assert reads == ("clairvoyant" in POLICIES[policy].flags and not is_told)


@each("policy", POLICIES)
def test_a_run_says_whether_it_saw_the_truth(policy):
    assert run(policy).clairvoyant == ("clairvoyant" in POLICIES[policy].flags)
    assert not run(policy, predictor="estimate").clairvoyant


@each("policy", PLACING)
def test_a_policy_that_chooses_gpus_itself_asks_no_placement(policy):
    placements = set(PLACEMENTS) - set(POOLED)
    assert len({run(policy, placement).digest for placement in placements}) == 1
    for placement in POOLED:
        with pytest.raises(ValueError, match="a single pool has no servers"):
            run(policy, placement)


@each("placement", PLACEMENTS)
def test_only_a_pool_has_no_servers(placement):
    intervals = run("fifo", placement).intervals
    is_pooled = "pooled" in PLACEMENTS[placement].flags
    assert (intervals["server"] == -1).all() == is_pooled
    assert (intervals["mask"] == 0).all() == is_pooled


@each("contention", gs.contentions())
@each("speed", [name for name in gs.speeds() if name != "fixed"])
def test_every_speed_and_contention_is_sound_and_repeatable(speed, contention):
    for policy, placement in (("fifo", "spread"), ("srtf", "consolidated"), ("easy", "random")):
        result = run_networked(policy, placement, speed=speed, contention=contention)
        check(result)
        again = run_networked(policy, placement, speed=speed, contention=contention)
        assert again.digest == result.digest


ELASTIC = [name for name, info in POLICIES.items() if "elastic" in info.flags]
BY_DEADLINE = [name for name, info in POLICIES.items() if "deadlines" in info.flags]


@each("policy", POLICIES)
def test_only_policies_that_say_so_choose_widths(policy):
    if policy in PLACING:  # they know no speed but for a job's own width
        return
    result = run_urgent("table", policy)
    check(result)
    widths = np.bitwise_count(result.intervals["mask"]).astype(int)
    first = np.flatnonzero(np.diff(result.intervals["job"] * 2**40 + result.intervals["start_us"],
                                   prepend=-1))  # fmt: skip
    held = np.add.reduceat(widths, first)
    other = held != URGENT.gpus[result.intervals["job"][first]]
    assert other.any() == (policy in ELASTIC)


@each("policy", POLICIES)
def test_only_policies_that_say_so_look_at_deadlines(policy):
    if policy in PLACING:
        return
    looser = dataclasses.replace(URGENT, deadline_us=None, value=None)
    with_deadlines = run_urgent("table", policy).digest
    without = gs.simulate(
        looser, NETWORKED_CLUSTER, policy=policy, placement="consolidated", speed="table"
    ).digest
    assert (with_deadlines != without) == (policy in BY_DEADLINE)


@each("placement", PLACEMENTS)
def test_only_placements_that_say_so_know_demands(placement):
    for policy in ("fifo", "srtf", "easy"):
        if gs.placements()[placement].has("demands"):
            check(run_demanding(placement, policy))
        else:
            with pytest.raises(ValueError, match="supports whole GPUs only"):
                run_demanding(placement, policy)
