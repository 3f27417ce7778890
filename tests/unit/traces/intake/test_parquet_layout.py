"""Counts and sizes in Parquet files are judged before room is made for them."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gpusched as gs
from gpusched.traces.intake.parquet_layout import check_layout
from gpusched.traces.intake.thrift_compact import (
    BINARY,
    I16,
    I32,
    I64,
    TRUE,
    CompactReader,
    Declared,
)
from tests.fuzz.whole_files import parquets

NUM_ROWS = 100


def written(**options: Any) -> bytes:
    file = io.BytesIO()
    ones = [1] * NUM_ROWS
    frame = pl.DataFrame({"submit_s": range(NUM_ROWS), "service_s": ones, "gpus": ones})
    frame.write_parquet(file, compression="uncompressed", **options)
    return file.getvalue()


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


@pytest.mark.parametrize("name", sorted(parquets()))
def test_whole_files_of_every_kind_are_in_order(name: str) -> None:
    data = parquets()[name]
    frame = pl.read_parquet(io.BytesIO(data))
    assert check_layout(data) >= 8 * frame.height * 3
    assert len(gs.read_trace(io.BytesIO(data))) > 0


def test_all_values_are_counted_with_the_least_they_take() -> None:
    assert check_layout(WHOLE) == 8 * 3 * NUM_ROWS
    assert check_layout(written(row_group_size=7)) == 8 * 3 * NUM_ROWS


@pytest.mark.parametrize(
    ("part", "number", "rule"),
    [
        (COUNT, -1, "the number of values of a page is -1"),
        (COUNT, -NUM_ROWS, f"the number of values of a page is -{NUM_ROWS}"),
        (COUNT, NUM_ROWS + 1, f"a page of {NUM_ROWS + 1} values where {NUM_ROWS} are left"),
        (COUNT, 2**31 - 1, f"a page of 2147483647 values where {NUM_ROWS} are left"),
        (COUNT, 2**31, "2147483648 is no number of 32 bits"),
        (SIZE, -1, "the number of unpacked bytes is -1"),
        (SIZE, 2**31 - 1, "bytes of a page cannot unpack to 2147483647"),
        (PACKED, -1, "the number of bytes of a page is -1"),
        (PACKED, 2**31 - 1, "a page of 2147483647 bytes is longer than its column"),
    ],
)
def test_a_page_that_says_more_than_can_be_is_refused(part: int, number: int, rule: str) -> None:
    with pytest.raises(ValueError, match=f"damaged: .*{rule}"):
        check_layout(changed(part, number))


@pytest.mark.parametrize(
    ("part", "number", "rule"),
    [
        (COUNT, -1, "the number of entries of a dictionary is -1"),
        (COUNT, 2**31 - 1, "a dictionary of 2147483647 entries in 800 bytes"),
        (SIZE, 2**31 - 1, "bytes of a page cannot unpack to 2147483647"),
    ],
)
def test_a_dictionary_that_says_more_than_can_be_is_refused(
    part: int, number: int, rule: str
) -> None:
    with pytest.raises(ValueError, match=f"damaged: .*{rule}"):
        check_layout(changed(part, number, ENTRIES))


@pytest.mark.parametrize("number", [-1, -NUM_ROWS, 2**31 - 1])
def test_a_damaged_count_does_not_end_the_process(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(changed(COUNT, number))
    program = "import sys, gpusched as gs\ntry: gs.read_trace(sys.argv[1])\n"
    program += "except ValueError as error: print(error)"
    command = [sys.executable, "-c", program, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert f"{path}: truncated or damaged Parquet: damaged: " in ran.stdout


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"PAR1", "the end of the file is missing"),
        (WHOLE[:-1], "the end of the file is missing"),
        (WHOLE[:-8] + b"\xff\xff\xff\x7fPAR1", "its footer is longer than the file"),
        (WHOLE[:-8] + b"\x03\x00\x00\x00PAR1", "damaged"),
    ],
)
def test_a_file_without_a_footer_is_refused(data: bytes, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        check_layout(data)


def test_values_of_a_fixed_width_count_in_full() -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(pa.table({"a": pa.array([None] * 10, pa.binary(5_000))}), file)
    assert check_layout(file.getvalue()) == 10 * 5_000


def structure(data: bytes, declared: dict[int, Declared]) -> dict[int, Any]:
    return CompactReader(data, 0, len(data)).struct(declared)


def test_declared_fields_are_read_and_others_passed_over() -> None:
    data = (
        b"\x15\x05"  # 1, i32: -3
        b"\x11\x12"  # 2 and 3: true, false
        b"\x18\x02ab"  # 4: two bytes
        b"\x19\x25\x02\x04"  # 5: a list of the i32 1 and 2
        b"\x1c\x16\x07\x00"  # 6: a structure with an i64 of -4
        b"\x1b\x01\x85\x01a\x03"  # 7: a map
        b"\x17" + b"\0" * 8 + b"\x13\x09"  # 8, a double; 9, a byte
        b"\x05\xc8\x01\x06"  # 100, i32 with its number in full
        b"\x00"
    )
    declared: dict[int, Declared] = {
        1: I32, 2: TRUE, 3: TRUE, 4: BINARY, 5: [I32], 6: {1: I64}, 100: I32,
    }  # fmt: skip
    assert structure(data, declared) == {
        1: -3, 2: True, 3: False, 4: b"ab", 5: [1, 2], 6: {1: -4}, 100: 3,
    }  # fmt: skip
    assert structure(data, {}) == {}


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"\x15", "ends too early"),
        (b"\x15\x02", "ends too early"),
        (b"\x16\x02\x00", "field 1 has the type 6"),
        (b"\x15" + b"\xff" * 11, "too many bytes"),
        (b"\x15" + b"\xff" * 5 + b"\x01\x00", "no number of 32 bits"),
        (b"\x29\x16\x02\x00", "a list of the type 6"),
        (b"\x38\xff\xff\xff\xff\x07a\x00", "ends too early"),
        (b"\x4d\x00", "there is no type 13"),
        (b"\x4c" * 100, "nested too deeply"),
        (b"\x49\xf5\xff\xff\xff\xff\x0f", "ends too early"),
    ],
)
def test_damaged_structures_are_refused(data: bytes, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        structure(data, {1: I32, 2: [I32], 3: BINARY, 9: I16})
