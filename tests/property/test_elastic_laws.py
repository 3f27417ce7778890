"""Laws of jobs that change their width and their GPU types, whatever decides."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import FINISHED, Job
from gpusched.reference.model import Active
from gpusched.reference.speeds import make_speed
from tests.examples import examples
from tests.parity.core import choice_text, make_cluster, make_trace
from tests.parity.native_whims import NativeChanged, NativeReplanned
from tests.reference.elastic_cases import ELASTIC, ElasticCase, elastic_cases

pytestmark = pytest.mark.long

some = examples(40)
every_speed = pytest.mark.parametrize("speed", ELASTIC)

Runs = dict[int, list[tuple[int, int, dict[int, int]]]]
"""For each job (start, end, GPUs) in order of time."""


def simulate(case: ElasticCase, whim: type[NativeReplanned] = NativeReplanned) -> gs.Result:
    """What the core makes of the case under random plans."""
    try:
        trace = make_trace(case.jobs)
    except ValueError:  # a model that fits no GPU type is refused
        assume(False)
        raise
    try:
        return _simulated(case, trace, whim(case))
    except ValueError as error:
        assume("passes 2^62 microseconds" not in str(error))  # as the readable engine refuses it
        raise


def _simulated(case: ElasticCase, trace: gs.Trace, whim: NativeReplanned) -> gs.Result:
    return gs.simulate(
        trace,
        make_cluster(case.servers, case.network),
        policy=whim,
        placement=case.placement,
        speed=choice_text(case.speed, case.speed_params),
        contention=case.contention,
        seed=case.seed,
        verify=True,
    )


def runs_of(result: gs.Result) -> Runs:
    """The intervals of each job."""
    gpus: Any = defaultdict(lambda: defaultdict(dict))
    rows = zip(*(result.intervals[name].tolist() for name in result.intervals), strict=True)
    for job, start, end, server, mask in rows:
        gpus[job][start, end][server] = mask
    return {job: [(*span, held) for span, held in sorted(of.items())] for job, of in gpus.items()}


def by_submit(case: ElasticCase) -> list[Job]:
    """The jobs in the order of their ids."""
    return sorted(case.jobs, key=lambda job: job.submit_us)


def width(held: dict[int, int]) -> int:
    """The GPUs of an allocation."""
    return sum(mask.bit_count() for mask in held.values())


@every_speed
@some
@given(data=st.data())
def test_to_name_who_changes_is_to_name_all(speed, data):
    case = data.draw(elastic_cases(speed))
    assert simulate(case, NativeChanged).digest == simulate(case).digest


@every_speed
@some
@given(data=st.data())
def test_every_resize_is_counted_and_paid_once_and_widths_are_kept(speed, data):
    case = data.draw(elastic_cases(speed))
    result = simulate(case)
    result.audit().raise_if_bad()
    schedule, jobs = result.schedule, by_submit(case)
    gpu_us = 0
    for job, runs in runs_of(result).items():
        follows = [one[1] == other[0] for one, other in itertools.pairwise(runs)]
        assert schedule.resizes[job] == sum(follows)
        assert schedule.preemptions[job] == len(follows) - sum(follows)
        cost = jobs[job].checkpoint_us + jobs[job].restart_us
        paid = sum(min(cost, end - start) for start, end, _ in runs[1:])
        assert schedule.paid_us[job] == paid
        assert schedule.held_us[job] == sum(end - start for start, end, _ in runs)
        for start, end, held in runs:
            gpu_us += (end - start) * width(held)
            assert jobs[job].min_gpus <= width(held) <= (jobs[job].max_gpus or 10**6)
            names = {case.servers[server][1] for server in held}
            assert jobs[job].allowed is None or names <= jobs[job].allowed
    window_us = result.summary()["makespan_s"] * 1e6
    if window_us > 0:
        num_gpus = sum(gpus for gpus, _ in case.servers)
        assert result.summary()["allocation"] == pytest.approx(gpu_us / (num_gpus * window_us))


@every_speed
@some
@given(data=st.data())
def test_what_rates_make_of_the_time_is_the_service(speed, data):
    """Added up over the intervals of a job by the formulas of the reference."""
    case = data.draw(elastic_cases(speed).filter(lambda case: case.contention == "none"))
    result, jobs = simulate(case), by_submit(case)
    model: Any = make_speed(case.cluster, case.network, speed, case.speed_params, "none", {})
    for job, runs in runs_of(result).items():
        if result.schedule.status[job] != FINISHED:
            continue
        cost = jobs[job].checkpoint_us + jobs[job].restart_us
        active = Active(job, restricted(model, jobs[job]))
        done = rate = 0.0
        for begin, end, held in runs:
            active.allocation = held
            rate = model.uncontended_rate(active)
            since = begin + cost if begin > runs[0][0] else begin
            done += max(0, end - since) * rate
        service = jobs[job].service_us
        assert service * (1 - 1e-12) <= done <= (service + rate) * (1 + 1e-12)


def restricted(model: Any, job: Job) -> Job:
    """The job with the GPU types on which its own width can run, if there are any."""
    names = model.cluster.gpu_types
    alone = {
        names[t] for t in model.cluster.allowed_types(job) if model.runs(Active(0, job), names[t])
    }
    return replace(job, allowed=frozenset(alone)) if alone else job
