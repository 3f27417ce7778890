"""The audit of work where links are shared: correct schedules pass, each lie is named."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.audit import rates
from gpusched.audit.case import Case
from gpusched.audit.readable_run import Links
from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.reference import Network, Profile
from gpusched.results.audited_names import declared
from tests.each import each
from tests.examples import examples
from tests.golden.workload import networked, networked_cluster
from tests.reference.cases import ALL_TYPES, cases
from tests.unit.audit.test_audit import changed, named, problems, rows_of, with_value
from tests.unit.small_runs import SECOND, cluster_of, job, simulated

PLACES = ("first-fit", "spread", "random", "consolidated-relaxed")
# The slow one communicates for most of its time on several servers.
FORWARD_S = {"V100": 0.1, "K80": 0.3, "T4": 0.2, "A100": 0.1}
SLOW = Profile(4e8, 2.0, {name: s / 2 for name, s in FORWARD_S.items()}, FORWARD_S)
LIGHT = Profile(1e6, 1.0, FORWARD_S, dict.fromkeys(ALL_TYPES, 0.1))


@st.composite
def networks(draw, num_servers):
    gbps = st.sampled_from([1.0, 8.0, 25.0])
    one = st.just([draw(gbps)] * num_servers)
    nic = draw(one | st.lists(gbps, min_size=num_servers, max_size=num_servers))
    intra = draw(
        st.sampled_from([[80.0] * num_servers, [max(nic)] * num_servers, [4.0] * num_servers])
    )
    if num_servers < 2 or draw(st.booleans()):
        return Network(nic, intra)
    # Two racks under a root, the first of them perhaps in a block of its own.
    domain = [
        0,
        *draw(st.lists(st.integers(0, 1), min_size=num_servers - 2, max_size=num_servers - 2)),
        1,
    ]
    parents, uplinks = draw(
        st.sampled_from(
            [([2, 2, None], [2.0, 3.0, None]), ([3, 2, None, 2], [2.0, 9.0, None, 1.0])]
        )
    )
    return Network(nic, intra, domain, parents, uplinks)


@st.composite
def shared_runs(draw):
    """A schedule of the reference engine at the speed ring."""
    policy = draw(st.sampled_from(["fifo-skip", "sjf", "srtf", "srsf", "easy"]))
    case = draw(cases(policy, draw(st.sampled_from(PLACES)))).at(draw(st.sampled_from([7, SECOND])))
    some = st.sampled_from([SLOW, LIGHT])
    jobs = [replace(one, profile=draw(some)) for one in case.jobs]
    contention, params = draw(
        st.sampled_from(
            [
                ("none", {}),
                ("reserved", {}),
                ("shared", {}),
                ("shared", {"degradation": 0.25}),
                ("shared", {"scaling": 0.4}),
            ]
        )
    )
    return simulated(
        jobs, case.servers, case.policy, case.placement, policy_params=case.policy_params,
        placement_params=case.placement_params, seed=case.seed,
        network=draw(networks(len(case.servers))), contention=contention, contention_params=params,
    )  # fmt: skip


@given(shared_runs())
def test_a_correct_schedule_has_no_problems(result):
    report = result.audit()
    assert report.ok, str(report)
    assert report.notes == []


@given(shared_runs(), st.data())
@examples(40)
def test_a_job_that_ends_a_tick_later_or_much_earlier_is_noticed(result, data):
    finished = np.flatnonzero(result.schedule.status == 0)
    if len(finished) == 0:
        return
    one = int(data.draw(st.sampled_from(finished.tolist())))
    last = rows_of(result, one)
    last = last[result.intervals["end_us"][last] == result.schedule.finish_us[one]]
    rows = {name: column.copy() for name, column in result.intervals.items()}
    rows["end_us"][last] += 1
    moved = {
        name: with_value(
            getattr(result.schedule, name), one, getattr(result.schedule, name)[one] + 1
        )
        for name in ("finish_us", "held_us")
    }
    assert problems(result, rows, **moved)


@pytest.fixture(scope="module")
def crowded():
    """Two gangs share four servers, job 2 joins them on two; job 3 has a server for itself."""
    jobs = [
        job(0, 10, 4, profile=SLOW),
        job(0, 10, 4, profile=SLOW),
        job(5, 4, 2, profile=SLOW),
        job(5, 4, 1, profile=SLOW),
    ]
    return simulated(
        jobs, [(4, "V100")] * 4, "fifo", "spread", network=Network([8.0] * 4, [80.0] * 4),
        contention="shared", contention_params={"degradation": 0.25},
    )  # fmt: skip


def test_a_schedule_under_contention_is_right_by_hand(crowded):
    # 4 workers send 2 x 3e8 bytes in a ring of 1e9 B/s: 0.6 s + 0.001 s to reduce (3e8 / 3e11)
    # + 0.2 s to compute + 0.0005 s per server; the ideal is on one server, at 1e10 B/s.
    ideal, alone = 0.06 + 0.001 + 0.2 + 0.0005, 0.6 + 0.001 + 0.2 + 0.002
    two = alone + 0.6 * 1.25  # 1 + degradation times as long on the wire
    three = alone + 0.6 * 2.5
    held_s = crowded.jobs.held_s
    assert crowded.jobs.slowdown_contention[3] == 1.0
    assert crowded.schedule.uncontended_us[:2] == pytest.approx(10e6 * alone / ideal, rel=1e-9)
    # For 5 s with one other; then with two, until job 2 has done its work.
    small_ideal, small_alone = 0.04 + 0.2 / 3e2 + 0.2 + 0.0005, 0.4 + 0.2 / 3e2 + 0.2 + 0.001
    small_three = small_alone + 0.4 * 2.5
    assert held_s[2] == pytest.approx(4 * small_three / small_ideal, abs=2e-6)
    left = 10 - 5 * ideal / two - held_s[2] * ideal / three
    assert held_s[0] == pytest.approx(5 + held_s[2] + left * two / ideal, abs=2e-6)
    assert problems(crowded) == []


@pytest.mark.parametrize(
    ("shift", "rule"), [(1, "finished too late"), (-1, "work lost"), (400_000, "finished too late")]
)
def test_an_end_that_is_not_the_one_is_named(crowded, shift, rule):
    (row,) = rows_of(crowded, 3)
    rows = changed(crowded, row, end_us=crowded.intervals["end_us"][row] + shift)
    schedule = crowded.schedule
    moved = {
        name: with_value(getattr(schedule, name), 3, getattr(schedule, name)[3] + shift)
        for name in ("finish_us", "held_us")
    }
    named(problems(crowded, rows, **moved), rule, "job 3")


def test_a_ring_that_was_left_out_of_the_count_is_noticed_on_those_that_met_it(crowded):
    # Job 2 is said to have run on one server: then the others had their links to themselves.
    rows = {name: column.copy() for name, column in crowded.intervals.items()}
    drop = rows_of(crowded, 2)[1]
    keep = np.arange(len(rows["job"])) != drop
    rows = {name: column[keep] for name, column in rows.items()}
    rows["mask"][rows_of(crowded, 2)[0]] = 0b1100
    servers = with_value(crowded.schedule.num_servers, 2, 1)
    found = problems(crowded, rows, num_servers=servers)
    named(found, "finished too late", "job 0")
    named(found, "finished too late", "and 2 more")


@pytest.mark.parametrize("factor", [1 + 1e-9, 1 - 1e-9, np.nan])
def test_a_wrong_time_without_contention_is_named(crowded, factor):
    wrong = with_value(crowded.schedule.uncontended_us, 1, 0)
    wrong[1] = crowded.schedule.uncontended_us[1] * factor
    named(problems(crowded, uncontended_us=wrong), "wrong uncontended_us", "job 1: ")


def test_a_column_that_does_not_belong_to_the_speed_is_named(crowded):
    named(problems(crowded, uncontended_us=np.empty(0)), "malformed columns", "uncontended_us")
    fixed = simulated([job(0, 1)])
    named(problems(fixed, uncontended_us=np.ones(1)), "malformed columns", "uncontended_us")


def test_another_contention_does_not_explain_the_schedule(crowded):
    for text in ("none", "reserved", "shared", "shared:degradation=0.25,scaling=0.9"):
        spec = replace_text(crowded.spec, "shared:degradation=0.25", text)
        other = type(crowded)(crowded.trace, crowded.cluster, spec, crowded.schedule, 1.0)
        assert problems(other)


def replace_text(spec, old, new):
    return type(spec).from_json(spec.to_json().replace(f'"{old}"', f'"{new}"'))


def test_a_speed_that_does_not_exist_is_a_problem_and_not_an_error(crowded):
    spec = replace_text(crowded.spec, "ring", "mine")
    other = type(crowded)(crowded.trace, crowded.cluster, spec, crowded.schedule, 1.0)
    named(other.audit().problems, "no such run", "unknown speed 'mine'")


def test_a_speed_without_a_rule_is_said_to_be_unchecked():
    result = gs.simulate(networked(), networked_cluster(), speed="stages")
    report = result.audit()
    assert report.ok
    assert report.notes[0].startswith("speed stages, contention none: unknown")
    assert "unknown, the work of jobs is not checked" in str(report)


def test_jobs_beyond_the_bound_are_left_to_chance_and_this_is_said(crowded):
    case = Case(
        crowded.trace, crowded.cluster, crowded.spec,
        replace(crowded.schedule, uncontended_us=crowded.schedule.uncontended_us + 9),
        crowded.intervals, declared(crowded.spec),
    )  # fmt: skip
    rates.check_rates(case, most_shares=1)
    assert case.notes == [
        "rates: of the 3 jobs that ran on several servers 1 were checked, chosen at random; "
        "all others were"
    ]
    assert case.problems[0].endswith("(and 1 more)")  # the one of three, and the job on one server


def test_links_of_a_tree_with_oversubscription():
    cluster = Cluster(
        (
            ServerGroup(2, 4, nic_gbps=8.0, domain="rack"),
            ServerGroup(1, 8, nic_gbps=16.0, domain="block"),
            ServerGroup(3, 1, nic_gbps=24.0, domain="root"),
        ),
        domains=(
            Domain("rack", "block", oversubscription=4.0),
            Domain("root"),
            Domain("block", "root", oversubscription=2.0),
        ),
    )
    links = Links.of(cluster)
    rack, block = 2e9 / 4, (2e9 + 2e9 / 4) / 2
    assert links.bytes_per_s.tolist() == [1e9, 1e9, 2e9, 3e9, 3e9, 3e9, rack, np.inf, block]
    assert links.gpus.tolist() == [4, 4, 8, 1, 1, 1, 8, 19, 16]
    assert [level.tolist() for level in links.above] == [
        [8, 8, 8, -1, -1, -1],
        [6, 6, -1, -1, -1, -1],
    ]


def test_the_cluster_of_a_network_has_its_bandwidths():
    cluster = cluster_of([(4, "V100"), (4, "V100")], Network([8.0, 16.0], [80.0, 80.0]))
    assert Links.of(cluster).bytes_per_s.tolist() == [1e9, 2e9]


@each("service_s", [1e-6, 40.0, 9e9])
@each("rates", [(3.1, 3.0), (7.0, 3.1), (0.1, 0.3), (0.3, 0.1)])
def test_unequal_workers_on_the_whole_cluster_run_at_full_speed_to_the_last_bit(rates, service_s):
    a, b = rates
    profile = gs.model.JobProfile("p", samples_per_s={"A": a, "B": b}, global_batch=12)
    for of_a, of_b in itertools.product(range(1, 5), repeat=2):
        trace = gs.Trace.from_columns(
            [0], [service_s], [of_a + of_b], profile=[0], profiles=[profile]
        )
        cluster = gs.Cluster((gs.ServerGroup(1, of_a, "A"), gs.ServerGroup(1, of_b, "B")))
        result = gs.simulate(trace, cluster, placement="first-fit", speed="proportional")
        assert result.schedule.finish_us[0] == trace.service_us[0]
        assert not result.audit().problems
