"""Results for people: charts, notes, and HTML pages.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "write_sizing": "reporting.sizing_page",
        "write_sweep": "reporting.sweeps.sweep_page",
        "write_tuning": "reporting.tuning_page",
    },
    submodules=("plot",),
)
