"""Studies: many runs, planned from one description, run anywhere and kept as they come.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.sweeping.run_store import sweep_status as sweep_status
    from gpusched.sweeping.sweep_result import SweepResult as SweepResult

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "SweepResult": "sweeping.sweep_result",
        "sweep_status": "sweeping.run_store",
    },
)
