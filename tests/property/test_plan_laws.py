"""What must hold of every plan: the packers' choices, the cap, and the theorems on the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.examples import examples
from tests.property.gang_reference import NO_CAP, Job, Options, Run, bind_all

pytestmark = pytest.mark.long

SECOND = 1_000_000
TYPES = ("A", "B")

# Few values: ties, equal servers and full ones are the interesting cases.
sizes = st.lists(st.sampled_from([1, 2, 4, 5]), min_size=1, max_size=5)
gangs = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 5), st.sampled_from([1, 1, 2, 3, 4, 6, 8])),
    min_size=1,
    max_size=16,
)
policies = st.builds(
    Options,
    policy=st.sampled_from(["sjf-bco", "sjf-bco", "sjf-bco", "ff", "ls", "rand"]),
    order=st.sampled_from(["width", "submit"]),
    kappa=st.integers(0, 8),
    inflation=st.sampled_from([1.0, 1.5, 3.0]),
    u=st.sampled_from([1.0, 2.0]),
    tie=st.sampled_from(["servers-first", "least-u"]),
    seed=st.integers(0, 3),
)


def cluster_of(server_gpus: list[int], *, has_types: bool = False, **bandwidth: Any) -> gs.Cluster:
    """One server each; types take turns."""
    return gs.Cluster(
        tuple(
            gs.ServerGroup(1, gpus, TYPES[i % 2 if has_types else 0], **bandwidth)
            for i, gpus in enumerate(server_gpus)
        )
    )


def jobs_of(rows: list[tuple[int, int, int]], server_gpus: list[int], *, has_types: bool) -> Any:
    """A trace and its twin; gangs are as wide as fits, and every third knows one type alone."""
    rows = sorted(rows, key=lambda row: row[0])
    jobs, types = [], []
    for i, (submit, service, width) in enumerate(rows):
        servers = [s for s in range(len(server_gpus)) if not has_types or i % 3 or s % 2 == 0]
        types.append("" if not has_types or i % 3 else TYPES[0])
        gpus = min(width, sum(server_gpus[s] for s in servers))
        jobs.append(Job(submit * SECOND, service * SECOND, gpus, frozenset(servers)))
    trace = gs.Trace.from_columns(
        submit_s=[job.submit_us / SECOND for job in jobs],
        service_s=[job.service_us / SECOND for job in jobs],
        gpus=[job.gpus for job in jobs],
        gpu_types=types if has_types else None,
    )
    return trace, jobs


def policy_of(options: Options, **more: Any) -> gs.Policy:
    """The policy as a user writes it."""
    values: dict[str, Any] = {"order": options.order, "u": options.u, **more}
    if options.policy == "sjf-bco":
        values |= {"kappa": options.kappa, "lambda": options.inflation, "tie": options.tie}
    return gs.Policy(options.policy, **values)


def held(result: gs.Result) -> dict[int, tuple[int, list[tuple[int, int]]]]:
    """Start and GPUs of every job."""
    runs: dict[int, tuple[int, list[tuple[int, int]]]] = {}
    columns = [result.intervals[name].tolist() for name in ("job", "start_us", "server", "mask")]
    for job, start, server, mask in zip(*columns, strict=True):
        gpus = [(server, gpu) for gpu in range(64) if mask >> gpu & 1]
        runs[job] = start, runs.get(job, (0, []))[1] + gpus
    return runs


def bound_in(plan: gs.online.Plan) -> dict[int, list[tuple[int, int]]]:
    """GPUs that the plan names for every job."""
    return {
        job: [(s, g) for s, gpus in plan.allocation(job).items() for g in gpus]
        for job in range(len(plan.first) - 1)
    }


@given(
    gangs,
    sizes,
    policies,
    st.booleans(),
    st.sampled_from(["idle", "ready", "in-order"]),
    st.sampled_from([0, 0, 3, 7, 20]),
)
@examples(250)
def test_a_run_equals_the_readable_twin(rows, server_gpus, options, has_types, mode, cap_s):
    trace, jobs = jobs_of(rows, server_gpus, has_types=has_types)
    chosen = policy_of(
        options,
        mode="idle" if mode == "idle" else "queue",
        start="in-order" if mode == "in-order" else "ready",
        theta_s=cap_s,
    )
    cluster = cluster_of(server_gpus, has_types=has_types)
    result = gs.simulate(trace, cluster, policy=chosen, seed=options.seed)
    twin = Run(server_gpus, jobs, options, cap_s * SECOND or NO_CAP, mode)
    assert held(result) == twin.replay()
    was_raised = any("theta_s was raised" in text for text in result.warnings)
    assert was_raised == (twin.cap != (cap_s * SECOND or NO_CAP))


@given(gangs, sizes, policies, st.sampled_from([None, 2, 6, 15]))
def test_a_plan_is_bound_as_the_readable_twin_binds_it(rows, server_gpus, options, theta_s):
    batch = [(0, service, width) for _, service, width in rows]
    trace, jobs = jobs_of(batch, server_gpus, has_types=False)
    plan = gs.online.plan(
        trace,
        cluster_of(server_gpus),
        policy=policy_of(options),
        theta_s=theta_s,
        contention="none",
        seed=options.seed,
    )
    may_raise = theta_s is not None
    cap = theta_s * SECOND if may_raise else round(plan.theta_s * SECOND)
    twin = bind_all(server_gpus, jobs, options, cap, may_raise=may_raise)
    assert twin == (round(plan.theta_s * SECOND), bound_in(plan))


@given(gangs, sizes, policies, st.sampled_from(["ready", "in-order"]))
def test_the_laws_of_plans_hold(rows, server_gpus, options, start):
    # Two speeds of links, much to send: rings are slowed down by their spread and by each other.
    batch = [(0, service, width) for _, service, width in rows]
    trace, _ = jobs_of(batch, server_gpus, has_types=False)
    profile = gs.model.JobProfile(
        name="p", gradient_bytes=1e9, batch=1.0, forward_s=0.1, backward_s=0.2
    )
    trace = trace.with_profiles((profile,))
    cluster = cluster_of(server_gpus, nic_gbps=40.0, intra_gbps=200.0)
    plan = gs.online.plan(
        trace,
        cluster,
        policy=policy_of(options),
        start=start,
        contention="shared:degradation=0.5",
        seed=options.seed,
    )
    result, theta_s = plan.result, plan.theta_s

    # The plan: whole gangs, U under the cap and no less than the jobs' share.
    busy = np.zeros(cluster.num_gpus)
    begin = np.concatenate(([0], np.cumsum(server_gpus)))
    for job, gpus in bound_in(plan).items():
        assert len(set(gpus)) == len(gpus) == trace.gpus[job]
        busy[[begin[s] + g for s, g in gpus]] += trace.service_us[job] / options.u / SECOND
    np.testing.assert_allclose(plan.planned_busy_s, busy)
    assert plan.planned_busy_s.max() <= theta_s

    # The run: on the GPUs that were bound, to the bound's credit, and no longer than promised.
    assert {job: gpus for job, (_, gpus) in held(result).items()} == bound_in(plan)
    result.audit().raise_if_bad()
    phi = slowest_s(trace, server_gpus) / ideal_s(trace, server_gpus)
    rounding = len(trace) / SECOND
    promised = phi.max() * options.u * theta_s + rounding
    assert plan.busy_s.max() <= promised
    assert plan.lower_bound_s <= plan.makespan_s + 1e-9
    if start == "ready":
        # The last job waited while one of its own GPUs was busy, and ran on all of them.
        assert plan.makespan_s <= trace.gpus.max() * promised
    assert plan.makespan_s == min(known.makespan_s for known in plan.candidates)


def ideal_s(trace: gs.Trace, server_gpus: list[int]) -> np.ndarray:
    """Seconds per iteration alone on as few servers as hold the gang."""
    holds = np.cumsum(sorted(server_gpus, reverse=True))
    span = np.searchsorted(holds, trace.gpus) + 1
    return iteration_s(trace.gpus, span, np.where(span == 1, 25e9, 5e9))


def slowest_s(trace: gs.Trace, server_gpus: list[int]) -> np.ndarray:
    """Seconds per iteration with a server for each GPU, and every link as full as can be."""
    sharers = max(server_gpus)
    degraded = sharers + 0.5 * (sharers - 1)
    return iteration_s(trace.gpus, trace.gpus, 5e9 / degraded)


def iteration_s(gpus: np.ndarray, span: np.ndarray, bytes_per_s: Any) -> np.ndarray:
    """The paper's equation for the profile above."""
    sent = 1e9 * (gpus - 1) / gpus
    return 2 * sent / bytes_per_s + sent / 3e11 + 0.0005 * span + 0.3


@given(st.integers(1, 9), st.integers(1, 500), sizes, policies)
def test_the_plan_of_one_job_is_the_job(width, service_us, server_gpus, options):
    gpus = min(width, sum(server_gpus))
    trace = gs.Trace.from_columns(submit_s=[3], service_s=[service_us / SECOND], gpus=[gpus])
    plan = gs.online.plan(
        trace, cluster_of(server_gpus), policy=policy_of(options), contention="none"
    )
    assert plan.makespan_s == plan.mean_jct_s == plan.lower_bound_s == service_us / SECOND
    assert np.count_nonzero(plan.planned_busy_s) == gpus
    assert plan.theta_s == max(1, np.rint(service_us / options.u)) / SECOND


@given(gangs, sizes, policies)
def test_the_cap_is_tight_to_within_the_tolerance(rows, server_gpus, options):
    batch = [(0, service, width) for _, service, width in rows]
    trace, jobs = jobs_of(batch, server_gpus, has_types=False)
    plan = gs.online.plan(
        trace,
        cluster_of(server_gpus),
        policy=policy_of(options),
        contention="none",
        seed=options.seed,
        tolerance=0,
    )
    cap = round(plan.theta_s * SECOND)
    load = np.maximum(1, np.rint(trace.service_us / options.u))
    bound = np.ceil(max(load.max(), (load * trace.gpus).sum() / sum(server_gpus)))
    assert bound <= cap <= max(bound, np.ceil(load.sum()) + 2)
    if cap > bound:
        assert bind_all(server_gpus, jobs, options, cap - 1, may_raise=False) is None
