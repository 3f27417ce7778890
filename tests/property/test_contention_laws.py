"""Laws of speeds and contention that hold in the core, whatever decides where the jobs run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched._core import Allocation
from gpusched.reference import (
    CONTENTIONS,
    FINISHED,
    PLACEMENTS,
    POLICIES,
    Job,
    Network,
    Profile,
    make_scheduler,
)
from gpusched.reference.cluster import Cluster
from gpusched.reference.lists import Preemptive
from gpusched.reference.model import Active
from gpusched.reference.speeds import Ring, make_speed
from tests.boundary.test_random_schedulers import Whim
from tests.examples import examples
from tests.parity.core import choice_text, make_cluster, make_trace, run_core
from tests.reference.cases import SECOND, Case
from tests.reference.contention_cases import (
    contended_cases,
    contention_parameters,
    networks,
    profiles,
)

pytestmark = pytest.mark.long

few = examples(25)
some = examples(40)

ON_SERVERS = [name for name in PLACEMENTS if name != "count"]
GPUS_PER_SERVER = 3
LONG = 10**9  # ticks: the rounding to a tick is a billionth


class AsTold(gs.Scheduler):
    """Starts every job when it arrives, on the GPUs that it was dealt."""

    def __init__(self, hands: Sequence[dict[int, int]]) -> None:
        super().__init__()
        self.hands = hands

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in arrived.tolist():
            hand = self.hands[job]
            gpus = sum(mask.bit_count() for mask in hand.values())
            actions.start(job, Allocation(gpus, sorted(hand.items())))


@dataclass(frozen=True)
class Deal:
    """Jobs that all start at 0 on GPUs of their own."""

    hands: list[dict[int, int]]
    jobs: list[Job]
    network: Network
    contention_params: dict[str, Any]

    def finish_us(self, contention: str = "shared") -> list[int]:
        """When each job ends."""
        return self.run(contention).schedule.finish_us.tolist()

    def run(self, contention: str) -> gs.Result:
        params = self.contention_params if contention == "shared" else {}
        num_servers = len(self.network.nic_gbps)
        return gs.simulate(
            make_trace(self.jobs),
            make_cluster([(GPUS_PER_SERVER, "K80")] * num_servers, self.network),
            policy=AsTold(self.hands),
            placement="first-fit",
            speed="ring",
            contention=choice_text(contention, params),
            verify=True,
        )

    def without(self, job: int) -> Deal:
        """The same where one job is missing."""
        keep = [i for i in range(len(self.jobs)) if i != job]
        return replace(self, hands=[self.hands[i] for i in keep], jobs=[self.jobs[i] for i in keep])


@st.composite
def deals(draw: st.DrawFn) -> Deal:
    """Deal the GPUs of a few servers out to two jobs or more."""
    num_servers = draw(st.integers(2, 4))
    owners = draw(
        st.lists(
            st.integers(0, 4),
            min_size=num_servers * GPUS_PER_SERVER,
            max_size=num_servers * GPUS_PER_SERVER,
        ).filter(lambda owners: len(set(owners)) > 1)
    )
    hands: dict[int, dict[int, int]] = {}
    for gpu, owner in enumerate(owners):
        server, bit = gpu // GPUS_PER_SERVER, 1 << gpu % GPUS_PER_SERVER
        hand = hands.setdefault(owner, {})
        hand[server] = hand.get(server, 0) | bit
    jobs = [
        Job(
            submit_us=0,
            service_us=draw(st.sampled_from([LONG, 2 * LONG, LONG // 3])),
            gpus=sum(mask.bit_count() for mask in hand.values()),
            profile=draw(profiles()),
        )
        for hand in hands.values()
    ]
    params = draw(contention_parameters("shared"))
    return Deal(list(hands.values()), jobs, draw(networks(num_servers)), params)


@some
@given(deal=deals())
def test_the_first_to_end_has_run_at_the_rate_of_the_papers_formula(deal):
    """Up to the first finish nothing changes, so that it tells the rate of that job."""
    deal = replace(deal, network=replace(deal.network, domain_parent=(), server_domain=()))
    network = deal.network
    finish_us = deal.finish_us()
    first = min(range(len(finish_us)), key=lambda job: finish_us[job])
    hand, job = deal.hands[first], deal.jobs[first]
    a = deal.contention_params.get("degradation", 0.0)
    xi1 = deal.contention_params.get("scaling", 1.0)
    model = job.profile
    assert model is not None
    compute_s = model.forward_s["K80"] * model.batch + model.backward_s["K80"]

    def tau(span: int, gbps: float) -> float:
        bytes_moved = model.gradient_bytes * (job.gpus - 1) / job.gpus
        seconds = 2 * bytes_moved / (gbps / 8 * 1e9) + bytes_moved / 3e11
        return seconds + 0.0005 * span + compute_s

    def level(server: int) -> float:
        """The paper's f(a, k) of one server's card."""
        on_it = [other for other in deal.hands if server in other and len(other) > 1]
        k = max(1.0, xi1 * len(on_it))
        return k + a * (k - 1)

    gbps = min(network.intra_gbps[server] for server in hand)
    if len(hand) > 1:
        gbps = min(gbps, *(network.nic_gbps[server] / level(server) for server in hand))
    least_span = math.ceil(job.gpus / GPUS_PER_SERVER)
    best_gbps = max(network.intra_gbps)
    if least_span > 1:
        best_gbps = min(best_gbps, max(network.nic_gbps))
    expected = job.service_us * tau(len(hand), gbps) / tau(least_span, best_gbps)
    assert finish_us[first] == pytest.approx(expected, abs=1.5, rel=1e-12)


@some
@given(deal=deals(), data=st.data())
def test_a_ring_more_makes_no_other_end_earlier(deal, data):
    extra = data.draw(st.integers(0, len(deal.jobs) - 1))
    among_all = deal.finish_us()
    del among_all[extra]
    alone = deal.without(extra).finish_us()
    # Finishes are rounded up to ticks, and so are their effects on each other.
    slack = len(alone)
    assert all(more >= less - slack for more, less in zip(among_all, alone, strict=True))
    if len(deal.hands[extra]) == 1:
        assert among_all == alone


@some
@given(deal=deals())
def test_jobs_are_never_faster_for_having_to_share(deal):
    shared, alone = deal.run("shared").schedule, deal.finish_us("none")
    slack = len(alone)
    for job, hand in enumerate(deal.hands):
        assert shared.finish_us[job] >= alone[job] - slack
        assert shared.uncontended_us[job] == pytest.approx(alone[job], abs=1.5, rel=1e-12)
        if len(hand) == 1:
            assert shared.finish_us[job] == alone[job]


@some
@given(deal=deals())
def test_a_gang_inside_the_best_server_takes_its_service_to_the_tick(deal):
    equal = [deal.network.intra_gbps[0]] * len(deal.network.intra_gbps)
    deal = replace(deal, network=replace(deal.network, intra_gbps=equal))
    for contention in CONTENTIONS:
        for finish, hand, job in zip(
            deal.finish_us(contention), deal.hands, deal.jobs, strict=True
        ):
            assert finish == job.service_us or len(hand) > 1


@some
@given(deal=deals())
def test_one_ring_on_each_link_is_as_good_as_none(deal):
    apart: list[int] = []
    used: set[Any] = set()
    for job, hand in enumerate(deal.hands):
        links = set(deal.network.links(hand))
        if not links & used:
            used |= links
            apart.append(job)
    deal = replace(
        deal, hands=[deal.hands[job] for job in apart], jobs=[deal.jobs[job] for job in apart]
    )
    assert deal.run("shared").digest == deal.run("none").digest


@few
@given(data=st.data(), policy=st.sampled_from(POLICIES))
def test_gangs_that_fill_whole_servers_do_not_meet(data, policy):
    case = data.draw(contended_cases(policy, "consolidated", "ring", "shared")).at(7)
    gpus = [2 * (1 + job.gpus % 3) for job in case.jobs]
    case = replace(
        case,
        jobs=[replace(job, gpus=n) for job, n in zip(case.jobs, gpus, strict=True)],
        servers=[(2, gpu_type) for _, gpu_type in case.servers],
        network=replace(case.network, domain_parent=(), server_domain=(), uplink_gbps=()),
    )
    crowded = run_core(*case.arguments(), **case.speeds())
    alone = run_core(
        *case.arguments(), **replace(case, contention="none", contention_params={}).speeds()
    )
    assert crowded == alone


def runs_of(rows: list[tuple[int, int, int, int, int]]) -> Iterator[tuple[int, int, int, dict]]:
    """Job, start, end and allocation of each run, in the order of (job, start)."""
    for key in sorted({row[:3] for row in rows}):
        yield *key, {server: mask for *run, server, mask in rows if tuple(run) == key}


def service_done(speed: Ring, jobs: list[Job], rows: Any, costs: list[int]) -> list[float]:
    """Integrate each job's rate over the time that it ran without paying ``costs`` ticks."""
    runs = list(runs_of(rows))
    instants = sorted({tick for _, start, end, _ in runs for tick in (start, end)})
    done = [0.0] * len(jobs)
    for begin, until in itertools.pairwise(instants):
        running = [run for run in runs if run[1] <= begin < run[2]]
        rates = speed.rates(
            [Active(job, jobs[job], allocation=hand) for job, _, _, hand in running]
        )
        for (job, start, _, _), (_, rate) in zip(running, rates, strict=True):
            is_first = start == min(run[1] for run in runs if run[0] == job)
            progress_from = start if is_first else start + costs[job]
            done[job] += rate * max(0, until - max(begin, progress_from))
    return done


@pytest.mark.parametrize("contention", CONTENTIONS)
@some
@given(data=st.data(), policy=st.sampled_from(POLICIES), unit=st.sampled_from([1, 7, SECOND]))
def test_the_rates_integrate_to_the_work(contention, data, policy, unit):
    placement = data.draw(st.sampled_from(ON_SERVERS))
    case = data.draw(contended_cases(policy, placement, "ring", contention)).at(unit)
    outcome = run_core(*case.arguments(), **case.speeds())
    jobs = sorted(case.jobs, key=lambda job: job.submit_us)
    rules = make_scheduler(policy, case.policy_params)
    costs = [rules.cost(job, job.gpus) for job in jobs]
    adds_work = isinstance(rules, Preemptive) and rules.params["restart"] == "work"
    done = service_done(speed_of(case), jobs, outcome.rows, [0] * len(jobs) if adds_work else costs)
    for i, job in enumerate(jobs):
        if outcome.status[i] != FINISHED:
            assert done[i] == outcome.uncontended_us[i] == 0
            continue
        own = job.service_us + getattr(rules, "overrun", 0)
        work = own + (costs[i] * outcome.preemptions[i] if adds_work else 0)
        slack = 1e-9 * work + 1e-6
        assert work - slack <= done[i] <= work + 1 + slack
        time = outcome.held_us[i] - outcome.paid_us[i]
        assert work - slack <= outcome.uncontended_us[i] <= time + slack


def speed_of(case: Case) -> Ring:
    speed = make_speed(
        Cluster(case.servers, pooled=False),
        case.network,
        case.speed,
        case.speed_params,
        case.contention,
        case.contention_params,
    )
    assert isinstance(speed, Ring)
    return speed


@pytest.mark.parametrize("contention", ["shared", "reserved"])
def test_whatever_a_scheduler_tries_the_rates_stay_right(contention):
    rng = np.random.default_rng(1)
    models = [
        Profile(1e8, 1.0, {"K80": 0.1, "V100": 0.05}, {"K80": 0.1, "V100": 0.1}),
        Profile(2e8, 1.0, {"K80": 0.3, "V100": 0.1}, {"K80": 0.1, "V100": 0.1}),
    ]
    columns = (np.sort(rng.integers(0, 60, 30)), rng.integers(1, 20, 30), rng.integers(1, 9, 30))
    jobs = [
        Job(submit * SECOND, service * SECOND, gpus, profile=models[i % 2])
        for i, (submit, service, gpus) in enumerate(
            zip(*(c.tolist() for c in columns), strict=True)
        )
    ]
    servers = [(4, "K80"), (4, "K80"), (3, "V100"), (3, "V100")]
    network = Network(
        [10.0] * 4, [12.3, 100.0, 100.0, 100.0], [1, 1, 2, 2], [None, 0, 0], [None, 10, 5]
    )
    speed = make_speed(Cluster(servers, pooled=False), network, "ring", {}, contention, {})
    for seed in range(4):
        whim = Whim(seed)
        result = gs.simulate(
            make_trace(jobs),
            make_cluster(servers, network),
            policy=whim,
            placement="spread",
            speed="ring",
            contention=contention,
            verify=True,
        )
        schedule = result.schedule
        assert whim.num_done > 50
        assert schedule.preemptions.sum() > 10
        intervals = schedule.intervals()
        names = ("job", "start_us", "end_us", "server", "mask")
        rows = list(zip(*(intervals[name].tolist() for name in names), strict=True))
        done = service_done(speed, jobs, rows, [0] * len(jobs))
        for job, service in zip(jobs, done, strict=True):
            assert job.service_us - 1e-3 <= service <= job.service_us + 1.001
