"""The pictures of the report, one function each, of a result or a comparison.

Each returns a figure: of Plotly for notebooks, or of Matplotlib for files. Names are loaded on
first use.
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

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocation": "reporting.plotting.allocation",
        "contention": "reporting.plotting.contention",
        "gantt": "reporting.plotting.gantt",
        "jct_by_user": "reporting.plotting.jct_by_user",
        "jct_by_width": "reporting.plotting.jct_by_width",
        "jct_cdf": "reporting.plotting.jct_cdf",
        "queue": "reporting.plotting.queue",
        "servers": "reporting.plotting.servers",
        "slowdown_cdf": "reporting.plotting.slowdown_cdf",
        "wait_by_user": "reporting.plotting.wait_by_user",
        "wait_by_width": "reporting.plotting.wait_by_width",
        "wait_cdf": "reporting.plotting.wait_cdf",
    },
)
