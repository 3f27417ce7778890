"""``gpusched metrics``."""

from __future__ import annotations

import json

from typer.testing import CliRunner

import gpusched as gs
from gpusched.bounds.registry import known_bounds
from gpusched.cli import app


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["metrics", *arguments])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_every_metric_and_bound_is_listed():
    shown = run()
    assert all(key in shown for key in gs.metrics())
    assert all(name in shown for name in known_bounds())
    listed = json.loads(run("--json"))
    assert [metric["key"] for metric in listed["metrics"]] == list(gs.metrics())
    assert [bound["name"] for bound in listed["bounds"]] == list(known_bounds())


def test_one_is_shown_with_definition_and_need():
    shown = " ".join(run("dsr_gap").split())
    assert "lower" in shown
    assert "where the trace has deadlines" in shown
    assert "squashed-srpt" not in shown
    (bound,) = json.loads(run("wide-gangs", "--json"))["bounds"]
    assert (bound["quantity"], bound["side"]) == ("makespan", "lower")


def test_an_unknown_name_is_a_mistake_that_suggests_the_nearest():
    done = CliRunner().invoke(app, ["metrics", "mean_jct"])
    assert done.exit_code == 2
    assert "unknown metric or bound 'mean_jct'; did you mean 'mean_jct_s'?" in done.stderr
