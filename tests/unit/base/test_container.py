"""Files are whole, packed or replaced, and named arrays in one file come back."""

import bz2
import errno
import gzip
import io
import lzma
import os
import resource
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import gpusched as gs
from gpusched.base import container
from gpusched.base.files import FREE_BYTES
from gpusched.base.replacing import (
    PARTIAL,
    check_folder,
    check_target,
    refuse_inputs,
    replacing,
    write_bytes,
    write_text,
)
from gpusched.base.source import Source, unpack
from gpusched.model import JobProfile, Throughputs
from gpusched.traces.writers import write_trace
from gpusched_papers.study import write_rows

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


@contextmanager
def at_most(num_bytes: int) -> Iterator[None]:
    """No file can grow beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # Byte code of what is imported meanwhile would be cut off, and stay so for whoever comes next.
    wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
        sys.dont_write_bytecode = wrote_bytecode


def trace_of(num_jobs: int) -> gs.Trace:
    random = np.random.Generator(np.random.PCG64(num_jobs))
    submit = np.cumsum(random.uniform(1, 9, num_jobs))
    return gs.Trace.from_columns(submit, random.uniform(1, 9, num_jobs), np.ones(num_jobs, int))


def small_result(num_jobs: int) -> gs.Result:
    return gs.simulate(trace_of(num_jobs), gs.Cluster.uniform(1, 1), policy="fifo")


def rows_of(num_rows: int) -> list[dict[str, float]]:
    return [{"value": value / 7} for value in range(num_rows)]


WRITERS = {
    "csv": lambda path: write_trace(trace_of(5_000), path, "csv"),
    "parquet": lambda path: write_trace(trace_of(5_000), path, "parquet"),
    "npz": lambda path: write_trace(trace_of(5_000), path, "npz"),
    "swf": lambda path: write_trace(trace_of(5_000), path, "swf"),
    "result": lambda path: small_result(3_000).save(path),
    "jobs": lambda path: small_result(3_000).to_parquet(path),
    "case": lambda path: small_result(3_000).save_case(path),
    "rows": lambda path: write_rows(rows_of(9_000), path),
    "text": lambda path: write_text(path, "text" * 9_000),
    "pieces": lambda path: write_bytes(path, (b"bytes" * 9_000 for _ in range(2))),
}


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_a_full_disk_is_named_by_the_target_and_leaves_the_old_file(writer, tmp_path):
    target = tmp_path / "old_file"
    target.write_text("old")
    with at_most(16_384), pytest.raises(OSError, match="old_file") as caught:
        WRITERS[writer](target)
    assert caught.value.filename == str(target)
    assert caught.value.errno == errno.EFBIG
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_every_writer_makes_a_new_file_and_replaces_an_old_one(writer, tmp_path):
    target = tmp_path / "new_file"
    WRITERS[writer](target)
    made = target.read_bytes()
    target.write_text("old")
    WRITERS[writer](target)
    assert len(target.read_bytes()) == len(made) > 16_384
    assert list(tmp_path.iterdir()) == [target]


def test_throughputs_and_comparisons_are_replaced_as_well(tmp_path):
    trace = trace_of(2_000)
    comparison = gs.compare(trace, gs.Cluster.uniform(1, 1), ["fifo", "sjf"])
    measured = Throughputs(
        [JobProfile(f"model {n}", throughput={"V100": {1: 1.0 + n}}) for n in range(2_000)]
    )
    for write in (comparison.to_parquet, measured.to_csv):
        target = tmp_path / "old_file"
        target.write_text("old")
        with at_most(4_096), pytest.raises(OSError, match="old_file"):
            write(target)
        assert target.read_text() == "old"
        assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, ValueError])
def test_whatever_ends_the_writing_leaves_the_old_file(error, tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    names: list[str] = []

    def begin() -> None:
        with replacing(target) as partial:
            partial.write_text("ne")
            names.append(partial.name)
            raise error

    with pytest.raises(error):
        begin()
    assert names[0].startswith("a.txt.")
    assert names[0].endswith(PARTIAL)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_kept_and_what_it_points_to_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "a.txt"
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_new_file_has_the_rights_of_any_and_a_replaced_one_its_own(tmp_path):
    usual = tmp_path / "usual"
    usual.write_text("")
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("")
    old.chmod(0o640)
    write_text(new, "new")
    write_text(old, "new")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_what_is_no_plain_file_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "through")
    reader.join(20)
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_text("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("into", ["pipe", "file"])
def test_the_standard_output_is_written_to_whatever_it_is(into, tmp_path):
    code = "from gpusched.base.replacing import write_text; write_text('/dev/stdout', 'new')"
    with open(tmp_path / "out", "wb") as file:
        made = subprocess.run(
            [sys.executable, "-c", code], timeout=60, check=True,
            stdout=subprocess.PIPE if into == "pipe" else file,
        )  # fmt: skip
    assert (made.stdout or (tmp_path / "out").read_bytes()) == b"new"


def test_the_device_that_is_always_full_is_named():
    with pytest.raises(OSError, match="/dev/full") as caught:
        write_text("/dev/full", "new")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("name", "number"),
    [("nowhere/a.txt", errno.ENOENT), ("file/a.txt", errno.ENOTDIR), ("folder", errno.EISDIR)],
)
def test_what_cannot_be_written_is_named(name, number, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=name) as caught:
        write_text(tmp_path / name, "new")
    assert caught.value.filename == str(tmp_path / name)
    assert caught.value.errno == number
    with pytest.raises(OSError, match=name):
        check_target(tmp_path / name)


def test_the_longest_names_can_be_written(tmp_path):
    for name in ("n" * 255, "é" * 127):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_two_writers_do_not_meet(tmp_path):
    target = tmp_path / "a.txt"
    with replacing(target) as one, replacing(target) as other:
        one.write_text("one")
        other.write_text("other")
    assert target.read_text() == "one"
    assert list(tmp_path.iterdir()) == [target]


def test_inputs_are_known_by_every_name(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("old")
    link, hard = tmp_path / "link.csv", tmp_path / "hard.csv"
    link.symlink_to(trace)
    hard.hardlink_to(trace)
    for target in (trace, link, hard, tmp_path / "." / "jobs.csv"):
        with pytest.raises(ValueError, match=f"{target.name}: is also the input trace"):
            refuse_inputs([target], {"cluster": None, "trace": trace})
    refuse_inputs([tmp_path / "other.csv"], {"trace": trace})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_without_rights_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    for check in (
        check_folder,
        lambda path: write_text(path / "a", ""),
        lambda path: check_target(path / "a"),
    ):
        with pytest.raises(PermissionError, match="closed"):
            check(closed)


def test_a_file_that_must_not_be_written_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "a.txt"
    target.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target)
    for write in (lambda path: write_text(path, "new"), check_target):
        with pytest.raises(PermissionError) as caught:
            write(target)
        assert caught.value.filename == str(target)
    with pytest.raises(PermissionError):
        check_folder(tmp_path, ["a.txt"])
    assert target.read_text() == "old"


def test_a_write_that_polars_only_says_has_failed_is_an_error_of_the_file(tmp_path):
    # As on a full disk: there is no number of the system in what it says.
    path = tmp_path / "jobs.parquet"
    path.write_text("old")
    said = "parquet: File out of specification: Invalid thrift: transport error"
    with pytest.raises(OSError, match="cannot be written") as caught, replacing(path):
        raise pl.exceptions.ComputeError(said)
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    with pytest.raises(pl.exceptions.ComputeError, match="another"), replacing(path):
        raise pl.exceptions.ComputeError("another reason")


CSV = b"submit_s,service_s,gpus\n0,10,1\n5,20,2\n"


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def zstd(data: bytes) -> bytes:
    compressed: bytes = pytest.importorskip("backports.zstd").compress(data)
    return compressed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": partial(bz2.compress, compresslevel=1),
    "xz": partial(lzma.compress, preset=0),
    "zst": zstd,
    "zip": lambda data: zipped({"jobs.csv": data}),
}

every_packer = pytest.mark.parametrize("ending", PACKERS)


@every_packer
def test_a_packed_trace_is_read_as_the_plain_one(tmp_path, ending):
    path = tmp_path / f"jobs.csv.{ending}"
    path.write_bytes(PACKERS[ending](CSV))
    trace = gs.read_trace(path)
    assert trace.submit_us.tolist() == [0, 5_000_000]
    assert trace.name == "jobs"
    assert Source(path).suffix == ".csv"


@every_packer
def test_an_ending_is_not_what_decides(tmp_path, ending):
    (tmp_path / "jobs.csv").write_bytes(PACKERS[ending](CSV))
    assert len(gs.read_trace(tmp_path / "jobs.csv")) == 2


@every_packer
def test_a_truncated_or_changed_file_is_whole_or_refused_by_name(ending):
    text = CSV * 50
    packed = PACKERS[ending](text)
    for length in range(6, len(packed) - 1, 5):
        with pytest.raises(ValueError, match="x: truncated or damaged"):
            unpack("x", packed[:length])
    for place in range(6, len(packed), 5):
        changed = bytearray(packed)
        changed[place] ^= 0xFF
        try:
            unpack("x", bytes(changed))
        except ValueError as error:
            assert str(error).startswith("x")  # noqa: PT017 - either is right


@pytest.mark.parametrize("ending", ["bz2", "xz", "zst"])
def test_several_streams_and_padding_are_one_file(ending):
    packed = b"".join(map(PACKERS[ending], (CSV, b"more", CSV)))
    assert unpack("x", packed)[0] == CSV + b"more" + CSV
    assert unpack("x", packed + bytes(512))[0] == CSV + b"more" + CSV


@every_packer
def test_a_bomb_is_refused_and_a_limit_can_be_named(ending):
    with pytest.raises(ValueError, match="more than 67,108,864 bytes"):
        unpack("x", PACKERS[ending](bytes(FREE_BYTES + (1 << 20))))
    packed = PACKERS[ending](CSV * 50)
    with pytest.raises(ValueError, match=r"more than 1,000 bytes; .* set a larger max_bytes"):
        unpack("x", packed, max_bytes=1000)
    assert len(unpack("x", packed, max_bytes=10_000)[0]) == 50 * len(CSV)


def test_a_zip_that_lies_about_its_size_is_refused():
    size = FREE_BYTES + (1 << 20)
    packed = zipped({"jobs.csv": bytes(size)})
    lie = packed.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert lie != packed
    with pytest.raises(ValueError, match=r"damaged zip|more than"):
        unpack("x", lie)


def test_a_member_of_an_archive_is_named(tmp_path):
    path = tmp_path / "all.zip"
    path.write_bytes(zipped({"a.csv": CSV, "b.csv": CSV + b"9,1,1\n"}))
    with pytest.raises(ValueError, match=r"holds 2 files \(a.csv, b.csv\); name one with member="):
        gs.read_trace(path)
    trace = gs.read_trace(path, member="b.csv")
    assert (len(trace), trace.name) == (3, "b")
    with pytest.raises(ValueError, match=r"has no member 'c.csv'; known: a.csv, b.csv"):
        gs.read_trace(path, member="c.csv")
    (tmp_path / "plain.csv").write_bytes(CSV)
    with pytest.raises(ValueError, match=r"plain.csv: not an archive; member='a'"):
        gs.read_trace(tmp_path / "plain.csv", member="a")
    path.write_bytes(zipped({}))
    with pytest.raises(ValueError, match="the archive holds no file"):
        gs.read_trace(path)


def taped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "tar.bz2", "tar.xz", "tar.zst"])
def test_a_tape_archive_of_one_file_is_that_file(tmp_path, ending):
    path = tmp_path / f"logs.{ending}"
    packer = {"tar": bytes, "tgz": gzip.compress}.get(ending) or PACKERS[ending.split(".")[-1]]
    path.write_bytes(packer(taped({"logs/jobs.csv": CSV, "logs/._jobs.csv": b"aside"})))
    trace = gs.read_trace(path)
    assert trace.submit_us.tolist() == [0, 5_000_000]
    assert trace.name == "jobs"
    assert Source(path).suffix == ".csv"


def test_a_member_of_a_tape_archive_is_named(tmp_path):
    path = tmp_path / "all.tar.gz"
    path.write_bytes(gzip.compress(taped({"a.csv": CSV, "b.csv": CSV + b"9,1,1\n"})))
    with pytest.raises(ValueError, match=r"holds 2 files \(a.csv, b.csv\); name one with member="):
        gs.read_trace(path)
    assert len(gs.read_trace(path, member="b.csv")) == 3
    with pytest.raises(ValueError, match=r"has no member 'c.csv'; known: a.csv, b.csv"):
        gs.read_trace(path, member="c.csv")
    path.write_bytes(taped({}).ljust(10_240, b"\0"))
    with pytest.raises(ValueError, match=r"all.tar.gz"):
        gs.read_trace(path)


def test_a_damaged_tape_archive_is_refused_and_so_is_a_long_one():
    packed = taped({"jobs.csv": CSV * 500})
    for length in range(512, 512 + len(CSV) * 500, 997):
        with pytest.raises(ValueError, match="x: damaged archive"):
            unpack("x", packed[:length])
    with pytest.raises(ValueError, match=r"x, member 'jobs.csv': .* more than 1,000 bytes"):
        unpack("x", packed, max_bytes=1000)
    with pytest.raises(ValueError, match="damaged archive"):
        unpack("x", packed[:148] + b"9" + packed[149:])


def test_what_macos_adds_is_no_member():
    packed = zipped({"__MACOSX/._jobs.csv": b"x", "folder/": b"", "folder/jobs.csv": CSV})
    assert unpack("x", packed) == (CSV, "folder/jobs.csv")


def test_a_packed_file_in_an_archive_is_unpacked_too():
    assert unpack("x", zipped({"jobs.csv.gz": gzip.compress(CSV)}))[0] == CSV


def test_an_archive_of_numpy_stays_one():
    packed = zipped({"a.npy": b"\x93NUMPY"})
    assert unpack("x", packed) == (packed, None)


def test_an_encrypted_member_is_refused():
    packed = bytearray(zipped({"jobs.csv": CSV}))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.find(magic) + offset] |= 1
    with pytest.raises(ValueError, match="is encrypted"):
        unpack("x", bytes(packed))


def test_a_library_that_is_missing_is_named(monkeypatch):
    for module in ("source", "libraries"):
        monkeypatch.setattr(f"gpusched.base.{module}.is_installed", lambda wanted: False)
    with pytest.raises(
        ImportError, match=r'zstd needs backports.zstd: pip install "gpusched-core\[zstd\]"'
    ):
        unpack("x", b"\x28\xb5\x2f\xfd" + bytes(9))


@pytest.mark.parametrize("opened", [io.BytesIO, lambda data: io.StringIO(data.decode())])
def test_an_open_file_is_read_to_its_end(opened):
    file = opened(CSV)
    assert gs.read_trace(file).submit_us.tolist() == [0, 5_000_000]
    assert not file.read()
    with pytest.raises(ValueError, match="<stream>: more than 9 bytes"):
        gs.read_trace(opened(CSV), max_bytes=9)


def test_an_open_file_has_its_name_and_may_be_packed(tmp_path):
    (tmp_path / "jobs.csv.gz").write_bytes(gzip.compress(CSV))
    with (tmp_path / "jobs.csv.gz").open("rb") as file:
        trace = gs.read_trace(file)
    assert (len(trace), trace.name) == (2, "jobs")
    with pytest.raises(TypeError, match="a file must be a path or an open file, not 5"):
        gs.read_trace([5])
