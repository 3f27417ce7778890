"""What the audit knows of single plug-ins, and that all else follows from flags."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import msgspec
import numpy as np
import pytest

import gpusched as gs
import gpusched.audit
from gpusched.audit import audit
from gpusched.results.audited_names import declared
from gpusched.schedules.schedule import StoredSchedule, digest_of
from tests.each import each


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
