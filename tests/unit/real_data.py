"""Where the real traces are, and what a test does without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("GPUSCHED_DATA", _REPOSITORY.parent / "shared" / "data"))

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no {DATA}: set GPUSCHED_DATA to the folder of the real traces"
)
