"""Studies as a person would write them in TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def toml_lines(fields: Mapping[str, Any]) -> list[str]:
    """Write plain values and lists first, then each table of a list, as a person would."""
    plain = {key: value for key, value in fields.items() if not _is_tables(value)}
    lines = [f"{key} = {_toml(value)}" for key, value in plain.items()]
    for key, tables in fields.items():
        if key in plain:
            continue
        for table in tables:
            own = [f"{_key(name)} = {_toml(value)}" for name, value in table.items()]
            lines += ["", f"[[{key}]]", *own]
    return lines


def _is_tables(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(entry, dict) for entry in value)
    )


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_toml(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # A JSON string is a TOML basic string, but for the one control character JSON lets pass.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else _toml(name)
