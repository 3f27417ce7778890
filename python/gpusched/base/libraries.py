"""Libraries that only some calls need: loaded there, and named where they are missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


class LazyModule:
    """A module that is imported when something of it is asked for.

    Where ``import x`` at the top of a module would make ``import gpusched`` or a look at a public
    name slow.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def is_installed(module: str) -> bool:
    """Whether a library can be imported; it is not loaded."""
    return find_spec(module) is not None


def need(module: str, user: str, package: str) -> None:
    """Check that a library is there.

    Parameters
    ----------
    module
        Its name in Python.
    user
        What needs it, for the message.
    package
        What to install: a package, or an extra such as ``gpusched-core[plot]``.

    Raises
    ------
    ImportError
        If it is not; the message names it, and what to install.
    """
    if not is_installed(module):
        package = f'"{package}"' if "[" in package else package  # as shells ask for
        raise ImportError(f"{user} needs {module}: pip install {package}", name=module)
