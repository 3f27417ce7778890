"""Objectives of ``gavel`` without a program: rules that remember who has which GPU type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import numpy as np

from gpusched.plugins.schedulers.gavel_allox import Matching
from gpusched.plugins.schedulers.gavel_fifo import InOrder

Array = np.ndarray[Any, Any]


class Keeper(Protocol):
    """Says which type each job is to have all the time."""

    def solve(
        self, ids: list[int], rates: Array, gpus: Array, remaining: Array, capacity: Array
    ) -> Array:
        """Return 1 for it, float64[n, types].

        Parameters
        ----------
        ids
            The n active jobs.
        rates
            Service per second on each type, float64[n, types].
        gpus, remaining
            Width, and seconds of service left.
        capacity
            GPUs of each type.
        """
        ...


KEEPERS: Final[Mapping[str, Callable[[bool, int], Keeper]]] = {
    "allox": lambda is_aware, seed: Matching(),
    "fifo": lambda is_aware, seed: InOrder(is_aware=is_aware, seed=seed),
}
"""By objective: from whether it is aware of types, and the seed of the run, to a new rule."""


def keeper(objective: str, *, is_aware: bool, seed: int) -> Keeper | None:
    """Make the rule of an objective; None if that is a program."""
    return KEEPERS[objective](is_aware, seed) if objective in KEEPERS else None
