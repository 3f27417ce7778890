"""What a result claims to be: a run that cannot be is named."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.audit.declarations import PRESET_RULES
from tests.campaigns.tamperings import rebuilt, stored, with_schedule, with_spec
from tests.golden.workload import cluster, urgent


@pytest.fixture(scope="module")
def result() -> gs.Result:
    """A run that admits jobs."""
    jobs = urgent(is_typed=True)
    return stored(gs.simulate(jobs, cluster(), policy="elasticflow", speed="table"))


@pytest.mark.parametrize(("seed", "is_one"), [(2**64 - 1, True), (2**64, False)])
def test_a_seed_has_64_bits(result: gs.Result, seed: int, is_one: bool) -> None:
    problems = with_spec(result, seed=seed).audit().problems
    assert (f"no such run: seed {seed} is not below 2^64" not in problems) == is_one


def test_decisions_have_the_columns_of_decisions_and_one_length(result: gs.Result) -> None:
    rows = dict(result.schedule.decisions())
    assert len(rows["job"]) > 2
    fewer = rows | {"job": np.asarray(rows["job"])[:-1]}
    others = {("extra" if name == "job" else name): values for name, values in rows.items()}
    for forged in (fewer, others):
        problems = with_schedule(result, decision_rows=forged).audit().problems
        assert any(problem.startswith("malformed decisions: ") for problem in problems)
    assert rebuilt(result).audit().ok


def test_presets_of_2d_las_differ_from_its_defaults_as_documented() -> None:
    rule = PRESET_RULES.find("2d-las")
    assert rule is not None
    assert rule("tiresias-artefact") == {"period_s": "0"}
    assert rule("lucid")["period_s"] == "60"
    assert rule("nsdi19") == {}
