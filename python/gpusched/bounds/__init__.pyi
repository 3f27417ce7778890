from typing import Any

from gpusched.bounds.certificates import lower_bounds as lower_bounds
from gpusched.bounds.deadline_bounds import DeadlineBound as DeadlineBound
from gpusched.bounds.deadline_bounds import deadline_bound as deadline_bound
from gpusched.specs.case import iteration_limits as iteration_limits

__all__: list[str]

def __getattr__(name: str) -> Any: ...
