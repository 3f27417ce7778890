"""What the audit knows of contention ``reserved``."""

from __future__ import annotations

from gpusched.audit.links import SHARING_RULES, Sharing
from gpusched.base.arrays import Float64, Int64


@SHARING_RULES.register("reserved")
class Reserved(Sharing):
    """A ring owns of a link as much as it holds of the GPUs behind it."""

    def own(self, bytes_per_s: Float64, gpus: Int64, behind: Int64) -> Float64:
        """Return the part of the GPUs."""
        part: Float64 = bytes_per_s * (gpus / behind)
        return part
