"""The units in which the core counts parts of GPUs, CPU cores and memory."""

from __future__ import annotations

from typing import Final

WHOLE_GPU: Final = 1000
"""Thousandths of a GPU."""
MILLI_PER_CORE: Final = 1000
MIB_PER_GIB: Final = 1024
