"""Which gangs a placement takes on an empty cluster that has enough GPUs for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpusched.audit.declarations import Flags, parameters
from gpusched.audit.rule_book import RuleBook
from gpusched.base.arrays import Bool, Int64

FitRule = Callable[[Sequence[int], int, Mapping[str, str]], bool]
"""``rule(sizes, gpus, given)``: of allowed servers by their GPUs, by the values of parameters."""

FIT_RULES: Final = RuleBook[FitRule]("placement")

Holds = Callable[[int], Bool]
"""``holds(workers)``: which allowed servers have GPUs, CPU and memory for so many when idle."""

WideRule = Callable[[Int64, Holds, int], bool]
"""``rule(sizes, holds, gpus)``: of a gang that asks for more than GPUs, wider than all servers."""

WIDE_RULES: Final = RuleBook[WideRule]("placement")


def fits_when_empty(flags: Flags, placement: str, sizes: Sequence[int], gpus: int) -> bool | None:
    """Whether the placement takes a gang of whole GPUs; None if it is not known."""
    if flags.scatters:
        return True
    if flags.consolidates:
        return fits_on_fewest(sizes, gpus)
    name, given = parameters(placement)
    rule = FIT_RULES.find(name)
    return None if rule is None else rule(sizes, gpus, given)


def has_room(flags: Flags, placement: str, sizes: Int64, holds: Holds, gpus: int) -> bool | None:
    """Whether the placement takes a gang that asks for more than GPUs; None if it is not known.

    One server must hold what the largest server has the GPUs for. Wider gangs get whole servers of
    that size and another one for what is left over, unless the placement has a rule of its own.
    """
    size = int(sizes.max())
    if gpus <= size:
        return bool(holds(gpus).any())
    name, _ = parameters(placement)
    rule = WIDE_RULES.find(name)
    if rule is not None:
        return rule(sizes, holds, gpus)
    if not (flags.scatters or flags.consolidates or FIT_RULES.find(name) is not None):
        return None
    num_whole, rest = divmod(gpus, size)
    wholes = holds(size)
    if int(wholes.sum()) < num_whole:
        return False
    others = holds(rest) if int(wholes.sum()) > num_whole else holds(rest) & ~wholes
    return rest == 0 or bool(others.any())


def fits_on_fewest(sizes: Sequence[int], gpus: int) -> bool:
    """Whether one server holds the gang, or several of the largest and one what is left over."""
    size = max(sizes)
    whole, rest = divmod(gpus, size)
    num_largest = sizes.count(size)
    others_fit = num_largest > whole or any(rest <= other < size for other in sizes)
    return num_largest >= whole and (rest == 0 or others_fit)
