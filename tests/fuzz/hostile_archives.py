"""Hostile binary files: arrays, archives and frames with false headers and odd members."""

import functools
import gzip
import io
import random
import struct
import tarfile
import warnings
import zipfile
from typing import Any, Final

import numpy as np
import polars as pl

from tests.fuzz.damage import NAMES

_DTYPES: Final = (
    "<f8", "<i8", ">i4", "|b1", "<f2", "<c16", "<u8", "<M8[us]", "<M8[as]", "<m8[ns]", "<U3", "|S5",
    "|V8", "|O", "<U0", "|V0", "<f16", "<i9", "x", "", "<M8[0us]", "<U2147483648",
    "[('a', '<f8')]", "[('submit_s', '<f8'), ('service_s', '<f8'), ('gpus', '<i4')]",
    "[('a', 'O')]",
    "('<f8', (2,))", "[]", "None", "1", "{'names': ['a'], 'formats': ['<f8'], 'offsets': [-8]}",
    "[('a', '<f8'), ('a', '<f8')]", "[('', '<f8')]", "[(('t', 'n'), '<f8')]",
)  # fmt: skip
_SHAPES: Final = (
    "(3,)", "()", "(0,)", "(-1,)", "(3, 1)", "(2**40,)", "(1099511627776,)",
    "(4294967296,4294967296)",
    "(9223372036854775807,)", "(3.0,)", "('a',)", "3", "None", "(True,)", "[3]",
    "(" + "1," * 65 + ")",
    "(" * 90 + ")" * 90, "(" + "9" * 5000 + ",)",
)  # fmt: skip


def npy_header(draw: random.Random) -> bytes:
    """Return an array with a header that says what is not there, or what cannot be."""
    dtype = draw.choice(_DTYPES)
    spelt = dtype if dtype[:1] in "[({N1" and dtype else repr(dtype)
    order = draw.choice(("False", "False", "False", "True", "2", "None"))
    text = f"{{'descr': {spelt}, 'fortran_order': {order}, 'shape': {draw.choice(_SHAPES)}, }}"
    if draw.random() < 0.2:
        text = text.replace(
            draw.choice(("'", ",", "}", "descr", ":")), draw.choice(("", "L", "\\"))
        )
    header = text.encode("latin-1").ljust(117) + b"\n"
    version = draw.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\0\0"))
    length = draw.choice((len(header), len(header), len(header), 0, 1, 2**16 - 1, 10))
    width = "<H" if version[:1] == b"\1" else "<L"
    content = draw.choice((bytes(24), b"", bytes(8), draw.randbytes(24), bytes(4096)))
    return b"\x93NUMPY" + version + struct.pack(width, length) + header + content


def _arrays(draw: random.Random) -> Any:
    """Return some array: one column, or what is none."""
    return draw.choice(
        (
            np.arange(3.0), np.ones(3, np.int32), np.array([True, False, True]), np.array(5.0),
            np.ones((3, 1)), np.zeros(0), np.array(["a", "b", "c"]), np.array([b"a", b"b", b"c"]),
            np.array([1, 2, 3], "M8[ns]"), np.array(["NaT", 0, 1], "M8[us]"),
            np.array([1, -1, 3], "M8[Y]"), np.array([1, 2, 3], "m8[s]"), np.array([1j, 2, 3]),
            np.array([2**64 - 1, 1, 2], np.uint64), np.array([np.nan, np.inf, -1]),
            np.ones(3, np.float16), np.frombuffer(bytes(48), np.longdouble), np.zeros(3, "V8"),
            np.array(["1", "x", ""]), np.array(["2020-01-01 00:00:00", "0000-01-01 00:00:00", ""]),
            np.zeros(3, [("a", "f8"), ("b", "i4")]), np.array(["a\0b", "\ud800", "c"]),
            np.array([-(2**63), 2**63 - 1, 0]), np.arange(3, dtype=">f8"), np.ones(3, "i1"),
        )
    )  # fmt: skip


def zip_of_members(draw: random.Random) -> bytes:
    """Return an archive with odd members: no arrays, twice there, packed or named in odd ways."""
    file = io.BytesIO()
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA,
               zipfile.ZIP_BZIP2)  # fmt: skip
    method = draw.choice(methods)
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        names = ["submit_s.npy", "service_s.npy", "gpus.npy"]
        names += draw.choices([f"{name.decode()}.npy" for name in NAMES], k=draw.randrange(4))
        names += draw.choices(("x", ".npy", "a/", "../a.npy", "/a.npy", "a.npy.npy", "ü.npy",
            "header.npy",
                               "manifest.npy"), k=draw.choice((0, 0, 1)))  # fmt: skip
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), _member(draw, name), method)
        if draw.random() < 0.1:
            archive.comment = draw.randbytes(draw.randrange(200))
    data = bytearray(file.getvalue())
    if draw.random() < 0.4:  # a field of a record of the archive: flags, methods, sizes, offsets
        mark = draw.choice((b"PK\3\4", b"PK\1\2", b"PK\5\6"))
        place = data.find(mark) + draw.randrange(4, 30)
        width = draw.choice((1, 2, 4))
        field = draw.choice((b"\0\0\0\0", b"\1\0\0\0", b"\xff\xff\xff\xff", b"\x08\x08\x08\x08"))
        data[place : place + width] = field[:width]
    return bytes(data)


def _member(draw: random.Random, name: str) -> bytes:
    what = draw.random()
    if what < 0.05:
        return npy_header(draw)
    if what < 0.08:
        return draw.choice((b"", b"hello", b"\x80\x04N.", b"{}", zip_in_zip()))
    file = io.BytesIO()
    usual = what < 0.8 and name in ("submit_s.npy", "service_s.npy", "gpus.npy")
    array = np.array([1, 2, 3]) if usual else _arrays(draw)
    np.lib.format.write_array(file, array)
    return file.getvalue()


def zip_in_zip() -> bytes:
    """Return an archive that holds another."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.npy"), b"PK\3\4")
    return file.getvalue()


def zip_bomb(draw: random.Random) -> bytes:
    """Return an archive that unpacks, or says it unpacks, to much more than it is."""
    members = draw.choice((1, 3, 30))
    count = draw.choice((1 << 20, 9 << 20))
    data = bytearray(_zip_of_zeros(members if count == 1 << 20 else 1, count))
    if draw.random() < 0.5:
        central = data.rfind(b"PK\1\2")
        said = draw.choice((0xF0000000, 0xFFFFFFFF, 1, 0))
        data[central + 24 : central + 28] = struct.pack("<L", said)
    return bytes(data)


@functools.cache
def _zip_of_zeros(members: int, count: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(members):
            member = zipfile.ZipInfo(f"c{number}.npy")
            archive.writestr(member, _npy_of_zeros(count), zipfile.ZIP_DEFLATED, compresslevel=1)
    return file.getvalue()


@functools.cache
def _npy_of_zeros(count: int) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(count))
    return file.getvalue()


def parquet_of_types(draw: random.Random) -> bytes:
    """Return a frame with columns of types that are no numbers, or not quite."""
    three: dict[str, pl.Series] = {
        name: pl.Series([1, 2, 3]) for name in ("submit_s", "service_s", "gpus")
    }
    names = [*three, *(name.decode() for name in NAMES)]
    for name in draw.sample(names, draw.randrange(1, 5)):
        three[name] = draw.choice(_series())
    file = io.BytesIO()
    pl.DataFrame(three).write_parquet(file, compression=draw.choice(("uncompressed", "zstd")))
    return file.getvalue()


@functools.cache
def _series() -> tuple[pl.Series, ...]:
    numbers = pl.Series([1, 2, 3])
    times = pl.Series([-(2**62), 0, 2**62])
    return (
        pl.Series([[1], [2], []]), pl.Series([{"a": 1}, {"a": 2}, {"a": 3}]), pl.Series(["a", "",
        None]),
        pl.Series([b"a", b"\xff", None]), pl.Series([True, False, None]), pl.Series([None, None,
        None]),
        pl.Series(["1", "x", "1e400"]), pl.Series([None, 1, 2]), pl.Series([float("nan"), -1,
        1e308]),
        pl.Series([2**64 - 1, 0, 1], dtype=pl.UInt64), pl.Series([-(2**63), 2**63 - 1, 0]),
        pl.Series(["1.5", "2", "3"]).cast(pl.Decimal(10, 2)), pl.Series(["a", "b", "a"],
        dtype=pl.Categorical),
        numbers.cast(pl.Date), numbers.cast(pl.Time), numbers.cast(pl.Duration("ns")),
        numbers.cast(pl.Datetime("ns")), times.cast(pl.Datetime("us")),
        times.cast(pl.Datetime("ms")),
        times.cast(pl.Datetime("us", "UTC")), times.cast(pl.Duration("ms")), numbers.cast(pl.Int8),
        numbers.cast(pl.Float32), numbers.cast(pl.Int128), pl.Series(["a", "b", "a"],
        dtype=pl.Enum(["a", "b"])),
        pl.Series([[1, 2]] * 3, dtype=pl.Array(pl.Int64, 2)),
    )  # fmt: skip


def parquet_bomb(draw: random.Random) -> bytes:
    """Return a frame of equal values, which take no space, or a short one."""
    return _equal_rows(draw.choice((1_000, 3_000_000, 20_000_000)))


@functools.cache
def _equal_rows(count: int) -> bytes:
    file = io.BytesIO()
    one = pl.repeat(1, count)
    pl.select(submit_s=one, service_s=one, gpus=one).write_parquet(file)
    return file.getvalue()


def tar_archive(draw: random.Random) -> bytes:
    """Return an archive on tape with a member, or several, of any type and a false size."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for number in range(draw.choice((0, 1, 1, 1, 2))):
            member = tarfile.TarInfo(
                draw.choice(("servers.csv", "../x", "", "a" * 150)) + str(number)
            )
            member.type = draw.choice((tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE,
                tarfile.CHRTYPE,
                                       tarfile.GNUTYPE_SPARSE, tarfile.LNKTYPE))  # fmt: skip
            member.linkname = draw.choice(("", "/etc/hostname", "servers.csv"))
            member.size = 100 if member.type == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"sn,cpu_milli,memory_mib,gpu,model\n" + b"s" * 99))
    data = bytearray(file.getvalue())
    if draw.random() < 0.6:
        field = draw.choice(
            (
                b"\xff" * 11 + b"\x00",
                b"77777777777\0",
                b"\x80" + bytes(10) + b"\x01",
                b"-0000000001\0",
            )
        )
        data[124:136] = field
        data[148:156] = b"        "
        data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data) if draw.random() < 0.5 else gzip.compress(bytes(data), 1, mtime=0)
