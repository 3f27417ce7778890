"""The guarantee of the prices holds on drawn instances, and is not claimed where it is not one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.theorems import primal_dual
from tests.theorems.primal_dual import alpha_of, checked, drawn, optimum

pytest.importorskip("scipy")


@pytest.mark.parametrize("seed", range(8))
def test_what_is_admitted_is_worth_its_part_of_the_optimum(seed):
    found = checked(seed)
    assert found.optimum < sum(job.value for job in drawn(seed).jobs)  # not all of them fit
    assert 1 / (2 * found.alpha) <= found.value / found.optimum <= 1


def test_the_optimum_of_one_job_is_its_value_if_it_can_be_done():
    instance = drawn(0)
    job = instance.jobs[0]
    assert optimum(instance._replace(jobs=[job])) == job.value
    hasty = replace(job, work=1e9)
    assert optimum(instance._replace(jobs=[hasty])) == 0


def test_nothing_is_claimed_for_few_gpus():
    instance = drawn(0)
    with pytest.raises(ValueError, match="above 1, where the theorem says nothing"):
        alpha_of(instance._replace(gpus=dict.fromkeys(instance.gpus, 4)))


def test_admitting_nobody_breaks_it(monkeypatch):
    plan = SimpleNamespace(value=0.0, upper_bound=1e9)
    monkeypatch.setattr(primal_dual, "plan_deadlines", lambda *_, **__: plan)
    with pytest.raises(AssertionError, match="seed 1"):
        checked(1)
