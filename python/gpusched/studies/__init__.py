"""Many runs: studies, comparisons, searches, sizing, what-ifs, and their statistics.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

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
