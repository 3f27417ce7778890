"""Bounds that no schedule can beat: the certificates of results.

Names load on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "DeadlineBound": "bounds.deadline_bounds",
        "deadline_bound": "bounds.deadline_bounds",
        "iteration_limits": "specs.case",
        "lower_bounds": "bounds.certificates",
    },
)
