"""Pictures, one function each: those of the report, and those of a study.

The pictures of the report are of a result or a comparison; ``lines``, ``heat_map``,
``cdf_over_seeds``, ``forest_plot``, ``pareto`` and ``sensitivity`` are of a study, ``tuning`` is of
a search. Each returns a figure: of Plotly for notebooks, or of Matplotlib for files. Names are
loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.reporting.plotting.allocation import allocation as allocation
    from gpusched.reporting.plotting.contention import contention as contention
    from gpusched.reporting.plotting.gantt import gantt as gantt
    from gpusched.reporting.plotting.jct_by_user import jct_by_user as jct_by_user
    from gpusched.reporting.plotting.jct_by_width import jct_by_width as jct_by_width
    from gpusched.reporting.plotting.jct_cdf import jct_cdf as jct_cdf
    from gpusched.reporting.plotting.queue import queue as queue
    from gpusched.reporting.plotting.servers import servers as servers
    from gpusched.reporting.plotting.slowdown_cdf import slowdown_cdf as slowdown_cdf
    from gpusched.reporting.plotting.wait_by_user import wait_by_user as wait_by_user
    from gpusched.reporting.plotting.wait_by_width import wait_by_width as wait_by_width
    from gpusched.reporting.plotting.wait_cdf import wait_cdf as wait_cdf
    from gpusched.reporting.sweeps.cdf_over_seeds import cdf_over_seeds as cdf_over_seeds
    from gpusched.reporting.sweeps.forest_plot import forest_plot as forest_plot
    from gpusched.reporting.sweeps.heat_map import heat_map as heat_map
    from gpusched.reporting.sweeps.lines import lines as lines
    from gpusched.reporting.sweeps.pareto import pareto as pareto
    from gpusched.reporting.sweeps.sensitivity import sensitivity as sensitivity
    from gpusched.reporting.tuning_figure import tuning as tuning

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocation": "reporting.plotting.allocation",
        "cdf_over_seeds": "reporting.sweeps.cdf_over_seeds",
        "contention": "reporting.plotting.contention",
        "forest_plot": "reporting.sweeps.forest_plot",
        "gantt": "reporting.plotting.gantt",
        "heat_map": "reporting.sweeps.heat_map",
        "jct_by_user": "reporting.plotting.jct_by_user",
        "jct_by_width": "reporting.plotting.jct_by_width",
        "jct_cdf": "reporting.plotting.jct_cdf",
        "lines": "reporting.sweeps.lines",
        "pareto": "reporting.sweeps.pareto",
        "queue": "reporting.plotting.queue",
        "sensitivity": "reporting.sweeps.sensitivity",
        "servers": "reporting.plotting.servers",
        "slowdown_cdf": "reporting.plotting.slowdown_cdf",
        "tuning": "reporting.tuning_figure",
        "wait_by_user": "reporting.plotting.wait_by_user",
        "wait_by_width": "reporting.plotting.wait_by_width",
        "wait_cdf": "reporting.plotting.wait_cdf",
    },
)
