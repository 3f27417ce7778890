"""What a Python plug-in may say of itself, and what it is told where it says it wrongly."""

import typing
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpusched as gs
from gpusched.plugins.info import FLAGS, PreemptionBound
from gpusched.plugins.registry import describe
from gpusched.prediction import register_predictor
from tests.each import each


def order(**attributes: Any) -> type:
    def rank(self, view, jobs):
        return view.submit(jobs)

    return type("Own", (gs.Order,), {"rank": rank, **attributes})


def scheduler(**attributes: Any) -> type:
    return type("Own", (gs.Scheduler,), attributes)


def placement(**attributes: Any) -> type:
    return type("Own", (gs.Placement,), attributes)


LISTS = ("outages", "priorities")
"""What every order does in a list."""
REGISTER = {
    order: gs.register_order,
    scheduler: gs.register_scheduler,
    placement: gs.register_placement,
}


@each(
    ("make", "attributes", "expected"),
    [
        (order, {}, ("skip", *LISTS)),
        (order, {"scan": "strict"}, ("strict", *LISTS)),
        (order, {"preemptive": True}, ("preemptive", *LISTS)),
        (
            order,
            {"flags": ("clairvoyant", "deadlines")},
            ("skip", "clairvoyant", "deadlines", *LISTS),
        ),
        (scheduler, {}, ()),
        (scheduler, {"takes_outages": True}, ("outages",)),
        (scheduler, {"takes_outages": False, "flags": ("priorities",)}, ("priorities",)),
        (scheduler, {"flags": ["elastic", "preemptive", "elastic"]}, ("elastic", "preemptive")),
        (placement, {"flags": ("random", "scatters")}, ("random", "scatters")),
    ],
)
def test_a_class_says_by_attributes_what_it_does(make, attributes, expected):
    try:
        REGISTER[make]("own")(make(**attributes))
        info = {**gs.policies(), **gs.placements()}["own"]
        assert info.flags == expected
        assert all(info.has(flag) == (flag in expected) for flag in FLAGS)
        assert info.alias_of == ""
    finally:
        gs.unregister("own")


@each(
    ("make", "attributes", "error", "message"),
    [
        (scheduler, {"flags": ("preemtive",)}, ValueError,
         "scheduler own: flags: unknown flag 'preemtive'; did you mean 'preemptive'"),
        (order, {"flags": ("clairvoiant",)}, ValueError,
         "order own: flags: unknown flag 'clairvoiant'; did you mean 'clairvoyant'"),
        (placement, {"flags": ("scater",)}, ValueError, "placement own: flags: unknown flag"),
        (scheduler, {"flags": "preemptive"}, TypeError,
         "scheduler own: flags: expected a tuple of strings, not 'preemptive'"),
        (scheduler, {"flags": None}, TypeError, "expected a tuple of strings, not None"),
        (scheduler, {"flags": (1,)}, TypeError, "expected strings, not 1"),
        (scheduler, {"flags": ("places",)}, ValueError,
         "'places' is not for a scheduler of Python; allowed: preemptive, non-preemptive,"),
        (placement, {"flags": ("pooled",)}, ValueError, "'pooled' is not for a placement"),
        (placement, {"flags": ("preemptive",)}, ValueError, "allowed: random, scatters, cons"),
        (order, {"scan": "skipp"}, ValueError, "order own: scan is 'skipp'; allowed: strict skip"),
        (scheduler, {"parameters": {"a": {"flags": {1: ("elastik",)}}},
                     "__init__": lambda self, a=1: None}, ValueError, "unknown flag 'elastik'"),
    ],
)  # fmt: skip
def test_a_wrong_flag_is_refused_where_the_class_is_registered(make, attributes, error, message):
    with pytest.raises(error, match=message):
        REGISTER[make]("own")(make(**attributes))
    assert "own" not in {**gs.policies(), **gs.placements()}


def test_a_wrong_flag_of_an_object_is_refused_by_the_run():
    jobs, cluster = gs.Trace.from_columns([0], [1], [1]), gs.Cluster.uniform(1, 1)
    with pytest.raises(ValueError, match="unknown flag 'elastik'"):
        gs.simulate(jobs, cluster, policy=scheduler(flags=("elastik",))())


def test_a_clairvoyant_order_of_python_is_told_to_see_the_truth():
    jobs, cluster = gs.Trace.from_columns([0], [1], [1]), gs.Cluster.uniform(1, 1)
    assert gs.simulate(jobs, cluster, policy=order(flags=("clairvoyant",))()).clairvoyant
    assert not gs.simulate(jobs, cluster, policy=order()()).clairvoyant


TRACE = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
CLUSTER = gs.Cluster.uniform(1, 1)


def rank(self: Any, view: Any, jobs: Any) -> Any:
    return np.zeros(len(jobs))


def decide(self: Any, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
    pass


def place(self: Any, free: Any, request: Any) -> Any:
    return None


BASES = {"order": gs.Order, "scheduler": gs.Scheduler, "placement": gs.Placement}
METHODS: dict[str, dict[str, Any]] = {
    "order": {"rank": rank},
    "scheduler": {"decide": decide},
    "placement": {"place": place},
}


def run(kind: str, plug_in: Any) -> gs.Result:
    role = "placement" if kind == "placement" else "policy"
    return gs.simulate(TRACE, CLUSTER, **{role: plug_in})


@each(
    ("kind", "wrong", "right"),
    [
        ("order", "lifetme", "lifetime"),
        ("order", "life_time", "lifetime"),
        ("order", "preemtive", "preemptive"),
        ("order", "scans", "scan"),
        ("order", "flag", "flags"),
        ("order", "sources", "source"),
        ("scheduler", "flgas", "flags"),
        ("scheduler", "begins", "begin"),
        ("scheduler", "warning", "warnings"),
        ("scheduler", "parameter", "parameters"),
        ("placement", "beginn", "begin"),
        ("placement", "flag", "flags"),
    ],
)
def test_a_misspelt_attribute_is_named_with_the_nearest(kind, wrong, right):
    made = type("Mine", (BASES[kind],), {**METHODS[kind], wrong: "fixed"})
    told = f"Mine: unknown attribute '{wrong}'; did you mean '{right}'"
    with pytest.raises(ValueError, match=told):
        run(kind, made())
    register = getattr(gs, f"register_{kind}")
    with pytest.raises(ValueError, match=f"{kind} mine: unknown attribute '{wrong}'"):
        register("mine")(made)


@pytest.mark.parametrize(
    ("kind", "wrong"), [("order", "ranks"), ("scheduler", "decid"), ("placement", "plase")]
)
def test_a_misspelt_method_is_named_with_the_nearest_and_a_missing_one_refused(kind, wrong):
    made = type("Mine", (BASES[kind],), {wrong: next(iter(METHODS[kind].values()))})
    with pytest.raises(ValueError, match=f"unknown attribute '{wrong}'; did you mean"):
        run(kind, made())
    without = type("Mine", (BASES[kind],), {"keyy": rank})
    with pytest.raises(TypeError, match=r"is missing in python:Mine; it has keyy"):
        run(kind, without())


def test_an_attribute_of_the_object_is_read_as_one_of_the_class():
    made = type("Mine", (gs.Order,), METHODS["order"])()
    made.lifetme = "clock"
    with pytest.raises(ValueError, match="did you mean 'lifetime'"):
        run("order", made)


def test_names_of_ones_own_are_free():
    own = {"_lifetme": 1, "horizon_s": 2.0, "history": [], "ranks": {}, "lifetime": "fixed"}
    assert run("order", type("Mine", (gs.Order,), METHODS["order"] | own)()).digest
    base = type("Base", (gs.Order,), METHODS["order"])
    assert run("order", type("Mine", (base,), {"horizon_s": 1.0})()).digest


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"rond_s": {"minimum": 1}}, "no argument 'rond_s' with a default; did you mean 'round_s'"),
        ({"round_s": {"minimun": 1}}, "round_s: unknown 'minimun'; did you mean 'minimum'"),
    ],
)
def test_misspelt_parameters_of_a_scheduler_are_refused(told, message):
    class Mine(gs.Scheduler):
        parameters = told

        def __init__(self, round_s: float = 1.0) -> None:
            super().__init__()

        decide = decide

    with pytest.raises(ValueError, match=message):
        gs.register_scheduler("mine")(Mine)


def test_misspelt_names_of_a_predictor_are_refused_where_it_is_made():
    with pytest.raises(ValueError, match="unknown attribute 'predct'; did you mean 'predict'"):
        type("Mine", (gs.Predictor,), {"predct": None})
    with pytest.raises(
        ValueError, match="unknown attribute 'need_truth'; did you mean 'needs_truth'"
    ):
        type("Mine", (gs.Predictor,), {"need_truth": True})

    class Mine(gs.Predictor):
        limits = {"factr": (0, 1)}  # noqa: RUF012 - as a user would

        def __init__(self, factor: float = 1.0) -> None:
            self.factor = factor

        def begin(self, trace: Any, seed: int = 0) -> None: ...
        def predict(self, jobs: Any) -> Any: ...

    try:
        with pytest.raises(ValueError, match=r"limits: .* 'factr' .*did you mean 'factor'"):
            register_predictor("mine")(Mine)
    finally:
        gs.unregister("mine")


class Silent(gs.Scheduler):
    """Says nothing."""


def timed(name: str, **preemption: Any) -> type:
    """Make a scheduler with a period that says this of its preemptions."""

    def init(self: Any, *, period_s: float = 60.0) -> None:
        gs.Scheduler.__init__(self)

    return type(name, (Silent,), {"__init__": init, "preemption": preemption})


def test_a_scheduler_that_does_not_say_may_preempt_at_any_instant():
    assert describe(Silent, "scheduler", "silent").preemption is None


def test_one_that_promises_to_preempt_nobody_need_say_no_more():
    kind = type("Kind", (Silent,), {"flags": ("non-preemptive",)})
    found = describe(kind, "scheduler", "kind").preemption
    assert found == PreemptionBound()
    assert str(found) == "never"


def test_what_it_says_is_read_and_what_is_no_field_refused():
    told = timed("Told", at_arrivals=True, period="period_s", reason="so it is")
    found = describe(told, "scheduler", "told").preemption
    assert str(found) == "arrivals, multiples of `period_s`"
    both = timed("Both", at_finishes=True, least_run="period_s")
    found = describe(both, "scheduler", "both").preemption
    assert str(found) == "finishes, event times once a job has run for `period_s` or longer"
    wrong = timed("Unknown", period="slot_s")
    said = "scheduler unknown: preemption: unknown parameter 'slot_s'; known: period_s"
    with pytest.raises(ValueError, match=said):
        describe(wrong, "scheduler", "unknown")
    heir = describe(type("Heir", (told,), {}), "scheduler", "heir").preemption
    assert heir == describe(told, "scheduler", "told").preemption
    wrong = type("Wrong", (Silent,), {"preemption": {"at_noon": True}})
    with pytest.raises(ValueError, match="scheduler wrong: preemption: unknown field 'at_noon'"):
        describe(wrong, "scheduler", "wrong")


def test_an_order_has_the_bound_of_its_list_scheduler():
    order = type("First", (gs.Order,), {"preemptive": True})
    found = describe(order, "order", "first").preemption
    assert found == gs.policies()["las"].preemption
    waiting = type("Last", (gs.Order,), {})
    assert describe(waiting, "order", "last").preemption == PreemptionBound()


Jobs = npt.NDArray[np.int64]
TWO_SERVERS = gs.Cluster.uniform(2, 4)
JOBS = gs.Trace.from_columns([0, 0, 1], [5, 6, 7], [4, 2, 4])


class Widest(gs.Order):
    def rank(self, view: gs.plugins.State, jobs: Jobs) -> npt.NDArray[np.float64]:
        return -view.gpus[jobs].astype(np.float64)


class OneServer(gs.Placement):
    def place(
        self, free: gs.plugins.FreeGpus, request: gs.plugins.Request
    ) -> list[tuple[int, int]] | None:
        fits = np.flatnonzero(free.free_gpus >= request.gpus)
        return [(int(fits[0]), free.lowest_free(int(fits[0]), request.gpus))] if len(fits) else None


class Eager(gs.Scheduler):
    def decide(
        self, state: gs.plugins.State, finished: Jobs, arrived: Jobs, actions: gs.plugins.Actions
    ) -> None:
        for job in state.waiting.tolist():
            found: gs.plugins.Allocation | None = state.place(job)
            if found is not None:
                actions.start(job, found)


class ByType(gs.Scheduler):
    def decide(
        self, state: gs.plugins.State, finished: Jobs, arrived: Jobs, actions: gs.plugins.Actions
    ) -> None:
        wanted = [*state.running.tolist(), *state.waiting.tolist()]
        actions.reallocate([(job, [gs.plugins.Part(0, int(state.gpus[job]))]) for job in wanted])


def test_annotated_plug_ins_run():
    policies: tuple[gs.Order | gs.Scheduler, ...] = (Widest(), Eager(), ByType())
    for policy in policies:
        result = gs.simulate(JOBS, TWO_SERVERS, policy=policy, placement=OneServer())
        assert result.audit().ok
        assert (result.schedule.status == 0).all()


def test_the_annotations_are_the_types_of_what_the_core_hands_out():
    seen: dict[str, object] = {}

    class Curious(Eager):
        def decide(
            self,
            state: gs.plugins.State,
            finished: Jobs,
            arrived: Jobs,
            actions: gs.plugins.Actions,
        ) -> None:
            seen.update(state=state, actions=actions)
            super().decide(state, finished, arrived, actions)

    class Noting(OneServer):
        def place(
            self, free: gs.plugins.FreeGpus, request: gs.plugins.Request
        ) -> list[tuple[int, int]] | None:
            seen.update(free=free, request=request)
            return super().place(free, request)

    gs.simulate(JOBS, TWO_SERVERS, policy=Curious(), placement=Noting())
    hints = typing.get_type_hints(Curious.decide) | typing.get_type_hints(Noting.place)
    assert {name: type(thing) for name, thing in seen.items()} == {
        name: hints[name] for name in ("state", "actions", "free", "request")
    }


def test_a_policy_that_reads_run_times_is_marked_without_saying_so():
    class Shortest(gs.Order):
        def rank(self, view, jobs):
            return self.time(view)[jobs]

        def time(self, view):
            return view.predicted_us

    Shortest.__module__ = "gpusched_of_a_user"

    class ByEstimate(Shortest):
        flags = ("estimate",)

    class Widest(gs.Order):
        def rank(self, view, jobs):
            return -view.gpus[jobs]

    trace, cluster = gs.generate("philly", 20), gs.Cluster.uniform(2, 8)
    for policy, is_marked in ((Shortest(), True), (ByEstimate(), True), (Widest(), False)):
        assert gs.simulate(trace, cluster, policy=policy).clairvoyant is is_marked
    told = gs.simulate(trace, cluster, policy=Shortest(), predictor="last-value")
    assert not told.clairvoyant
