from typing import Any

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

__all__: list[str]

def __getattr__(name: str) -> Any: ...
