"""Named arrays in one file: what is written comes back, and NumPy and zip readers open it."""

from __future__ import annotations

import os
import threading
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from gpusched.base import container

KIND = container.Kind("gpusched-test", 3)
ARRAYS: dict[str, Any] = {
    "empty": np.empty(0, np.int64),
    "one": np.array(7, np.uint8),
    "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    "text": np.array(["a", "ç", ""]),
    "truth": np.array([True, False]),
    "rows.none": np.empty((0, 4)),
}


@pytest.fixture
def path(tmp_path):
    container.write(tmp_path / "file.npz", KIND, b'{"a":1}', ARRAYS)
    return tmp_path / "file.npz"


def assert_equal(read, arrays):
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert read[name].shape == array.shape, name
        assert read[name].dtype == array.dtype.newbyteorder("<"), name
        np.testing.assert_array_equal(read[name], array, name)


def test_what_is_written_comes_back(path):
    header, arrays = container.read(path, KIND)
    assert header == b'{"a":1}'
    assert_equal(arrays, ARRAYS)
    assert all(array.flags.aligned and not array.flags.writeable for array in arrays.values())


values = arrays_of.arrays(
    st.sampled_from(["<i8", ">i4", "|u1", "<f8", ">f4", "|b1", "<U3", ">U2", "<u8"]),
    arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(
    st.dictionaries(st.from_regex(r"[a-z][a-z0-9_.]{0,20}", fullmatch=True), values, max_size=5),
    st.binary(max_size=200),
)
@settings(deadline=None)
def test_any_arrays_come_back(tmp_path_factory, arrays, header):
    for taken in ("header", "manifest"):
        arrays.pop(taken, None)
    path = tmp_path_factory.mktemp("any") / "file.npz"
    container.write(path, KIND, header, arrays)
    again, read = container.read(path, KIND)
    assert again == header
    assert_equal(read, arrays)
    with np.load(path) as archive:
        assert archive.files == ["manifest", "header", *arrays]
        for name, array in arrays.items():
            np.testing.assert_array_equal(archive[name], array)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_equal_contents_are_equal_files(path):
    first = path.read_bytes()
    container.write(path, KIND, b'{"a":1}', {name: a.copy() for name, a in ARRAYS.items()})
    assert path.read_bytes() == first


def test_views_and_foreign_byte_orders_are_stored_as_plain_arrays(tmp_path):
    given = {"a": np.arange(12, dtype=">i4").reshape(3, 4)[:, ::2], "b": np.arange(9)[::-3]}
    container.write(tmp_path / "file.npz", KIND, b"{}", given)
    assert_equal(container.read(tmp_path / "file.npz", KIND)[1], given)


@pytest.mark.parametrize(
    "given",
    [
        {"Upper": np.zeros(1)},
        {"../up": np.zeros(1)},
        {"manifest": np.zeros(1)},
        {"a" * 81: np.zeros(1)},
        {"objects": np.array([None])},
        {"complex": np.zeros(1, np.complex128)},
        {"dates": np.zeros(1, "M8[us]")},
        {"fields": np.zeros(1, [("a", "i4")])},
    ],
)
def test_what_cannot_be_stored_is_an_error_and_leaves_no_file(tmp_path, given):
    with pytest.raises(ValueError, match="member"):
        container.write(tmp_path / "file.npz", KIND, b"{}", given)
    assert list(tmp_path.iterdir()) == []


def test_every_changed_byte_is_found(tmp_path):
    path = tmp_path / "file.npz"
    container.write(path, KIND, b'{"a":1}', {"b": np.arange(2), "c": np.array(["x"])})
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"manifest|header|archive|b|c"):
            container.read(path, KIND)


def test_every_length_but_the_right_one_is_refused(path):
    whole = path.read_bytes()
    for length in (*range(0, len(whole), 7), len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"manifest|archive"):
            container.read(path, KIND)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match="something was appended"):
        container.read(path, KIND)


def test_a_file_that_is_too_long_is_refused_before_it_is_read(path):
    size = path.stat().st_size
    container.read(path, KIND, max_bytes=size)
    with pytest.raises(ValueError, match=f"{size:,} bytes, more than {size - 1:,} bytes"):
        container.read(path, KIND, max_bytes=size - 1)
    with open(path, "r+b") as file:
        file.truncate(1 << 43)  # 8 TiB of nothing
    with pytest.raises(ValueError, match=r"8,796,093,022,208 bytes, more than 4,294,967,296"):
        container.read(path, KIND)


@pytest.mark.parametrize(("limit", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_a_limit_is_a_positive_integer(path, limit, error):
    with pytest.raises(error, match="max_bytes"):
        container.read(path, KIND, max_bytes=limit)


def test_a_device_without_an_end_is_refused_at_the_limit():
    with pytest.raises(ValueError, match="/dev/zero: more than 5,000,000 bytes"):
        container.read("/dev/zero", KIND, max_bytes=5_000_000)


def test_a_pipe_can_be_read(path, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    assert_equal(container.read(pipe, KIND)[1], ARRAYS)
    writer.join()


def test_two_that_write_one_file_at_a_time_leave_a_whole_one(tmp_path):
    path = tmp_path / "file.npz"
    given = {"a": np.arange(100_000)}
    writers = [
        threading.Thread(target=container.write, args=(path, KIND, b"{}", given)) for _ in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert_equal(container.read(path, KIND)[1], given)
    assert list(tmp_path.iterdir()) == [path]
