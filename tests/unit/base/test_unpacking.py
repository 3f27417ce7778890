"""Packed files are unpacked whole, or refused by name; bombs are found before they grow."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable

import pytest

import gpusched as gs
from gpusched.base.files import FREE_BYTES
from gpusched.base.source import Source, unpack

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
    "bz2": bz2.compress,
    "xz": lzma.compress,
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
    with pytest.raises(ValueError, match=r"more than 1,000 bytes; .* name a larger max_bytes"):
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
    with pytest.raises(ValueError, match=r"has no member 'c.csv'; there are a.csv, b.csv"):
        gs.read_trace(path, member="c.csv")
    (tmp_path / "plain.csv").write_bytes(CSV)
    with pytest.raises(ValueError, match=r"plain.csv: is no archive, of which 'a'"):
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
    with pytest.raises(ValueError, match=r"has no member 'c.csv'; there are a.csv, b.csv"):
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
    with pytest.raises(ImportError, match=r"zstd needs backports.zstd: pip install gpusched\[zstd"):
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
