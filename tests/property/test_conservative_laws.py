"""What a reservation is worth under ``conservative``, where no job outlives its estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import PLACEMENTS, REJECTED, Job, make_engine
from gpusched.reference.backfilling import Conservative, HeadReservation
from gpusched.reference.engine import Engine
from gpusched.reference.model import Active, Outcome
from gpusched.reference.packing import NAMES
from tests.examples import examples
from tests.parity.core import assert_equal, run_core
from tests.reference.cases import Case, cases
from tests.reference.demand_cases import demand_cases

pytestmark = pytest.mark.long

SCATTERING = ("consolidated", "consolidated-relaxed")
"""Placements that refuse gangs for which enough GPUs are free."""


@dataclass
class Promise:
    """That a job starts by an instant."""

    job: int
    shadow: int


class Recorded(Conservative):
    """As the rule, and keeps what is promised."""

    def __init__(self) -> None:
        super().__init__()
        self.promises: list[Promise] = []

    def promise(self, engine: Engine, head: Active) -> HeadReservation:
        promised = super().promise(engine, head)
        self.promises.append(Promise(head.id, promised.shadow))
        return promised


def record(case: Case) -> tuple[Outcome, list[Promise]]:
    """Return the outcome of a case and what was promised in it."""
    scheduler = Recorded()
    engine = make_engine(
        case.jobs, case.servers, scheduler, case.placement, seed=case.seed, room=case.room,
        placement_params=case.placement_params,
    )  # fmt: skip
    return engine.run(), scheduler.promises


@given(case=cases("conservative", "count", "high"))
def test_in_a_pool_everybody_starts_when_its_reservation_comes(case):
    assert record(case)[1] == []


@pytest.mark.parametrize("placement", PLACEMENTS)
@examples(60)
@given(data=st.data())
def test_who_waits_first_starts_by_the_instant_it_was_promised(placement, data):
    case = data.draw(cases("conservative", placement, "high"))
    outcome, promises = record(case)
    for promise in promises:
        assert outcome.start_us[promise.job] <= promise.shadow


@examples(60)
@given(case=st.sampled_from(NAMES).flatmap(lambda name: demand_cases("conservative", name)))
def test_the_promise_holds_for_jobs_that_ask_for_more_than_gpus(case):
    estimates = [max(job.service_us, job.estimate_us or 0) for job in case.jobs]
    jobs = [
        replace(job, estimate_us=estimate, predicted_us=None)
        for job, estimate in zip(case.jobs, estimates, strict=True)
    ]
    case = replace(case, jobs=jobs)
    outcome, promises = record(case)
    assert all(outcome.start_us[promise.job] <= promise.shadow for promise in promises)
    assert_equal(case.at(1_000_000))


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[tuple[int, str]], list[Job], int, list[Job]]:
    """Draw servers, early jobs, the gap of a stream of later jobs, and one period of it.

    Single GPUs are taken all over the cluster when a gang comes, and single ones go on coming.
    """
    servers = [(2, "gpu")] * draw(st.integers(2, 3))
    gap = draw(st.integers(3, 10))
    early = [Job(0, draw(st.integers(1, 2)) * gap, 1) for _ in range(2 * len(servers))]
    early += [Job(1, draw(st.integers(1, 10)), 2) for _ in range(draw(st.integers(1, 2)))]
    lasts = st.integers(gap, 2 * gap)
    return servers, early, gap, [Job(1 + gap, draw(lasts), 1) for _ in servers]


@given(crowd=crowds(), placement=st.sampled_from(SCATTERING))
def test_no_stream_of_later_jobs_delays_a_gang_for_ever(crowd, placement):
    servers, early, gap, period = crowd
    longest = max(job.service_us for job in [*early, *period])
    # Reservations of early jobs come by `reserved`; whoever is in front of one has arrived by
    # then, and starts at the latest when all that ran before it has ended.
    reserved = 1 + sum(job.service_us for job in early)
    num_in_front = len(early) + len(period) * (reserved // gap + 1)
    latest = reserved + num_in_front * longest
    num_periods = 2 * latest // gap
    later = [
        replace(job, submit_us=job.submit_us + gap * i)
        for i in range(num_periods)
        for job in period
    ]
    outcome = run_core([*early, *later], servers, "conservative", placement)
    starts = zip(outcome.start_us[: len(early)], outcome.status, strict=False)
    assert all(start <= latest for start, status in starts if status != REJECTED)


def test_a_gang_waits_no_longer_for_a_longer_stream():
    for num_periods in (5, 50, 500):
        jobs = [Job(0, service, 1) for service in (10, 20, 10, 20)]
        jobs += [Job(1, 5, 2)]
        jobs += [Job(1 + 10 * i, 15, 1) for i in range(1, num_periods) for _ in range(2)]
        outcome = run_core(jobs, [(2, "gpu"), (2, "gpu")], "conservative", "consolidated")
        assert outcome.start_us[4] == 20
