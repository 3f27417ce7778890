"""The same again is the same."""

from __future__ import annotations

import pickle
from typing import Any

from gpusched._core import Order
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law


def _is_of_python(case: Case) -> bool:
    return case.subject.object() is not None


def _class_attributes(made: Any) -> dict[str, str]:
    """What the classes of an object hold, but for what they can do."""
    return {
        f"{of.__qualname__}.{name}": repr(value)
        for of in type(made).__mro__
        if of.__module__ not in ("builtins", Order.__module__)
        for name, value in vars(of).items()
        if not (name.startswith("__") or callable(value) or isinstance(value, property))
    }


@law(
    "class-unchanged",
    "A run changes its own object, and no attribute of the class.",
    of=("policy", "placement"),
    when=_is_of_python,
    rank=39,
)
def _class_unchanged(case: Case) -> Faults:
    made = case.subject.object()
    before = _class_attributes(made)
    case.simulate(**{case.role: made})
    for name, value in _class_attributes(made).items():
        if value != before.get(name, value):
            yield f"{name} was {before[name]} and is {value}"


@law("repeats", "The same run with fresh objects has the same digest.", rank=40)
def _repeats(case: Case) -> Faults:
    if case.simulate().digest != case.result.digest:
        yield "the second run of the same has another digest"


@law(
    "reusable",
    "An object that has done a run does it again in the same way.",
    of=("policy", "placement"),
    when=_is_of_python,
    rank=41,
)
def _reusable(case: Case) -> Faults:
    used = case.subject.object()
    for number in ("first", "second", "third"):
        if case.simulate(**{case.role: used}).digest != case.result.digest:
            yield f"the {number} run of one object has another digest than that of a fresh one"


@law(
    "seedless",
    "The seed decides nothing, unless the flag or the claim random is there.",
    when=lambda case: not case.is_random,
    rank=42,
)
def _seedless(case: Case) -> Faults:
    for seed in (1, 2**64 - 1):
        if case.simulate(seed=case.seed ^ seed).digest != case.result.digest:
            yield f"the seed {case.seed ^ seed} gives another digest than {case.seed}"


@law("pickles", "A result that was pickled is the same.", rank=43)
def _pickles(case: Case) -> Faults:
    read = pickle.loads(pickle.dumps(case.result))
    if read.digest != case.result.digest:
        yield "the digest is another"
    if read.schedule.finish_us.tolist() != case.result.schedule.finish_us.tolist():
        yield "the finishes are others"


@law(
    "pickled-object",
    "An object that was pickled decides the same, if its class can be imported.",
    of=("policy", "placement"),
    when=_is_of_python,
    rank=44,
)
def _pickled_object(case: Case) -> Faults:
    made = case.subject.object()
    if "<locals>" in type(made).__qualname__:
        return
    try:
        read = pickle.loads(pickle.dumps(made))
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
        return
    if case.simulate(**{case.role: read}).digest != case.result.digest:
        yield "the object that was pickled gives another digest"
