"""Every bug that a reading of the whole code base found, as it was found: one function each.

docs/reference/corrections.md lists them with their causes; the random tests that were widened by
them lie with the other property and parity tests.
"""

# ruff: noqa: E402, F403 - rewritten before they are imported, and all of their tests wanted

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(f"tests.reproducers.{area}" for area in
      ("api", "dancer", "engine", "fuzz", "runs", "solvers"))
)  # fmt: skip

from tests.reproducers.api import *
from tests.reproducers.dancer import *
from tests.reproducers.engine import *
from tests.reproducers.fuzz import *
from tests.reproducers.runs import *
from tests.reproducers.solvers import *
