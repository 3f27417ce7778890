"""Results for people: charts, notes, and HTML pages.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.reporting.sizing_page import write_sizing as write_sizing
    from gpusched.reporting.sweeps.sweep_page import write_sweep as write_sweep
    from gpusched.reporting.tuning_page import write_tuning as write_tuning

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "write_sizing": "reporting.sizing_page",
        "write_sweep": "reporting.sweeps.sweep_page",
        "write_tuning": "reporting.tuning_page",
    },
    submodules=("plot",),
)
