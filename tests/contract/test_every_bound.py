"""Every bound says what it is, and no policy beats it on any drawn case."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.bounds.certificates import lower_bounds
from gpusched.bounds.deadline_bounds import deadline_bound, dsr_bound
from gpusched.bounds.registry import (
    BOUNDS,
    DEADLINES_MET,
    MAKESPAN,
    QUANTITIES,
    TOTAL_JCT,
    BoundedJobs,
    known_bounds,
    register_bound,
)
from tests.each import each
from tests.examples import examples

KNOWN = known_bounds()
POLICIES = ("fifo", "fifo-skip", "sjf", "srtf", "2d-las", "easy", "edf", "swf")
SPEED = "fixed"

TWO_JOBS = gs.Trace.from_columns([0, 1], [5, 5], [4, 1]), gs.Cluster.uniform(1, 4)

every_bound = pytest.mark.parametrize("name", sorted(KNOWN))
# Tiny ranges on purpose: ties, simultaneous events and full clusters are the interesting cases.
jobs = st.tuples(
    st.integers(0, 12), st.integers(1, 9), st.integers(1, 4), st.none() | st.integers(1, 30)
)
workloads = st.lists(jobs, min_size=1, max_size=8).map(lambda drawn: sorted(drawn, key=str))


def trace_of(drawn: list[tuple[int, int, int, int | None]]) -> gs.Trace:
    submit, service, gpus, slack = zip(*drawn, strict=True)
    deadline = [np.nan if s is None else t + s for t, s in zip(submit, slack, strict=True)]
    return gs.Trace.from_columns(submit, service, gpus, deadline_s=deadline)


@every_bound
def test_a_bound_says_what_it_is(name):
    bound = KNOWN[name]
    assert bound.name == name
    assert bound.quantity in QUANTITIES
    assert bound.side in ("lower", "upper")
    assert bound.summary.endswith(".")
    assert bound.assumptions
    assert bound.source


def test_every_quantity_is_bounded_and_listed_in_order():
    assert set(known_bounds(TOTAL_JCT)) >= {"squashed-srpt", "mean-busy-time", "trivial"}
    assert next(iter(known_bounds(DEADLINES_MET))) == "alone"
    brief = lower_bounds(*TWO_JOBS).total_jct_us
    assert set(known_bounds(TOTAL_JCT)) - set(brief) == {"shared-cost", "priced-time"}
    assert sum(len(known_bounds(quantity)) for quantity in QUANTITIES) == len(KNOWN)
    with pytest.raises(ValueError, match="unknown quantity 'makspan'; did you mean 'makespan'"):
        known_bounds("makspan")


@examples(25)
@given(workloads, st.sampled_from(POLICIES))
def test_no_policy_beats_a_bound(drawn, policy):
    trace, cluster = trace_of(drawn), gs.Cluster.uniform(2, 2)
    schedule = gs.simulate(trace, cluster, policy=policy).schedule
    assert (schedule.finish_us >= 0).all()
    flow_us = int((schedule.finish_us - trace.submit_us).sum())
    makespan_us = int(schedule.finish_us.max() - trace.submit_us[0])
    has_deadline = np.asarray(trace.deadline_us) >= 0 if trace.deadline_us is not None else None
    lower = lower_bounds(trace, cluster, thorough=True)
    for name, value in lower.total_jct_us.items():
        assert value <= flow_us, name
    for name, value in lower.makespans_us.items():
        assert value <= makespan_us, name
    assert set(lower.total_jct_us) | set(lower.makespans_us) == {
        name for name, bound in KNOWN.items() if bound.side == "lower"
    }
    if has_deadline is None or not has_deadline.any():
        return
    late_us = schedule.finish_us - np.asarray(trace.deadline_us)
    met = int(np.count_nonzero(has_deadline & (late_us <= 0)))
    upper = deadline_bound(trace, cluster, speed=SPEED)
    for name, bound in upper.bounds.items():
        assert bound >= met, name
    ratio, name = dsr_bound(trace, cluster, speed=SPEED, met=met)
    assert ratio >= met / np.count_nonzero(has_deadline)
    assert name in KNOWN


def test_a_new_bound_enters_the_certificate_of_a_result():
    trace, cluster = trace_of([(0, 4, 2, 30), (0, 4, 4, 30)]), gs.Cluster.uniform(2, 2)
    # The best schedule: 4 + 8 s.
    attained = Fraction(12_000_000)

    @register_bound(
        "told", quantity=TOTAL_JCT, summary="As told.", assumptions="These jobs.", source="None."
    )
    def _told(jobs: BoundedJobs) -> Fraction:
        return attained

    try:
        lower = lower_bounds(trace, cluster)
        assert lower.total_jct_us["told"] == attained
        summary = gs.simulate(trace, cluster, policy="fifo").summary()
        assert summary["lower_bound_name"] == "told"
        assert summary["gap"] == 0
    finally:
        BOUNDS.remove("told")
    assert gs.simulate(trace, cluster, policy="fifo").summary()["lower_bound_name"] != "told"


@each(
    ("field", "value", "message"),
    [
        ("name", "trivial", "the name 'trivial' is taken"),
        ("quantity", MAKESPAN[:-1], "unknown quantity 'makespa'; did you mean 'makespan'"),
        ("summary", "", "summary must not be empty"),
        ("assumptions", " ", "assumptions must not be empty"),
        ("source", "", "source must not be empty"),
    ],
)
def test_a_wrong_registration_is_refused(field, value, message):
    fields = {
        "name": "another", "quantity": MAKESPAN, "summary": "A.", "assumptions": "B.",
        "source": "C.", field: value,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        register_bound(**fields)
    assert "another" not in BOUNDS.all()
