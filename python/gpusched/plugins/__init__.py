"""Interfaces of plug-ins, and descriptions of registered names.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Actions": "_core",
        "Allocation": "_core",
        "ContentionChoice": "plugins.policy",
        "FreeGpus": "_core",
        "Part": "_core",
        "PlacementChoice": "plugins.policy",
        "PluginInfo": "plugins.info",
        "PreemptionBound": "plugins.info",
        "Request": "_core",
        "SpeedChoice": "plugins.policy",
        "State": "_core",
    },
)
