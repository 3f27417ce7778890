"""What the registry declares of a run's names, for the audit, which looks at no registry itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.audit.declarations import Flags
from gpusched.plugins.policy import Choice, PlacementChoice, Policy, SpeedChoice

if TYPE_CHECKING:
    from gpusched.specs.run_spec import RunSpec


def declared(spec: RunSpec) -> Flags:
    """Return the flags of policy, placement and speed; a name that is not registered has none."""
    policy = _parsed(Policy, spec.policy)
    placement = _parsed(PlacementChoice, spec.placement)
    speed = _parsed(SpeedChoice, spec.speed)
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
        parsed: Choice = kind.known(text)
    except (ValueError, TypeError):
        return None
    return parsed
