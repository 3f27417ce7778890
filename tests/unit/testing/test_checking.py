"""What check_policy and its like take, and what they refuse."""

from __future__ import annotations

from functools import partial

import pytest

import gpusched as gs
from gpusched.testing.cases import Subject
from gpusched.testing.law_registry import LAWS, law


class Narrow(gs.Order):
    """Narrow jobs first."""

    def __init__(self, sign: int = 1) -> None:
        super().__init__()
        self.sign = sign

    def rank(self, view, jobs):
        return self.sign * view.gpus[jobs]


class Greedy(gs.Placement):
    """The first free GPUs that are allowed."""

    def place(self, free, request):
        pieces, left = [], request.gpus
        for server, count in enumerate(free.free_gpus.tolist()):
            taken = min(count, left)
            if taken and request.types >> int(free.server_type[server]) & 1:
                pieces.append((server, free.lowest_free(server, taken)))
                left -= taken
        return None if left else pieces


@pytest.mark.parametrize("policy", [Narrow, Narrow(), partial(Narrow, -1), "sgf", gs.Policy("sgf")])
def test_a_policy_may_be_a_name_an_object_or_what_makes_one(policy):
    gs.testing.check_policy(policy, examples=3, declares=["work-conserving", "scale-free"])


@pytest.mark.parametrize("placement", [Greedy, Greedy(), "best-fit"])
def test_a_placement_may_be_a_name_an_object_or_what_makes_one(placement):
    gs.testing.check_placement(placement, examples=3)
    gs.testing.check_policy("srtf", placement=placement, examples=3)


def test_an_object_is_left_as_it_was():
    order = Narrow(-1)
    gs.testing.check_policy(order, examples=2)
    assert vars(order) == {"sign": -1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"declares": ["work-conserve"]}, "unknown claim 'work-conserve'; did you mean"),
        ({"laws": ["capacities"]}, "unknown law 'capacities'; did you mean 'capacity'"),
        ({"placement": "first"}, "unknown placement 'first'"),
        ({"speed": "fast"}, "unknown speed 'fast'"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        gs.testing.check_policy("fifo", **options)


@pytest.mark.parametrize("name", ["declares", "laws"])
def test_one_text_is_no_collection(name):
    with pytest.raises(TypeError, match=f"{name}: expected a collection"):
        gs.testing.check_policy("fifo", **{name: "capacity"})


def test_what_is_no_policy_is_refused():
    with pytest.raises(TypeError, match="policy: expected a name, a Policy"):
        gs.testing.check_policy(3)


def test_a_claim_that_is_false_breaks_its_law():
    for policy, claim in (("fifo", "work-conserving"), ("las", "scale-free")):
        with pytest.raises(gs.testing.LawBroken) as caught:
            gs.testing.check_policy(policy, declares=[claim])
        assert caught.value.law == claim
    with pytest.raises(gs.testing.LawBroken) as caught:
        gs.testing.check_policy("srtf", declares=["non-preemptive"])
    assert caught.value.law == "keeps-gpus"
    gs.testing.check_policy("random", examples=2)  # by its flag


def test_only_the_laws_that_are_named_are_asked():
    asked = []

    @law("noted", "A law of this test.")
    def noted(case):
        asked.append(case)
        yield from ()

    try:
        gs.testing.check_policy("fifo", laws=["noted"], examples=5)
        gs.testing.check_placement("best-fit", laws=["noted"], examples=0)
        with pytest.raises(ValueError, match="the name 'noted' is taken"):
            law("noted", "Another one.")(noted)
    finally:
        LAWS.remove("noted")
    assert len(asked) > 10
    assert {case.role for case in asked} == {"policy", "placement"}


def test_the_same_seed_asks_the_same_workloads():
    seen: list[list[str]] = []

    @law("noted", "A law of this test.")
    def noted(case):
        seen[-1].append(repr((case.columns, case.cluster)))
        yield from ()

    try:
        for seed in (1, 1, 2):
            seen.append([])
            gs.testing.check_policy("fifo", laws=["noted"], examples=20, seed=seed)
    finally:
        LAWS.remove("noted")
    assert seen[0] == seen[1] != seen[2]


def test_a_law_that_ends_with_an_error_is_broken():
    @law("faulty", "A law of this test.")
    def faulty(case):
        raise ZeroDivisionError("by nothing")
        yield ""

    try:
        with pytest.raises(gs.testing.LawBroken, match="ZeroDivisionError: by nothing"):
            gs.testing.check_policy("fifo", laws=["faulty"])
    finally:
        LAWS.remove("faulty")


def test_a_subject_is_made_anew_for_each_run():
    order = Narrow()
    subject = Subject.of("policy", order)
    order.sign = 5  # what was given was copied
    first, second = subject.make(), subject.make()
    assert first is not second
    assert first.sign == second.sign == 1
    assert subject.code("policy") == "policy"  # its constructor's arguments are not known
    assert Subject.of("policy", Narrow).code("policy") == "Narrow"
    assert Subject.of("policy", gs.Policy("las")).code("policy") == "gs.Policy('las')"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"examples": -1}, ValueError, "examples: -1 must lie in 0"),
        ({"examples": 1.5}, TypeError, "examples: 1.5 must be an integer"),
        ({"seed": -1}, ValueError, "seed: -1 must lie between"),
    ],
)
def test_numbers_out_of_range_are_mistakes_and_not_broken_laws(options, error, message):
    with pytest.raises(error, match=message):
        gs.testing.check_policy("fifo", laws=("repeats",), **options)
