"""Charts, one function each: those of the report, and those of a study.

Charts of the report take a result or a comparison; ``lines``, ``heat_map``, ``cdf_over_seeds``,
``forest_plot``, ``pareto`` and ``sensitivity`` take a study, ``tuning`` takes a search. Each
returns an Altair chart for notebooks; ``save`` writes it as PDF, SVG or PNG at the width of a
paper.
"""

from __future__ import annotations

from gpusched.reporting.charts.breakdowns import (
    jct_by_user,
    jct_by_width,
    wait_by_user,
    wait_by_width,
)
from gpusched.reporting.charts.distributions import jct_cdf, slowdown_cdf, wait_cdf
from gpusched.reporting.charts.occupancy import servers
from gpusched.reporting.charts.over_time import allocation, contention, queue
from gpusched.reporting.charts.timeline import gantt
from gpusched.reporting.drawing.style import save
from gpusched.reporting.sweeps.pictures import (
    cdf_over_seeds,
    forest_plot,
    heat_map,
    lines,
    pareto,
    sensitivity,
)
from gpusched.reporting.tuning_page import tuning

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
    "save",
    "sensitivity",
    "servers",
    "slowdown_cdf",
    "tuning",
    "wait_by_user",
    "wait_by_width",
    "wait_cdf",
]
