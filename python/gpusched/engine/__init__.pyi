from typing import Any

from gpusched.engine.open_run import SimulationEvent as SimulationEvent
from gpusched.engine.open_run import SimulationState as SimulationState

__all__: list[str]

def __getattr__(name: str) -> Any: ...
