"""Values of parameters: in Python, and as a user writes them in ``name:key=value``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Value = bool | int | float | str | tuple[float, ...]


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


def converted(where: str, kind: str, value: Any) -> Value:
    """Accept what loses nothing: an integer for a number, a number for a list of one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and is_number and math.isfinite(value) and value == int(value):
        return int(value)
    if kind == "float" and is_number:
        return float(value)
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "list":
        entries = [value] if is_number else value
        if isinstance(entries, list | tuple) and entries:
            return tuple(_number(where, entry) for entry in entries)
    raise TypeError(f"{where}: expected {_KINDS.get(kind, kind)}, not {value!r}")


_KINDS = {
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "str": "a text",
    "list": "a list of numbers",
}


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{where}: expected a list of numbers, not {value!r} in it")
    return float(value)


def read(where: str, kind: str, text: str) -> Any:
    """Read a value of a type of parameters from text; a ValueError that begins with ``where``."""
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        if kind in ("int", "float"):
            return float(text)
        if kind == "list":
            return [float(entry) for entry in text.split("/")]
    except (ValueError, KeyError, OverflowError):
        raise ValueError(f"{where}: expected {_KINDS[kind]}, not {text!r}") from None
    return text
