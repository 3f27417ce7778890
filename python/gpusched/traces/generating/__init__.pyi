from typing import Any

from gpusched.traces.generating.graph_zoo import assign_graphs as assign_graphs
from gpusched.traces.generating.graph_zoo import describe_graphs as describe_graphs
from gpusched.traces.generating.synthetic_traces import generate as generate

__all__: list[str]

def __getattr__(name: str) -> Any: ...
