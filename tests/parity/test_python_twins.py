"""A plug-in written in Python gives the schedule of its native twin, digest for digest."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import PLACEMENTS, POLICIES
from tests.each import each
from tests.examples import examples
from tests.parity import twins
from tests.parity.core import make_cluster, make_trace, predictor_of
from tests.reference.cases import SECOND, Case, cases

pytestmark = pytest.mark.long

UNITS = st.sampled_from([1, SECOND])
SERVER_PLACEMENTS = [name for name in PLACEMENTS if name != "count"]

few = examples(12)


@pytest.fixture(scope="module", autouse=True)
def registered():
    """Every twin of an order or a placement under its name, led by ``py-``."""
    orders = {**twins.ORDERS, **twins.DEADLINE_ORDERS, "two-queues": twins.TwoQueues}
    for name, order in orders.items():
        gs.register_order(f"py-{name}")(order)
    for name, placement in twins.PLACEMENTS.items():
        gs.register_placement(f"py-{name}")(placement)
    gs.register_scheduler("py-turns")(twins.TurnScheduler)
    yield
    for name in [*gs.policies(), *gs.placements()]:
        if name.startswith("py-"):
            gs.unregister(name)


def digest(case: Case, policy: Any, placement: Any) -> str:
    """The digest of the case under another policy and another placement."""
    result = gs.simulate(
        make_trace(case.jobs), make_cluster(case.servers), policy=policy, placement=placement,
        predictor=predictor_of(case.jobs), seed=case.seed,
    )  # fmt: skip
    return result.digest


def native(case: Case) -> str:
    """The digest of the case as it is."""
    policy = gs.Policy(case.policy, **case.policy_params)
    return digest(case, policy, gs.plugins.PlacementChoice(case.placement, **case.placement_params))


@pytest.mark.parametrize("name", twins.ORDERS)
@examples(30)
@given(data=st.data(), placement=st.sampled_from(PLACEMENTS), unit=UNITS)
def test_a_registered_order_equals_its_native_twin_with_all_options(name, data, placement, unit):
    case = data.draw(cases(name, placement)).at(unit)
    twin = gs.Policy(f"py-{name}", **case.policy_params)
    chosen = gs.plugins.PlacementChoice(placement, **case.placement_params)
    assert digest(case, twin, chosen) == native(case)


@pytest.mark.parametrize("name", twins.ORDERS)
@few
@given(data=st.data(), placement=st.sampled_from(PLACEMENTS))
def test_an_instance_of_an_order_equals_its_native_twin(name, data, placement):
    case = data.draw(cases(name, placement)).at(SECOND)
    # An instance has no options of the list scheduler: it runs on their defaults.
    default = {"period_s": 0} if name == "las" else {}
    expected = digest(case, gs.Policy(name, **default), placement)
    assert digest(case, twins.ORDERS[name](), placement) == expected


@pytest.mark.parametrize("lifetime", ["service", "clock"])
@given(data=st.data(), name=st.sampled_from(list(twins.ORDERS)), place=st.sampled_from(PLACEMENTS))
@examples(40)
def test_a_key_that_is_asked_for_more_often_than_it_changes_is_the_same_key(
    lifetime, data, name, place
):
    case = data.draw(cases(name, place)).at(SECOND)
    order = twins.ORDERS[name]
    if order.lifetime == lifetime:
        return
    restless = type(
        "Restless", (order,), {"lifetime": lifetime if order.lifetime == "fixed" else "clock"}
    )
    assert digest(case, restless(), place) == digest(case, order(), place)


@few
@given(
    case=st.sampled_from(PLACEMENTS).flatmap(lambda placement: cases("2d-las", placement)),
    limit_s=st.integers(1, 60),
    period_s=st.integers(1, 10),
    restart=st.sampled_from(["time", "work"]),
)
def test_an_order_with_an_option_of_its_own_equals_its_native_twin(
    case, limit_s, period_s, restart
):
    case = case.at(SECOND)
    options = {"epoch": "period", "period_s": period_s, "restart": restart}
    expected = digest(case, gs.Policy("2d-las", limits=[limit_s], **options), case.placement)
    twin = gs.Policy("py-two-queues", limit_s=float(limit_s), **options)
    assert digest(case, twin, case.placement) == expected


@pytest.mark.parametrize("name", twins.PLACEMENTS)
@examples(30)
@given(data=st.data(), policy=st.sampled_from(POLICIES), unit=UNITS)
def test_a_registered_placement_equals_its_native_twin_under_any_policy(name, data, policy, unit):
    case = data.draw(cases(policy, name)).at(unit)
    twin = gs.plugins.PlacementChoice(f"py-{name}", **case.placement_params)
    assert digest(case, gs.Policy(policy, **case.policy_params), twin) == native(case)


@each("name", twins.PLACEMENTS)
@few
@given(data=st.data(), policy=st.sampled_from(POLICIES))
def test_an_instance_of_a_placement_equals_its_native_twin(name, data, policy):
    case = data.draw(cases(policy, name)).at(SECOND)
    chosen = gs.Policy(policy, **case.policy_params)
    expected = digest(case, chosen, name)
    assert digest(case, chosen, twins.PLACEMENTS[name]()) == expected


@few
@given(
    data=st.data(),
    order=st.sampled_from(list(twins.ORDERS)),
    place=st.sampled_from(["count", *twins.PLACEMENTS]),
)
def test_twins_of_both_seams_work_together(data, order, place):
    case = data.draw(cases(order, place)).at(SECOND)
    own = twins.PLACEMENTS[place](**case.placement_params) if place != "count" else "count"
    assert digest(case, gs.Policy(f"py-{order}", **case.policy_params), own) == native(case)


@pytest.mark.parametrize(
    ("name", "twin"), [("fifo", twins.StrictScheduler), ("fifo-skip", twins.SkipScheduler)]
)
@examples(40)
@given(data=st.data())
def test_a_scheduler_equals_a_native_one_that_never_preempts(name, twin, data):
    case = data.draw(st.sampled_from(PLACEMENTS).flatmap(lambda placement: cases(name, placement)))
    case = case.at(SECOND)
    assert digest(case, twin(), case.placement) == digest(case, name, case.placement)


@examples(30)
@given(case=cases("srtf", "count"))
def test_a_scheduler_equals_preemptive_srtf_on_one_pool(case):
    case = case.at(SECOND)
    assert digest(case, twins.PooledSrtf(), "count") == digest(case, "srtf", "count")


@examples(30)
@given(case=st.sampled_from(SERVER_PLACEMENTS).flatmap(lambda place: cases("srtf", place)))
def test_a_scheduler_equals_preemptive_srtf_on_servers(case):
    case = case.at(SECOND)
    expected = digest(case, "srtf", case.placement)
    assert digest(case, twins.PreemptiveScheduler(), case.placement) == expected


@examples(30)
@given(
    case=st.sampled_from(SERVER_PLACEMENTS).flatmap(lambda place: cases("las", place)),
    period_s=st.integers(1, 10),
)
def test_a_scheduler_that_wakes_itself_equals_las(case, period_s):
    case = case.at(SECOND)
    expected = digest(case, gs.Policy("las", period_s=period_s), case.placement)
    assert digest(case, twins.TurnScheduler(float(period_s)), case.placement) == expected
    assert digest(case, f"py-turns:period_s={period_s}", case.placement) == expected


# One workload that is deep and long enough for every index to be used.

LARGE = gs.Cluster((gs.ServerGroup(6, 8, "V100"), gs.ServerGroup(4, 4, "K80")))


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(11)
    num_jobs = 600
    return gs.Trace.from_columns(
        submit_s=np.sort(rng.integers(0, 12_000, num_jobs)),
        service_s=rng.integers(1, 60, num_jobs) * rng.integers(1, 30, num_jobs),
        gpus=rng.choice([1, 1, 1, 2, 4, 6, 8, 16, 24], num_jobs),
        weight=rng.integers(1, 5, num_jobs) / 2,
        restart_s=rng.integers(0, 3, num_jobs),
    )


def large_digest(trace: gs.Trace, policy: Any, placement: Any) -> str:
    return gs.simulate(trace, LARGE, policy=policy, placement=placement, seed=5).digest


@pytest.mark.parametrize("name", twins.ORDERS)
def test_an_order_equals_its_native_twin_on_a_deep_queue(name, large):
    options = {"period_s": 60} if name == "las" else {}
    for placement in ("count", "consolidated"):
        expected = large_digest(large, name, placement)
        twin = gs.Policy(f"py-{name}", **options)
        assert large_digest(large, twin, placement) == expected


@pytest.mark.parametrize("name", twins.PLACEMENTS)
def test_a_placement_equals_its_native_twin_on_a_deep_queue(name, large):
    for policy in ("fifo", "srsf"):
        expected = large_digest(large, policy, name)
        assert large_digest(large, policy, f"py-{name}") == expected


@pytest.mark.parametrize(
    ("name", "placement", "twin"),
    [
        ("fifo", "best-fit", twins.StrictScheduler),
        ("fifo-skip", "consolidated", twins.SkipScheduler),
        ("srtf", "count", twins.PooledSrtf),
        ("srtf", "consolidated", twins.PreemptiveScheduler),
        ("las", "spread", twins.TurnScheduler),
    ],
)
def test_a_scheduler_equals_its_native_twin_on_a_deep_queue(name, placement, twin, large):
    assert large_digest(large, twin(), placement) == large_digest(large, name, placement)


def test_a_twin_that_differs_in_one_rule_has_another_digest(large):
    class LatestFirst(twins.FirstCome):
        def rank(self, view: Any, jobs: Any) -> Any:
            return -super().rank(view, jobs)

    class HighestFirst(twins.FirstFit):
        def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
            chosen = super().choose({-server: free[server] for server in free}, gpus, sizes)
            return {-server: count for server, count in chosen.items()}

    assert large_digest(large, LatestFirst(), "count") != large_digest(large, "fifo", "count")
    native_first_fit = large_digest(large, "fifo", "first-fit")
    assert large_digest(large, "fifo", HighestFirst()) != native_first_fit


@pytest.fixture(scope="module")
def crowded():
    """More work than the cluster can do for a while, with estimates that are wrong."""
    rng = np.random.default_rng(23)
    num_jobs = 900
    submit_s = np.sort(rng.integers(0, 9_000, num_jobs))
    service_s = rng.integers(1, 40, num_jobs) * rng.integers(1, 40, num_jobs)
    return gs.Trace.from_columns(
        submit_s=submit_s,
        service_s=service_s,
        gpus=rng.choice([1, 1, 1, 2, 3, 4, 8, 8, 16, 40], num_jobs),
        restart_s=rng.integers(0, 9, num_jobs),
        estimate_s=service_s * rng.choice([0.1, 0.5, 1.0, 2.0], num_jobs),
        deadline_s=submit_s + service_s * rng.uniform(0.5, 9.0, num_jobs),
    )


@pytest.mark.parametrize("placement", ["count", "consolidated", "first-fit", "spread", "random"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"quota": "hold"},
        {"cost_s": 45.0, "wide_cost_s": 90.0},
        {"restart": "work", "cost_s": 20.0},
        {"epoch": "period", "period_s": 47.0},
        {"period_s": 31.0, "cost_s": 5.0},
    ],
)
@pytest.mark.parametrize("name", ["srtf", "srsf", "las", *twins.DEADLINE_ORDERS])
def test_a_choice_that_is_kept_equals_one_that_is_made_anew(name, options, placement, crowded):
    given = {"period_s": 60.0, **options} if name in ("las", "llf") else options
    digests = [
        gs.simulate(
            crowded, LARGE, policy=gs.Policy(policy, **given), placement=placement,
            predictor="estimate", seed=5,
        ).digest
        for policy in (name, f"py-{name}")
    ]  # fmt: skip
    assert digests[0] == digests[1]


def test_keys_that_are_rounded_end_the_choice_that_is_kept(crowded):
    estimate_s = crowded.estimate_us / 1e6
    estimate_s[[200, 300, 301, 550]] = [2e9, 3e9, 3e9, 8e9]  # products of more than 2**53 ticks
    trace = gs.Trace.from_columns(
        submit_s=crowded.submit_s,
        service_s=crowded.service_s,
        gpus=crowded.gpus,
        estimate_s=estimate_s,
    )
    digests = {
        gs.simulate(trace, LARGE, policy=policy, predictor="estimate").digest
        for policy in ("srsf", "py-srsf")
    }
    assert len(digests) == 1
