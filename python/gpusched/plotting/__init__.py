"""Figures of a comparison, one per file, for the report and for notebooks (Plotly)."""

from gpusched.plotting.allocation import allocation
from gpusched.plotting.jct_cdf import jct_cdf
from gpusched.plotting.queue import queue
from gpusched.plotting.wait_cdf import wait_cdf

__all__ = ["allocation", "jct_cdf", "queue", "wait_cdf"]
