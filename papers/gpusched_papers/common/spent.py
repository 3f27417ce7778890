"""The processor time that the stages of a study take."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class StageTime:
    """Of the parts of a stage that are done: how many, and their processor time in seconds.

    That of a part that was kept is what it took when it was run.
    """

    parts: int = 0
    processor_s: float = 0.0


@dataclass
class Spent:
    """The time of each stage."""

    stages: dict[str, StageTime] = field(default_factory=dict)

    def add(self, stage: str, processor_s: float) -> None:
        """Count a part."""
        time = self.stages.setdefault(stage, StageTime())
        time.parts += 1
        time.processor_s += processor_s
