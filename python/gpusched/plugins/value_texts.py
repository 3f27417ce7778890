"""Values of parameters as a user writes them in ``name:key=value``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def shown(value: Any) -> str:
    """Write one value: a list with slashes, a whole number without a fraction."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "/".join(shown(entry) for entry in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def written(name: str, values: Mapping[str, Any]) -> str:
    """Write a name with its values."""
    if not values:
        return name
    return f"{name}:" + ",".join(f"{key}={shown(value)}" for key, value in values.items())
