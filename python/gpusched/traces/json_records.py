"""Read records from JSON files, each with its line in the file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64
from gpusched.base.rejects import Screen
from gpusched.base.source import Source

_NOT_SPACE: Final = re.compile(r"[^ \t\n\r]")
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:"]', re.DOTALL)
_HEAD_BYTES: Final = 65_536
_MAX_DEPTH: Final = 50
_EXACT_DIGITS: Final = 18
_Found = TypeVar("_Found", bound="Records | None")


@dataclass(frozen=True)
class Records:
    """The objects in one array of a document.

    ``source``: the file.
    ``records``: the objects, in order.
    ``lines``: int64: the line on which each begins.
    ``others``: the other members of the object.
    ``key``: the array's name.
    """

    source: Source
    records: list[dict[str, Any]]
    lines: Int64
    others: dict[str, Any]
    key: str

    def screen(self, order: Sequence[int] | None = None) -> Screen:
        """Return a screen for the records, or for those at the positions in ``order``."""
        lines = self.lines if order is None else self.lines[np.asarray(order, dtype=np.int64)]
        return Screen(str(self.source), lines, "line")


def read_records(source: Source, *keys: str, may_be_empty: bool = False) -> Records:
    """Read an object that has an array of objects under one of ``keys``."""
    found = _read(source, lambda reader: reader.document(keys))
    if found is None:
        raise ValueError(f"{source}: the object has no array {' or '.join(map(repr, keys))}")
    if not found.records and not may_be_empty:
        raise ValueError(f"{source}: the array {found.key!r} is empty")
    return found


def read_entries(source: Source, *, may_be_lines: bool = True) -> Records:
    """Read an array of objects or, if ``may_be_lines``, objects in sequence."""
    found = _read(source, lambda reader: reader.entries(may_be_lines))
    if not found.records:
        raise ValueError(f"{source}: no jobs; the array is empty")
    return found


def _read(source: Source, part: Callable[[_Reader], _Found]) -> _Found:
    try:
        return part(_Reader(source))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{source}, line {error.lineno}, character {error.colno}: {error.msg} "
            "(malformed or truncated JSON)"
        ) from None
    except RecursionError:
        raise ValueError(f"{source}: nested too deeply") from None


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        # Integers too large for any count become floats, perhaps infinite.
        self._decode = json.JSONDecoder(parse_int=_integer).raw_decode
        self._line, self._counted = 1, 0

    def document(self, keys: Sequence[str]) -> Records | None:
        text = self._text
        place = self._expect(self._space(0), "{")
        others: dict[str, Any] = {}
        found: Records | None = None
        while text[place : place + 1] != "}":
            if others or found:
                place = self._expect(place, ",")
            if text[place : place + 1] != '"':
                raise json.JSONDecodeError("expected a name", text, place)
            key, place = self._decode(text, place)
            place = self._expect(self._space(place), ":")
            if key in keys and text[place : place + 1] == "[":
                if found is not None:
                    raise json.JSONDecodeError(f"{key!r} next to {found.key!r}", text, place)
                found, place = self._array(key, place, others)
            else:
                others[key], place = self._decode(text, place)
            place = self._space(place)
        self._check_end(self._space(place + 1), "object")
        return found

    def entries(self, may_be_lines: bool) -> Records:
        place = self._space(0)
        if not (may_be_lines and self._text[place : place + 1] == "{"):
            found, place = self._array("", place, {})
            self._check_end(self._space(place), "array")
            return found
        records: list[dict[str, Any]] = []
        lines: list[int] = []
        while place < len(self._text):
            place = self._object(place, "", records, lines)
        return Records(self._source, records, np.array(lines, np.int64), {}, "")

    def _check_end(self, place: int, what: str) -> None:
        if place != len(self._text):
            raise json.JSONDecodeError(f"text after the end of the {what}", self._text, place)

    def _array(self, key: str, place: int, others: dict[str, Any]) -> tuple[Records, int]:
        text = self._text
        records: list[dict[str, Any]] = []
        lines: list[int] = []
        place = self._expect(place, "[")
        while text[place : place + 1] != "]":
            if records:
                place = self._expect(place, ",")
            place = self._object(place, key, records, lines)
        return Records(self._source, records, np.array(lines, np.int64), others, key), place + 1

    def _object(self, place: int, key: str, records: list[dict[str, Any]], lines: list[int]) -> int:
        """Add the object at a position and its line; return the position after it."""
        self._line += self._text.count("\n", self._counted, place)
        self._counted = place
        record, place = self._decode(self._text, place)
        if not isinstance(record, dict):
            where = f" of {key!r}" if key else ""
            raise ValueError(
                f"{self._source}, line {self._line}: an entry{where} must be an object"
            )
        records.append(record)
        lines.append(self._line)
        return self._space(place)

    def _expect(self, place: int, mark: str) -> int:
        if self._text[place : place + 1] != mark:
            raise json.JSONDecodeError(f"expected {mark!r}", self._text, place)
        return self._space(place + 1)

    def _space(self, place: int) -> int:
        found = _NOT_SPACE.search(self._text, place)
        return found.start() if found else len(self._text)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _EXACT_DIGITS else float(digits)


def has_member(source: Source, *path: str) -> bool:
    """Whether a JSON object has a member at this path (outermost first) in its first part.

    Arrays are passed through: ``has_member(source, "jobs", "id")`` is true for
    ``{"jobs": [{"id": 1}]}``.
    """
    return any(found == path for found in _paths(source.data[:_HEAD_BYTES], "{"))


def has_field(source: Source, name: str) -> bool:
    """Whether a JSON array has, in its first part, an object with this field."""
    return any(found == (name,) for found in _paths(source.data[:_HEAD_BYTES], "["))


def _paths(head: bytes, mark: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each member of an object, or of the objects of an array.

    ``head`` must begin with ``mark`` and may be cut off anywhere.
    """
    text = head.decode("utf-8-sig", errors="replace")
    if not text.lstrip().startswith(mark):
        return
    within: list[tuple[str, ...]] = []
    path: tuple[str, ...] = ()
    name = ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == '"' or len(within) > _MAX_DEPTH:  # an unterminated text, or not a table
            return
        if mark in ("{", "["):
            within.append(path)
        elif mark in ("}", "]"):
            if not within:
                return
            path = within.pop()
        elif mark == ":":
            path = (*within[-1], name) if within else ()
            yield path
        else:
            name = mark[1:-1]


def floats(screen: Screen, column: str, label: str, values: Sequence[Any]) -> Float64:
    """Return a column of numbers; None becomes NaN, other non-numbers are rejected."""
    screen.show(column, label, values)
    numbers, good = numbers_of(values)
    screen.require(good, column, "must be a number")
    return numbers


def numbers_of(values: Sequence[Any]) -> tuple[Float64, Bool]:
    """Return numbers, NaN for other values, and which values are numbers or None."""
    good = [value is None or _is_number(value) for value in values]
    numbers = [float(value) if _is_number(value) else math.nan for value in values]
    return np.array(numbers, np.float64), np.array(good, np.bool_)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(value: Any) -> str:
    """Return the text of a label or id; "" for values that are neither text nor integer."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
