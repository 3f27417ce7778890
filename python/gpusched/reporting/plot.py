"""Pictures, one function each: those of the report, and those of a study.

The pictures of the report are of a result or a comparison; ``lines``, ``heat_map``,
``cdf_over_seeds``, ``forest_plot``, ``pareto`` and ``sensitivity`` are of a study, ``tuning`` is of
a search. Each returns a figure: of Plotly for notebooks, or of Matplotlib for files.
"""

from __future__ import annotations

from gpusched.reporting.pictures import (
    allocation,
    contention,
    gantt,
    jct_by_user,
    jct_by_width,
    jct_cdf,
    queue,
    servers,
    slowdown_cdf,
    wait_by_user,
    wait_by_width,
    wait_cdf,
)
from gpusched.reporting.sweeps.cdf_over_seeds import cdf_over_seeds
from gpusched.reporting.sweeps.forest_plot import forest_plot
from gpusched.reporting.sweeps.heat_map import heat_map
from gpusched.reporting.sweeps.lines import lines
from gpusched.reporting.sweeps.pareto import pareto
from gpusched.reporting.sweeps.sensitivity import sensitivity
from gpusched.reporting.tuning_figure import tuning

__all__ = [
    "allocation",
    "cdf_over_seeds",
    "contention",
    "forest_plot",
    "gantt",
    "heat_map",
    "jct_by_user",
    "jct_by_width",
    "jct_cdf",
    "lines",
    "pareto",
    "queue",
    "sensitivity",
    "servers",
    "slowdown_cdf",
    "tuning",
    "wait_by_user",
    "wait_by_width",
    "wait_cdf",
]
