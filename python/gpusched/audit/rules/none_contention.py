"""What the audit knows of contention ``none``."""

from __future__ import annotations

from gpusched.audit.links import SHARING_RULES, Sharing
from gpusched.base.arrays import Float64, Int64


@SHARING_RULES.register("none")
class Alone(Sharing):
    """Each ring has all of a link."""

    def own(self, bytes_per_s: Float64, gpus: Int64, behind: Int64) -> Float64:
        """Return all of it."""
        return bytes_per_s
