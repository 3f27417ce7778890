"""What runs of several seeds tell: intervals, paired comparisons, ranks, tables.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.statistics.intervals import Interval as Interval
    from gpusched.statistics.means import interval as interval
    from gpusched.statistics.means import paired_difference as paired_difference
    from gpusched.statistics.means import ratio_of_means as ratio_of_means
    from gpusched.statistics.means import relative_change as relative_change

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Interval": "statistics.intervals",
        "interval": "statistics.means",
        "paired_difference": "statistics.means",
        "ratio_of_means": "statistics.means",
        "relative_change": "statistics.means",
    },
)
