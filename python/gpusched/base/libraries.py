"""Libraries that only some calls need: loaded there, and named where they are missing."""

from __future__ import annotations

from importlib.util import find_spec


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
