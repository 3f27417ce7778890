"""What runs of several seeds tell: intervals, paired comparisons, ranks, tables.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.statistics.comparing import ComparedRuns as ComparedRuns
    from gpusched.statistics.comparing import compare_runs as compare_runs
    from gpusched.statistics.corrections import holm as holm
    from gpusched.statistics.effects import effect_size as effect_size
    from gpusched.statistics.intervals import Interval as Interval
    from gpusched.statistics.means import interval as interval
    from gpusched.statistics.means import paired_difference as paired_difference
    from gpusched.statistics.means import ratio_of_means as ratio_of_means
    from gpusched.statistics.means import relative_change as relative_change
    from gpusched.statistics.rank_tests import RankTest as RankTest
    from gpusched.statistics.rank_tests import nemenyi as nemenyi
    from gpusched.statistics.rank_tests import ranks as ranks
    from gpusched.statistics.seed_counts import seeds_needed as seeds_needed

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ComparedRuns": "statistics.comparing",
        "Interval": "statistics.intervals",
        "RankTest": "statistics.rank_tests",
        "compare_runs": "statistics.comparing",
        "effect_size": "statistics.effects",
        "holm": "statistics.corrections",
        "interval": "statistics.means",
        "nemenyi": "statistics.rank_tests",
        "paired_difference": "statistics.means",
        "ranks": "statistics.rank_tests",
        "ratio_of_means": "statistics.means",
        "relative_change": "statistics.means",
        "seeds_needed": "statistics.seed_counts",
    },
)
