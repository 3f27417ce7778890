"""Many runs: studies, comparisons, searches, sizing, what-ifs, and their statistics.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.studies.compared_runs import ComparedRuns as ComparedRuns
    from gpusched.studies.compared_runs import compare_runs as compare_runs
    from gpusched.studies.fidelity_grades import Fidelity as Fidelity
    from gpusched.studies.hodges_lehmann import Estimate as Estimate
    from gpusched.studies.hodges_lehmann import difference as difference
    from gpusched.studies.hodges_lehmann import holm as holm
    from gpusched.studies.hodges_lehmann import ratio as ratio
    from gpusched.studies.hodges_lehmann import seeds_for as seeds_for
    from gpusched.studies.hodges_lehmann import seeds_needed as seeds_needed
    from gpusched.studies.hodges_lehmann import signed_rank as signed_rank
    from gpusched.studies.hodges_lehmann import typical as typical
    from gpusched.studies.run_store import sweep_status as sweep_status
    from gpusched.studies.sizing import Sizing as Sizing
    from gpusched.studies.sweep_result import SweepResult as SweepResult
    from gpusched.studies.tune import Tuning as Tuning
    from gpusched.studies.what_if import WhatIf as WhatIf

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ComparedRuns": "studies.compared_runs",
        "Estimate": "studies.hodges_lehmann",
        "Fidelity": "studies.fidelity_grades",
        "Sizing": "studies.sizing",
        "SweepResult": "studies.sweep_result",
        "Tuning": "studies.tune",
        "WhatIf": "studies.what_if",
        "compare_runs": "studies.compared_runs",
        "difference": "studies.hodges_lehmann",
        "holm": "studies.hodges_lehmann",
        "ratio": "studies.hodges_lehmann",
        "seeds_for": "studies.hodges_lehmann",
        "seeds_needed": "studies.hodges_lehmann",
        "signed_rank": "studies.hodges_lehmann",
        "sweep_status": "studies.run_store",
        "typical": "studies.hodges_lehmann",
    },
)
