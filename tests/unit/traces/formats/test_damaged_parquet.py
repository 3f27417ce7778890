"""Damaged Parquet files are refused by name."""

from __future__ import annotations

import io
import re
from typing import Any

import polars as pl
import pytest

import gpusched as gs
from tests.each import each
from tests.fuzz.whole_files import parquets

NUM_ROWS = 100


def written(**options: Any) -> bytes:
    file = io.BytesIO()
    ones = [1] * NUM_ROWS
    frame = pl.DataFrame({"submit_s": range(NUM_ROWS), "service_s": ones, "gpus": ones})
    frame.write_parquet(file, compression="uncompressed", **options)
    return file.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(ValueError, match="<stream>: truncated or damaged Parquet") as error:
        gs.read_trace(io.BytesIO(data), format="parquet")
    return str(error.value)


WHOLE = written()
# A page begins with its type, its two sizes, and a structure whose first field counts values.
_NUMBER = rb"([\x80-\xff]*[\x00-\x7f])"
DATA = re.compile(rb"\x15\x00\x15" + _NUMBER + rb"\x15" + _NUMBER + rb"\x2c\x15" + _NUMBER)
ENTRIES = re.compile(rb"\x15\x04\x15" + _NUMBER + rb"\x15" + _NUMBER + rb"\x4c\x15" + _NUMBER)
SIZE, PACKED, COUNT = 1, 2, 3


def varint(number: int) -> bytes:
    coded = number << 1 if number >= 0 else (-number << 1) - 1
    made = b""
    while coded > 127:
        made, coded = made + bytes([coded & 127 | 128]), coded >> 7
    return made + bytes([coded])


def changed(part: int, number: int, page: re.Pattern[bytes] = DATA) -> bytes:
    """Write another number into the head of the first page of a kind."""
    data = WHOLE
    found = page.search(data)
    assert found is not None
    begin, end = found.span(part)
    made = varint(number)
    if len(made) > end - begin:
        # What is longer takes its room from the page, so that nothing else moves.
        last = found.end()
        return data[:begin] + made + data[end:last] + data[last + len(made) - end + begin :]
    while len(made) < end - begin:
        made = made[:-1] + bytes([made[-1] | 128, 0])
    return data[:begin] + made + data[end:]


@each("name", sorted(parquets()))
def test_whole_files_of_every_kind_are_read(name):
    assert len(gs.read_trace(io.BytesIO(parquets()[name]))) > 0


@each(
    ("part", "number"),
    [
        (COUNT, 2**31 - 1), (COUNT, 2**31),
        (SIZE, -1), (SIZE, 2**31 - 1), (PACKED, -1), (PACKED, 2**31 - 1),
    ],
)  # fmt: skip
def test_a_page_that_says_more_than_can_be_is_refused(part, number):
    refused(changed(part, number))


@pytest.mark.parametrize(("part", "number"), [(COUNT, -1), (COUNT, 2**31 - 1), (SIZE, 2**31 - 1)])
def test_a_dictionary_that_says_more_than_can_be_is_refused(part, number):
    refused(changed(part, number, ENTRIES))


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"PAR1", "the end of the file is missing"),
        (WHOLE[:-1], "the end of the file is missing"),
        (WHOLE[:-8] + b"\xff\xff\xff\x7fPAR1", "its footer is longer than the file"),
        (WHOLE[:-8] + b"\x03\x00\x00\x00PAR1", ""),
    ],
)
def test_a_file_without_a_footer_is_refused(data, rule):
    assert rule in refused(data)
