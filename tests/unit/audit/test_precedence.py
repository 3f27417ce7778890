"""Runs of jobs with priorities: a log in which they are ignored is named, and no other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import PLACEMENTS, POLICIES, Job
from tests.campaigns.tamperings import rebuilt, with_jobs, with_spec
from tests.each import each
from tests.examples import examples
from tests.reference.cases import SECOND, cases
from tests.unit.small_runs import job, simulated

GPU = ((4, "gpu"),)


def ignored(
    jobs: Sequence[Job], policy: str, placement: str = "count", **params: Any
) -> list[list[str]]:
    """Return the problems of a run of the jobs, and of one that ignored their precedence."""
    honest = simulated(jobs, GPU, policy, placement, policy_params=params)
    plain = [replace(one, precedence=0) for one in jobs]
    lie = simulated(plain, GPU, policy, placement, policy_params=params)
    forged = rebuilt(honest, schedule=lie.schedule)
    assert lie.audit().problems == []
    return [run.audit(level="decisions").problems for run in (honest, forged)]


BLOCKED = job(0, 9, 4)
LOWER = {"precedence": 1}
FORGED = {
    "the starts of like jobs are swapped": (
        [BLOCKED, job(1, 2, 4, **LOWER), job(2, 2, 4)], "fifo-skip", {},
        "out of order: job 1 starts at 9000000 us, while job 2 waits, has the same request and "
        "goes first under fifo-skip",
    ),
    "another job is first in a strict queue": (
        [BLOCKED, job(1, 2, 2, **LOWER), job(2, 2, 4)], "fifo", {},
        "out of order: job 1 starts at 9000000 us, while job 2 waits and goes first under fifo",
    ),
    "the first of a strict queue waits behind a lower job": (
        [job(0, 9, 2), job(1, 3, 4, **LOWER), job(2, 2, 2)], "fifo", {},
        "left waiting: from 2000000 us on job 2 of 2 GPUs waits although fifo would have started",
    ),
    "a lower job gets the GPUs of a wider one": (
        [BLOCKED, job(1, 2, 2, **LOWER), job(2, 8, 4)], "sjf", {},
        "passed over: job 2 of 4 GPUs waits at 9000000 us, although jobs of lower priority have as "
        "many",
    ),
    "a lower job is not preempted": (
        [job(0, 5, 4, **LOWER), job(1, 20, 2)], "srtf", {},
        "passed over: job 1 of 2 GPUs waits at 1000000 us, although jobs of lower priority have as "
        "many",
    ),
    "two lower jobs are not": (
        [job(0, 9, 2, **LOWER), job(0, 9, 2, **LOWER), job(1, 50, 3)], "srtf", {"quota": "hold"},
        "passed over: job 2 of 3 GPUs waits at 1000000 us",
    ),
    "a lower job is the first of easy": (
        [BLOCKED, job(1, 9, 3, **LOWER), job(2, 9, 4)], "easy", {},
        "passed over: job 2 of 4 GPUs waits at 9000000 us",
    ),
    "a lower job is backfilled as the first of easy": (
        [job(0, 9, 3), job(1, 20, 1, **LOWER), job(1, 9, 4)], "easy", {},
        "decided otherwise: job 1 has start_us 1000000, but 18000000 under easy as documented "
        "(and 1 more)",
    ),
}  # fmt: skip


@each(("jobs", "policy", "params", "said"), named=FORGED)
def test_a_run_that_ignores_priorities_is_named(jobs, policy, params, said):
    honest, forged = ignored(jobs, policy, **params)
    assert honest == []
    assert any(problem.startswith(said) for problem in forged), forged


@each("placement", ["first-fit", "spread", "heavy-edge"])
def test_on_servers_it_is_named_as_well(placement):
    jobs, policy, params, said = FORGED["a lower job is not preempted"]
    honest, forged = ignored(jobs, policy, placement, **params)
    assert honest == []
    assert forged[0] == said


def test_a_priority_is_that_of_the_source_less_nice():
    jobs = [BLOCKED, job(1, 2, 4, precedence=2), job(2, 2, 4, precedence=1), job(3, 2, 4)]
    result = simulated(jobs, GPU, "fifo", "count")
    assert (result.schedule.start_us / SECOND).tolist() == [0, 13, 11, 9]
    for priority, nice, age_s, is_true in (
        ([5, -3, 0, 7], None, None, True),
        (None, [-2, 1, 0, -1e-9], None, True),
        ([0, 4, 5, 9], [0, 9, 9, 9], None, True),
        ([0, 0, 0, 1], None, None, False),  # job 1 goes before job 2
        (None, [0, 1, 0, 0], None, False),  # job 2 goes before job 3
        ([0, 0, 0, 0], [0, 9, 9, 0], None, False),  # job 1 goes before job 2
        ([0, 1, 2, 3], None, 1.0, False),  # all were submitted at 0, and go by JobId
        ([0, 1, 2, 3], None, 1.000001, True),
        ([0, 1, 2, 3], None, 1e-9, False),
        ([0, 1, 1e300, 1.1e300], None, 1e9, True),
        (None, None, 5.0, False),
    ):
        columns = {"priority": priority, "nice": nice}
        ranks = {name: of and np.array(of, np.float64) for name, of in columns.items()}
        other = with_spec(with_jobs(result, **ranks), priority_age_s=age_s or msgspec.UNSET)
        assert (other.audit().problems == []) is is_true, (priority, nice, age_s)


@given(data=st.data())
@examples(150)
def test_a_correct_schedule_has_no_problems(data):
    policy, placement = data.draw(st.sampled_from(POLICIES)), st.sampled_from(PLACEMENTS)
    case = data.draw(cases(policy, data.draw(placement))).at(SECOND)
    classes = data.draw(st.lists(st.integers(0, 3), min_size=12, max_size=12))
    jobs = [replace(one, precedence=of) for one, of in zip(case.jobs, classes, strict=False)]
    result = simulated(
        jobs, case.servers, case.policy, case.placement, policy_params=case.policy_params,
        placement_params=case.placement_params, seed=case.seed,
    )  # fmt: skip
    report = result.audit(level="decisions")
    assert report.ok, str(report)
