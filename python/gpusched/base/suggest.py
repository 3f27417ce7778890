"""What messages say after an unknown name, and of a mistake that is mended in one of two ways."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from msgspec import inspect


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ``"; did you mean 'x'?"``, or what is known where nothing is near."""
    import difflib

    in_small = {each.lower(): each for each in reversed(known)}
    close = difflib.get_close_matches(name.lower(), in_small, n=1)
    if close:
        return f"; did you mean {in_small[close[0]]!r}?"
    return f"; known: {', '.join(known)}"


class HintedError(ValueError):
    """What is wrong, and how it is put right in the words of either surface.

    Parameters
    ----------
    what
        What is wrong.
    in_python, at_command
        What to write, put behind it: ``" (columns={'gpus': ...})"``, ``" (--column gpus=...)"``.
    """

    def __init__(self, what: str, in_python: str, at_command: str) -> None:
        super().__init__(what, in_python, at_command)  # a pickle is made of these
        self.what, self.in_python, self.at_command = what, in_python, at_command

    def __str__(self) -> str:
        return f"{self.what}{self.in_python}"

    @property
    def command_text(self) -> str:
        """The message in the words of the command line."""
        return f"{self.what}{self.at_command}"

    def saying(self, what: str) -> HintedError:
        """Return the error with another text of what is wrong."""
        return HintedError(what, self.in_python, self.at_command)


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
    """What stands in a field of a record; with an empty step, what an array or a table is of."""
    if step:
        fields = getattr(kind, "fields", ())
        yield from (field.type for field in fields if field.encode_name == step)
    else:
        yield from (getattr(kind, of) for of in ("item_type", "value_type") if hasattr(kind, of))
