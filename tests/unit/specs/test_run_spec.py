"""The specification of a run: strict, and the same after a round trip."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.specs.run_spec import RunSpec, TraceSource
from tests.each import each
from tests.unit.small_runs import job, trace_of

SPEC = RunSpec(
    policy="2d-las:limits=3250.0/7200.0,preset=lucid",
    placement="consolidated-relaxed:kappa=1.5",
    predictor="oracle",
    seed=2**64 - 1,
    cluster=Cluster(
        (ServerGroup(2, 8, "V100", cpu=96.0), ServerGroup(1, 4, 'T4 "new"')), name="a\\b\nc é"
    ),
    trace=TraceSource.of(trace_of([job(1, 2, 3), job(4, 5, 6)])),
    version="0.1.0",
)


def test_a_specification_survives_json_and_toml():
    assert RunSpec.from_json(SPEC.to_json()) == SPEC
    assert RunSpec.from_toml(SPEC.to_toml()) == SPEC


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1)


@given(names, names, names)
def test_any_name_survives_json_and_toml(policy, name, source):
    spec = msgspec.structs.replace(
        SPEC, policy=policy, trace=msgspec.structs.replace(SPEC.trace, name=name, source=source)
    )
    assert RunSpec.from_json(spec.to_json()) == spec
    assert RunSpec.from_toml(spec.to_toml()) == spec


def test_it_describes_its_trace():
    assert (SPEC.trace.name, SPEC.trace.source, SPEC.trace.num_jobs) == ("trace", "columns", 2)
    assert SPEC.trace.first_submit_us == 1_000_000


def test_a_specification_is_frozen():
    with pytest.raises(AttributeError):
        SPEC.seed = 1


def changed(path, value):
    record = json.loads(SPEC.to_json())
    *parents, last = path
    table = record
    for key in parents:
        table = table[key]
    table[last] = value
    return json.dumps(record)


@each(
    ("path", "value", "message"),
    [
        (["extra"], 1, "unknown field `extra`"),
        (["trace", "extra"], 1, r"unknown field `extra` - at `\$.trace`"),
        (
            ["cluster", "servers", 1, "gpu"],
            1,
            r"unknown field `gpu` - at `\$.cluster.servers\[1\]`",
        ),
        (["seed"], "1", r"Expected `int`, got `str` - at `\$.seed`"),
        (["seed"], -1, "seed: -1 must not be negative"),
        (["policy"], "", "policy: must not be empty"),
        (["trace", "num_jobs"], 0, r"num_jobs: 0 must be at least 1 - at `\$.trace`"),
        (["trace", "sha256"], "xyz", "sha256: 'xyz' must be 64 hexadecimal digits"),
        (["cluster", "servers", 0, "count"], 0, "count"),
    ],
)
def test_a_mistake_is_named_with_file_and_path(path, value, message):
    with pytest.raises(ValueError, match=message) as raised:
        RunSpec.from_json(changed(path, value), "run.json")
    assert str(raised.value).startswith("run.json: ")


def test_a_missing_field_and_broken_text_are_named():
    with pytest.raises(ValueError, match=r"run\.json: .*missing required field `policy`"):
        RunSpec.from_json("{}", "run.json")
    with pytest.raises(ValueError, match=r"run\.json: "):
        RunSpec.from_json(b"\xff{", "run.json")
    with pytest.raises(ValueError, match=r"run\.toml: "):
        RunSpec.from_toml("policy = ", "run.toml")
    with pytest.raises(ValueError, match=r"run\.toml: .*missing required field"):
        RunSpec.from_toml(SPEC.to_toml().replace("seed", "# seed"), "run.toml")


def test_what_was_specified_stays():
    trace = gs.Trace.from_columns([0], [5], [1])
    spec = gs.simulate(trace, gs.Cluster.uniform(1, 4)).spec
    for frozen, field in ((spec, "policy"), (spec.trace, "name")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(frozen, field, "another")
