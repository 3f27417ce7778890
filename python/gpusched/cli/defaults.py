"""What commands take where a user says nothing."""

from __future__ import annotations

from typing import Final

GENERATOR: Final = "philly"
NUM_JOBS: Final = 20_000
GPUS_PER_SERVER: Final = 8
ZOO: Final = "zoo"
