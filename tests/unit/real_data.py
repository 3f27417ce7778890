"""Where the traces are that tests read: the real ones, or excerpts of our own making."""

import os
from pathlib import Path
from typing import TypeVar

import pytest

from gpusched.base.real_data import VARIABLE

EXCERPTS = Path(__file__).resolve().parents[1] / "excerpts"
_REAL = os.environ.get(VARIABLE)
if _REAL and not Path(_REAL).is_dir():
    raise ValueError(f"{VARIABLE}: there is no folder {_REAL}")

IS_REAL = bool(_REAL)
DATA = Path(_REAL).resolve() if _REAL else EXCERPTS

# For what only the real data can show: what was published about them.
needs_real_data = pytest.mark.skipif(
    not IS_REAL, reason=f"{VARIABLE} does not name the folder of the real traces"
)

Fact = TypeVar("Fact")


def counted(*, real: Fact, excerpt: Fact) -> Fact:
    """Return what was counted in the files that are there."""
    return real if IS_REAL else excerpt
