"""Several runs of one workload side by side.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.studies.fidelity.fidelity_result import Fidelity as Fidelity
    from gpusched.studies.sizing.sizing_result import Sizing as Sizing
    from gpusched.studies.whatif.whatif_result import WhatIf as WhatIf

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Fidelity": "studies.fidelity.fidelity_result",
        "Sizing": "studies.sizing.sizing_result",
        "WhatIf": "studies.whatif.whatif_result",
    },
)
