"""Relative speeds of GPU types: the core equals the readable engine, fed by a rule of its own."""

import dataclasses

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import PLACEMENTS, POLICIES, Job, replay
from gpusched.reference.model import Throughputs
from tests.parity.core import MOST_INSTANTS, assert_same, make_cluster, make_trace, outcome_of

SERVERS = [(2, "A"), (4, "B"), (2, "C"), (4, "A")]
SECOND = 1_000_000
SETS = (None, None, "A", "B", "C", "AB", "BC")
# The sum of two types' speeds, or a ratio, may lie between doubles: 0.1 and 2.1 are none.
SPEEDS = st.sampled_from([1.0, 1.0, 2.0, 2.1, 0.5, 0.1, 3.7])
KNOWING_NO_TYPES = "count"  # of one pool

jobs = st.lists(
    st.builds(
        lambda submit, service, gpus, types, estimate: Job(
            submit * SECOND,
            service * SECOND // 7 + 1,
            gpus,
            estimate_us=(service + estimate) * SECOND // 7 + 1,
            allowed=None if types is None else frozenset(types),
        ),
        st.integers(0, 20), st.integers(1, 60), st.integers(1, 13), st.sampled_from(SETS),
        st.integers(0, 30),
    ),
    min_size=1, max_size=12,
).map(lambda made: sorted(made, key=lambda job: job.submit_us))  # fmt: skip


def best_speed(job: Job, speeds: dict[str, float]) -> float | None:
    """Return the speed of the slowest of the fastest types that hold the job; None: none does."""
    total = {name: sum(gpus for gpus, of in SERVERS if of == name) for name in speeds}
    held = 0
    for name in sorted(job.allowed or speeds, key=lambda name: -speeds[name]):
        held += total[name]
        if held >= job.gpus:
            return speeds[name]
    return None


def restated(job: Job, speeds: dict[str, float], reference: str | None) -> Job:
    """Return the job with run times at its best speed, and what the types do of it."""
    table = {name: {min(job.gpus, 12): speed} for name, speed in speeds.items()}
    best = best_speed(job, speeds)
    if reference is not None:
        own = speeds[reference]
    else:
        own = speeds[min(job.allowed)] if job.allowed and len(job.allowed) == 1 else 1.0
    ratio = 1.0 if best is None else own * (1 / best)
    if abs(ratio - 1) < 1e-9:
        ratio = 1.0
    assert job.estimate_us is not None
    return dataclasses.replace(
        job,
        service_us=max(round(job.service_us * ratio), 1),
        estimate_us=max(round(job.estimate_us * ratio), 1),
        throughputs=Throughputs(table),
    )


@example(
    [Job(0, 142_858, 1, estimate_us=142_858)] * 3, (1.0, 1.0, 2.0), None, "a-srpt", "first-fit"
)
@given(
    jobs, st.tuples(SPEEDS, SPEEDS, SPEEDS), st.sampled_from([None, "A", "C"]),
    st.sampled_from(POLICIES), st.sampled_from([p for p in PLACEMENTS if p != KNOWING_NO_TYPES]),
)  # fmt: skip
def test_runs_on_types_of_unequal_speed_equal_the_reference(jobs, fast, reference, policy, place):
    speeds = dict(zip("ABC", fast, strict=True))
    cluster = make_cluster(SERVERS).with_speeds(speeds)
    trace = make_trace(jobs).with_reference_type(reference)
    how = {"policy": policy, "placement": place, "predictor": "oracle"}
    result = gs.simulate(trace, cluster, **how, verify=True)
    if all(speed == 1 for speed in fast):
        plain = gs.simulate(trace, make_cluster(SERVERS), **how)
        assert result.digest == plain.digest
        assert result.trace is trace
        return
    expected = replay(
        [restated(job, speeds, reference) for job in jobs], SERVERS, policy, place,
        speed="table", max_instants=MOST_INSTANTS,
    )  # fmt: skip
    assert_same(expected, outcome_of(result.schedule))
    assert result.audit().ok
    assert gs.run(result.spec, trace).digest == result.digest
    assert gs.run(result.spec, result.trace).digest == result.digest


@given(
    st.integers(1, 10**12), st.integers(1, 4), st.sampled_from("ABC"),
    st.tuples(SPEEDS, SPEEDS, SPEEDS), st.sampled_from([None, "A", "B", "C"]),
)  # fmt: skip
def test_a_job_alone_takes_its_run_time_times_the_ratio_of_the_speeds(
    service_us, gpus, own, fast, reference
):
    speeds = dict(zip("ABC", fast, strict=True))
    cluster = gs.Cluster(tuple(gs.ServerGroup(1, 4, name, speed=s) for name, s in speeds.items()))
    trace = gs.Trace.from_columns([0], [1], [gpus], gpu_types=[own])
    trace = dataclasses.replace(trace, service_us=np.array([service_us]))
    result = gs.simulate(trace.with_reference_type(reference), cluster, policy="fifo")
    took = int(result.schedule.finish_us[0])
    wanted = service_us * speeds[reference or own] / speeds[own]
    assert abs(took - wanted) <= 1 + 1e-9 * wanted
    if reference in (None, own):
        assert took == service_us
