"""Synthetic workloads, calibrated to published clusters.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.traces.generating.graph_zoo import assign_graphs as assign_graphs
    from gpusched.traces.generating.graph_zoo import describe_graphs as describe_graphs
    from gpusched.traces.generating.synthetic_traces import generate as generate

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "assign_graphs": "traces.generating.graph_zoo",
        "describe_graphs": "traces.generating.graph_zoo",
        "generate": "traces.generating.synthetic_traces",
    },
)
