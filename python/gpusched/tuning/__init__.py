"""Tuning: the options of policies searched on a part of a study, and judged on the rest.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.tuning.tune import Tuning as Tuning

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Tuning": "tuning.tune",
    },
)
