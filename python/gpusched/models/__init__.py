"""What jobs compute and exchange: profiles, measured throughputs, graphs, zoos of models.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.models.job_graphs import JobGraph as JobGraph
    from gpusched.models.job_graphs import Stage as Stage
    from gpusched.models.model_zoo import graph_for as graph_for
    from gpusched.models.model_zoo import zoo as zoo
    from gpusched.models.profiles import JobProfile as JobProfile
    from gpusched.models.profiles import read_profiles as read_profiles
    from gpusched.models.throughputs import Throughputs as Throughputs
    from gpusched.models.throughputs import read_pollux as read_pollux
    from gpusched.models.throughputs import read_throughputs as read_throughputs

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "JobGraph": "models.job_graphs",
        "JobProfile": "models.profiles",
        "Stage": "models.job_graphs",
        "Throughputs": "models.throughputs",
        "graph_for": "models.model_zoo",
        "read_pollux": "models.throughputs",
        "read_profiles": "models.profiles",
        "read_throughputs": "models.throughputs",
        "zoo": "models.model_zoo",
    },
)
