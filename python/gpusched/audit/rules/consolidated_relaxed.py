"""What the audit knows of placement ``consolidated-relaxed``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gpusched.audit.laws import FIT_RULES, fits_on_fewest


@FIT_RULES.register("consolidated-relaxed")
def fits(sizes: Sequence[int], gpus: int, given: Mapping[str, str]) -> bool:
    """Whether a gang fits on up to kappa times the fewest servers."""
    if fits_on_fewest(sizes, gpus):
        return True
    limit = math.floor(float(given.get("kappa", "2")) * math.ceil(gpus / max(sizes)))
    held = np.cumsum(sorted(sizes, reverse=True))
    return int(np.searchsorted(held, gpus)) + 1 <= limit
