"""Placements that take a gang wherever enough GPUs are free."""

from __future__ import annotations

from gpusched.audit.orders import TAKES_ANY

for _name in (
    "best-fit", "count", "first-fit", "heavy-edge", "lwf", "random", "spread", "topology",
    "worst-fit",
):  # fmt: skip
    TAKES_ANY.register(_name)(True)
