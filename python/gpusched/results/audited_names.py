"""What the registry declares of a run's names, for the audit, which looks at no registry itself."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpusched.audit.declarations import Flags
from gpusched.plugins.policy import Choice, PlacementChoice, Policy, SpeedChoice, known_choice
from gpusched.plugins.registry import version

if TYPE_CHECKING:
    from gpusched.specs.run_spec import RunSpec


def declared(spec: RunSpec) -> Flags:
    """Return the flags of policy, placement and speed; a name that is not registered has none."""
    return _declared(spec.policy, spec.placement, spec.speed, version())


@lru_cache(maxsize=64)
def _declared(policy_text: str, placement_text: str, speed_text: str, version: int) -> Flags:
    policy = _parsed(Policy, policy_text)
    placement = _parsed(PlacementChoice, placement_text)
    speed = _parsed(SpeedChoice, speed_text)
    return Flags(
        preempts=None if policy is None else policy.info.preempts,
        alias_of="" if policy is None else policy.info.alias_of,
        places=policy is not None and policy.has("places"),
        is_pooled=placement is not None and placement.has("pooled"),
        scatters=placement is not None and placement.has("scatters"),
        consolidates=placement is not None and placement.has("consolidates"),
        is_elastic=speed is not None and speed.has("elastic"),
        is_steady=speed is not None and speed.has("steady"),
    )


def _parsed(kind: type[Choice], text: str) -> Choice | None:
    try:
        parsed: Choice = known_choice(kind, text)
    except (ValueError, TypeError):
        return None
    return parsed
