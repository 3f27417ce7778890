"""A digest of all code that affects the result of a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from functools import lru_cache
from pathlib import Path
from typing import Final

# Libraries that the package computes with.
_LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "polars")


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a digest, 16 hexadecimal digits, of the package with its core, and of the versions of
    Python, NumPy, SciPy, scikit-learn and Polars.
    """
    package = Path(__file__).resolve().parents[1]
    sha = hashlib.sha256(versions().encode())
    for path in sorted((*package.rglob("*.py"), *package.glob("_core*.so"))):
        sha.update(str(path.relative_to(package)).encode() + b"\0")
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16]


def versions() -> str:
    """Return the versions of Python and of the libraries as a string."""
    return " ".join((platform.python_version(), *map(_version, _LIBRARIES)))


@lru_cache(maxsize=len(_LIBRARIES))
def _version(library: str) -> str:
    try:
        return f"{library} {importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{library} missing"
