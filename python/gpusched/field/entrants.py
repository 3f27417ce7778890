"""Which policies are ranked, and with what knowledge of the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gpusched.plugins.policy import Policy, known_choice
from gpusched.plugins.registry import policies

# What the workloads do not have: deadlines, other widths, all jobs at the beginning.
_ASKS_FOR_MORE: Final = ("deadlines", "elastic", "offline")
_KNOWS_SERVICES: Final = ("clairvoyant", "estimate")


@dataclass(frozen=True)
class Entrant:
    """A policy.

    Attributes
    ----------
    policy
        Its name, with options as in ``"easy:extra=false"``.
    knows_services
        Whether it decides by services: it then runs twice, with what a deployed one could predict
        and, marked as clairvoyant, with the truth.
    is_random
        Whether its decisions are drawn.
    """

    policy: str
    knows_services: bool
    is_random: bool = False


def entrants(more: Sequence[str] = (), only: Sequence[str] | None = None) -> list[Entrant]:
    """Return all registered policies that the workloads suit, and more.

    Parameters
    ----------
    more
        Names with options, of policies that shall have rows beside.
    only
        These in place of all that are registered.

    Raises
    ------
    ValueError
        If a name is not known, or its policy asks for deadlines, other widths or all jobs at the
        beginning.
    """
    found = [name for name, info in policies().items() if not any(map(info.has, _ASKS_FOR_MORE))]
    choices = [known_choice(Policy, name) for name in [*(found if only is None else only), *more]]
    for choice in choices:
        for flag in _ASKS_FOR_MORE:
            if choice.has(flag):
                raise ValueError(f"policy {choice}: is {flag}, and the jobs are not made for that")
    by_label = {str(choice): choice for choice in choices}
    return [
        Entrant(label, any(map(choice.has, _KNOWS_SERVICES)), choice.has("random"))
        for label, choice in by_label.items()
    ]
