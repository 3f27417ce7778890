"""What a user names for a run, made ready for the core: policies, placements, speeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusched import _core
from gpusched.plugins.flags import has
from gpusched.plugins.identity import PythonObject, Role, identify
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.plugins.registry import PluginInfo, constructor_parameters, describe

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class Chosen:
    """A seam ready for the core: a native name with parameters, or a Python object.

    ``flags`` are those of ``info`` and those that the values of parameters add; ``python`` is
    what a Python object is known by that is not gpusched's own.
    """

    label: str
    native: Any
    parameters: dict[str, Any]
    info: PluginInfo
    flags: tuple[str, ...] = ()
    python: PythonObject | None = None

    def has(self, flag: str) -> bool:
        """Whether it has the flag; a ValueError if there is no such flag."""
        return has(self.flags, flag)


def policy_seam(policy: str | Policy | _core.Order | _core.Scheduler) -> Chosen:
    """Return the policy that a user named or made."""
    if isinstance(policy, _core.Order | _core.Scheduler):
        kind = "order" if isinstance(policy, _core.Order) else "scheduler"
        label = f"python:{type(policy).__qualname__}"
        info = describe(type(policy), kind, label)
        return Chosen(label, policy, {}, info, info.flags, identify("policy", policy))
    choice = Policy.parse(policy) if isinstance(policy, str) else policy
    if not isinstance(choice, Policy):
        raise TypeError(
            f"policy: expected a name, a Policy, an Order or a Scheduler, not {policy!r}"
        )
    return _of_choice(choice)


def placement_seam(placement: str | PlacementChoice | _core.Placement) -> Chosen:
    """Return the placement that a user named or made."""
    if isinstance(placement, _core.Placement):
        label = f"python:{type(placement).__qualname__}"
        info = describe(type(placement), "placement", label)
        return Chosen(label, placement, {}, info, info.flags, identify("placement", placement))
    choice = PlacementChoice.parse(placement) if isinstance(placement, str) else placement
    if not isinstance(choice, PlacementChoice):
        raise TypeError(f"placement: expected a name or a Placement, not {placement!r}")
    return _of_choice(choice)


def speed_seam(
    trace: Trace, speed: str | SpeedChoice | None, contention: str | ContentionChoice
) -> tuple[SpeedChoice, ContentionChoice]:
    """Return the speed and the contention that a user named.

    A contention alone implies the speed that the jobs have figures for.
    """
    shares = ContentionChoice.parse(contention) if isinstance(contention, str) else contention
    if not isinstance(shares, ContentionChoice):
        raise TypeError(f"contention: expected a name or a ContentionChoice, not {contention!r}")
    if speed is None:
        has_graphs_alone = trace.graph is not None and trace.profile is None
        model = "stages" if has_graphs_alone else "ring"
        speed = "fixed" if shares.has("uncontended") else model
    paces = SpeedChoice.parse(speed) if isinstance(speed, str) else speed
    if not isinstance(paces, SpeedChoice):
        raise TypeError(f"speed: expected a name or a SpeedChoice, not {speed!r}")
    if paces.has("steady") and not shares.has("uncontended"):
        raise ValueError(
            f"contention {shares}: under speed '{paces}' links do not matter; name another speed"
        )
    return paces, shares


def _of_choice(choice: Policy | PlacementChoice) -> Chosen:
    values = choice.core_values()
    seam = choice.info.python_class
    if seam is None:
        return Chosen(str(choice), choice.name, values, choice.info, choice.flags)
    role: Role = "placement" if choice.info.kind == "placement" else "policy"
    if choice.info.kind != "order":
        made = seam(**values)
        known = identify(role, made)
        return Chosen(str(choice), made, {}, choice.info, choice.flags, known)
    added = {entry["name"] for entry in constructor_parameters("order", choice.name, seam)}
    own = {key: value for key, value in values.items() if key in added}
    rest = {key: value for key, value in values.items() if key not in added}
    made = seam(**own)
    return Chosen(str(choice), made, rest, choice.info, choice.flags, identify(role, made))
