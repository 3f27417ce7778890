"""The compiled twins of the bounds, where the core offers them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from gpusched.base.arrays import Int32, Int64


def native(name: str) -> Callable[..., Any] | None:
    """Return the compiled function, None where there is none."""
    try:
        core = import_module("gpusched._core")
    except ImportError:
        return None
    function: Callable[..., Any] | None = getattr(core, name, None)
    return function


def rows_of(submit_us: Int64, service_us: Int64, gpus: Int32) -> list[tuple[int, int, int]]:
    """Submit, service and width of each job, as Python's integers."""
    return list(zip(submit_us.tolist(), service_us.tolist(), gpus.tolist(), strict=True))
