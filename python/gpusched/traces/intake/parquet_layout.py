"""Checks what a Parquet file says of its own sizes before a library makes room for them.

A library trusts the counts in page headers: a damaged one can ask for more memory than there is,
which ends the process. The headers are small, and are read here; the pages are not.
"""

from __future__ import annotations

from typing import Any, Final

from gpusched.traces.intake.thrift_compact import (
    BINARY,
    I16,
    I32,
    I64,
    TRUE,
    CompactReader,
    Declared,
)

MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # the length of the footer, and the magic bytes
_FIXED: Final = 7  # the type of values that all have the length that the schema tells

_STATISTICS: Final[dict[int, Declared]] = {
    1: BINARY, 2: BINARY, 3: I64, 4: I64, 5: BINARY, 6: BINARY, 7: TRUE, 8: TRUE,
}  # fmt: skip
_ELEMENT: Final[dict[int, Declared]] = {
    1: I32, 2: I32, 3: I32, 4: BINARY, 5: I32, 6: I32, 7: I32, 8: I32, 9: I32,
}  # fmt: skip
_KEY_VALUE: Final[dict[int, Declared]] = {1: BINARY, 2: BINARY}
_COLUMN: Final[dict[int, Declared]] = {
    1: I32, 2: [I32], 3: [BINARY], 4: I32, 5: I64, 6: I64, 7: I64, 8: [_KEY_VALUE], 9: I64,
    10: I64, 11: I64, 12: _STATISTICS, 13: [{1: I32, 2: I32, 3: I32}], 14: I64, 15: I32,
}  # fmt: skip
_CHUNK: Final[dict[int, Declared]] = {
    1: BINARY, 2: I64, 3: _COLUMN, 4: I64, 5: I32, 6: I64, 7: I32,
}  # fmt: skip
_GROUP: Final[dict[int, Declared]] = {1: [_CHUNK], 2: I64, 3: I64, 5: I64, 6: I64, 7: I16}
_FILE: Final[dict[int, Declared]] = {
    1: I32, 2: [_ELEMENT], 3: I64, 4: [_GROUP], 5: [_KEY_VALUE], 6: BINARY,
}  # fmt: skip
_DATA: Final[dict[int, Declared]] = {1: I32, 2: I32, 3: I32, 4: I32, 5: _STATISTICS}
_DICTIONARY: Final[dict[int, Declared]] = {1: I32, 2: I32, 3: TRUE}
_DATA_2: Final[dict[int, Declared]] = {
    1: I32, 2: I32, 3: I32, 4: I32, 5: I32, 6: I32, 7: TRUE, 8: _STATISTICS,
}  # fmt: skip
_PAGE: Final[dict[int, Declared]] = {
    1: I32, 2: I32, 3: I32, 4: I32, 5: _DATA, 6: {}, 7: _DICTIONARY, 8: _DATA_2,
}  # fmt: skip

_MOST_OF: Final = {0: 1, 1: 32, 2: 1_100, 5: 256, 6: 1 << 16, 7: 256}
"""Bytes that a byte can unpack to, by codec: none, snappy, gzip, LZ4, zstd, LZ4 without a frame."""
_UNPACKED_FREELY: Final = 1 << 16


def check_layout(data: bytes) -> int:
    """Check all counts and sizes in a Parquet file against each other and against its length.

    Returns
    -------
    int
        The bytes that all columns take at least once they are read: 8 of each value.

    Raises
    ------
    ValueError
        If one is negative, or larger than what it stands in.
    """
    if len(data) < len(MAGIC) + _TAIL or data[-4:] != MAGIC:
        raise ValueError("truncated: the end of the file is missing")
    end = len(data) - _TAIL
    begin = end - int.from_bytes(data[end : end + 4], "little")
    if begin < len(MAGIC):
        raise ValueError("damaged: its footer is longer than the file")
    file = CompactReader(data, begin, end).struct(_FILE)
    groups = file.get(4, [])
    num_rows = [_count(group, 3, "rows of a row group") for group in groups]
    if sum(num_rows) != _count(file, 3, "rows"):
        raise ValueError("damaged: its row groups do not have all rows")
    num_values = 0
    for group in groups:
        for chunk in group.get(1, []):
            if 3 in chunk:
                num_values += _check_column(data, begin, chunk[3])
    widths = [
        _count(element, 2, "bytes of a value") for element in file.get(2, [])
        if element.get(1) == _FIXED
    ]  # fmt: skip
    return num_values * 8 + sum(num_rows) * sum(max(width - 8, 0) for width in widths)


def _count(found: dict[int, Any], number: int, what: str) -> int:
    count: int | None = found.get(number)
    if count is None or count < 0:
        raise ValueError(f"damaged: the number of {what} is {count}")
    return count


def _check_column(data: bytes, footer: int, column: dict[int, Any]) -> int:
    """Check the pages of a column in a row group, and return how many values they hold."""
    num_values, num_bytes = _count(column, 5, "values"), _count(column, 7, "bytes")
    begin = column[11] if 11 in column else _count(column, 9, "bytes before a column")
    end = begin + num_bytes
    if not 0 <= begin <= end <= footer:
        raise ValueError(f"damaged: a column from byte {begin} to {end} of {footer}")
    most = _MOST_OF.get(column.get(4, -1))
    reader, num_left = CompactReader(data, begin, end), num_values
    while num_left > 0:
        page = reader.struct(_PAGE)
        packed, size = _count(page, 3, "bytes of a page"), _count(page, 2, "unpacked bytes")
        if packed > end - reader.place:
            raise ValueError(f"damaged: a page of {packed} bytes is longer than its column")
        if most is not None and size > max(packed * most, _UNPACKED_FREELY):
            raise ValueError(f"damaged: {packed} bytes of a page cannot unpack to {size}")
        num_left -= _page_values(page, size, num_left)
        reader.place += packed
    return num_values


def _page_values(page: dict[int, Any], size: int, num_left: int) -> int:
    """Return how many values of its column a page holds, of those that are left."""
    if 7 in page:
        num_entries = _count(page[7], 1, "entries of a dictionary")
        if num_entries > size:
            raise ValueError(f"damaged: a dictionary of {num_entries} entries in {size} bytes")
    data = page.get(8, page.get(5))
    if data is None:
        return 0
    num_values = _count(data, 1, "values of a page")
    if num_values > num_left:
        raise ValueError(f"damaged: a page of {num_values} values where {num_left} are left")
    if 8 in page:
        levels = _count(data, 5, "bytes of levels") + _count(data, 6, "bytes of levels")
        if levels > size:
            raise ValueError(f"damaged: {levels} bytes of levels in a page of {size}")
        for number in (2, 3):
            if _count(data, number, "rows of a page") > num_values:
                raise ValueError(f"damaged: a page of {num_values} values has more rows")
    return num_values
