"""The audit holds every policy to what its registration declares."""

import dataclasses

import pytest

import gpusched as gs
from gpusched.audit import audit
from gpusched.results.audited_names import declared
from gpusched.schedules.schedule import StoredSchedule, digest_of
from tests.each import each

POLICIES = gs.policies()
RULE = "non-preemptive policy preempts"


def as_if_preempted(result: gs.Result) -> list[str]:
    """What an audit says if a job of ``result`` is stopped for a second and all sums follow."""
    rows = {name: column.copy() for name, column in result.intervals.items()}
    longest = int((rows["end_us"] - rows["start_us"]).argmax())
    begin, end = int(rows["start_us"][longest]), int(rows["end_us"][longest])
    assert end - begin > 4_000_000
    for name, column in rows.items():
        values = column.tolist()
        values.insert(longest + 1, values[longest])
        rows[name] = type(column)((len(values),), column.dtype)
        rows[name][:] = values
    rows["end_us"][longest] = begin + 1_000_000
    rows["start_us"][longest + 1] = begin + 2_000_000
    rows["end_us"][longest + 1] = end + 1_000_000
    schedule = result.schedule
    digest = digest_of(rows, schedule.status, schedule.reason)
    columns = {
        field.name: getattr(schedule, field.name)
        for field in dataclasses.fields(StoredSchedule)
        if field.name not in ("rows", "digest", "decision_rows")
    }
    stored = StoredSchedule(**columns, rows=rows, digest=digest)
    report = audit(
        result.trace, result.cluster, result.spec, stored, rows, digest, result.summary,
        declared(result.spec),
    )  # fmt: skip
    assert report.problems
    return report.problems


def one_job(policy: str) -> gs.Result:
    """A job of ten seconds on one GPU, with all that a policy may ask for."""
    profile = gs.model.JobProfile(
        "m", throughput={"gpu": {1: 1.0}}, samples_per_s={"gpu": 1.0}, global_batch=1
    )
    trace = gs.Trace.from_columns(
        [0], [10], [1], deadline_s=[10_000.0], profiles=[profile], profile=[0]
    )
    speed = "table" if {"elastic", "deadlines"} & set(POLICIES[policy].flags) else "fixed"
    return gs.simulate(trace, gs.Cluster.uniform(1, 2), policy=policy, speed=speed)


@each("policy", POLICIES)
def test_the_audit_knows_from_the_registry_who_never_preempts(policy):
    found = any(RULE in problem for problem in as_if_preempted(one_job(policy)))
    assert found == ("preemptive" not in POLICIES[policy].flags)


def test_at_least_the_known_policies_are_held_to_it():
    never = {name for name, info in POLICIES.items() if info.preempts is False}
    assert never >= {"fifo", "easy", "a-srpt", "qssf", "spjf", "spwf", "wcs-duration", "sjf-bco"}


class Eager(gs.Scheduler):
    """Starts whatever fits."""

    def decide(self, state, finished, arrived, actions) -> None:
        for job in arrived:
            actions.start(int(job), state.place(int(job)))


@pytest.mark.parametrize(
    ("flags", "preempts"), [((), None), (("preemptive",), True), (("non-preemptive",), False)]
)
def test_of_a_scheduler_of_python_only_what_it_declares_is_assumed(flags, preempts):
    try:
        gs.register_scheduler("declaring")(type("Declaring", (Eager,), {"flags": flags}))
        assert gs.policies()["declaring"].preempts is preempts
        assert declared(one_job_of("declaring").spec).preempts is preempts
        found = any(RULE in problem for problem in as_if_preempted(one_job_of("declaring")))
        assert found == (preempts is False)
    finally:
        gs.unregister("declaring")


def one_job_of(policy: str) -> gs.Result:
    trace = gs.Trace.from_columns([0], [10], [1])
    return gs.simulate(trace, gs.Cluster.uniform(1, 2), policy=policy)


def test_of_a_name_that_is_not_registered_here_nothing_is_assumed():
    result = one_job_of("fifo")
    spec = gs.RunSpec.from_json(result.spec.to_json().replace('"fifo"', '"elsewhere"'))
    assert declared(spec).preempts is None
