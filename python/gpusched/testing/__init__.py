"""Test a policy, a placement or a speed: workloads for Hypothesis, and properties.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

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
