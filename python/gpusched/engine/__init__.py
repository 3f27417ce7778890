"""Runs: resolve what a user names, and call the core.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "SimulationEvent": "engine.open_run",
        "SimulationState": "engine.open_run",
    },
)
