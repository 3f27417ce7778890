"""Which gangs a placement takes on an empty cluster that has enough GPUs for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpusched.audit.declarations import Flags, parameters
from gpusched.audit.rule_book import RuleBook

FitRule = Callable[[Sequence[int], int, Mapping[str, str]], bool]
"""``rule(sizes, gpus, given)``: of allowed servers by their GPUs, by the values of parameters."""

FIT_RULES: Final = RuleBook[FitRule]("placement")


def fits_when_empty(flags: Flags, placement: str, sizes: Sequence[int], gpus: int) -> bool | None:
    """Whether the placement takes a gang of whole GPUs; None if it is not known."""
    if flags.scatters:
        return True
    if flags.consolidates:
        return fits_on_fewest(sizes, gpus)
    name, given = parameters(placement)
    rule = FIT_RULES.find(name)
    return None if rule is None else rule(sizes, gpus, given)


def is_known_wide(flags: Flags, placement: str) -> bool:
    """Whether gangs wider than the largest server, of jobs that ask for more than GPUs, get whole
    servers of that size and one for what is left over."""
    if flags.scatters or flags.consolidates:
        return True
    return FIT_RULES.find(parameters(placement)[0]) is not None


def fits_on_fewest(sizes: Sequence[int], gpus: int) -> bool:
    """Whether one server holds the gang, or several of the largest and one what is left over."""
    size = max(sizes)
    whole, rest = divmod(gpus, size)
    num_largest = sizes.count(size)
    others_fit = num_largest > whole or any(rest <= other < size for other in sizes)
    return num_largest >= whole and (rest == 0 or others_fit)
