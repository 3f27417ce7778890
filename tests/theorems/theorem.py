"""What a theorem is here: a promise of theory or of the documents that is held on drawn cases."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Theorem:
    """One of them.

    Attributes
    ----------
    says
        What is promised, in a line.
    constant
        The factor in it, by the name that documents give it; 1 where it has none.
    against
        What it is held against.
    check
        Draws an instance by its seed and returns how much of what is promised was used, at most 1;
        AssertionError, which names the seed, where it is broken.
    instances
        How many are drawn unless one says.
    """

    name: str
    says: str
    constant: str
    against: str
    check: Callable[[int], float]
    instances: int = 10_000


def kept(value: float, promised: float, seed: int, slack: float = 0.0) -> float:
    """Return how much of an upper bound is used.

    Raises
    ------
    AssertionError
        If it is more than all.
    """
    assert value <= promised + slack, f"seed {seed}: {value} is above {promised}"
    return value / promised if promised else 1.0
