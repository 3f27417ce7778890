from typing import Any

from gpusched.reporting.sizing_page import write_sizing as write_sizing
from gpusched.reporting.sweeps.sweep_page import write_sweep as write_sweep
from gpusched.reporting.tuning_page import write_tuning as write_tuning

__all__: list[str]

def __getattr__(name: str) -> Any: ...
