from typing import Any

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

__all__: list[str]

def __getattr__(name: str) -> Any: ...
