"""Suggestions for unknown names, and errors with separate hints for Python and the CLI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from msgspec import inspect


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ``"; did you mean 'x'?"``, or the known names if none is close."""
    import difflib

    in_small = {each.lower(): each for each in reversed(known)}
    close = difflib.get_close_matches(name.lower(), in_small, n=1)
    if close:
        return f"; did you mean {in_small[close[0]]!r}?"
    return f"; known: {', '.join(known)}"


class HintedError(ValueError):
    """An error with separate hints for the Python API and the command line.

    ``what``: the problem.
    ``in_python``, ``at_command``: the fix, appended to it: ``" (columns={'gpus': ...})"``, ``"
        (--column gpus=...)"``.
    """

    def __init__(self, what: str, in_python: str, at_command: str) -> None:
        super().__init__(what, in_python, at_command)  # for pickles
        self.what, self.in_python, self.at_command = what, in_python, at_command

    def __str__(self) -> str:
        return f"{self.what}{self.in_python}"

    @property
    def command_text(self) -> str:
        """The message with the hint for the command line."""
        return f"{self.what}{self.at_command}"

    def saying(self, what: str) -> HintedError:
        """Return the error with another description of the problem."""
        return HintedError(what, self.in_python, self.at_command)


_UNKNOWN: Final = re.compile(r"(Object contains unknown field `([^`]*)`)(?: - at `\$([^`]*)`)?")
# A field, or an entry of an array or a table.
_STEP: Final = re.compile(r"\.(\w+)|\[")


def with_nearest_field(told: str, kind: type) -> str:
    """Return a message of msgspec, with path and nearest name for an unknown field.

    ``kind``: the decoded type.
    """
    found = _UNKNOWN.fullmatch(told)
    if found is None:
        return told
    unknown, field, path = found[1], found[2], found[3] or ""
    return f"{unknown}{nearest(field, _fields_at(kind, path))} - at `${path}`"


def _fields_at(kind: type, path: str) -> list[str]:
    """Return the fields of the records possible at a path."""
    from msgspec import inspect

    at = [inspect.type_info(kind)]
    for step in _STEP.findall(path):
        at = [inner for one in at for member in _members(one) for inner in _inner(member, step)]
    records = (member for one in at for member in _members(one))
    return [field.encode_name for record in records for field in getattr(record, "fields", ())]


def _members(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    types: tuple[inspect.Type, ...] = getattr(kind, "types", (kind,))  # of a union
    return types


def _inner(kind: Any, step: str) -> Iterator[inspect.Type]:
    """Yield the types of a record's field, or with an empty step of an array's entries."""
    if step:
        fields = getattr(kind, "fields", ())
        yield from (field.type for field in fields if field.encode_name == step)
    else:
        yield from (getattr(kind, of) for of in ("item_type", "value_type") if hasattr(kind, of))
