"""Test a policy, a placement or a speed: workloads for Hypothesis, and properties.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
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

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Law": "testing.law_registry",
        "LawBroken": "testing.law_registry",
        "check_placement": "testing.checking",
        "check_policy": "testing.checking",
        "check_speed": "testing.checking",
        "claims": "testing.law_registry",
        "clusters": "testing.strategies",
        "laws": "testing.law_registry",
        "outages": "testing.strategies",
        "states": "testing.strategies",
        "traces": "testing.strategies",
        "workloads": "testing.strategies",
    },
)
