"""The fingerprint of a trace covers all that a run may read, by value."""

import dataclasses
import hashlib
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.rejects import Rejects
from gpusched.model.job_graphs import JobGraph, Stage
from gpusched.specs.fingerprints import DECIDES_NOTHING, fingerprint
from tests.each import each
from tests.other_processes import printed_by_processes

NUM_JOBS = 4
NAMES = [field.name for field in dataclasses.fields(gs.Trace)]
PROFILES = tuple(gs.model.zoo().values())[:2]
GRAPHS = tuple(JobGraph(name, (Stage(1, 0.1, 1.0, 2.0), Stage(1, 0.1, 1.0))) for name in "gh")


def full() -> gs.Trace:
    """A trace in which every field is given."""
    ones = np.ones(NUM_JOBS, np.int64)
    labels = {
        name: Labels(np.array([0, 1, 0, 1]), ("a", "b"))
        for name in (
            "user", "queue", "group", "partition", "account", "qos", "dependency", "array",
            "ran_on",
        )
    }  # fmt: skip
    given: dict[str, Any] = {
        "submit_us": ones * 5,
        "service_us": ones * 7,
        "gpus": (ones * 2).astype(np.int32),
        "row": np.arange(NUM_JOBS),
        "id": np.array(["x", "yy", "z", "w"]),
        "estimate_us": ones * 9,
        "predicted_us": ones * 8,
        "weight": ones * 1.5,
        "checkpoint_us": ones * 2,
        "restart_us": ones * 3,
        "checkpoint_every_us": ones * 12,
        "checkpoint_write_us": ones * 13,
        "max_requeues": ones.astype(np.int32),
        "requeue_back": ones.astype(np.int32),
        "source_wait_us": ones * 4,
        "share_milli": (ones * 1000).astype(np.int32),
        "cpu_milli": ones * 500,
        "memory_mib": ones * 600,
        "deadline_us": ones * 100,
        "value": ones * 2.5,
        "min_gpus": ones.astype(np.int32),
        "max_gpus": (ones * 4).astype(np.int32),
        "time_limit_us": ones * 6,
        "eligible_us": ones * 11,
        "cancel_at_us": ones * 14,
        "array_limit": ones.astype(np.int32),
        "priority": ones * 3.5,
        "nice": ones * 4.5,
        "gpus_per_node": ones.astype(np.int32),
        "status": Labels(np.array([0, 1, 2, 3]), STATUSES),
        "type_sets": (("A",), ("A", "B"), ()),
        "type_set": np.array([0, 1, 2, 0], np.int32),
        "profiles": PROFILES,
        "profile": np.array([0, 1, 0, 1], np.int32),
        "graphs": GRAPHS,
        "graph": np.array([0, 0, 1, 1], np.int32),
        "name": "full",
        "source": "a test",
        "epoch": datetime(2024, 5, 1),
        "origin_s": 3.0,
        "reference_type": "A",
        "rejects": Rejects({"too odd": 1}, {"too odd": (3,)}),
        "notes": ("columns not used: a, b", "another"),
    }
    assert {*given, *labels} == set(NAMES), "give the new field a value that is not its default"
    return gs.Trace(**{**given, **labels})


def changes(value: Any) -> list[Any]:
    """Other values of the same kind, each but a little different."""
    if isinstance(value, Labels):
        return [
            Labels(np.roll(value.codes, 1), value.names),
            Labels(value.codes, value.names[::-1]),
        ]
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return [np.array(["x", "yy", "z", other]) for other in ("v", "wx", "")]
    if isinstance(value, np.ndarray):
        made = []
        for job in range(len(value)):
            other = value.copy()
            other[job] = other[job] + 1 if other[job] != other.max() or other.max() > 2 else 0
            made.append(other)
        return made
    if isinstance(value, tuple):
        return [value[::-1], (*value, value[0])]
    if isinstance(value, Rejects):
        return [Rejects()]
    if isinstance(value, datetime):
        return [value + timedelta(microseconds=1), value.replace(tzinfo=UTC)]
    return [value + type(value)(1)]


TABLES = {"type_sets", "profiles", "graphs"}


@each("name", NAMES)
def test_each_field_alone_makes_another_fingerprint_or_is_known_to_decide_nothing(name):
    trace = full()
    value = getattr(trace, name)
    others = changes(value)
    if name == "type_sets":  # one that no job has says nothing
        others = [value[::-1], (("A", "C"), *value[1:])]
    for other in others:
        same = fingerprint(dataclasses.replace(trace, **{name: other})) == fingerprint(trace)
        assert same == (name in DECIDES_NOTHING), other


def test_what_decides_nothing_is_there_and_has_a_reason():
    assert set(DECIDES_NOTHING) <= set(NAMES)
    assert all(len(reason) > 10 for reason in DECIDES_NOTHING.values())


@each("name", [field.name for field in dataclasses.fields(gs.Trace) if field.default is None])
def test_what_is_absent_differs_from_what_is_given(name):
    trace = full()
    assert fingerprint(dataclasses.replace(trace, **{name: None})) != fingerprint(trace)


def test_a_column_that_is_added_later_is_covered():
    later = dataclasses.make_dataclass(
        "Later", [("power_w", Any, None)], bases=(gs.Trace,), frozen=True, eq=False, repr=False
    )
    kept = {name: getattr(full(), name) for name in NAMES}
    made = [later(**kept, power_w=watts) for watts in (None, np.ones(NUM_JOBS), np.zeros(NUM_JOBS))]
    assert len({fingerprint(trace) for trace in made}) == 3
    assert fingerprint(made[0]) == fingerprint(full())


def test_a_column_that_cannot_be_read_is_an_error():
    trace = dataclasses.replace(full(), weight=np.array([object()] * NUM_JOBS))
    with pytest.raises(TypeError, match=r"trace\.weight: has no fingerprint, it holds object"):
        fingerprint(trace)


def test_neighbouring_columns_cannot_be_mistaken_for_each_other():
    base = full()
    swapped = dataclasses.replace(
        base, estimate_us=base.predicted_us, predicted_us=base.estimate_us
    )
    moved = dataclasses.replace(base, restart_us=None, source_wait_us=base.restart_us)
    other = dataclasses.replace(base, restart_us=base.source_wait_us, source_wait_us=None)
    assert len({fingerprint(trace) for trace in (base, swapped, moved, other)}) == 4


def test_texts_do_not_run_into_each_other():
    names = [["ab", "c", "d", "e"], ["a", "bc", "d", "e"], ["", "abc", "d", "e"]]
    for column in ("id", "user"):
        made = {
            fingerprint(gs.Trace.from_columns([0] * 4, [1] * 4, [1] * 4, **{column: texts}))
            for texts in names
        }
        assert len(made) == 3


def test_the_layout_of_the_arrays_makes_no_difference():
    trace = full()
    strange = {
        name: np.asfortranarray(np.repeat(value, 2)[::2].astype(value.dtype.newbyteorder(">")))
        for name in NAMES
        if isinstance(value := getattr(trace, name), np.ndarray)
    }
    strange["id"] = trace.id.astype("<U40")
    assert fingerprint(dataclasses.replace(trace, **strange)) == fingerprint(trace)
    assert fingerprint(pickle.loads(pickle.dumps(trace))) == fingerprint(trace)


def test_how_labels_and_types_are_numbered_makes_no_difference():
    trace = full()
    other = dataclasses.replace(
        trace,
        user=Labels(np.array([3, 1, 3, 0]), ("b", "b", "nobody", "a")),
        type_sets=((), ("C",), ("A", "B"), ("A",)),
        type_set=np.array([3, 2, 0, 3], np.int32),
    )
    assert fingerprint(other) == fingerprint(trace)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), st.data())
def test_columns_are_equal_only_if_their_numbers_are(numbers, data):
    def of(values: list[int]) -> str:
        fields = {name: np.array(values) for name in ("submit_us", "service_us", "row", "id")}
        return fingerprint(gs.Trace(gpus=np.ones(len(values), np.int32), **fields))

    near = st.integers(-2, 2)
    others = [max(min(number + data.draw(near), 2**63 - 1), -(2**63)) for number in numbers]
    assert (of(numbers) == of(others)) == (numbers == others)
    assert of(numbers) != of([*numbers, numbers[-1]])


PROGRAM = """
import numpy as np
from tests.unit.specs.test_fingerprints import full
from gpusched.specs.fingerprints import fingerprint
print(fingerprint(full()))
"""


def test_the_fingerprint_is_the_same_in_every_process():
    assert printed_by_processes(PROGRAM) == {fingerprint(full())}


def test_the_fingerprint_is_what_its_documentation_says():
    trace = gs.Trace.from_columns([0, 2], [300, 1], [1, 1], user=["b", "a"])
    pieces: list[tuple[str, str, int, bytes]] = [
        ("gpus", "int32 <u1", 2, b"\1\1"),
        ("id", "int64 from", 2, b"0"),
        ("origin_s", "json", 3, b"0.0"),
        ("profiles", "json", 2, b"[]"),
        ("row", "int64 from", 2, b"0"),
        ("service_us", "int64 <u4", 2, np.array([300_000_000, 1_000_000], "<u4").tobytes()),
        ("submit_us", "int64 <u4", 2, np.array([0, 2_000_000], "<u4").tobytes()),
        ("user", "entries", 2, b'["a","b"]'),
        ("user", "numbers <u1", 2, b"\1\0"),
    ]
    pieces.insert(1, ("graphs", "json", 2, b"[]"))
    sha = hashlib.sha256(b"gpusched trace 1")
    for name, kind, length, data in pieces:
        sha.update(f'["{name}","{kind}",{length},{len(data)}]\n'.encode() + data)
    assert fingerprint(trace) == sha.hexdigest()


def test_measured_profiles_have_the_same_fingerprint_after_a_file(tmp_path):
    profiles = [
        gs.model.JobProfile("a", throughput={"gpu": {1: 5, 2: 9}},
                             spread_throughput={"gpu": {2: 7}}),
        gs.model.JobProfile("b", samples_per_s={"gpu": 4}, global_batch=8, max_samples={"gpu": 8},
                      throughput={"gpu": {2: 9.5, 1: 5}}),
    ]  # fmt: skip
    trace = gs.Trace.from_columns([0, 1], [3, 4], [1, 2]).with_profiles(profiles, [0, 1])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 4), speed="table")
    result.save(tmp_path / "result.npz")
    assert gs.load_result(tmp_path / "result.npz").spec == result.spec


@each("policy", ["fifo-skip", "srtf", "easy", "2d-las"])
def test_how_types_are_numbered_decides_nothing(policy):
    cluster = gs.Cluster((gs.ServerGroup(2, 4, "A"), gs.ServerGroup(2, 4, "B")))
    rng = np.random.default_rng(3)
    kinds = ["A", "B", "A|B", ""]
    trace = gs.Trace.from_columns(
        rng.integers(0, 50, 60),
        rng.integers(1, 30, 60),
        rng.integers(1, 8, 60),
        gpu_types=[kinds[kind] for kind in rng.integers(0, 4, 60)],
    )
    order = np.array([2, 0, 3, 1])
    other = dataclasses.replace(
        trace,
        type_sets=tuple(trace.type_sets[kind] for kind in np.argsort(order).tolist()),
        type_set=order[trace.type_set].astype(np.int32),
    )
    assert fingerprint(other) == fingerprint(trace)
    digests = {gs.simulate(jobs, cluster, policy=policy).digest for jobs in (trace, other)}
    assert len(digests) == 1
