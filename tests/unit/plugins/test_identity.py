"""What a Python object of a run is known by: equal only if code and state are."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.identity import PythonObject, identify
from gpusched.prediction.known import Oracle
from gpusched.prediction.learner import GroupMean
from tests.each import each
from tests.other_processes import printed_by_processes

CLUSTER = gs.Cluster.uniform(2, 4)
SIGN = 1


def trace(**columns: Any) -> gs.Trace:
    return gs.Trace.from_columns(
        [0, 0, 0, 1], [3, 5, 2, 4], [4, 8, 4, 8], **{"user": ["a", "b", "a", "b"]} | columns
    )


class Scaled(gs.Order):
    """By width times a factor."""

    def __init__(self, factor: Any = 1) -> None:
        super().__init__()
        self.factor = factor

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs]


class Slotted(Scaled):
    __slots__ = ("__hidden",)

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.__hidden = hidden


class Keyed(Scaled):
    """Has a lock, and says itself what it is."""

    def __init__(self, factor: int, other: int = 0) -> None:
        super().__init__(factor)
        self.other = other
        self.lock = threading.Lock()

    def spec_key(self) -> Any:
        return {"factor": self.factor}


class KeyedByAttribute(Scaled):
    def __init__(self, factor: int) -> None:
        super().__init__(factor)
        self.lock = threading.Lock()

    @property
    def spec_key(self) -> int:
        return self.factor  # type: ignore[no-any-return]


@dataclasses.dataclass
class Data(gs.Order):
    factor: int = 1

    def __post_init__(self) -> None:
        gs.Order.__init__(self)

    def rank(self, view: Any, jobs: Any) -> Any:
        return self.factor * view.gpus[jobs]


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def ordered_by(key: Callable[[Any], Any]) -> gs.Order:
    class Made(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return key(view.gpus[jobs])

    return Made()


class ByGlobal(gs.Order):
    def rank(self, view: Any, jobs: Any) -> Any:
        return SIGN * view.gpus[jobs]


def spec_of(policy: Any, **options: Any) -> gs.RunSpec:
    return gs.simulate(trace(), CLUSTER, policy=policy, **options).spec


class Other:
    def __init__(self, value: int) -> None:
        self.value = value


def helper(value: int) -> int:
    return value


STATES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "numbers": (lambda: 1, lambda: -1),
    "a number and its text": (lambda: 1, lambda: "1"),
    "a number and a truth": (lambda: 1, lambda: True),
    "a number and a float": (lambda: 1, lambda: 1.0),
    "zeros": (lambda: 0.0, lambda: -0.0),
    "None and nothing": (lambda: None, lambda: ()),
    "lists": (lambda: [1, 2], lambda: [2, 1]),
    "a list and a tuple": (lambda: [1, 2], lambda: (1, 2)),
    "nested lists": (lambda: [[1], 2], lambda: [[1, 2]]),
    "mappings": (lambda: {"a": 1, "b": 2}, lambda: {"a": 2, "b": 1}),
    "sets": (lambda: {"a", "b"}, lambda: {"a", "c"}),
    "bytes": (lambda: b"a", lambda: b"b"),
    "arrays": (lambda: np.arange(3), lambda: np.arange(3) + 1),
    "types of arrays": (lambda: np.zeros(3), lambda: np.zeros(3, np.int64)),
    "shapes of arrays": (lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2))),
    "NumPy's numbers": (lambda: np.int32(1), lambda: np.int64(1)),
    "objects in arrays": (
        lambda: np.array([1, "a"], dtype=object),
        lambda: np.array([1, "b"], dtype=object),
    ),
    "generators": (lambda: np.random.default_rng(1), lambda: np.random.default_rng(2)),
    "lambdas on one line": (lambda: lambda jobs: jobs, lambda: lambda jobs: -jobs),
    "partials": (lambda: functools.partial(helper, 1), lambda: functools.partial(helper, 2)),
    "functions": (lambda: helper, lambda: trace),
    "built-in functions": (lambda: np.sin, lambda: np.cos),
    "methods of objects": (lambda: [1].count, lambda: [2].count),
    "classes": (lambda: Other, lambda: Scaled),
    "objects": (lambda: Other(1), lambda: Other(2)),
    "members": (lambda: Colour.RED, lambda: Colour.BLUE),
    "traces": (trace, lambda: trace(weight=[1, 2, 3, 4])),
    "clusters": (lambda: gs.Cluster.uniform(1, 1), lambda: gs.Cluster.uniform(1, 2)),
    "policies": (lambda: Scaled(1), lambda: Scaled(2)),
}


@each("kind", STATES)
def test_objects_are_equal_only_if_their_states_are(kind):
    one, other = STATES[kind]
    known = identify("policy", Scaled(one()))
    assert not known.unreadable
    assert known == identify("policy", Scaled(one()))
    assert known != identify("policy", Scaled(other()))


def test_a_state_in_a_circle_is_read():
    def circle(value: int) -> list[Any]:
        made: list[Any] = [value]
        made.append(made)
        return made

    assert identify("policy", Scaled(circle(1))) == identify("policy", Scaled(circle(1)))
    assert identify("policy", Scaled(circle(1))) != identify("policy", Scaled(circle(2)))


@pytest.mark.parametrize("made", [Slotted, Keyed, KeyedByAttribute, Data])
def test_attributes_slots_and_keys_tell_objects_apart(made):
    assert spec_of(made(1)) == spec_of(made(1))
    assert spec_of(made(1)) != spec_of(made(-1))


def test_a_key_stands_for_the_whole_state():
    assert spec_of(Keyed(1, other=2)) == spec_of(Keyed(1, other=3))


@pytest.mark.parametrize(
    "state",
    [threading.Lock, lambda: (n for n in (1, 2)), lambda: [{"deep": threading.Event()}]],
    ids=["lock", "generator", "nested"],
)
def test_what_cannot_be_read_is_equal_to_nothing(state):
    policy = Scaled(state())
    specs = [spec_of(policy), spec_of(policy)]
    assert specs[0] != specs[1]
    (known,) = specs[0].python
    assert "cannot pickle" in known.unreadable
    assert known.token
    assert not known.state_sha256
    assert gs.RunSpec.from_json(specs[0].to_json()) == specs[0]


def test_what_a_method_closes_over_is_code():
    ahead, back = ordered_by(lambda gpus: gpus * 1.0), ordered_by(lambda gpus: gpus * -1.0)
    assert spec_of(ahead) != spec_of(back)
    assert spec_of(ahead) == spec_of(ordered_by(lambda gpus: gpus * 1.0))


def test_what_a_method_looks_up_is_code(monkeypatch):
    known = spec_of(ByGlobal())
    monkeypatch.setattr(sys.modules[__name__], "SIGN", -1)
    assert spec_of(ByGlobal()) != known
    monkeypatch.setattr(sys.modules[__name__], "SIGN", 1)
    assert spec_of(ByGlobal()) == known


def test_a_base_class_and_a_class_attribute_are_code():
    def made(sign: int, scan: str) -> gs.Order:
        base = type("Base", (Scaled,), {"sign": sign})
        return type("Child", (base,), {"scan": scan})()  # type: ignore[no-any-return]

    known = identify("policy", made(1, "skip"))
    assert known == identify("policy", made(1, "skip"))
    assert known != identify("policy", made(2, "skip"))
    assert known != identify("policy", made(1, "strict"))


def test_a_class_that_was_made_from_a_text_is_read():
    def made(sign: str) -> Any:
        space: dict[str, Any] = {"Order": gs.Order}
        exec(
            f"class P(Order):\n def rank(self, view, jobs):\n  return {sign}1.0 * view.gpus[jobs]",
            space,
        )
        return space["P"]()

    assert spec_of(made("")) == spec_of(made(""))
    assert spec_of(made("")) != spec_of(made("-"))


def test_a_registered_class_is_known_by_its_code_not_only_by_its_name():
    def registered(sign: int) -> gs.RunSpec:
        @gs.register_order("signed")
        class Signed(gs.Order):
            def rank(self, view: Any, jobs: Any) -> Any:
                return sign * view.gpus[jobs]

        try:
            return spec_of("signed")
        finally:
            gs.unregister("signed")

    assert registered(1) == registered(1)
    assert registered(1).policy == registered(-1).policy == "signed"
    assert registered(1) != registered(-1)


def test_the_state_is_that_before_the_run():
    class Counts(Scaled):
        def rank(self, view: Any, jobs: Any) -> Any:
            self.factor += 1
            return view.gpus[jobs]

    assert spec_of(Counts(1)) == spec_of(Counts(1))


def test_a_placement_is_known_by_its_state():
    class First(gs.Placement):
        def __init__(self, seed: int) -> None:
            super().__init__()
            self.seed = seed

        def place(self, free: Any, request: Any) -> Any:
            left, found = request.gpus, []
            for server, count in enumerate(free.free_gpus.tolist()):
                if left and count:
                    found.append((server, free.lowest_free(server, min(left, count))))
                    left -= min(left, count)
            return None if left else found

    specs = [spec_of("fifo", placement=First(seed)) for seed in (1, 1, 2)]
    assert specs[0] == specs[1] != specs[2]
    assert specs[0].python[0].role == "placement"


class Constant(gs.Predictor):
    learns = False

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def begin(self, trace: gs.Trace, seed: int = 0) -> None:
        self.began = True

    def predict(self, jobs: Any) -> Any:
        return np.full(len(jobs), self.seconds)


def test_a_predictor_is_known_by_its_state():
    specs = [spec_of("sjf", predictor=Constant(seconds)) for seconds in (1, 1, 2)]
    assert specs[0] == specs[1] != specs[2]
    assert specs[0].python[0].role == "predictor"


def test_a_trained_predictor_is_known_by_what_it_learned_names_too():
    made = []
    for changed in ({}, {}, {"user": ["a", "c", "a", "c"]}, {"user": ["a", "a", "b", "b"]}):
        made.append(str(spec_of("sjf", predictor=GroupMean().train(trace(**changed))).predictor))
    assert made[0] == made[1]
    assert len(set(made)) == 3


def test_a_subclass_of_a_registered_predictor_is_another_one():
    class Backwards(Oracle):
        def _all(self, trace: gs.Trace, seed: int) -> Any:
            return trace.service_us.max() + 1 - trace.service_us

    own, plain = spec_of("sjf", predictor=Backwards()), spec_of("sjf", predictor=Oracle())
    assert plain.predictor == "oracle"
    assert own.predictor.startswith("python:")
    digests = [
        gs.simulate(trace(), CLUSTER, policy="sjf", predictor=p).digest
        for p in (Backwards(), Oracle())
    ]
    assert digests[0] != digests[1]


def test_what_is_of_gpusched_itself_is_known_by_the_version():
    assert spec_of("fifo", predictor="group-mean").python == ()
    assert spec_of("fifo", predictor=GroupMean()).python == ()


def test_an_object_survives_json_and_toml():
    spec = spec_of(Scaled(1), predictor=Constant(3))
    assert [known.role for known in spec.python] == ["policy", "predictor"]
    assert gs.RunSpec.from_json(spec.to_json()) == spec
    assert gs.RunSpec.from_toml(spec.to_toml()) == spec
    assert hash(gs.RunSpec.from_toml(spec.to_toml())) == hash(spec)


def test_a_role_that_is_filled_twice_is_refused():
    spec = spec_of(Scaled(1))
    with pytest.raises(ValueError, match="python: there are two entries of one role in policy, p"):
        msgspec.structs.replace(spec, python=spec.python * 2)


PROGRAM = """
from gpusched.plugins.identity import identify
from tests.unit.plugins.test_identity import Scaled, trace, ordered_by, helper
print(identify("policy", Scaled([{"a", "b", "c"}, trace(), helper])))
"""


def test_an_object_is_known_by_the_same_in_every_process():
    (said,) = printed_by_processes(PROGRAM)
    assert "PythonObject(role='policy'" in said


# Arguments of simulate that do not decide the schedule, and why.
DECIDES_NOTHING = {
    "max_intervals": "ends a run with an error, or changes nothing",
    "verify": "compares what the core keeps with what it computes anew",
    "progress": "is told, not asked",
    "stop": "a run that it ends has no result",
}


def changed_arguments() -> Iterator[tuple[str, Any]]:
    given: dict[str, Any] = {
        "trace": trace(weight=[1, 2, 3, 4]),
        "cluster": gs.Cluster.uniform(2, 4, cpu=8),
        "policy": "sjf",
        "placement": "first-fit",
        "predictor": "group-mean",
        "speed": "ring",
        "contention": "shared",
        "seed": 1,
        "outages": gs.Outages.from_columns([0], [1], [2]),
        "kill_invalid_depend": True,
        "priority_age_s": 60,
    }
    for name in inspect.signature(gs.simulate).parameters:
        if name not in DECIDES_NOTHING:
            yield name, given[name]  # a new argument has to be added to one of the two


@each(("name", "value"), list(changed_arguments()))
def test_each_argument_of_a_run_makes_another_specification(name, value):
    jobs = trace().with_profiles(gs.model.zoo()["resnet50"])
    base: dict[str, Any] = {
        "trace": jobs,
        "cluster": gs.Cluster.uniform(2, 4, nic_gbps=100, intra_gbps=1000),
        "speed": "ring" if name == "contention" else None,
    }
    known = gs.simulate(**base).spec
    assert gs.simulate(**base).spec == known
    assert gs.simulate(**base | {name: value}).spec != known


@pytest.mark.parametrize(
    "changed",
    [
        {"count": 3},
        {"gpus": 4},
        {"gpu_type": "T4"},
        {"cpu": 9.0},
        {"memory_gib": 9.0},
        {"nic_gbps": 9.0},
        {"intra_gbps": 9.0},
        {"domain": "there"},
        {"devices": (("V100", 4), ("T4", 4)), "gpu_type": "gpu"},
        {"part_of": "a"},
        {"speed": 2.0},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_each_field_of_a_group_of_servers_is_in_the_specification(changed):
    fields = {field.name for field in msgspec.structs.fields(gs.ServerGroup)}
    assert fields == {"count", "gpus", "gpu_type", "cpu", "memory_gib", "nic_gbps", "intra_gbps",
                      "domain", "devices", "part_of", "speed"}  # fmt: skip
    group = gs.ServerGroup(2, 8, "V100", 1.0, 2.0, 3.0, 4.0, "here")
    domains = (gs.Domain("root"), *(gs.Domain(n, "root", 5.0) for n in ("here", "there")))
    rest = gs.ServerGroup(1, 1, "K80", nic_gbps=1.0, domain="here")
    more = gs.ServerGroup(1, 1, "K80", nic_gbps=1.0, domain="there")

    def text(group: gs.ServerGroup) -> str:
        cluster = gs.Cluster((group, rest, more), "c", domains)
        return msgspec.structs.replace(spec_of("fifo"), cluster=cluster).to_json()

    assert text(msgspec.structs.replace(group, **changed)) != text(group)


@pytest.mark.parametrize(
    "domains",
    [
        (gs.Domain("other"), gs.Domain("here", "other", 5.0)),
        (gs.Domain("root"), gs.Domain("here", "root", 6.0)),
        (gs.Domain("root"), gs.Domain("here", "root", oversubscription=5.0)),
    ],
)
def test_the_network_is_in_the_specification(domains):
    servers = (gs.ServerGroup(2, 8, nic_gbps=3.0, domain="here"),)
    known = (gs.Domain("root"), gs.Domain("here", "root", 5.0))
    one, other = (
        msgspec.structs.replace(spec_of("fifo"), cluster=gs.Cluster(servers, "c", tree))
        for tree in (known, domains)
    )
    assert one != other
    assert one.to_toml() != other.to_toml()


def test_the_short_form_is_of_everything():
    known = PythonObject("policy", "P", "m", "a", "b")
    changes: list[dict[str, Any]] = [
        {"role": "placement"}, {"name": "Q"}, {"module": "n"}, {"code_sha256": "c"},
        {"state_sha256": "c"}, {"unreadable": "c"}, {"token": "c"},
    ]  # fmt: skip
    made = {msgspec.structs.replace(known, **change).short for change in changes}
    assert len(made | {known.short}) == len(changes) + 1


def test_a_copy_changes_nothing():
    class Copied(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return jobs

    thing = Copied()
    before = identify("policy", thing)
    assert identify("policy", copy.deepcopy(thing)) == before
    assert identify("policy", thing) == before
