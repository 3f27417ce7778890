"""What the audit knows of single plug-ins, and that all else follows from flags."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest

import gpusched as gs
from gpusched.audit import audit, rules
from gpusched.audit.declarations import PRESETS, RestartRule
from gpusched.results.audited_names import declared
from gpusched.schedules.schedule import StoredSchedule, digest_of


@pytest.mark.parametrize(
    ("table", "known"),
    [
        (rules.PACED, gs.speeds()),
        (rules.SHARES, gs.contentions()),
        (rules.FITS, gs.placements()),
        (rules.WIDE_FITS, gs.placements()),
        (rules.TAKES_ANY, gs.placements()),
        (PRESETS, gs.policies()),
        (rules.ORDERS, gs.policies()),
        (rules.ADMISSIONS, gs.policies()),
    ],
)
def test_a_rule_is_about_a_name_that_is_registered(table, known) -> None:
    assert table
    assert set(table) <= set(known)


def test_every_policy_whose_presets_may_set_what_a_restart_costs_has_a_rule() -> None:
    known = gs.policies().items()
    may = {name for name, info in known if info.parameter("preset") and info.parameter("restart")}
    assert may == set(PRESETS)


def test_restarts_follow_from_the_policy_that_an_alias_stands_for() -> None:
    target = "2d-las:preset=lucid,wide_cost_s=90"
    assert RestartRule.of("mine", target) == RestartRule.of(target)
    assert RestartRule.of("mine:wide_cost_s=7", target) == RestartRule.of(
        "2d-las:preset=lucid,wide_cost_s=7"
    )


JUDGED = [
    name
    for name, info in gs.placements().items()
    if info.has("scatters") or info.has("consolidates") or name in rules.FITS
]


def test_the_refusals_of_all_placements_of_the_package_are_judged() -> None:
    # What the audit has neither a flag nor a rule for it believes.
    assert {"buddy", "consolidated", "consolidated-relaxed", "fgd", "topology"} <= {*JUDGED}


@pytest.mark.parametrize("placement", JUDGED)
def test_a_false_refusal_of_a_gang_that_fits_is_named(placement: str) -> None:
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
