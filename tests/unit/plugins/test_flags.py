"""What a plug-in of Python may say of itself, and what it is told where it says it wrongly."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from gpusched.plugins.info import FLAGS
from tests.each import each


def order(**attributes: Any) -> type:
    def rank(self, view, jobs):
        return view.submit(jobs)

    return type("Own", (gs.Order,), {"rank": rank, **attributes})


def scheduler(**attributes: Any) -> type:
    return type("Own", (gs.Scheduler,), attributes)


def placement(**attributes: Any) -> type:
    return type("Own", (gs.Placement,), attributes)


REGISTER = {
    order: gs.register_order,
    scheduler: gs.register_scheduler,
    placement: gs.register_placement,
}


@each(
    ("make", "attributes", "expected"),
    [
        (order, {}, ("skip",)),
        (order, {"scan": "strict"}, ("strict",)),
        (order, {"preemptive": True}, ("preemptive",)),
        (order, {"flags": ("clairvoyant", "deadlines")}, ("skip", "clairvoyant", "deadlines")),
        (scheduler, {}, ()),
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
         "scheduler own: flags: expected a tuple of texts, not 'preemptive'"),
        (scheduler, {"flags": None}, TypeError, "expected a tuple of texts, not None"),
        (scheduler, {"flags": (1,)}, TypeError, "expected texts, not 1"),
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
