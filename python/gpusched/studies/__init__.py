"""Many runs: studies, comparisons, searches, sizes, what-ifs, and what their numbers tell.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.studies.compared_runs import ComparedRuns as ComparedRuns
    from gpusched.studies.compared_runs import compare_runs as compare_runs
    from gpusched.studies.corrections import holm as holm
    from gpusched.studies.effects import effect_size as effect_size
    from gpusched.studies.fidelity_grades import Fidelity as Fidelity
    from gpusched.studies.intervals import Interval as Interval
    from gpusched.studies.means import interval as interval
    from gpusched.studies.means import paired_difference as paired_difference
    from gpusched.studies.means import ratio_of_means as ratio_of_means
    from gpusched.studies.means import relative_change as relative_change
    from gpusched.studies.rank_tests import RankTest as RankTest
    from gpusched.studies.rank_tests import nemenyi as nemenyi
    from gpusched.studies.rank_tests import ranks as ranks
    from gpusched.studies.run_store import sweep_status as sweep_status
    from gpusched.studies.seed_counts import seeds_needed as seeds_needed
    from gpusched.studies.sizing import Sizing as Sizing
    from gpusched.studies.sweep_result import SweepResult as SweepResult
    from gpusched.studies.tune import Tuning as Tuning
    from gpusched.studies.what_if import WhatIf as WhatIf

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ComparedRuns": "studies.compared_runs",
        "Fidelity": "studies.fidelity_grades",
        "Interval": "studies.intervals",
        "RankTest": "studies.rank_tests",
        "Sizing": "studies.sizing",
        "SweepResult": "studies.sweep_result",
        "Tuning": "studies.tune",
        "WhatIf": "studies.what_if",
        "compare_runs": "studies.compared_runs",
        "effect_size": "studies.effects",
        "holm": "studies.corrections",
        "interval": "studies.means",
        "nemenyi": "studies.rank_tests",
        "paired_difference": "studies.means",
        "ranks": "studies.rank_tests",
        "ratio_of_means": "studies.means",
        "relative_change": "studies.means",
        "seeds_needed": "studies.seed_counts",
        "sweep_status": "studies.run_store",
    },
)
