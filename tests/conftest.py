"""What all tests share."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Keep what was collected out of later collections of garbage.

    Thousands of tests and their modules live to the end. Without this each ``gc.collect()`` of a
    test walks over all of them.
    """
    gc.collect()
    gc.freeze()
