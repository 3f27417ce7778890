"""What the audit is made of: pairs, instants, steps, rows of a log, rules of plug-ins, claims."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gpusched as gs
import gpusched.audit
from gpusched.audit import audit, log
from gpusched.audit.case import Case, Servers
from gpusched.audit.course import Course
from gpusched.audit.decisions import _affordable
from gpusched.audit.log import FEW, LoggedRun, Moments, Steps, sorted_pairs
from gpusched.results.audited_names import declared
from gpusched.schedules.schedule import StoredSchedule, digest_of
from tests.campaigns.tamperings import delayed, rebuilt, stored, with_schedule, with_spec
from tests.each import each
from tests.golden.workload import cluster, networked, networked_cluster, trace, urgent

NUMBERS = st.one_of(
    st.integers(-9, 9), st.integers(2**58, 2**58 + 9), st.sampled_from([-(2**63), 2**63 - 1])
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12), st.sampled_from([0, FEW]))
def test_pairs_are_in_the_order_of_tuples(drawn, few):
    table = np.array(drawn, dtype=np.int64).reshape(-1, 2)
    with patch.object(log, "FEW", few):
        first, second = sorted_pairs(table[:, 0], table[:, 1])
    assert table.tolist() == [list(pair) for pair in drawn]  # what was given stays as it was
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == sorted(drawn)
    assert first.dtype == second.dtype == np.int64


# When a job comes, how long it waits, and how long it runs: tiny, so that instants coincide.
JOBS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6
)


@given(JOBS, st.lists(st.integers(0, 12), max_size=3))
def test_instants_are_counted_found_and_followed_as_in_a_plain_list(drawn, others):
    submit_us, wait_us, run_us = np.array(drawn, dtype=np.int64).T
    start_us = submit_us + wait_us
    end_us = start_us + run_us
    others_us = submit_us[0] + np.array(others, np.int64)
    moments = Moments(submit_us, wait_us > 0, start_us, end_us, others_us)
    times = np.concatenate((submit_us, start_us, end_us, others_us))
    instants = sorted({*times.tolist()})
    assert moments.us.tolist() == instants
    assert moments.num_instants == len(instants)
    assert moments.submits.tolist() == [instants.index(us) for us in submit_us]
    assert moments.ends.tolist() == [instants.index(us) for us in end_us]
    assert moments.most_running == max(
        np.count_nonzero((start_us <= us) & (us < end_us)) for us in instants
    )
    times = np.arange(instants[0], instants[-1])
    assert moments.before(times).tolist() == [
        max(place for place, us in enumerate(instants) if us <= time) for time in times
    ]
    assert moments.before(np.array([instants[-1] + 9])).tolist() == [len(instants) - 1]
    assert moments.next_us(times).tolist() == [
        min(us for us in instants if us > time) for time in times
    ]


LONG = 2**58  # times by which pairs do not fit into one number

changes = st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3)), max_size=12)


@given(changes, st.integers(0, 3), st.integers(-2, 5), st.sampled_from([1, LONG]))
def test_a_count_is_high_exactly_within_its_spans(drawn, before, least, unit):
    table = np.array(drawn, np.int64).reshape(-1, 2)
    steps = Steps.of(before, table[:, 0] * unit, table[:, 1])
    assert steps.us.tolist() == sorted({int(us) * unit for us, _ in drawn})
    begins, ends = steps.spans(least)
    assert (begins < ends).all()
    assert (ends[:-1] < begins[1:]).all()
    for now in range(-1, 11):
        count = before + sum(change for us, change in drawn if us <= now)
        assert ((begins <= now * unit) & (now * unit < ends)).any() == (count >= least)


FOLLOWS = (
    "is_in_order", "first", "job", "start_us", "end_us", "opens", "closes", "ran", "has_run",
    "first_start_us", "last_end_us", "is_resize", "num_resizes", "resumed", "since_us", "waits",
    "num_intervals", "num_breaks", "last_rows", "held_us",
)  # fmt: skip


@dataclass
class Logged(LoggedRun):
    """A log alone."""

    trace: gs.Trace
    log: Mapping[str, Any]


# Whether a job runs, how long it waits and how long it runs.
JOBS_LOGGED_RUN = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6
)


@given(JOBS_LOGGED_RUN)
def test_one_row_for_each_job_is_read_as_any_other_log(drawn):
    jobs = np.flatnonzero([runs for runs, _, _ in drawn])
    assume(len(jobs))
    _, wait_us, run_us = np.array(drawn, dtype=np.int64).T
    trace = gs.Trace.from_columns(*[[1.0] * len(drawn)] * 2, gpus=[1] * len(drawn))
    start_us = trace.submit_us[jobs] + wait_us[jobs]
    log = {
        "job": jobs,
        "start_us": start_us,
        "end_us": start_us + run_us[jobs],
        "server": jobs % 2,
        "mask": np.ones(len(jobs), np.uint64),
    }
    quick, plain = Logged(trace, log), Logged(trace, log)
    assert quick.has_one_row_each
    plain.has_one_row_each = False
    for name in FOLLOWS:
        one, other = getattr(quick, name), getattr(plain, name)
        assert np.array_equal(one, other), name
        assert np.asarray(one).dtype == np.asarray(other).dtype, name


def test_a_second_row_of_a_job_is_seen_wherever_it_stands():
    trace = gs.Trace.from_columns([0, 0, 0], [1, 1, 1], [1, 1, 1])
    for jobs in ([0, 1, 1], [0, 0, 1], [1, 0, 2]):
        log = dict.fromkeys(("start_us", "end_us", "server", "mask"), np.zeros(3, np.int64))
        assert not Logged(trace, {"job": np.array(jobs), **log}).has_one_row_each


places = st.lists(
    st.tuples(
        st.sampled_from([-(2**63), -2, -1, 0, 1, 2, 3, 2**62, 2**63 - 1]),
        st.sampled_from([0, 1, 2, 3, 7, 8, 15, 2**63, 2**64 - 1]),
    ),
    max_size=8,
)


@given(places)
def test_masks_are_held_against_the_servers_that_there_are(drawn):
    groups = [gs.ServerGroup(1, gpus) for gpus in (3, 1, 64)]
    servers = Servers.of(gs.Cluster(tuple(groups)))
    sizes = dict(enumerate((3, 1, 64)))
    lacks = servers.lack(
        np.array([server for server, _ in drawn], np.int64),
        np.array([mask for _, mask in drawn], np.uint64),
    )
    assert lacks.tolist() == [
        server not in sizes or not 0 < mask < 2 ** sizes[server] for server, mask in drawn
    ]


def tables() -> dict[str, object]:
    """What the modules of the audit define, by name."""
    names = [module.name for module in pkgutil.iter_modules(gpusched.audit.__path__)]
    modules = [importlib.import_module(f"gpusched.audit.{name}") for name in names]
    return {name: value for module in modules for name, value in vars(module).items()}


@each(
    ("table", "known"),
    [
        ("PACED", gs.speeds()),
        ("SHARES", gs.contentions()),
        ("TAKES_ANY", gs.placements()),
        ("ORDERS", gs.policies()),
        ("ADMISSIONS", gs.policies()),
    ],
)
def test_a_rule_is_about_a_name_that_is_registered(table, known):
    found = tables()[table]
    assert found
    assert set(found) <= set(known)


def gangs() -> gs.Trace:
    """Jobs of two widths that take turns on one server."""
    return gs.Trace.from_columns(
        [0, 0, 10, 400], [30_000, 20_000, 900, 700], [16, 4, 16, 4], checkpoint_s=[1] * 4
    )


def presets() -> list[str]:
    values = gs.policies()["2d-las"].parameter("preset")
    assert values is not None
    return list(values["choices"])


@pytest.mark.parametrize("preset", presets())
def test_restarts_are_paid_as_a_preset_says(preset):
    policy = f"2d-las:preset={preset}"
    result = gs.simulate(gangs(), gs.Cluster.uniform(1, 16), policy=policy)
    assert result.schedule.preemptions.sum() > 0
    result.audit(level="decisions").raise_if_bad()


def test_restarts_follow_from_the_policy_that_an_alias_stands_for():
    def problems(name: str, target: str, own: str) -> list[str]:
        run = gs.simulate(gangs(), gs.Cluster.uniform(1, 16), policy=own)
        spec = msgspec.structs.replace(run.spec, policy=name)
        flags = dataclasses.replace(declared(run.spec), alias_of=target)
        return audit(
            run.trace, run.cluster, spec, run.schedule, run.intervals, run.digest, run.summary,
            flags,
        ).problems  # fmt: skip

    target = "2d-las:preset=lucid,wide_cost_s=90"
    assert problems("mine", target, target) == []
    assert problems("mine:wide_cost_s=7", target, "2d-las:preset=lucid,wide_cost_s=7") == []
    assert problems("mine", target, "2d-las:preset=lucid,wide_cost_s=7") != []


@each("placement", gs.placements())
def test_a_false_refusal_of_a_gang_that_fits_is_named(placement):
    jobs = gs.Trace.from_columns([0, 0], [10, 10], [3, 9])
    cluster = gs.Cluster.uniform(2, 4)
    result = gs.simulate(jobs, cluster, placement=placement)
    assert result.audit().ok
    # The second job runs on no cluster of eight GPUs, but does on one of twelve.
    roomy = gs.Cluster.uniform(3, 4)
    assert gs.simulate(jobs, roomy, placement=placement).audit().ok
    stored = StoredSchedule.of(result.schedule)
    reason = np.array([0, 3], dtype=stored.reason.dtype)
    digest = digest_of(stored.rows, stored.status, reason)
    told = dataclasses.replace(stored, reason=reason, digest=digest)
    spec = msgspec.structs.replace(result.spec, cluster=roomy)
    flags = declared(spec)
    report = audit(jobs, roomy, spec, told, result.intervals, digest, result.summary, flags)
    found = [problem for problem in report.problems if "false reject" in problem]
    assert found


@pytest.fixture(scope="module")
def result() -> gs.Result:
    """A run that admits jobs."""
    jobs = urgent(is_typed=True)
    return stored(gs.simulate(jobs, cluster(), policy="elasticflow", speed="table"))


@pytest.mark.parametrize(("seed", "is_one"), [(2**64 - 1, True), (2**64, False)])
def test_a_seed_has_64_bits(result, seed, is_one):
    problems = with_spec(result, seed=seed).audit().problems
    assert (f"no such run: seed {seed} must be below 2^64" not in problems) == is_one


def test_decisions_have_the_columns_of_decisions_and_one_length(result):
    rows = dict(result.schedule.decisions())
    assert len(rows["job"]) > 2
    fewer = rows | {"job": np.asarray(rows["job"])[:-1]}
    others = {("extra" if name == "job" else name): values for name, values in rows.items()}
    for forged in (fewer, others):
        problems = with_schedule(result, decision_rows=forged).audit().problems
        assert any(problem.startswith("malformed decisions: ") for problem in problems)
    assert rebuilt(result).audit().ok


def test_a_warning_that_is_due_is_missed():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [3, 4])
    result = stored(
        gs.simulate(jobs, gs.Cluster.uniform(1, 8), policy="serverfilling-srpt", placement="count")
    )
    assert result.audit().ok
    (problem,) = with_schedule(result, warnings=()).audit().problems
    assert problem.startswith("missing warning: 1 jobs have a number of GPUs that is not a power")


def test_a_server_with_next_to_no_cpu_refuses_who_asks_for_some():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [1, 1], cpu=[1, 0])
    cluster = gs.Cluster.uniform(servers=1, gpus=4, cpu=0.0004)
    result = gs.simulate(jobs, cluster, policy="fifo-skip", placement="best-fit")
    assert (result.schedule.reason > 0).tolist() == [True, False]
    result.audit().raise_if_bad()


def test_of_equal_parts_the_fastest_workers_take_what_does_not_divide():
    # Of one sample a round the fast worker takes all, though the cluster names the slow one first:
    # 0.5 s a round, as on the fast one alone.
    profile = gs.model.JobProfile("p", samples_per_s={"slow": 1.0, "fast": 2.0}, global_batch=1)
    jobs = gs.Trace.from_columns([0], [10], [2], profiles=[profile], profile=[0])
    cluster = gs.Cluster((gs.ServerGroup(1, 1, "slow"), gs.ServerGroup(1, 1, "fast")))
    speed = "proportional:split=equal,batches=integer"
    result = gs.simulate(jobs, cluster, policy="fifo", placement="first-fit", speed=speed)
    assert result.schedule.finish_us.tolist() == [10_000_000]
    result.audit().raise_if_bad()


CLUSTER = gs.Cluster.uniform(servers=2, gpus=2, nic_gbps=8, intra_gbps=80)


def is_shown(result: gs.Result) -> bool:
    """Whether all decisions could be taken again, and are those of the log."""
    report = result.audit(level="decisions")
    return report.ok and not any("decisions" in note for note in report.notes)


@pytest.mark.parametrize("speed", ["fixed", "ring", "stages"])
def test_what_a_speed_does_not_ask_for_decides_nothing(speed):
    """The jobs have profiles and graphs."""
    jobs, servers = networked(), networked_cluster()
    assert is_shown(gs.simulate(jobs, servers, policy="fifo", speed=speed, placement="heavy-edge"))


@pytest.mark.parametrize("figure", [0.1, {"gpu": 0.1}])
def test_a_figure_of_all_types_is_that_of_each(figure):
    profile = gs.model.JobProfile(
        "p", gradient_bytes=1e9, batch=1, forward_s=figure, backward_s=figure
    )
    graph = gs.model.JobGraph("g", (gs.model.Stage(2, figure, 1e9),))
    trace = gs.Trace.from_columns([0, 0, 5], [40, 30, 9], [2, 2, 2])
    for speed, jobs in (
        ("ring", trace.with_profiles([profile], index=[0, 0, 0])),
        ("stages", trace.with_graphs([graph], index=[0, 0, 0])),
    ):
        result = gs.simulate(jobs, CLUSTER, policy="srtf", speed=speed, placement="spread")
        assert is_shown(result)


@each(("most_looks", "num_jobs"), [(1, 1), (5, 1), (6, 2), (7, 2)])
def test_a_look_at_each_job_that_is_there_and_one_at_the_instant_are_afforded(most_looks, num_jobs):
    # One job alone from 0 to 5 s, another one from 10 s on: 2 + 1 + 2 looks before the last end.
    trace = gs.Trace.from_columns([0, 10], [5, 5], [2, 2])
    result = gs.simulate(trace, CLUSTER, policy="fifo")
    case = Case(
        trace, CLUSTER, result.spec, result.schedule, result.intervals, declared(result.spec)
    )
    assert _affordable(case, Course.of(case), most_looks) == num_jobs


@each("placement", ["best-fit", "consolidated", "count"])
@each("policy", ["fifo", "sjf", "sjf:scan=skip", "srtf", "easy"])
def test_the_last_job_is_not_left_waiting(policy, placement):
    result = stored(
        gs.simulate(
            trace(is_typed=False), cluster(), policy=policy, placement=placement, predictor="oracle"
        )
    )
    assert result.audit().ok
    late = delayed(result, "last")
    assert any(problem.startswith("left waiting: ") for problem in late.audit().problems)
