"""What all tests share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.hanging import Watch

_WATCH = pytest.StashKey[Watch]()


def pytest_configure(config: pytest.Config) -> None:
    """Make a watch while nothing is captured yet."""
    config.stash[_WATCH] = Watch(limit_s=600, spare_s=60)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Let no test hang a run."""
    watch = item.config.stash[_WATCH]
    watch.begin()
    try:
        return (yield)
    finally:
        if nextitem is None:
            watch.end()


def pytest_collection_finish() -> None:
    """Keep what was collected out of later collections of garbage.

    Thousands of tests and their modules live to the end. Without this each ``gc.collect()`` of a
    test walks over all of them.
    """
    gc.collect()
    gc.freeze()
