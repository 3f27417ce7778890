"""Other sizes for a study's runs, wherever its modules look for them."""

import sys
from typing import Any

import pytest


def patch_paper(patch: pytest.MonkeyPatch, paper: str, **values: Any) -> None:
    """Give names another value in the modules of a paper, and in what runs all papers."""
    homes = (f"gpusched_papers.{paper}", "gpusched_papers.study")
    for name, module in list(sys.modules.items()):
        if name.startswith(homes):
            for key, value in values.items():
                if key in vars(module):
                    patch.setattr(module, key, value)
