"""How the cluster is filled: placements, arrivals, and the demands at which it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from gpusched_papers.fgd.published import ALLOCATED

FGD: Final = "fgd"
AUTHORS: Final[Mapping[str, str]] = {
    name: name if name == "random" else f"{name}:artefact=true" for name in ALLOCATED
}
"""Those of the recorded results by their names there, with the scores and ties of that program."""
OURS: Final = (*(name for name in ALLOCATED if AUTHORS[name] != name), "first-fit", "worst-fit")
"""The same by our rules, and two more."""
PLACEMENTS: Final = (*AUTHORS.values(), *OURS)
ORDER: Final = "shuffled"
"""As in the recorded results: the list once in an order that is drawn, then draws from it."""
UNTIL: Final = 1.3
DEMANDS: Final = np.round(np.arange(0.5, UNTIL + 0.005, 0.01), 2)
"""At which the state of the cluster is taken down, over the GPUs of the cluster."""
