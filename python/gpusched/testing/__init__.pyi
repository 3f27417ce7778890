from typing import Any

from gpusched.testing.checking import check_placement as check_placement
from gpusched.testing.checking import check_policy as check_policy
from gpusched.testing.checking import check_speed as check_speed
from gpusched.testing.law_registry import Law as Law
from gpusched.testing.law_registry import LawBroken as LawBroken
from gpusched.testing.law_registry import claims as claims
from gpusched.testing.law_registry import laws as laws
from gpusched.testing.strategies import clusters as clusters
from gpusched.testing.strategies import outages as outages
from gpusched.testing.strategies import states as states
from gpusched.testing.strategies import traces as traces
from gpusched.testing.strategies import workloads as workloads

__all__: list[str]

def __getattr__(name: str) -> Any: ...
