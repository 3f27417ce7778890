"""Figures of a comparison, one per file, for the report and for notebooks (Plotly)."""

from gpusched.plotting.allocation import allocation
from gpusched.plotting.contention import contention
from gpusched.plotting.jct_cdf import jct_cdf
from gpusched.plotting.queue import queue
from gpusched.plotting.slowdown_cdf import slowdown_cdf
from gpusched.plotting.wait_cdf import wait_cdf

__all__ = ["allocation", "contention", "jct_cdf", "queue", "slowdown_cdf", "wait_cdf"]
