"""Policies and placements as text and as objects; names of the package and those from Python."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import gpusched as gs
import gpusched_papers
from gpusched import _core
from gpusched.base.registry import Registry
from gpusched.cli import app
from gpusched.plugins.registry import registered
from gpusched.specs.case import job_columns
from tests.each import each


@pytest.fixture
def registry() -> Iterator[None]:
    """Forget what a test has registered."""
    before = {*gs.policies(), *gs.placements()}
    yield
    for name in {*gs.policies(), *gs.placements()} - before:
        gs.unregister(name)


@each(
    ("text", "name", "parameters"),
    [
        ("fifo", "fifo", {}),
        ("  fifo ", "fifo", {}),
        ("fifo:scan=skip", "fifo", {"scan": "skip"}),
        (" fifo: scan = skip ", "fifo", {"scan": "skip"}),
        ("srtf:displace=true", "srtf", {"displace": True}),
        ("srtf:displace=FALSE", "srtf", {"displace": False}),
        ("srtf:narrow_gpus=4", "srtf", {"narrow_gpus": 4}),
        ("srtf:narrow_gpus=4.0", "srtf", {"narrow_gpus": 4}),
        ("srtf:cost_s=1e-3", "srtf", {"cost_s": 0.001}),
        ("2d-las:limits=5", "2d-las", {"limits": (5.0,)}),
        ("2d-las:limits=1/2.5/3e3", "2d-las", {"limits": (1.0, 2.5, 3000.0)}),
        ("2d-las:preset=lucid,period_s=60", "2d-las", {"period_s": 60.0, "preset": "lucid"}),
    ],
)
def test_a_text_is_read_by_the_types_of_the_parameters(text, name, parameters):
    policy = gs.Policy.parse(text)
    assert (policy.name, policy.parameters) == (name, parameters)
    assert {key: type(value) for key, value in policy.parameters.items()} == {
        key: type(value) for key, value in parameters.items()
    }
    assert policy == gs.Policy(name, **parameters)


@each(
    ("policy", "text"),
    [
        (gs.Policy("fifo"), "fifo"),
        (gs.Policy("2d-las", preset="lucid"), "2d-las:preset=lucid"),
        (gs.Policy("2d-las", period_s=60, limits=[1, 2.5]), "2d-las:limits=1/2.5,period_s=60"),
        (gs.Policy("2d-las", limits=18_000), "2d-las:limits=18000"),
        (gs.Policy("srtf", displace=True, cost_s=0.1), "srtf:cost_s=0.1,displace=true"),
        (gs.Policy("srtf", cost_s=1e5, narrow_gpus=0), "srtf:cost_s=100000,narrow_gpus=0"),
        (gs.Policy("srtf", cost_s=1e-7), "srtf:cost_s=1e-07"),
        (gs.Policy("srtf", cost_s=1 / 3), "srtf:cost_s=0.3333333333333333"),
        (
            gs.plugins.PlacementChoice("consolidated-relaxed", kappa=2),
            "consolidated-relaxed:kappa=2",
        ),
        (gs.plugins.PlacementChoice("count"), "count"),
    ],
)
def test_the_canonical_text_is_sorted_and_short(policy, text):
    assert str(policy) == text
    assert type(policy).parse(text) == policy


costs = st.floats(0, 1e5)


@given(
    cost_s=costs,
    wide_cost_s=costs | st.just(-1.0),
    narrow_gpus=st.integers(0, 10**9),
    limits=st.lists(st.floats(1e-6, 9e9), min_size=1, max_size=4),
    displace=st.booleans(),
    scan=st.sampled_from(["strict", "skip"]),
)
def test_no_value_is_lost_in_the_text(**values: Any):
    policy = gs.Policy("2d-las", **values)
    again = gs.Policy.parse(str(policy))
    assert again == policy
    assert again.parameters == policy.parameters
    assert str(again) == str(policy)
    assert hash(again) == hash(policy)


def test_equal_settings_are_equal_and_others_are_not():
    lucid = gs.Policy("2d-las", preset="lucid")
    assert lucid == gs.Policy.parse("2d-las:preset=lucid")
    assert {lucid: 1}[gs.Policy("2d-las", preset="lucid")] == 1
    assert gs.Policy("srtf", cost_s=3) == gs.Policy("srtf", cost_s=3.0)
    others = [gs.Policy("2d-las"), gs.Policy("2d-las", preset="tiresias"), gs.Policy("las")]
    assert all(lucid != other for other in others)
    assert lucid != "2d-las:preset=lucid"
    assert gs.Policy("random") != gs.plugins.PlacementChoice("random")
    assert hash(gs.Policy("random")) != hash(gs.plugins.PlacementChoice("random"))


def test_the_representation_makes_the_object_again():
    policy = gs.Policy("2d-las", preset="lucid", limits=[5, 6], displace=False)
    assert repr(policy) == "Policy('2d-las', displace=False, limits=(5.0, 6.0), preset='lucid')"
    assert eval(repr(policy), {"Policy": gs.Policy}) == policy
    assert repr(gs.plugins.PlacementChoice("count")) == "PlacementChoice('count')"


@each("name", [None, 3, b"fifo", ["fifo"]])
def test_a_name_is_a_text(name):
    for make in (
        gs.Policy,
        gs.Policy.parse,
        gs.plugins.PlacementChoice,
        gs.plugins.PlacementChoice.parse,
    ):
        with pytest.raises(TypeError, match="expected a"):
            make(name)


def test_a_list_that_is_changed_later_changes_no_policy():
    limits = [5.0, 6.0]
    policy = gs.Policy("2d-las", limits=limits)
    limits.append(7.0)
    assert policy.parameters["limits"] == (5.0, 6.0)


def test_what_is_known_of_a_name_can_be_read():
    info = gs.policies()["2d-las"]
    assert (info.name, info.kind, info.is_native, info.is_policy) == ("2d-las", "order", True, True)
    assert info.parameter("limits")["default"] == [3250.0, 7200.0]
    assert info.parameter("no_such") is None
    assert not gs.placements()["count"].is_policy
    assert gs.Policy("2d-las").info == info


def test_the_lists_of_names_are_sorted_and_apart():
    assert list(gs.policies()) == sorted(gs.policies())
    assert list(gs.placements()) == sorted(gs.placements())
    assert {"fifo", "srtf", "easy", "2d-las", "serverfilling-srpt"} <= set(gs.policies())
    assert {"count", "consolidated", "best-fit", "random"} <= set(gs.placements())
    assert all(info.is_policy for info in gs.policies().values())


# Names that are registered from Python.


@pytest.mark.usefixtures("registry")
def test_a_registered_order_is_a_policy_like_any_other():
    @gs.register_order("widest-first")
    class WidestFirst(gs.Order):
        """The widest gang first.

        More words.
        """

        source = "Folklore."
        scan = "strict"

        def __init__(self, sign: float = -1.0) -> None:
            super().__init__()
            self.sign = sign

        def rank(self, view: Any, jobs: Any) -> Any:
            return self.sign * view.gpus[jobs]

    info = gs.policies()["widest-first"]
    assert (info.kind, info.summary, info.source) == (
        "order",
        "The widest gang first.",
        "Folklore.",
    )
    assert info.flags == ("strict", "outages", "priorities")
    assert info.python_class is WidestFirst
    assert not info.is_native
    assert [parameter["name"] for parameter in info.parameters] == [
        "sign",
        "scan",
        "patience_s",
        "defrag",
    ]
    assert str(gs.Policy.parse("widest-first:scan=skip,sign=1")) == "widest-first:scan=skip,sign=1"

    jobs = gs.Trace.from_columns([0, 0, 0, 0], [5, 5, 5, 5], [4, 1, 2, 3])
    cluster = gs.Cluster.uniform(1, 4)
    widest = gs.simulate(jobs, cluster, policy="widest-first")
    assert widest.schedule.start_us.tolist() == [0, 10_000_000, 10_000_000, 5_000_000]
    narrowest = gs.simulate(jobs, cluster, policy="widest-first:scan=skip,sign=1")
    assert narrowest.digest == gs.simulate(jobs, cluster, policy="sgf").digest
    assert narrowest.spec.policy == "widest-first:scan=skip,sign=1"
    assert widest.audit().ok


@pytest.mark.usefixtures("registry")
def test_a_registered_preemptive_order_takes_the_options_of_preemption():
    @gs.register_order("by-remaining")
    class ByRemaining(gs.Order):
        """Shortest remaining service first."""

        lifetime, preemptive = "service", True

        def rank(self, view: Any, jobs: Any) -> Any:
            return view.remaining_us(jobs)

    names = {parameter["name"] for parameter in gs.policies()["by-remaining"].parameters}
    assert names == {parameter["name"] for parameter in gs.policies()["srtf"].parameters}
    jobs = gs.Trace.from_columns([0, 2], [10, 1], [1, 1])
    cluster = gs.Cluster.uniform(1, 1)
    for options in ("", ":cost_s=3", ":restart=work,cost_s=3"):
        made = gs.simulate(jobs, cluster, policy=f"by-remaining{options}")
        assert made.digest == gs.simulate(jobs, cluster, policy=f"srtf{options}").digest
        assert made.audit().ok


@pytest.mark.usefixtures("registry")
def test_a_registered_placement_and_scheduler_are_made_with_their_parameters():
    made: list[Any] = []

    @gs.register_placement("from-the-end")
    class FromTheEnd(gs.Placement):
        """The last server that holds the gang."""

        def __init__(self, skipped: int = 0) -> None:
            super().__init__()
            made.append(skipped)
            self.skipped = skipped

        def place(self, free: Any, request: Any) -> Any:
            for server in reversed(range(len(free.free_gpus) - self.skipped)):
                if free.free_gpus[server] >= request.gpus:
                    return [(server, free.lowest_free(server, request.gpus))]
            return None

    @gs.register_scheduler("one-at-a-time")
    class OneAtATime(gs.Scheduler):
        """One job at a time."""

        def __init__(self, is_loud: bool = False) -> None:
            super().__init__()
            made.append(is_loud)

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            if not len(state.running) and len(state.waiting):
                job = int(state.waiting[0])
                actions.start(job, state.place(job))

    jobs = gs.Trace.from_columns([0, 0, 0], [5, 5, 5], [1, 2, 1])
    result = gs.simulate(
        jobs,
        gs.Cluster.uniform(3, 2),
        policy="one-at-a-time:is_loud=true",
        placement="from-the-end:skipped=1",
    )
    assert made == [True, 1] or made == [1, True]
    assert result.schedule.start_us.tolist() == [0, 5_000_000, 10_000_000]
    assert set(result.intervals["server"].tolist()) == {1}
    assert result.spec.placement == "from-the-end:skipped=1"
    assert gs.placements()["from-the-end"].kind == "placement"
    assert gs.policies()["one-at-a-time"].kind == "scheduler"


@pytest.mark.usefixtures("registry")
def test_a_name_is_registered_once():
    mine = type("Mine", (gs.Order,), {})
    assert gs.register_order("mine")(mine) is mine
    for name in ("mine", "fifo", "easy"):
        with pytest.raises(ValueError, match=f"the name '{name}' is taken"):
            gs.register_order(name)
        with pytest.raises(ValueError, match=f"the name '{name}' is taken"):
            gs.register_scheduler(name)
    with pytest.raises(ValueError, match="the name 'count' is taken"):
        gs.register_placement("count")
    gs.register_placement("mine")(type("Mine", (gs.Placement,), {}))  # another kind of thing
    gs.unregister("mine")
    assert "mine" not in {*gs.policies(), *gs.placements()}
    gs.unregister("mine")
    gs.unregister("fifo")
    assert "fifo" in gs.policies()


@each("name", ["", "a:b", "a,b", "a=b", "a b", "a\tb", "a\n"])
def test_a_name_must_fit_into_a_text(name):
    for register in (gs.register_order, gs.register_scheduler, gs.register_placement):
        with pytest.raises(ValueError, match="must not be empty or hold"):
            register(name)


@each("wrong", [int, gs.Order(), None, "Order", lambda: 1])
def test_only_a_subclass_of_the_seam_can_be_registered(wrong):
    for register in (gs.register_scheduler, gs.register_placement, gs.register_order):
        with pytest.raises(TypeError, match="is not a subclass of"):
            register("wrong")(wrong)
    with pytest.raises(TypeError, match="is not a subclass of Scheduler"):
        gs.register_scheduler("wrong")(type("O", (gs.Order,), {}))
    assert "wrong" not in {*gs.policies(), *gs.placements()}


JOBS = gs.Trace.from_columns([0, 1, 1], [9, 5, 2], [1, 1, 1])
ONE_GPU = gs.Cluster.uniform(1, 1)
NAME = "sometimes-longest"


def order(sign: int) -> Any:
    class BySign(gs.Order):
        lifetime = "fixed"

        def rank(self, view: Any, jobs: Any) -> Any:
            return sign * view.predicted_us[jobs].astype(float)

    return BySign


def starts(policy: str) -> list[float]:
    return gs.simulate(JOBS, ONE_GPU, policy=policy).jobs.start_s.tolist()


@pytest.mark.usefixtures("registry")
def test_a_name_that_is_registered_anew_is_run_anew():
    with pytest.raises(ValueError, match="unknown policy"):
        starts(NAME)
    gs.register_order(NAME)(order(-1))
    assert starts(NAME) == [0.0, 9.0, 14.0]
    gs.unregister(NAME)
    with pytest.raises(ValueError, match="unknown policy"):
        starts(NAME)
    gs.register_order(NAME)(order(1))
    assert starts(NAME) == [0.0, 11.0, 9.0]


def test_what_a_caller_does_with_names_changes_nothing_for_others():
    gs.policies().clear()
    gs.speeds().clear()
    assert "fifo" in gs.policies()
    assert "fixed" in gs.speeds()
    with pytest.raises(TypeError):
        registered("speed")["mine"] = gs.speeds()["fixed"]
    choice = gs.Policy.parse("easy")
    with pytest.raises(TypeError):
        choice.parameters["nonsense"] = 1
    assert gs.simulate(JOBS, ONE_GPU, policy="easy").spec.policy == "easy"
    assert gs.Policy.parse("easy").parameters == {}


def test_the_version_of_a_registry_follows_its_entries():
    registry: Registry[int] = Registry("number")
    seen = [registry.version]
    registry.add("one", 1)
    seen.append(registry.version)
    assert list(registry.loaded()) == ["one"]
    registry.remove("two")  # is not there
    assert registry.version == seen[-1]
    registry.loaded().clear()
    assert registry.loaded() == {"one": 1}
    registry.remove("one")
    seen.append(registry.version)
    assert registry.loaded() == {}
    assert len(set(seen)) == 3


ENTRIES = {
    "gpusched.bounds.registry": ("BOUNDS", "typed"),
    "gpusched.online.states.state_formats": ("STATE_FORMATS", "slurm"),
    "gpusched.results.format_registry": ("SCHEDULE_FORMATS", "perfetto"),
    "gpusched_papers.registry": ("PAPERS", "dancer"),
    "gpusched.plugins.registry": ("BUILT_IN", "gavel"),
    "gpusched.prediction.registry": ("PREDICTORS", "forest"),
    "gpusched.results.metric_registry": ("METRICS", "makespan_s"),
    "gpusched.testing.law_registry": ("LAWS", "possible-actions"),
    "gpusched.traces.auditing.check_registry": ("CHECKS", "duplicate-ids"),
    "gpusched.traces.format_registry": ("FORMATS", "acme"),
}
PLUG_IN = """
import importlib, sys
given = [argument.split() for argument in sys.argv[1:]]
registries = [getattr(importlib.import_module(module), name) for module, name, _ in given]
mine = object()
for registry, (_, _, name) in zip(registries, given):
    try:
        registry.add(name, mine)
    except ValueError as error:
        print(error)
print([registry.find(name) is not mine for registry, (_, _, name) in zip(registries, given)])
"""


def test_a_plug_in_that_comes_first_is_refused_by_name_and_the_entry_stays():
    given = [" ".join((module, *entry)) for module, entry in ENTRIES.items()]
    found = subprocess.run(
        [sys.executable, "-c", PLUG_IN, *given], capture_output=True, text=True, check=True
    )
    *refusals, stay = found.stdout.splitlines()
    for refusal, (_, name) in zip(refusals, ENTRIES.values(), strict=True):
        assert refusal.endswith(f": the name {name!r} is taken")
    assert stay == str([True] * len(ENTRIES))


def test_every_registry_that_has_a_home_is_tried():
    packages = [Path(str(package.__file__)).parent for package in (gs, gpusched_papers)]
    having = {
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        for package in packages
        for path in package.rglob("*.py")
        if re.search(r'= Registry\(\s*"[^"]+",\s*"gpusched', path.read_text())
    }
    assert having == set(ENTRIES)


FILE = '''
import gpusched as gs
from gpusched.plugins.registry import built_in


@built_in("eager")
class Eager(gs.Scheduler):
    """Starts what fits."""

    flags = ("non-preemptive",)

    def decide(self, state, finished, arrived, actions):
        for job in state.waiting.tolist():
            found = state.place(job)
            if found is not None:
                actions.start(job, found)
'''
SCRIPT = """
import sys
import gpusched as gs
import gpusched.plugins.schedulers as folder
folder.__path__.append(sys.argv[1])
print("scipy" in sys.modules, "gpusched.plugins.schedulers.eager" in sys.modules)
info = gs.policies()["eager"]
print(info.kind, info.summary, *info.flags)
trace = gs.Trace.from_columns([0, 0], [5, 6], [1, 2])
print(gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="eager").spec.policy)
print({"eager", "gavel"} <= {name for name, info in gs.policies().items() if not info.is_native})
"""


def test_a_file_that_is_dropped_in_is_a_policy(tmp_path):
    (tmp_path / "eager.py").write_text(FILE)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "False False", "scheduler Starts what fits. non-preemptive", "eager",
        "True",
    ]  # fmt: skip


LEFT = """
import sys
sys.modules["gpusched_papers"] = None  # not installed
import gpusched as gs
for ask in (lambda: gs.Policy("chronus-leases"), lambda: gs.online.exact):
    try:
        ask()
    except (ValueError, ImportError) as error:
        print(type(error).__name__, error)
"""


def test_what_the_papers_have_now_is_said_to_be_there():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEFT], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == [
        "ValueError unknown policy 'chronus-leases'; install it with: pip install gpusched-papers",
        "ImportError gpusched.online.exact needs gpusched_papers: pip install gpusched-papers",
    ], done.stderr


PERIODS = {
    info.name: info.parameter("period_s")
    for info in gs.policies().values()
    if info.is_native and info.parameter("period_s") and not info.alias_of
}
SOLVING = ("afs", "allox", "matching", "optimus")


def test_every_period_has_a_least_value():
    assert {"las", "srtf", "themis-greedy", *SOLVING} <= PERIODS.keys()
    for name, period in PERIODS.items():
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


def test_a_range_with_a_zero_of_its_own_is_shown_as_one():
    shown = CliRunner().invoke(app, ["policies", "matching"])
    assert "float 0 | 1..1e+09" in shown.stdout
