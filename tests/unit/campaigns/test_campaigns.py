"""Campaigns of random cases: they are repeatable, and a failure of any kind is one."""

import os
import time
from dataclasses import replace

import pytest

from gpusched.reference import Job
from tests.campaigns.seams import SEAMS, trial_of
from tests.campaigns.trials import Twin, brief, compare, shrunk
from tests.campaigns.workers import Tally, campaign
from tests.random_cases import main
from tests.reference.cases import Case

pytestmark = pytest.mark.long


def show(_: Tally) -> None:
    """Show nothing."""


@pytest.mark.parametrize("seam", SEAMS)
def test_a_case_is_the_same_whenever_it_is_drawn(seam):
    assert [trial_of(seam, 5, i) for i in range(40)] == [trial_of(seam, 5, i) for i in range(40)]
    assert trial_of(seam, 5, 0) != trial_of(seam, 6, 0)


@pytest.mark.parametrize("seam", ["order", "placement", "elastic"])
def test_a_short_campaign_finds_nothing(seam, capsys):
    assert main([seam, "--cases", "60", "--seed", "11", "--jobs", "2"]) == 0
    assert f"{seam}: 60 cases" in capsys.readouterr().out


def test_a_case_that_hangs_or_ends_its_process_is_a_failure_and_the_others_are_run():
    def work(index: int) -> tuple[tuple[str, ...], str]:
        if index == 3:
            time.sleep(600)
        if index == 6:
            os._exit(5)
        return ("name",), "differs: here" if index == 8 else "same"

    tally = campaign(work, range(10), 2, 2.0, show)
    kinds = {index: verdict.partition(":")[0] for index, verdict in tally.failures}
    assert kinds == {3: "hung", 6: "crashed", 8: "differs"}
    assert tally.num_cases == 10
    assert tally.verdicts["same"] == 7


def test_a_case_that_raises_is_counted_as_a_failure_and_the_others_go_on():
    def work(index: int) -> tuple[tuple[str, ...], str]:
        return (), f"same{1 // (index - 3)}"[:4]

    tally = campaign(work, range(8), 2, 20.0, lambda _: None)
    assert tally.num_cases == 8
    assert [index for index, _ in tally.failures] == [3]
    assert "ZeroDivisionError" in tally.failures[0][1]


def test_a_failing_case_is_made_smaller_as_long_as_it_fails():
    class Picky(Twin):
        def check(self) -> str:
            assert all(job.gpus != 3 for job in self.case.jobs)
            return "same"

        def smaller(self):
            twins = Twin(self.case).smaller()
            return (Picky(twin.case) for twin in twins if isinstance(twin, Twin))

    jobs = [Job(0, 1, gpus) for gpus in (1, 2, 3, 4, 5)]
    case = Case(jobs, [(8, "gpu")], "fifo", "count", {"scan": "skip"}, {}, 0)
    smallest = shrunk(Picky(case))
    assert smallest == Picky(replace(case, jobs=[jobs[2]], policy_params={}))
    assert "gpus=3" in brief(smallest)
    assert "weight" not in brief(smallest)


def test_both_engines_must_refuse_or_neither():
    trial = trial_of("order", 0, 0)
    assert isinstance(trial, Twin)
    outcome = trial.case.replay()
    assert compare(outcome, outcome) == "same"
    assert compare(ValueError(), ValueError()) == "refused"
    assert compare(RuntimeError(), outcome) == "endless"
    for one, other in ((outcome, ValueError()), (ValueError(), outcome), (outcome, TypeError())):
        with pytest.raises(Exception, match="Error"):
            compare(one, other)


@pytest.mark.parametrize(("seed", "index"), [(3002, 7377), (4001, 51960)])
def test_cases_of_long_campaigns_that_were_not_right_are(seed, index):
    assert trial_of("scheduler", seed, index).check() == "same"
