"""``gpusched policies`` and ``gpusched metrics``."""

import gpusched as gs
from gpusched.bounds.registry import known_bounds
from gpusched.plugins.info import FLAGS
from tests.each import each

KINDS = (gs.policies, gs.placements, gs.speeds, gs.contentions, gs.predictors)
NAMES = sorted(name for known in KINDS for name in known())


def test_every_registered_name_is_listed_with_its_summary(gpusched):
    result = gpusched("policies")
    assert result.exit_code == 0
    first_words = {line.split()[0] for line in result.stdout.splitlines() if line.strip()}
    assert set(NAMES) <= first_words
    assert max(map(len, result.stdout.splitlines())) <= 100


@each("name", sorted(set(NAMES)))
def test_each_name_shows_its_parameters_with_defaults_and_its_source(gpusched, name):
    result = gpusched("policies", name)
    assert result.exit_code == 0
    for known in (kind() for kind in KINDS):
        if name in known:
            flat = " ".join(result.stdout.split())
            assert " ".join(known[name].summary.split()) in flat
            for parameter in known[name].parameters:
                assert parameter["name"] in flat


def test_json_lists_the_same(gpusched_json):
    plugins = gpusched_json("policies")["plugins"]
    names = {plugin["name"] for plugin in plugins}
    assert names == set(NAMES)
    assert {plugin["kind"] for plugin in plugins} >= {"placement", "speed", "contention"}
    (las,) = gpusched_json("policies", "2d-las")["plugins"]
    assert "preset" in {parameter["name"] for parameter in las["parameters"]}


def test_an_alias_is_shown_as_one(gpusched, gpusched_json):
    shown = {plugin["name"]: plugin["alias_of"] for plugin in gpusched_json("policies")["plugins"]}
    assert {name: target for name, target in shown.items() if target} == {
        name: info.alias_of for name, info in gs.policies().items() if info.alias_of
    }
    assert "alias of: fifo:scan=skip" in gpusched("policies", "wcs-subtime").stdout
    assert gpusched("policies").stdout.count("alias of fifo:scan=skip") == 2
    assert "alias" not in gpusched("policies", "fifo").stdout


def test_the_flags_of_a_name_are_explained(gpusched):
    flat = " ".join(gpusched("policies", "edf").stdout.split())
    for flag in gs.policies()["edf"].flags:
        assert f"{flag}: {FLAGS[flag]}" in flat


def test_a_policy_tells_when_it_preempts_and_what_differs(gpusched, gpusched_json):
    shown = " ".join(gpusched("policies", "optimus").stdout.split())
    assert "preempts: multiples of period_s" in shown
    assert f"differs: {gs.policies()['optimus'].differs}" in shown
    assert "preempts" not in gpusched("policies", "fifo").stdout
    overview = " ".join(gpusched("policies").stdout.split())
    marked = {name for name, info in gs.policies().items() if info.differs}
    assert {name for name in gs.policies() if f" {name} ≈" in overview} == marked
    (lease,) = gpusched_json("policies", "themis-greedy")["plugins"]
    assert lease["preempts"] == "event times once a job has run for period_s or longer"


def test_every_metric_and_bound_is_listed(gpusched, gpusched_json):
    shown = gpusched("metrics").stdout
    assert all(key in shown for key in gs.metrics())
    assert all(name in shown for name in known_bounds())
    listed = gpusched_json("metrics")
    assert [metric["key"] for metric in listed["metrics"]] == list(gs.metrics())
    assert [bound["name"] for bound in listed["bounds"]] == list(known_bounds())


def test_one_metric_is_shown_with_definition_and_need(gpusched, gpusched_json):
    shown = " ".join(gpusched("metrics", "dsr_gap").stdout.split())
    assert "lower" in shown
    assert "where the trace has deadlines" in shown
    assert "squashed-srpt" not in shown
    (bound,) = gpusched_json("metrics", "wide-gangs")["bounds"]
    assert (bound["quantity"], bound["side"]) == ("makespan", "lower")
