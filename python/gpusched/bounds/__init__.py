"""Bounds that no schedule can beat: the certificates of results.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.bounds.certificates import lower_bounds as lower_bounds
    from gpusched.bounds.deadline_bounds import DeadlineBound as DeadlineBound
    from gpusched.bounds.deadline_bounds import deadline_bound as deadline_bound
    from gpusched.specs.case import iteration_limits as iteration_limits

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "DeadlineBound": "bounds.deadline_bounds",
        "deadline_bound": "bounds.deadline_bounds",
        "iteration_limits": "specs.case",
        "lower_bounds": "bounds.certificates",
    },
)
