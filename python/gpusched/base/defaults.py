"""What is taken where nobody says otherwise, by every command and function alike."""

from __future__ import annotations

from typing import Final

POLICY: Final = "fifo"
"""Of one run."""
GPUS_PER_SERVER: Final = 8
"""Of a cluster that is assumed."""
MAX_LOAD: Final = 0.9
"""Of the jobs of a trace on a cluster that is assumed for them, and of generated jobs."""
NUM_SERVERS: Final = 64
"""Of the cluster for which jobs are generated."""
