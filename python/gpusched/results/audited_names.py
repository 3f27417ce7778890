"""The registry's flags for the names of a run, for the audit, which reads no registry."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from gpusched.audit.declarations import Flags
from gpusched.plugins.policy import (
    Choice,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
    known_choice,
)
from gpusched.plugins.registry import rules_version, version
from gpusched.prediction.choose import resolve
from gpusched.prediction.registry import PREDICTORS
from gpusched.specs.case import PredictedBy
from gpusched.specs.run_spec import RunSpec

_Choice = TypeVar("_Choice", bound=Choice)


def declared(spec: RunSpec, policy: str | None = None) -> Flags:
    """Return the flags of policy, placement and speed; an unregistered name has none.

    ``policy`` replaces the policy of the specification.
    """
    own = frozenset([thing.role for thing in spec.python])
    texts = (policy or spec.policy, spec.placement, spec.speed, spec.contention, spec.predictor)
    return _declared(*texts, own, version(), PREDICTORS.version)


@lru_cache(maxsize=64)
def _declared(
    policy_text: str,
    placement_text: str,
    speed_text: str,
    contention_text: str,
    predictor_text: str,
    own: frozenset[str],
    *versions: int,
) -> Flags:
    faults = list[str]()
    policy = _parsed(faults, own, Policy, policy_text)
    placement = _parsed(faults, own, PlacementChoice, placement_text)
    speed = _parsed(faults, own, SpeedChoice, speed_text)
    contention = _parsed(faults, own, ContentionChoice, contention_text)
    return Flags(
        preempts=None if policy is None else policy.info.preempts,
        alias_of="" if policy is None else policy.info.alias_of,
        places=policy is not None and policy.has("places"),
        is_pooled=placement is not None and placement.has("pooled"),
        scatters=placement is not None and placement.has("scatters"),
        consolidates=placement is not None and placement.has("consolidates"),
        is_elastic=speed is not None and speed.has("elastic"),
        is_steady=speed is not None and speed.has("steady"),
        interacts=contention is not None and contention.has("interacting"),
        clairvoyant="" if policy is None or own else _clairvoyant(policy, predictor_text),
        predicted="" if "predictor" in own else _column(faults, predictor_text),
        faults=tuple(faults),
        version=rules_version(),
    )


def _parsed(
    faults: list[str], own: frozenset[str], kind: type[_Choice], text: str
) -> _Choice | None:
    try:
        parsed = known_choice(kind, text)
    except (ValueError, TypeError) as error:
        if kind.kind not in own:  # a Python object need not be registered
            faults.append(str(error))
        return None
    return parsed


def _clairvoyant(policy: Policy, predictor_text: str) -> str:
    """Return when the policy uses true run times."""
    try:
        found = resolve(predictor_text.partition("@")[0])
    except (ValueError, TypeError):
        return ""
    is_true = found.is_truth if isinstance(found, PredictedBy) else found.needs_truth
    if is_true and policy.has("clairvoyant"):
        return "always"
    return "without estimates" if is_true and policy.has("estimate") else "never"


def _column(faults: list[str], text: str) -> str:
    """Return the trace's column with the predictions, or an empty text."""
    name, _, is_trained = text.partition("@")
    try:
        found = resolve(name)
    except (ValueError, TypeError) as error:
        faults.append(str(error))
        return ""
    return found.column if isinstance(found, PredictedBy) and not is_trained else ""
