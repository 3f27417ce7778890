"""Parameters whose 0 stands for something of its own, and the least value beside it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched import _core
from gpusched.cli import app
from gpusched.specs.case import job_columns
from tests.each import each

PERIODS = {
    info.name: info.parameter("period_s")
    for info in gs.policies().values()
    if info.is_native and info.parameter("period_s") and not info.alias_of
}
SOLVING = ("afs", "allox", "matching", "optimus")


def test_every_period_has_a_least_value():
    assert {"las", "srtf", "themis-greedy", *SOLVING} <= PERIODS.keys()
    for name, period in PERIODS.items():
        assert period is not None
        if period["minimum"] == 0:  # 0: at every event, or not at all
            assert period["least_positive"] == (1 if name in SOLVING else 1e-3)
        else:
            assert (period["minimum"], period["least_positive"]) == (1, None)


@each(("name", "least", "wrong"), [
    ("matching", "1", 1e-6), ("allox", "1", 0.999), ("optimus", "1", 0.5),
    ("las", "0.001", 1e-6), ("srtf", "0.001", 9e-4),
])  # fmt: skip
def test_a_smaller_one_is_refused_by_both_sides(name, least, wrong):
    message = f"{name}: parameter period_s is .*; allowed: 0 and {least} to 1e\\+09"
    with pytest.raises(ValueError, match=message):
        gs.Policy(name, period_s=wrong)
    trace, cluster = gs.Trace.from_columns([0], [1], [1]), gs.Cluster.uniform(1, 1)
    table = _core.JobTable(**job_columns(trace, cluster, uses_estimates=False))
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type)
    described = _core.RunDescription(
        policy=name, policy_values={"period_s": wrong}, placement="consolidated"
    )
    with pytest.raises(ValueError, match=message):
        _core.Run(table, servers, described)


@each("period_s", [0.0, 1.0, 1e9])
@each("name", SOLVING)
def test_zero_and_the_bounds_are_allowed(name, period_s):
    assert gs.Policy(name, period_s=period_s).parameters["period_s"] == period_s


def test_a_range_with_a_zero_of_its_own_is_shown_as_one():
    shown = CliRunner().invoke(app, ["policies", "matching"])
    assert "float 0 | 1..1e+09" in shown.stdout
