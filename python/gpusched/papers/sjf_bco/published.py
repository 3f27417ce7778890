"""The figures that Yu et al. (MobiHoc 2022) publish, in slots; one slot is one second here."""

from __future__ import annotations

from typing import Final

POLICIES: Final = ("sjf-bco", "ls", "ff", "rand")
BASELINES: Final = ("ls", "ff", "rand")
SERVERS: Final = (10, 15, 20)
MAKESPAN: Final = {
    "sjf-bco": {10: 939, 15: 715, 20: 535},
    "ls": {10: 1160, 15: 870, 20: 595},
    "ff": {10: 1404, 15: 963, 20: 719},
    "rand": {10: 1488, 15: 1260, 20: 1128},
}
"""Figures 4 and 6: by policy and number of servers."""
MEAN_JCT: Final = {"sjf-bco": 178, "ls": 187, "ff": 452, "rand": 261}
"""Figure 4: average completion on 20 servers."""
KAPPA_MAKESPAN: Final = {1: 626, 2: 564, 4: 541, 8: 535, 10: 700, 16: 749, 32: 736}
"""Figure 5: SJF-BCO on 20 servers with one threshold kappa."""


def reduction(baseline: str, servers: int) -> float:
    """By how much SJF-BCO's published makespan is below a baseline's, a ratio."""
    return 1 - MAKESPAN["sjf-bco"][servers] / MAKESPAN[baseline][servers]
