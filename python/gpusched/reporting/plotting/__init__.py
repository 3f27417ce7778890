"""Figures of a comparison, one per file, for the report and for notebooks (Plotly)."""

from gpusched.reporting.plotting.allocation import allocation
from gpusched.reporting.plotting.contention import contention
from gpusched.reporting.plotting.jct_cdf import jct_cdf
from gpusched.reporting.plotting.queue import queue
from gpusched.reporting.plotting.slowdown_cdf import slowdown_cdf
from gpusched.reporting.plotting.wait_cdf import wait_cdf

__all__ = ["allocation", "contention", "jct_cdf", "queue", "slowdown_cdf", "wait_cdf"]
