"""What is said of a field that a record does not have: where it is, and which one was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec.inspect as inspect

from gpusched.base.suggest import nearest

_UNKNOWN: Final = re.compile(r"(Object contains unknown field `([^`]*)`)(?: - at `\$([^`]*)`)?")
# A field, or an entry of an array or a table.
_STEP: Final = re.compile(r"\.(\w+)|\[")


def with_nearest_field(told: str, kind: type) -> str:
    """Return what an error of msgspec told, with path and nearest field if one is unknown.

    Parameters
    ----------
    kind
        What was decoded.
    """
    found = _UNKNOWN.fullmatch(told)
    if found is None:
        return told
    unknown, field, path = found[1], found[2], found[3] or ""
    return f"{unknown}{nearest(field, _fields_at(kind, path))} - at `${path}`"


def _fields_at(kind: type, path: str) -> list[str]:
    """Return the fields of the records that may stand at a path."""
    at = [inspect.type_info(kind)]
    for step in _STEP.findall(path):
        at = [inner for one in at for member in _members(one) for inner in _inner(member, step)]
    records = (member for one in at for member in _members(one))
    return [field.encode_name for record in records for field in getattr(record, "fields", ())]


def _members(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _inner(kind: Any, step: str) -> Iterator[inspect.Type]:
    """What stands in a field of a record; with an empty step, what an array or a table is of."""
    if step:
        fields = getattr(kind, "fields", ())
        yield from (field.type for field in fields if field.encode_name == step)
    else:
        yield from (getattr(kind, of) for of in ("item_type", "value_type") if hasattr(kind, of))
