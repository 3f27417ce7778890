"""Arguments of a run that make no sense, and numbers at the edge of what can be counted."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.reference import POLICIES, Job, replay
from tests.boundary.workloads import CLUSTER, trace
from tests.each import each
from tests.parity.core import run_core

LONGEST_S = 2**53 / 1e6  # the longest service
LATEST_S = 2**61 / 1e6  # the last submit


def simulate(**arguments: Any) -> gs.Result:
    return gs.simulate(**{"trace": trace(), "cluster": CLUSTER} | arguments)


@each(
    ("arguments", "error", "message"),
    [
        ({"trace": None}, TypeError, "trace: expected a Trace, not None"),
        ({"trace": [1, 2]}, TypeError, r"trace: expected a Trace, not \[1, 2\]"),
        ({"cluster": 8}, TypeError, "cluster: expected a Cluster, not 8"),
        ({"cluster": gs.Cluster}, TypeError, "cluster: expected a Cluster"),
        ({"policy": 3}, TypeError, "policy: expected a name"),
        ({"policy": gs.Order}, TypeError, "policy: expected a name"),
        ({"policy": gs.plugins.PlacementChoice("count")}, TypeError, "policy: expected a name"),
        ({"policy": ""}, ValueError, "unknown policy ''; known: 2d-las, "),
        ({"policy": "FIFO"}, ValueError, "unknown policy 'FIFO'"),
        ({"policy": "consolidated"}, ValueError, "unknown policy 'consolidated'"),
        ({"policy": "fifo\0"}, ValueError, "unknown policy"),
        ({"placement": None}, TypeError, "placement: expected a name or a Placement, not None"),
        ({"placement": gs.Policy("fifo")}, TypeError, "placement: expected a name"),
        ({"placement": "fist-fit"}, ValueError, "unknown placement 'fist-fit'; did you mean 'fi"),
        ({"placement": "fifo"}, ValueError, "unknown placement 'fifo'"),
        ({"predictor": None}, TypeError, "predictor: expected a text, not None"),
        ({"seed": 2**64}, ValueError, "seed: 18446744073709551616 must lie between 0 and"),
        ({"seed": 1.0}, TypeError, "seed: expected an integer, not 1.0"),
        ({"seed": True}, TypeError, "seed: expected an integer, not True"),
        ({"seed": "1"}, TypeError, "seed: expected an integer, not '1'"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        simulate(**arguments)


@each(
    ("text", "message"),
    [
        ("fifo:", "policy 'fifo:': expected key=value, not ''"),
        ("fifo:scan", "policy 'fifo:scan': expected key=value, not 'scan'"),
        ("fifo:scan=", "expected key=value, not 'scan='"),
        ("fifo:=strict", "expected key=value, not '=strict'"),
        ("fifo:scan=strict,", "expected key=value, not ''"),
        ("fifo:scan=strict,scan=skip", "'fifo:scan=strict,scan=skip': scan is given twice"),
        ("conservative:scan=strict", "policy conservative: unknown parameter 'scan'; it has none"),
        ("srtf:cost_s=ten", "policy srtf: parameter cost_s: expected a number, not 'ten'"),
        ("srtf:displace=yes", "parameter displace: expected true or false, not 'yes'"),
        ("2d-las:limits=1/x", "policy 2d-las: parameter limits: expected a list of numbers"),
        ("2d-las:limits=1//2", "policy 2d-las: parameter limits: expected a list of numbers"),
        ("2d-las:limits=7200/3250", "policy 2d-las: parameter limits must ascend"),
        ("2d-las:limits=5/5", "policy 2d-las: parameter limits must ascend"),
        ("srtf:epoch=period", "parameter period_s: epoch=period needs a period above 0"),
        ("las:epoch=period,period_s=0", "parameter period_s: epoch=period needs a period above"),
    ],
)
def test_a_malformed_policy_text_says_what_is_wrong_with_it(text, message):
    with pytest.raises((ValueError, TypeError), match=message):
        simulate(policy=text)


@pytest.mark.parametrize("servers", [0, -1, 300_000_000])
def test_a_cluster_has_a_server(servers):
    with pytest.raises(ValueError, match=f"servers: {servers} must lie in 1.."):
        gs.Cluster.uniform(servers)
    with pytest.raises(ValueError, match="at least one group of servers"):
        gs.Cluster(())


def test_every_cluster_that_can_be_described_can_be_simulated():
    from gpusched.model.cluster import MAX_SERVERS

    cluster = gs.Cluster.uniform(MAX_SERVERS, 1)
    for placement in ("count", "first-fit", "spread"):
        assert simulate(cluster=cluster, placement=placement).audit().ok


@each("policy", gs.policies())
def test_jobs_that_can_never_run_are_rejected_and_block_nobody(policy):
    runnable = trace(40)
    giants = np.arange(0, 160, 8)
    columns = {
        "submit_s": np.concatenate([runnable.submit_s, giants]),
        "service_s": np.concatenate([runnable.service_s, np.full(20, 5)]),
        "gpus": np.concatenate([runnable.gpus, np.full(20, 13)]),
    }
    mixed = gs.simulate(gs.Trace.from_columns(**columns), CLUSTER, policy=policy)
    assert mixed.summary()["num_rejected"] == 20
    frame = mixed.jobs
    is_giant = frame.gpus == 13
    assert set(frame.reason[is_giant]) == {"needs more GPUs than the cluster has"}
    assert set(frame.status[is_giant]) == {"rejected"}
    assert np.isnan(frame.jct_s[is_giant]).all()
    if "random" in gs.policies()[policy].flags:
        return  # lots go by JobId, which the giants shift
    # A giant's arrival is an instant at which policies decide, so only those that have no
    # other keys than at arrival are sure to decide as they would without it.
    if "preemptive" not in gs.policies()[policy].flags:
        alone = gs.simulate(runnable, CLUSTER, policy=policy).jobs
        assert np.array_equal(frame.start_s[~is_giant], alone.start_s)


@each(
    ("gpu_types", "gpus", "reason"),
    [
        ("T4", 1, "no server has an allowed GPU type"),
        ("K80", 5, "needs more GPUs than the cluster has"),
        ("", 13, "needs more GPUs than the cluster has"),
        ("V100", 9, "needs more GPUs than the cluster has"),
    ],
)
@each("placement", sorted(set(gs.placements()) - {"count"}))
def test_a_reject_says_why(placement, gpu_types, gpus, reason):
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "K80"), gs.ServerGroup(2, 4, "V100")))
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [gpus, 1], gpu_types=[gpu_types, ""])
    frame = gs.simulate(jobs, cluster, placement=placement).jobs
    assert list(frame.status) == ["rejected", "finished"]
    assert frame.reason[0] == reason


@pytest.mark.parametrize("placement", ["consolidated", "consolidated-relaxed:kappa=1"])
def test_a_placement_that_refuses_an_empty_cluster_says_so(placement):
    cluster = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(4, 1)))
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [8, 1])
    frame = gs.simulate(jobs, cluster, placement=placement).jobs
    assert list(frame.status) == ["rejected", "finished"]
    assert frame.reason[0] == "the placement refuses it on an empty cluster"


def test_a_pool_does_not_know_types():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "K80"), gs.ServerGroup(2, 4, "V100")))
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [1, 1], gpu_types=["", "K80"])
    with pytest.raises(ValueError, match="placement: job 1 allows only some GPU types"):
        gs.simulate(jobs, cluster, placement="count")


def test_an_estimate_that_is_missing_is_named():
    jobs = gs.Trace.from_columns([0, 1, 2], [5, 5, 5], [1, 1, 1], estimate_s=[1, np.nan, 3])
    with pytest.raises(ValueError, match=r"job 1 \(row 1\) has no estimate_s"):
        gs.simulate(jobs, CLUSTER, predictor="estimate")
    assert gs.simulate(jobs, CLUSTER, policy="easy").audit().ok  # the truth stands in


@pytest.mark.parametrize("gpus", [13, 2**31 - 1])
def test_the_widest_gang_there_could_be_is_rejected_without_ado(gpus):
    jobs = gs.Trace.from_columns([0, 0], [LONGEST_S, 1], [gpus, 1])
    for policy in gs.policies():
        assert gs.simulate(jobs, CLUSTER, policy=policy).schedule.status.tolist() == [1, 0]


# Steps of 8 s: as microseconds they are multiples of 512, which a double still tells apart there.
LATE = 2_305_843_009_000 * 10**6
LONG = 9_007_199_254 * 10**6


@each("policy", POLICIES)
def test_the_longest_and_latest_jobs_are_scheduled_as_by_the_readable_engine(policy):
    jobs = [
        Job(LATE + 8 * i * 10**6, LONG - i * 10**14, 1 + i % 4, estimate_us=LONG, weight=10.0**-i)
        for i in range(7)
    ]
    period = {"period_s": 1e9} if policy in ("las", "2d-las") else {}
    for placement in ("count", "best-fit"):
        expected = replay(jobs, [(4, "gpu")], policy, placement, policy_params=period)
        assert expected.start_us[0] == LATE
        assert run_core(jobs, [(4, "gpu")], policy, placement, period) == expected


@each("policy", ["conservative", "easy"])
@each("placement", ["count", "first-fit"])
def test_estimates_that_add_up_to_more_than_time_has_do_not_wrap(policy, placement):
    # 1,100 reservations one after the other end beyond 2^63 us, though all jobs are short.
    num_jobs = 1_100
    jobs = gs.Trace.from_columns(
        np.zeros(num_jobs), np.ones(num_jobs), np.ones(num_jobs), estimate_s=[9e9] * num_jobs
    )
    try:
        result = gs.simulate(jobs, gs.Cluster.uniform(1, 1), policy=policy, placement=placement)
    except ValueError as error:
        assert "2^62" in str(error)  # noqa: PT017 - either end is fine
    else:
        assert result.schedule.start_us.tolist() == [i * 10**6 for i in range(num_jobs)]


@pytest.mark.parametrize("restart", ["time", "work"])
def test_restart_costs_that_add_up_to_more_than_time_has_are_an_error(restart):
    # A job that is preempted 800 times, and owes half a millennium each time.
    num_jobs = 800
    jobs = gs.Trace.from_columns(
        10.0 * np.arange(num_jobs), np.where(np.arange(num_jobs) == 0, 1e6, 1), np.ones(num_jobs),
        checkpoint_s=np.full(num_jobs, 9e9), restart_s=np.full(num_jobs, 9e9),
    )  # fmt: skip
    arguments = {"cluster": gs.Cluster.uniform(1, 1), "policy": f"srtf:restart={restart}"}
    if restart == "time":  # paid for once, at the last resume
        assert gs.simulate(jobs, **arguments).audit().ok
    else:
        with pytest.raises(ValueError, match=r"passes 2\^6[12] microseconds"):
            gs.simulate(jobs, **arguments)


def test_a_turn_that_costs_more_than_it_gains_is_refused_and_not_run_for_ever():
    jobs = gs.Trace.from_columns([0, 0], [100, 100], [1, 1])
    with pytest.raises(ValueError, match=r"restart=work: job 0 would lose"):
        gs.simulate(jobs, gs.Cluster.uniform(1, 1), policy="las:restart=work,cost_s=60")
    endless = "2d-las:limits=10,promote=1,restart=work,cost_s=60"
    with pytest.raises(ValueError, match="restart=work"):
        gs.simulate(jobs, gs.Cluster.uniform(1, 1), policy=endless)


LISTENS_UNTIL_US = {"chronus-leases": 240_000_000}
"""Of a policy that starts jobs at multiples of its period alone."""


@each("policy", gs.policies())
def test_the_smallest_workload_there_is_runs(policy):
    one = gs.Trace.from_columns([LATEST_S], [1e-9], [1])
    result = gs.simulate(one, gs.Cluster.uniform(1, 1), policy=policy)
    assert result.audit().ok
    period_us = LISTENS_UNTIL_US.get(policy, 1)
    assert result.schedule.finish_us.tolist() == [-(-(2**61) // period_us) * period_us + 1]
