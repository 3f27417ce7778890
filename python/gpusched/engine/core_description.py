"""What the core is told of a run beside its jobs and its cluster."""

from __future__ import annotations

from functools import lru_cache

from gpusched import _core
from gpusched.engine.seams import Chosen
from gpusched.plugins.policy import ContentionChoice, SpeedChoice


def _description(
    policy: Chosen,
    placement: Chosen,
    speed: SpeedChoice,
    contention: ContentionChoice,
    seed: int,
    verify: bool,
    max_intervals: int | None,
) -> _core.RunDescription:
    return _core.RunDescription(
        policy=policy.native,
        policy_values=policy.parameters,
        policy_flags=list(policy.flags),
        placement=placement.native,
        placement_values=placement.parameters,
        speed=speed.name,
        speed_values=speed.core_values(),
        contention=contention.name,
        contention_values=contention.core_values(),
        seed=seed,
        verify=verify,
        **({} if max_intervals is None else {"max_intervals": max_intervals}),
    )


# Runs that differ in their trace or cluster alone are described alike.
_known_description = lru_cache(maxsize=64)(_description)


def described(
    policy: Chosen,
    placement: Chosen,
    speed: SpeedChoice,
    contention: ContentionChoice,
    seed: int,
    verify: bool = False,
    max_intervals: int | None = None,
) -> _core.RunDescription:
    """Return what the core is told of a run beside its jobs and its cluster."""
    is_native = isinstance(policy.native, str) and isinstance(placement.native, str)
    describe = _known_description if is_native else _description
    return describe(policy, placement, speed, contention, seed, verify, max_intervals)
