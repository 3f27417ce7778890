"""What is made of the parts of a study with every seed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

Part = TypeVar("Part")
Made = TypeVar("Made")


class BySeed(Generic[Part, Made]):
    """What is made of every part of a study with every seed, in whatever order it comes."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._made: dict[Part, dict[int, Made]] = {part: {} for part in parts}

    def add(self, part: Part, seed: int, made: Made) -> None:
        """Keep what a part made with a seed."""
        self._made[part][seed] = made

    def seeds(self) -> list[int]:
        """Return those that every part was run with, the least first."""
        return sorted(set.intersection(*map(set, self._made.values())))

    def of(self, part: Part) -> list[Made]:
        """Return what a part made with each of :meth:`seeds`."""
        return [self._made[part][seed] for seed in self.seeds()]

    def at(self, seed: int) -> dict[Part, Made]:
        """Return what every part made with one of :meth:`seeds`, in the order of the parts."""
        return {part: made[seed] for part, made in self._made.items()}
