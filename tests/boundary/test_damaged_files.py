"""Damaged, hostile and huge files: each reader gives a result or an error that names the file."""

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.base.files import FREE_BYTES, MAX_COLUMNS
from gpusched.base.source import unpack
from tests.fuzz import whole_files
from tests.fuzz.readers import readers

CSV = "submit_s,service_s,gpus\n0,10,1\n1,20,2\n"
DEEP = 100_000


def refused(path: Path, read: Any, message: str, error: type[Exception] = ValueError) -> None:
    with pytest.raises(error, match=message) as caught:
        read(path)
    assert path.name in str(caught.value)


# Nested and overlong


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.json", "[" * DEEP, gs.read_trace),
        ("a.json", '[{"a":' * DEEP, gs.read_trace),
        ("a.json", '{"v100":{"k":{"null":' + "[" * DEEP, gs.model.read_throughputs),
        ("a.json", '{"v100":' + "[" * DEEP + "]" * DEEP + "}", gs.model.read_throughputs),
        ("a.json", '{"profiles":' + "[" * DEEP, gs.model.read_profiles),
        ("a.toml", "a=" + "[" * DEEP, gs.model.read_profiles),
        ("a.toml", "a=" + "[" * DEEP, gs.read_cluster),
        ("a.toml", "a=" + "{b=" * DEEP, gs.read_cluster),
    ],
)
def test_deeply_nested_text_is_an_error(tmp_path, name, text, read):
    (tmp_path / name).write_text(text)
    refused(tmp_path / name, read, name)


@pytest.mark.parametrize("digits", [400, 5_000])
def test_huge_integers_are_an_error(tmp_path, digits):
    number = "9" * digits
    files = {
        "table.json": (f'{{"v100": {{"m": {{"null": {number}}}}}}}', gs.model.read_throughputs),
        "cluster.toml": (f"[[servers]]\ncount = {number}\ngpus = 8\n", gs.read_cluster),
        "profiles.toml": (f'[[profiles]]\nname = "m"\nbatch = {number}\n', gs.model.read_profiles),
        "trace.csv": (f"submit_s,service_s,gpus\n0,{number},1\n", gs.read_trace),
        "log.swf": (whole_files.SWF.replace("1000000000", number[:12]), gs.read_trace),
    }
    for name, (text, read) in files.items():
        (tmp_path / name).write_text(text)
        refused(tmp_path / name, read, name)


def test_a_huge_throughput_is_named_by_its_keys(tmp_path):
    (tmp_path / "table.json").write_text('{"v100": {"m": {"null": 1' + "0" * 400 + "}}}")
    refused(
        tmp_path / "table.json", gs.model.read_throughputs, "'v100', 'm': .* must be below 1.8e308"
    )


def test_a_switch_with_a_name_of_many_digits_is_ordered_as_a_number(tmp_path):
    rows = [f"s{n},D,P,A{name}" for n, name in enumerate(("9" * 5000, "10", "9", "007"))]
    (tmp_path / "topo.csv").write_text("ip,DSW,PSW,ASW\n" + "\n".join(rows) + "\n")
    leaves = [group.domain for group in gs.model.read_topology(tmp_path / "topo.csv").servers]
    assert leaves == ["D/P/A007", "D/P/A9", "D/P/A10", f"D/P/A{'9' * 5000}"]


def test_a_key_of_very_many_parts_is_refused_before_it_is_decoded(tmp_path):
    spec = tmp_path / "spec.toml"
    for text in (
        "[" + "a." * DEEP + "a]\n",
        "a." * DEEP + "a = 1\n",
        "b = {" + "a." * DEEP + "a=1}",
    ):
        spec.write_text(text)
        for read in (gs.read_cluster, gs.model.read_profiles, read_spec):
            refused(spec, read, "a key of 100,001 parts; at most 1,000")
    few = "x = [" + ", ".join("1.5" for _ in range(2_000)) + "]\n"
    spec.write_text(few)
    refused(spec, gs.read_cluster, "unknown field `x`")


def read_spec(path: Path) -> gs.RunSpec:
    return gs.RunSpec.from_toml(path.read_bytes(), str(path))


@pytest.mark.parametrize("text", ["seed = " + "9" * 5_000, "a=" + "[" * DEEP, "seed = \xff"])
def test_a_specification_that_cannot_be_decoded_is_an_error_by_name(tmp_path, text):
    (tmp_path / "spec.toml").write_text(text, encoding="latin-1")
    refused(tmp_path / "spec.toml", read_spec, r"spec\.toml: ")


# Messages


def test_what_a_message_quotes_of_a_file_stays_in_one_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("submit_s,service_s,a\x85b\x1b[2J\n0,1,2\n")
    with pytest.raises(ValueError, match="a\\\\x85b\\\\x1b") as caught:
        gs.read_trace(path)
    assert str(caught.value).isprintable()
    path = tmp_path / "a.json"
    path.write_text('{"policy": "fifo", "a\\nb": 1}')
    with pytest.raises(ValueError, match="a\\\\nb") as caught:
        gs.RunSpec.from_json(path.read_bytes(), str(path))
    assert str(caught.value).isprintable()


def test_what_a_message_quotes_of_a_file_is_not_longer_than_can_be_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{n}" for n in range(10_000)) + "\n" + "1," * 9_999 + "1\n")
    with pytest.raises(ValueError, match=r"characters\) \.\.\. ") as caught:
        gs.read_trace(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 2_200


@pytest.mark.parametrize("column", ["user", "queue", "group", "status"])
def test_a_column_of_names_that_holds_records_is_named_with_its_file(tmp_path, column):
    columns = {"submit_s": [0, 1], "service_s": [1, 1], "gpus": [1, 1]}
    path = tmp_path / "a.parquet"
    for values in ([{"a": 1}, {"a": 2}], [[1], []], [b"a", b"b"]):
        pl.DataFrame({**columns, column: values}).write_parquet(path)
        refused(path, gs.read_trace, f"column '{column}' must hold text or integers", TypeError)


def test_a_column_of_types_that_holds_numbers_is_named_with_its_file(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"submit_s": [0], "service_s": [1], "gpus": [1], "gpu_types": [7]}
    pl.DataFrame(columns).write_parquet(path)
    refused(path, gs.read_trace, "column 'gpu_types' must hold text", TypeError)


# Times


@pytest.mark.parametrize(
    "time", ["0000-01-01 00:00:00", "-0001-01-01 00:00:00", "12000-01-01 00:00"]
)
def test_years_beyond_the_calendar_are_rejected_rows(tmp_path, time):
    path = tmp_path / "wall.csv"
    path.write_text(whole_files.WALL.replace("2020-01-01 00:00:00,10", f"{time},10", 1))
    if time.startswith("0000"):
        assert gs.read_trace(path).rejects.total == 1
    else:
        read_or_refused(path)
    path.write_text(whole_files.PHILLY_CSV.replace("2017-10-09 07:01:55", time))
    trace = gs.read_trace(path)
    assert trace.rejects.total == 1
    assert "must be a time like" in str(trace.rejects)


def read_or_refused(path: Path) -> None:
    message = path.name
    try:
        gs.read_trace(path)
    except ValueError as error:
        message = str(error)
    assert path.name in message


def test_typed_times_beyond_the_calendar_are_rejected_rows(tmp_path):
    path = tmp_path / "wall.parquet"
    ticks = pl.Series([-(2**62), 0, 2**62]).cast(pl.Datetime("us"))
    pl.DataFrame({"submit_time": ticks, "duration": [1, 1, 1], "gpus": [1, 1, 1]}).write_parquet(
        path
    )
    trace = gs.read_trace(path)
    assert (len(trace), trace.rejects.total) == (1, 2)


def test_a_clock_that_leaves_the_calendar_is_an_error(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(whole_files.SWF.replace("1000000000", "999999999999"))
    refused(path, gs.read_trace, "UnixStartTime 999999999999 must lie before the year 10000")
    row = "1 900000000000 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n"
    path.write_text("; UnixStartTime: 0\n" + row)
    refused(path, gs.read_trace, "the first submit, 900000000000 s after 1970.* years 1 to 9999")


# Text


def test_a_byte_order_mark_changes_nothing(tmp_path):
    endings = (".csv", ".toml", ".swf", ".json", ".trace")
    num_read = 0
    for reader in readers(tmp_path).values():
        for name, data in reader.files:
            if name.endswith(endings) and "Spec" not in reader.name and "from_" not in reader.name:
                (reader.folder / name).write_bytes(b"\xef\xbb\xbf" + data)
                assert reader.read(reader.folder / name) is not None
                num_read += 1
    assert num_read > 30


def test_a_line_of_megabytes_and_a_million_columns_end_soon(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV.replace("0,10,1", "0,10," + "1" * 20_000_000))
    read_or_refused(path)
    path.write_text(",".join(f"c{n}" for n in range(1_000_000)) + "\n" + "1," * 999_999 + "1\n")
    refused(path, gs.read_trace, "1,000,000 columns; at most 10,000")
    path.write_text("a" * 20_000_000 + ",b\n1,2\n")
    read_or_refused(path)


def test_more_columns_than_may_be_are_refused_in_every_table(tmp_path):
    names = [f"c{n}" for n in range(MAX_COLUMNS + 1)]
    np.savez(tmp_path / "a.npz", **dict.fromkeys(names, np.zeros(1)))
    refused(tmp_path / "a.npz", gs.read_trace, "10,001 columns; at most 10,000")
    pl.DataFrame({name: [0] for name in names}).write_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", gs.read_trace, "10,001 columns; at most 10,000")


# Bombs


def bomb(num_mib: int) -> bytes:
    """Gzip of so many MiB of zeros, about a thousandth as large."""
    return gzip.compress(bytes(1 << 20), mtime=0) * num_mib


def test_a_gzip_bomb_is_refused_early(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(bomb(10_240))  # 10 MB that ask for 10 GiB
    assert path.stat().st_size < 12_000_000
    refused(path, gs.read_trace, "more than .* bytes; .* set a larger max_bytes")
    refused(path, gs.read_cluster, "more than .* bytes")
    refused(path, lambda p: gs.read_trace(p, max_bytes=1_000_000), "more than 1,000,000 bytes")


def test_what_compresses_well_is_read_up_to_the_limit(tmp_path):
    path = tmp_path / "a.csv.gz"
    text = CSV + "1,20,2\n" * 1_000_000
    path.write_bytes(gzip.compress(text.encode()))
    assert len(gs.read_trace(path)) == 1_000_002
    refused(path, lambda p: gs.read_trace(p, max_bytes=7_000_000), "more than 7,000,000 bytes")
    more = b"".join((gzip.compress(CSV.encode()), bomb(FREE_BYTES >> 20)))
    with pytest.raises(ValueError, match="more than 67,108,864 bytes"):
        unpack(path, more)[0]
    assert len(unpack(path, more, max_bytes=1 << 30)[0]) == FREE_BYTES + len(CSV)


def test_gzip_in_members_and_with_padding_is_unpacked_whole():
    pieces = [b"a" * 100_000, b"", b"bc" * 700_000, bytes(3_000_000)]
    packed = b"".join(map(gzip.compress, pieces))
    assert unpack("x", packed)[0] == b"".join(pieces)
    assert unpack("x", packed + bytes(512))[0] == b"".join(pieces)
    for length in range(2, len(packed), 997):
        message, unpacked = "truncated or damaged gzip", b""
        try:
            unpacked = unpack("x", packed[:length])[0]
        except ValueError as error:
            message = str(error)
        assert "truncated or damaged gzip" in message
        assert b"".join(pieces).startswith(unpacked)


def zip_of(name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_submits(content: bytes) -> bytes:
    """An archive of our columns, of which this is the first."""
    file = io.BytesIO()
    np.savez(file, service_s=np.ones(3), gpus=np.ones(3))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("submit_s.npy", content)
    return file.getvalue()


def test_an_npz_bomb_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(zip_of("submit_s.npy", npy(np.zeros(10_000_000))))
    assert path.stat().st_size < 100_000
    refused(path, gs.read_trace, "80,000,128 bytes, more than 67,108,864 bytes")
    # And one that says it holds 10 GiB, which it does not.
    data = bytearray(zip_of("submit_s.npy", npy(np.zeros(3))))
    central = data.rfind(b"PK\1\2")
    data[central + 24 : central + 28] = struct.pack("<L", 0xF0000000)
    path.write_bytes(data)
    refused(path, gs.read_trace, "4,026,531,840 bytes, more than")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zip_of("submit_s.npy", npy(np.zeros(3)), zipfile.ZIP_LZMA), "has an unknown compression"),
        (zip_of("submit_s.npy", npy(np.zeros(3)), zipfile.ZIP_BZIP2), "has an unknown compression"),
        (zip_of("submit_s.txt", b"hello"), "column 'submit_s' is missing; there are submit_s.txt"),
        (with_submits(b"hello"), "'submit_s.npy': EOF: reading magic"),
        (with_submits(b"\x93NUMPY\x01\x00v\x00{'descr': ("), "'submit_s.npy': "),
        (with_submits(b"\x93NUMPY\x04\x00v\x00{"), "version"),
        (with_submits(b"\x93NUMPY\x01\x00v\x00" + b"(" * 117 + b"\n"), "'submit_s.npy': "),
    ],
)
def test_archives_in_foreign_ways_are_refused(tmp_path, content, message):
    (tmp_path / "a.npz").write_bytes(content)
    refused(tmp_path / "a.npz", gs.read_trace, message)


def test_an_encrypted_archive_is_refused(tmp_path):
    data = bytearray(zip_of("a.npy", npy(np.zeros(3))))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.find(mark) + place] |= 1
    (tmp_path / "a.npz").write_bytes(data)
    refused(tmp_path / "a.npz", gs.read_trace, "is encrypted")


@pytest.mark.parametrize("shape", [(2**40,), (2**32, 2**32), (2**62, 4)])
def test_an_array_that_claims_more_than_there_is_takes_no_space(tmp_path, shape):
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    (tmp_path / "a.npy").write_bytes(file.getvalue())
    refused(tmp_path / "a.npy", gs.read_trace, "0 bytes do not match shape")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in ("submit_s", "service_s", "gpus"):
            archive.writestr(f"{name}.npy", file.getvalue())
    refused(tmp_path / "a.npz", gs.read_trace, "0 bytes do not match shape")


def test_a_parquet_of_equal_values_is_read_up_to_the_limit(tmp_path):
    path = tmp_path / "a.parquet"
    many = 3_000_000
    pl.select(
        submit_s=pl.repeat(0, many), service_s=pl.repeat(1, many), gpus=pl.repeat(1, many)
    ).write_parquet(path)
    refused(path, gs.read_trace, "72,000,000 bytes, more than 67,108,864 bytes")


# Archives of one file


def tar_with(member: tarfile.TarInfo, content: bytes, **changes: Any) -> bytes:
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    for place, value in changes.values():
        header[place : place + len(value)] = value
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + content + bytes(1024)


def test_an_archive_that_leads_back_to_its_own_begin_ends(tmp_path):
    member = tarfile.TarInfo("pax")
    member.type = tarfile.REGTYPE
    backwards = (124, b"\xff" * 10 + b"\xfc\x00")  # a size of -1024
    path = tmp_path / "a.tar"
    path.write_bytes(tar_with(member, bytes(512), size=backwards))
    refused(path, gs.read_cluster, "damaged archive|negative")


def test_a_sparse_file_in_an_archive_is_refused(tmp_path):
    member = tarfile.TarInfo("servers.csv")
    member.type = tarfile.GNUTYPE_SPARSE
    huge = (483, b"%011o\0" % (8 << 30))
    path = tmp_path / "a.tar"
    path.write_bytes(tar_with(member, b"", size=huge))
    refused(path, gs.read_cluster, "more than|damaged archive")


# Limits


@pytest.mark.parametrize("read", [gs.read_trace, gs.read_cluster, gs.traces.read_requests])
def test_every_reader_of_tables_takes_a_limit(tmp_path, read):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    size = len(CSV)
    refused(path, lambda p: read(p, max_bytes=size - 1), f"{size} bytes, more than {size - 1}")
    with pytest.raises(TypeError, match=r"max_bytes: 1\.5 must be an integer"):
        read(path, max_bytes=1.5)


def test_a_missing_file_and_a_folder_stay_what_they_are(tmp_path):
    readers = (
        gs.read_trace, gs.read_cluster, gs.traces.read_requests, gs.model.read_profiles,
        gs.model.read_throughputs, gs.model.read_topology, gs.load_result,
        gs.prediction.load_predictor, gs.model.read_pollux,
    )  # fmt: skip
    for read in readers:
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none.csv")
    for read in set(readers) - {gs.model.read_throughputs, gs.model.read_pollux}:
        with pytest.raises(IsADirectoryError):
            read(tmp_path)


def test_a_sum_of_gzip_that_is_wrong_is_found(tmp_path):
    packed = bytearray(gzip.compress(CSV.encode()))
    packed[-8:-4] = struct.pack("<L", zlib.crc32(b"other"))
    (tmp_path / "a.csv.gz").write_bytes(packed)
    refused(tmp_path / "a.csv.gz", gs.read_trace, "truncated or damaged gzip")


@pytest.mark.parametrize("name", ["a", "m", "1"])
def test_a_file_is_named_even_where_its_name_occurs_in_every_message(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("[" * DEEP)
    for read in (
        gs.read_trace,
        gs.read_cluster,
        gs.model.read_throughputs,
        gs.load_result,
        gs.prediction.load_predictor,
    ):
        with pytest.raises(ValueError, match=rf"^{name}(:|, line 1)"):
            read(name)


def test_a_numpy_archive_without_our_columns_is_not_unpacked(tmp_path):
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, zeros=np.zeros(32 << 20, dtype=np.int8))
    tracemalloc.start()
    refused(path, gs.read_trace, "column 'submit_s' is missing; there are zeros")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20


def test_an_array_of_no_bytes_holds_no_rows(tmp_path):
    header = io.BytesIO()
    shape = {"descr": "<U0", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(header, shape)
    path = tmp_path / "none.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("submit_s", "service_s", "gpus"):
            archive.writestr(f"{name}.npy", header.getvalue())
    refused(path, gs.read_trace, "<U0 has items of 0 bytes")
