"""Several runs of one workload side by side.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.studies.base_cases import Fidelity as Fidelity
    from gpusched.studies.sizing import Sizing as Sizing
    from gpusched.studies.what_if import WhatIf as WhatIf

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Fidelity": "studies.base_cases",
        "Sizing": "studies.sizing",
        "WhatIf": "studies.what_if",
    },
)
