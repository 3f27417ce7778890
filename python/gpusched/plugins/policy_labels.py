"""What the runs of a comparison are called: the texts of policies, and of Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from gpusched._core import Order, Scheduler
from gpusched.plugins.identity import identify
from gpusched.plugins.policy import Policy

AnyPolicy: TypeAlias = str | Policy | Order | Scheduler


def runs_by_label(policies: Sequence[AnyPolicy]) -> dict[str, AnyPolicy]:
    """Key the policies by their canonical texts; refuse an empty list, and one listed twice."""
    if isinstance(policies, str | Policy):
        raise TypeError(f"policies: expected a list of policies, not the single {policies!r}")
    runs: dict[str, AnyPolicy] = {}
    given = [Policy.parse(entry) if isinstance(entry, str) else entry for entry in policies]
    plain = [_label(policy) for policy in given]
    for label, policy in zip(plain, given, strict=True):
        if plain.count(label) > 1 and not isinstance(policy, Policy):
            label = _told_apart(label, policy, [same for same in given if _label(same) == label])
        if label in runs:
            raise ValueError(f"policies: {label!r} is listed twice")
        runs[label] = policy
    if not runs:
        raise ValueError("policies: at least one is needed")
    return runs


def _label(policy: Any) -> str:
    if isinstance(policy, Policy):
        return str(policy)
    if isinstance(policy, Order | Scheduler):
        return f"python:{type(policy).__qualname__}"
    raise TypeError(f"policies: expected a name or a policy, not {policy!r}")


def _told_apart(label: str, policy: AnyPolicy, alike: Sequence[AnyPolicy]) -> str:
    """Add what the object is known by to the label that it shares with others."""
    if sum(policy is other for other in alike) > 1:
        raise ValueError(f"policies: {label!r} is listed twice")
    known = identify("policy", policy)
    return label if known is None else f"{label}@{known.short}"
