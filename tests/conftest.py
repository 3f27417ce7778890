"""What all tests share."""

import gc
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import examples as examples  # registers the profiles
from tests.hanging import Watch

_WATCH = pytest.StashKey[Watch]()
# What is long as a whole is not even imported where it is left out.
_ALL_IS_LONG = re.compile(r"^pytestmark = \[?pytest\.mark\.long\b", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    """Make a watch while nothing is captured yet; know what the papers register.

    Where they are on the path and not installed, no entry point tells of it. Laws get many
    examples where what is long runs too (``--hypothesis-profile`` says otherwise).
    """
    settings.load_profile("many" if _names_tests(config) else "few")
    import_module("gpusched_papers.chronus_leases")
    config.stash[_WATCH] = Watch(limit_s=600, spare_s=60)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of xdist, which is always told paths, whether the command names any."""
    node.workerinput["names_tests"] = _names_tests(node.config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files in which all is long, as below."""
    if collection_path.suffix != ".py" or _names_tests(config):
        return None
    return bool(_ALL_IS_LONG.search(collection_path.read_text())) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked as long where the command names no tests."""
    if _names_tests(config):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


def _names_tests(config: pytest.Config) -> bool:
    told: dict[str, bool] | None = getattr(config, "workerinput", None)
    if told is not None:
        return told["names_tests"]
    return config.args_source is pytest.Config.ArgsSource.ARGS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Let no test hang a run."""
    watch = item.config.stash[_WATCH]
    own = item.get_closest_marker("timeout")
    watch.begin(own.args[0] if own else None)
    try:
        return (yield)
    finally:
        if own or nextitem is None:
            watch.end()


def pytest_collection_finish() -> None:
    """Keep what was collected out of later collections of garbage.

    Thousands of tests and their modules live to the end. Without this each ``gc.collect()`` of a
    test walks over all of them.
    """
    gc.collect()
    gc.freeze()
