"""Defaults shared by all commands and functions."""

from __future__ import annotations

from typing import Final

POLICY: Final = "fifo"
"""Of a run."""
GPUS_PER_SERVER: Final = 8
"""Of an assumed cluster."""
MAX_LOAD: Final = 0.9
"""Load of a trace's jobs on an assumed cluster, and of generated jobs."""
REPAIR_S: Final = 4 * 3600.0
"""Mean time to repair a server whose failures are drawn."""
NUM_SERVERS: Final = 64
"""Of the cluster for generated jobs."""
