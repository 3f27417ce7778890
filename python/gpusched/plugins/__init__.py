"""Interfaces of plug-ins, and descriptions of registered names.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched._core import Actions as Actions
    from gpusched._core import Allocation as Allocation
    from gpusched._core import FreeGpus as FreeGpus
    from gpusched._core import Part as Part
    from gpusched._core import Request as Request
    from gpusched._core import State as State
    from gpusched.plugins.info import PluginInfo as PluginInfo
    from gpusched.plugins.info import PreemptionBound as PreemptionBound
    from gpusched.plugins.policy import ContentionChoice as ContentionChoice
    from gpusched.plugins.policy import PlacementChoice as PlacementChoice
    from gpusched.plugins.policy import SpeedChoice as SpeedChoice

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
