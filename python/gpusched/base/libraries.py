"""Optional libraries: loaded on use, and named if missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any


class LazyModule:
    """A module that is imported on first use.

    It replaces an ``import x`` that would slow ``import gpusched`` or the access to a public name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    import altair as altair
    import polars as polars
else:
    altair = LazyModule("altair")
    polars = LazyModule("polars")


def is_installed(module: str) -> bool:
    """Return whether a library can be imported, without loading it."""
    return find_spec(module) is not None


def need(module: str, user: str, package: str) -> None:
    """Check that a library is installed.

    Raises ImportError if it is not installed; the message names it, and what to install.

    ``module``: its name in Python.
    ``user``: what needs it, for the message.
    ``package``: what to install: a package, or an extra such as ``gpusched-core[plot]``.
    """
    if not is_installed(module):
        package = f'"{package}"' if "[" in package else package  # quoted for shells
        raise ImportError(f"{user} needs {module}: pip install {package}", name=module)
