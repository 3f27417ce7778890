"""Synthetic workloads, calibrated to published clusters.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "assign_graphs": "traces.generating.graph_zoo",
        "describe_graphs": "traces.generating.graph_zoo",
        "generate": "traces.generating.synthetic_traces",
    },
)
