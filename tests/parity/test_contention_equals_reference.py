"""Speeds, contention and progress of the core equal those of the readable engine, bit for bit."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import CONTENTIONS, PLACEMENTS, POLICIES, Job, Network, Profile
from tests.examples import examples
from tests.parity import twins
from tests.parity.core import (
    assert_equal,
    choice_text,
    make_cluster,
    make_trace,
    predictor_of,
    run_core,
)
from tests.reference.cases import SECOND, TYPES, Case
from tests.reference.contention_cases import SLOWER, by_type, contended_cases
from tests.reference.large import large_case
from tests.reference.scales import SCALES

ON_SERVERS = [name for name in PLACEMENTS if name != "count"]
UNITS = st.sampled_from([1, 7, SECOND])


@pytest.mark.parametrize(
    ("speed", "contention"),
    [*itertools.product(["ring", "proportional"], CONTENTIONS), ("table", "none")],
)
@given(data=st.data(), unit=UNITS)
def test_the_core_equals_the_reference_where_speed_depends_on_placement(
    speed, contention, data, unit
):
    policy = data.draw(st.sampled_from(POLICIES))
    placement = data.draw(st.sampled_from(ON_SERVERS))
    case = data.draw(contended_cases(policy, placement, speed, contention, scales=SCALES))
    assert_equal(case.at(unit))


@examples(20)
@given(data=st.data(), unit=UNITS)
def test_profiles_and_networks_mean_nothing_to_the_fixed_speed(data, unit):
    policy, placement = data.draw(st.sampled_from(POLICIES)), data.draw(st.sampled_from(PLACEMENTS))
    case = data.draw(contended_cases(policy, placement, "fixed", "none")).at(unit)
    assert_equal(case)
    plain = [replace(job, profile=None) for job in case.jobs]
    bare = replace(case, jobs=plain, network=None)
    assert run_core(*bare.arguments()) == run_core(*case.arguments(), **case.speeds())


def crowd(policy: str, placement: str) -> Case:
    """A long replay: many rings at a time, links that are joined and left all the time."""
    case = large_case(policy, placement, seed=0)
    rng = random.Random(f"{policy}/{placement}")
    num_domains = rng.choice([0, 5])
    gbps = [8.0, 10.0, 12.3, 100.0]
    models = [
        Profile(m, 4.0, by_type(0.01, SLOWER[0]), by_type(back, (1.0, slower, 1.0, 2.0)))
        for m, back, slower in ((0.0, 0.1, 2.0), (1e8, 0.1, 1.0), (1e8, 0.3, 1.5), (2.3e8, 0.5, 1))
    ]
    models += [replace(model, batch=4.0 + i) for i in range(8) for model in models]
    params = dict(case.policy_params)
    if params.get("restart") == "work":
        params["restart"] = "time"  # a slow job may do less in a turn than a preemption adds
    servers = [(4, gpu_type) for _, gpu_type in case.servers[:6]] + [(4, TYPES[0])] * 3
    num_gpus = sum(gpus for gpus, _ in servers)
    jobs = [
        replace(job, gpus=min(job.gpus, num_gpus), submit_us=job.submit_us // 3)
        for job in case.jobs[:60]
    ]
    homes = [2, 3, 4, *(rng.randrange(5) for _ in servers[3:])]
    return replace(
        case,
        servers=servers,
        jobs=[replace(job, allowed=None, profile=rng.choice(models)) for job in jobs],
        policy_params=params,
        speed="ring",
        contention=rng.choice(["shared", "shared", "reserved"]),
        network=Network(
            nic_gbps=[rng.choice(gbps) for _ in servers],
            intra_gbps=[rng.choice(gbps) for _ in servers],
            server_domain=homes if num_domains else (),
            domain_parent=[None, 0, 0, 1, 1][:num_domains],
            uplink_gbps=[None, 25.0, 25.0, 12.3, 25.0][:num_domains],
        ),
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "placement",
    [
        "spread",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("random", "consolidated-relaxed")),
    ],
)
def test_the_core_equals_the_reference_where_links_are_crowded(policy, placement):
    assert_equal(crowd(policy, placement))


@pytest.mark.parametrize(
    ("policy", "columns", "gpus"),
    [
        ("fifo", [(0, 11, 2), (0, 900, 2)], 2),
        ("fifo", [(0, 11, 2), (0, 900, 2), (15, 900, 2)], 3),
        ("las", [(0, 11, 2), (0, 900, 2), (15, 1, 4)], 2),
    ],
)
def test_a_job_may_have_done_all_work_a_tick_before_its_finish(policy, columns, gpus):
    # At a rate of 2.75 / 3.75, 11 / rate is 15 and a rounding error; but 15 * rate is exactly 11.
    model = Profile(1e9, 1.0, {TYPES[0]: 0.0}, {TYPES[0]: 1.25})
    case = Case(
        jobs=[Job(*column, profile=model) for column in columns], servers=[(gpus, TYPES[0])] * 2,
        policy=policy, placement="spread", policy_params={}, placement_params={}, seed=0,
        speed="ring", contention="shared",
        speed_params={"overhead_s": 0.0, "reduction_bytes_per_s": 1e9}, contention_params={},
        network=Network([8.0] * 2, [8.0] * 2),
    )  # fmt: skip
    assert case.replay().finish_us[0] == (17 if policy == "las" else 16)
    assert_equal(case)


@examples(30)
@given(data=st.data(), unit=UNITS)
def test_an_order_in_python_sees_the_work_that_is_really_left(data, unit):
    name = data.draw(st.sampled_from(["srtf", "srsf", "las"]))
    placement = data.draw(st.sampled_from(ON_SERVERS))
    case = data.draw(contended_cases(name, placement, "ring", "shared")).at(unit)
    trace, cluster = make_trace(case.jobs), make_cluster(case.servers, case.network)
    native = gs.Policy(name, **({"period_s": 0} if name == "las" else {}))
    digests = {
        gs.simulate(
            trace, cluster, policy=policy, placement=placement, predictor=predictor_of(case.jobs),
            speed=choice_text("ring", case.speed_params),
            contention=choice_text("shared", case.contention_params), seed=case.seed,
        ).digest
        for policy in (native, twins.ORDERS[name]())
    }  # fmt: skip
    assert len(digests) == 1
