"""What holds for every policy that is elastic, knows deadlines or tells GPU types apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.schedules.schedule import FINISHED
from tests.examples import examples
from tests.random_elastic import (
    MAKERS,
    Instance,
    Table,
    check,
    cluster_of,
    instance,
    pick,
    profiles_of,
    width_of,
)
from tests.time_limit import time_limit

LIMIT_S = 60.0
policies = pytest.mark.parametrize("policy", list(MAKERS))
seeds = st.integers(0, 2**31)


def test_every_policy_for_deadlines_or_elastic_jobs_is_tried():
    flags = {"elastic", "deadlines"}
    assert {name for name, info in gs.policies().items() if flags & set(info.flags)} <= set(MAKERS)


@policies
@examples(20)
@given(seed=seeds)
def test_jobs_end_promises_are_kept_and_bounds_hold(policy, seed):
    pytest.importorskip("scipy")
    with time_limit(LIMIT_S, f"{policy}, seed {seed}"):
        check(instance(seed, policy))


PROMISING = {
    "dancer": ("prices=market", "prices=density", "prices=constant", "prices=theory"),
    "elasticflow": ("types=ordered", "types=pinned"),
    "chronus": ("",),
}
TEXTS = [f"{name}:{rest}" for name, every in PROMISING.items() for rest in every]


def rate_alone(table: Table, cluster: gs.Cluster, widths: list[int]) -> float:
    """The greatest rate of one of these widths on one type that has so many GPUs."""
    return max(
        (
            table[gpu_type].get(width, 0.0)
            for group in cluster.servers
            for gpu_type in [group.gpu_type]
            for width in widths
            if width <= group.count * group.gpus
        ),
        default=0.0,
    )


def ideal_rate(table: Table, cluster: gs.Cluster, width: int) -> float:
    """The rate that services are stated at: of the fastest types that have so many GPUs."""
    num_gpus = 0
    by_rate = [(table[each.gpu_type].get(width, 0.0), each.count * each.gpus)
               for each in cluster.servers]  # fmt: skip
    for rate, count in sorted(by_rate, reverse=True):
        num_gpus += count
        if num_gpus >= width:
            return rate
    raise AssertionError("wider than the cluster")


@pytest.mark.parametrize("text", TEXTS)
@examples(20)
@given(seed=seeds)
@example(seed=345)  # a narrower width of the fastest type is as fast as the job's own
@example(seed=45611579)  # the fastest types have enough GPUs only together
def test_an_empty_cluster_admits_any_job_that_can_meet_its_deadline(text, seed):
    """With a restart in reserve, and a fifth more than its run time."""
    random = np.random.default_rng(seed)
    slot_s = float(pick(random, (20.0, 300.0)))
    cluster, profile = cluster_of(random), profiles_of(random)[0]
    own = width_of(random, profile, cluster.num_gpus)
    assert profile.throughput is not None
    # A width that all of these policies know.
    greatest = rate_alone(dict(profile.throughput), cluster, [own])
    is_pinned = text.endswith("pinned")
    if greatest == 0.0 or (own & (own - 1) and not text.startswith("chronus")):
        return
    service_s = slot_s * pick(random, (0.01, 0.09, 0.5, 1.0, 3.3, 20.0))
    restart_s = slot_s * pick(random, (0.0, 0.1, 1.0, 1.3, 4.0, 30.0))
    submit_s = slot_s * pick(random, (0.0, 0.3, 0.97, 5.0))
    alone_s = service_s * ideal_rate(dict(profile.throughput), cluster, own) / greatest
    patience_s = 1.2 * alone_s + 2 * restart_s + slot_s * pick(random, (1, 1, 3, 30))
    trace = gs.Trace.from_columns(
        [submit_s],
        [service_s],
        [own],
        restart_s=[restart_s],
        deadline_s=[submit_s + patience_s],
        value=[pick(random, (0.5, 1.0, 4.0))],
        min_gpus=[int(random.integers(1, own + 1))],
        max_gpus=[own * int(random.integers(1, 4))],
    ).with_profiles([profile], index=[0])
    slot = "lease_s" if text.startswith("chronus") else "slot_s"
    policy = f"{text}{'' if text.endswith(':') else ','}{slot}={slot_s:g}"
    with time_limit(LIMIT_S, policy):
        result = gs.simulate(trace, cluster, policy=policy, placement="best-fit", speed="table")
    decisions = result.schedule.decisions()
    if result.schedule.status[0] != FINISHED:
        return
    assert decisions["admitted"].tolist() == [1], (decisions["reason"][0], is_pinned)
    assert result.schedule.finish_us[0] <= trace.deadline_us[0]


@dataclass(frozen=True)
class Scaled:
    """Times in whole seconds and rates that are powers of two: exact however they are scaled."""

    columns: dict[str, Any]
    profile: gs.model.JobProfile
    cluster: gs.Cluster
    slot_s: float

    def run(self, policy: str, factor: int) -> gs.Result:
        """All times are ``factor`` times as long."""
        times = {"submit_s", "service_s", "deadline_s", "restart_s"}
        columns = {
            name: np.asarray(values) * factor if name in times else values
            for name, values in self.columns.items()
        }
        trace = gs.Trace.from_columns(**columns)
        trace = trace.with_profiles([self.profile], index=[0] * len(trace))
        text = policy.format(slot=self.slot_s * factor)
        return gs.simulate(trace, self.cluster, policy=text, placement="buddy", speed="table")


SCALED = {
    "dancer": "dancer:slot_s={slot}",
    "dancer, density": "dancer:prices=density,slot_s={slot}",
    "elasticflow": "elasticflow:slot_s={slot}",
    "chronus": "chronus:lease_s={slot}",
    "edf-fastest": "edf-fastest",
    "edf": "edf",
    "llf": "llf:period_s={slot}",
    "afs": "afs:period_s={slot}",
    "optimus": "optimus:step=double,period_s={slot}",
    "allox": "allox:period_s={slot}",
    "themis": "themis:fairness=1,period_s={slot}",  # alone nobody pays with a rounded time
    "themis-greedy": "themis-greedy:period_s={slot}",
}


@pytest.mark.parametrize("name", list(SCALED))
@examples(20)
@given(seed=seeds)
def test_all_times_longer_alike_give_the_same_schedule_longer(name, seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 10))
    slot_s = float(pick(random, (16, 64)))
    submit_s = np.sort(random.integers(0, 400, size))
    service_s = random.choice([1, 16, 40, 120, 400], size)
    table = {
        t: {n: b * n for n in (1, 2, 4)} for t, b in (("A", 1.0), ("B", pick(random, (1, 0.5))))
    }
    instance = Scaled(
        {
            "submit_s": submit_s,
            "service_s": service_s,
            "gpus": random.choice([1, 1, 2, 4], size),
            "restart_s": random.choice([0, 2, 24], size),
            "deadline_s": submit_s + service_s * random.choice([1, 2, 5], size) + 3,
        },
        gs.model.JobProfile("linear", throughput=table),
        gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(int(random.integers(1, 3)), 2, "B"))),
        slot_s,
    )
    one, four = (instance.run(SCALED[name], factor) for factor in (1, 4))
    for column in ("server", "mask", "job"):
        assert (one.intervals[column] == four.intervals[column]).all()
    for column in ("start_us", "end_us"):
        # Finishes are rounded up to ticks.
        assert np.abs(4 * one.intervals[column] - four.intervals[column]).max() <= 4 * size


def first_finish_us(result: gs.Result) -> int:
    finish_us = result.schedule.finish_us
    return int(finish_us[finish_us >= 0].min(initial=2**62))


def events_before(result: gs.Result, at_us: int) -> list[tuple[int, ...]]:
    """Starts, stops and changes before an instant."""
    rows = result.intervals
    some = rows["start_us"] < at_us
    names = ("job", "start_us", "end_us", "server", "mask")
    columns = [rows[name][some].tolist() for name in names]
    return sorted((j, s, min(e, at_us), n, m) for j, s, e, n, m in zip(*columns, strict=True))


@policies
@examples(25)
@given(seed=seeds)
def test_nothing_before_the_first_finish_depends_on_true_services(policy, seed):
    pytest.importorskip("scipy")
    random = np.random.default_rng(seed)
    one = instance(seed, policy)
    estimated = replace(one.trace, estimate_us=one.trace.service_us)
    results = []
    for _ in range(2):
        factor = random.uniform(0.3, 3.0, len(estimated))
        service_us = np.maximum(1, (estimated.service_us * factor).astype(np.int64))
        other = Instance(
            replace(estimated, service_us=service_us),
            one.cluster, one.policy, one.placement, one.speed, one.seed,
        )  # fmt: skip
        with time_limit(LIMIT_S, f"{policy}, seed {seed}"):
            results.append(other.run("estimate"))
    until_us = min(map(first_finish_us, results))
    before, after = (events_before(result, until_us) for result in results)
    assert before == after
    # The log says what was said last of a job: of some that may be later.
    said = [
        {
            int(job): (int(at), bool(yes))
            for job, at, yes in zip(log["job"], log["time_us"], log["admitted"], strict=True)
            if at < until_us
        }
        for log in (result.schedule.decisions() for result in results)
    ]
    assert all(said[0][job] == said[1][job] for job in said[0].keys() & said[1].keys())
