"""What the audit knows of placement ``buddy``."""

from __future__ import annotations

import numpy as np

from gpusched.audit.laws import WIDE_RULES, Holds
from gpusched.base.arrays import Int64


@WIDE_RULES.register("buddy")
def fits(sizes: Int64, holds: Holds, gpus: int) -> bool:
    """Whether servers of any sizes, the largest first, are filled, and one holds the rest.

    Of an idle server every width that it has GPUs for is part of one block.
    """
    is_taken = np.zeros(len(sizes), dtype=np.bool_)
    rest = gpus
    for size in np.unique(sizes)[::-1].tolist():
        taken = np.flatnonzero((sizes == size) & holds(size))[: rest // size]
        is_taken[taken] = True
        rest -= size * len(taken)
    return rest == 0 or bool((holds(rest) & ~is_taken).any())
