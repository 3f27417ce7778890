"""The second level of an audit: the readable engine decides the run again; forgeries are named."""

import dataclasses

import numpy as np
import pytest

import gpusched as gs
from gpusched.audit import decisions
from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.reference import FAILED, KILLED
from gpusched.results.audited_names import declared
from tests.campaigns.tamperings import (
    SHOWN_BY_DECISIONS,
    SHOWN_BY_NOTHING,
    campaign,
    delayed,
    honest,
    stored,
)
from tests.golden.workload import cluster, trace

pytestmark = pytest.mark.long

TWINS = ("2d-las", "a-srpt", "conservative", "easy", "fifo", "las", "random", "srtf", "wspt")


def run_of(policy: str, **how) -> gs.Result:
    return stored(gs.simulate(trace(is_typed=False), cluster(), policy=policy, **how))


def case_of(result: gs.Result) -> Case:
    return Case(
        result.trace, result.cluster, result.spec, result.schedule, result.intervals,
        declared(result.spec), outages=result.outages,
    )  # fmt: skip


@pytest.mark.parametrize("policy", TWINS)
@pytest.mark.parametrize("which", ["last", "middle"])
def test_a_run_is_decided_again_and_a_consistent_delay_is_named(policy, which):
    result = run_of(policy)
    assert str(result.audit(level="decisions")) == "no problems"
    late = delayed(result, which)
    if late is not None:
        decisions.check(case := case_of(late), Course.of(case))
        assert any(problem.startswith("decided otherwise: ") for problem in case.problems)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"policy": "gavel"}, "policy gavel has no reference implementation"),
        (
            {"policy": "sjf", "predictor": "group-mean"},
            "the trace lacks the predictions of group-mean",
        ),
    ],
)
def test_what_is_not_shown_is_said(how, why):
    report = run_of(**how).audit(level="decisions")
    assert report.ok
    assert report.notes[-1].startswith(f"decisions not shown: {why}")


def test_of_a_long_run_the_first_jobs_are_decided_again():
    result = run_of("srtf")
    decisions.check(case := case_of(result), Course.of(case), most_looks=500)
    assert case.problems == []
    assert case.notes[-1].startswith("decisions shown: those before ")
    rows = {name: values.copy() for name, values in result.schedule.intervals().items()}
    early = int(np.argmin(rows["start_us"]))
    rows["mask"][early] <<= np.uint64(1)
    schedule = dataclasses.replace(result.schedule, rows=rows)
    forged = gs.Result(result.trace, result.cluster, result.spec, schedule, 0.0)
    decisions.check(case := case_of(forged), Course.of(case), most_looks=500)
    assert case.problems[0].startswith("decided otherwise: the log has job ")


def test_a_level_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="level: 'all' must be one of log, decisions"):
        run_of("fifo").audit(level="all")


def test_what_the_log_allows_and_the_policy_does_not_is_named():
    names = {what.partition(":")[0] for what in SHOWN_BY_DECISIONS}
    runs = {name: result for name, result in honest().items() if name in names}
    _, passed = campaign(2, lambda result: result.audit(level="decisions"), runs)
    assert not SHOWN_BY_DECISIONS & set(passed)


LONG = ("easy", "fifo", "las", "random", "serverfilling-srpt", "srsf:restart=work,cost_s=2", "srtf")


def long_run(policy: str, placement: str) -> gs.Result:
    rng = np.random.default_rng(1)
    submit_s = np.sort(rng.uniform(0, 12_000, 400)).round(1)
    service_s = rng.exponential(900, 400).round(1) + 1
    jobs = gs.Trace.from_columns(
        submit_s, service_s, rng.choice([1, 1, 2, 4, 8, 16], 400),
        estimate_s=service_s * rng.choice([1, 1.5, 3], 400), checkpoint_s=[2] * 400,
    )  # fmt: skip
    return stored(gs.simulate(jobs, gs.Cluster.uniform(8, 8), policy=policy, placement=placement))


@pytest.mark.parametrize("placement", ["consolidated", "count", "random"])
@pytest.mark.parametrize("policy", LONG)
def test_of_a_long_run_windows_are_decided_again_from_what_the_log_has(policy, placement):
    result = long_run(policy, placement)
    decisions.check(case := case_of(result), Course.of(case), most_looks=4_000)
    assert case.problems == []
    assert case.notes[-2].endswith("starting from the log")


@pytest.mark.parametrize("policy", [name for name in LONG if name != "random"])
def test_windows_of_a_long_run_with_failures_and_limits_begin_with_what_is_left(policy):
    plain = long_run(policy, "first-fit")
    every = np.arange(len(plain.trace))
    jobs = plain.trace.with_columns(
        checkpoint_every_s=np.where(every % 3, 60 * (every % 3), np.nan),
        checkpoint_write_s=np.where(every % 3, 4, 0),
        time_limit_s=np.where(every % 7, np.nan, 1_200), max_requeues=every % 5,
        requeue_back=every % 2,
    )  # fmt: skip
    outages = gs.generate_outages(plain.cluster, until_s=12_000, mtbf_s=4_000, repair_s=900, seed=2)
    result = stored(
        gs.simulate(jobs, plain.cluster, policy=policy, placement="first-fit", outages=outages)
    )
    assert np.isin(result.schedule.status, (KILLED, FAILED)).sum() > 4
    assert result.schedule.failures.sum() > 20
    decisions.check(case := case_of(result), Course.of(case), most_looks=4_000)
    assert case.problems == []
    assert case.notes[-2].endswith("starting from the log")


def test_a_late_decision_that_is_not_the_policys_is_named_by_a_window():
    result = long_run("sgf", "best-fit")
    decisions.check(case := case_of(result), Course.of(case), most_looks=4_000)
    begin_s = float(case.notes[-2].split("from ")[1].split()[0])
    rows = {name: values.copy() for name, values in result.schedule.intervals().items()}
    inside = (rows["start_us"] > begin_s * 1e6) & (rows["mask"] != 255)
    first = np.flatnonzero(inside)[np.argmin(rows["start_us"][inside])]
    rows["mask"][first] ^= np.uint64(255)
    schedule = dataclasses.replace(result.schedule, rows=rows)
    forged = gs.Result(result.trace, result.cluster, result.spec, schedule, 0.0)
    decisions.check(case := case_of(forged), Course.of(case), most_looks=4_000)
    assert case.problems[0].startswith("decided otherwise: the log has job ")


def test_a_placement_that_goes_by_all_jobs_is_not_shown_by_the_first():
    shares = np.random.default_rng(1).choice([0.25, 0.5, 1.0], 60)
    jobs = gs.Trace.from_columns(range(60), [50] * 60, [1] * 60, gpu_share=shares)
    result = stored(gs.simulate(jobs, gs.Cluster.uniform(2, 4), policy="sjf", placement="fgd"))
    decisions.check(case := case_of(result), Course.of(case), most_looks=100)
    assert case.problems == []
    assert case.notes[-1].startswith(
        "decisions not shown: placement fgd depends on the requests of all jobs, and 60"
    )
    assert str(result.audit(level="decisions")) == "no problems"


def test_every_repaired_forgery_is_named_but_those_that_the_log_cannot_show():
    num_forged, passed = campaign(2, lambda result: result.audit())
    assert num_forged >= 600
    # Where a policy would have put a job is a matter of its placement, and so of decisions.
    left = {what for what in passed if "log server" not in what and "log mask" not in what}
    assert left <= SHOWN_BY_DECISIONS | SHOWN_BY_NOTHING.keys()
