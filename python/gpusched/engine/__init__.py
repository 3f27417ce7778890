"""Runs: resolve what a user names, and call the core.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.engine.open_run import SimulationEvent as SimulationEvent
    from gpusched.engine.open_run import SimulationState as SimulationState

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "SimulationEvent": "engine.open_run",
        "SimulationState": "engine.open_run",
    },
)
