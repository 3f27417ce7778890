"""What the audit knows of contention ``shared``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched.audit.links import SHARING_RULES, Sharing
from gpusched.base.arrays import Float64, Int64


@SHARING_RULES.register("shared")
class Shared(Sharing):
    """Rings share a link equally, and lose by it."""

    interacts = True

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.degradation = float(given.get("degradation", "0"))
        self.scaling = float(given.get("scaling", "1"))

    def part(self, bytes_per_s: Float64, rings: Int64) -> Float64:
        """Return an equal part of what is left of the link."""
        crowd = np.maximum(1.0, self.scaling * rings)
        part: Float64 = bytes_per_s / (crowd + self.degradation * (crowd - 1.0))
        return part
