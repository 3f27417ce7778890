"""Structures in the compact protocol of Thrift, read as they are declared and no other way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
"""Codes of types; a boolean field holds its value in its code."""

Declared = int | list[Any] | Mapping[int, Any]
"""A type: a code (``TRUE`` for a boolean), ``[type]`` for a list, or fields by number."""

_INTEGERS: Final = (I16, I32, I64)
_WIDTH: Final = {I16: 15, I32: 31, I64: 63}
_MAX_DEPTH: Final = 32
_MAX_VARINT_BYTES: Final = 10


class CompactReader:
    """Reads structures from bytes, one after the other.

    Parameters
    ----------
    data
        What they stand in.
    place
        Where the first begins; it moves on with what is read.
    end
        Where the bytes end that may be read.
    """

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self._data, self.place, self._end = data, place, end

    def struct(self, declared: Mapping[int, Declared], depth: int = 0) -> dict[int, Any]:
        """Return the values of the declared fields by number; others are passed over.

        Raises
        ------
        ValueError
            If the bytes end, or a field has another type than is declared: another reader might
            take it for something else.
        """
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, code = head >> 4, head & 15
            number = number + step if step else self._integer(I16)
            wanted = declared.get(number)
            if wanted is None:
                self._pass_over(code, depth + 1)
            elif code != _code_of(wanted) and not (wanted == TRUE and code == FALSE):
                raise ValueError(f"damaged: field {number} has the type {code}")
            elif wanted == TRUE:
                found[number] = code == TRUE
            else:
                found[number] = self._value(wanted, depth + 1)
        return found

    def _value(self, wanted: Declared, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("damaged: nested too deeply")
        if isinstance(wanted, Mapping):
            return self.struct(wanted, depth)
        if isinstance(wanted, list):
            count, code = self._list_head()
            if count and code != _code_of(wanted[0]):
                raise ValueError(f"damaged: a list of the type {code}")
            return [self._value(wanted[0], depth + 1) for _ in range(count)]
        if wanted in _INTEGERS:
            return self._integer(wanted)
        return self._bytes()

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4
        return (count if count < 15 else self._varint()), head & 15

    def _pass_over(self, code: int, depth: int) -> None:
        """Read a value that is not wanted; a boolean field has no bytes."""
        if depth > _MAX_DEPTH:
            raise ValueError("damaged: nested too deeply")
        if code in (TRUE, FALSE):
            return
        if code in _INTEGERS:
            self._varint()
        elif code in (BYTE, DOUBLE):
            self._move(1 if code == BYTE else 8)
        elif code == BINARY:
            self._bytes()
        elif code in (LIST, SET):
            count, each = self._list_head()
            for _ in range(count):
                self._pass_over_entry(each, depth + 1)
        elif code == MAP:
            count = self._varint()
            codes = self._byte() if count else 0
            for _ in range(count):
                self._pass_over_entry(codes >> 4, depth + 1)
                self._pass_over_entry(codes & 15, depth + 1)
        elif code == STRUCT:
            self.struct({}, depth)
        else:
            raise ValueError(f"damaged: there is no type {code}")

    def _pass_over_entry(self, code: int, depth: int) -> None:
        # Unlike a field, a boolean in a list is a byte.
        self._pass_over(BYTE if code in (TRUE, FALSE) else code, depth)

    def _move(self, num_bytes: int) -> int:
        begin, self.place = self.place, self.place + num_bytes
        if self.place > self._end:
            raise ValueError("damaged: it ends too early")
        return begin

    def _byte(self) -> int:
        return self._data[self._move(1)]

    def _bytes(self) -> bytes:
        begin = self._move(self._varint())
        return self._data[begin : self.place]

    def _varint(self) -> int:
        number = 0
        for index in range(_MAX_VARINT_BYTES):
            byte = self._byte()
            number |= (byte & 127) << 7 * index
            if byte < 128:
                return number
        raise ValueError("damaged: a number of too many bytes")

    def _integer(self, code: int) -> int:
        coded = self._varint()
        number = (coded >> 1) ^ -(coded & 1)
        if not -(1 << _WIDTH[code]) <= number < 1 << _WIDTH[code]:
            raise ValueError(f"damaged: {number} is no number of {_WIDTH[code] + 1} bits")
        return number


def _code_of(wanted: Declared) -> int:
    if isinstance(wanted, Mapping):
        return STRUCT
    return LIST if isinstance(wanted, list) else wanted
