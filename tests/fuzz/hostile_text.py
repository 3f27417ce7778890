"""Hostile text: nested, endless, of odd cells or of an odd shape."""

import functools
import gzip
import json
import random
from typing import Any, Final

from tests.fuzz.damage import NAMES, ODD

DEEP: Final = 100_000
_KEYS: Final = (
    "v100", "profiles", "null", "('m', 1)", "('m', 'x')", "('m', -1)", "m", "name", "servers",
    "jobs",
    "attempts", "status", "jobid", "submitted_time", "detail", "trace", "cluster", "policy", "",
    "a\nb", "\ud800",
)  # fmt: skip


def nested(draw: random.Random) -> bytes:
    """Return text that opens more than a parser can hold."""
    begin = draw.choice((b"", b"[", b"a=", b'{"v100":', b'{"profiles":[{"name":', b'[{"jobid":'))
    opening, closing = draw.choice(
        (
            (b"[", b"]"),
            (b'{"a":', b"}"),
            (b"{a=", b"}"),
            (b"(", b")"),
            (b"[[a]]\n", b""),
            (b"a.", b""),
        )
    )
    return begin + opening * DEEP + (closing * DEEP if draw.random() < 0.5 else b"")


def huge_integer(draw: random.Random) -> bytes:
    """Return a document of one number of many digits."""
    digits = draw.choice(ODD[:10]) + b"9" * draw.choice((20, 309, 400, 4301, 5_000, 100_000))
    before, after = draw.choice(
        (
            (b'{"v100": {"m": {"null": ', b"}}}"),
            (b"[[servers]]\ngpus = 8\ncount = ", b"\n"),
            (b'[[profiles]]\nname = "m"\nbatch = ', b"\n"),
            (b"submit_s,service_s,gpus\n0,5,", b"\n"),
            (b"", b""),
        )
    )
    return before + digits + after


def bare(draw: random.Random) -> bytes:
    """Return almost nothing, or the first bytes of a format and noise."""
    marks = (b"", b"PK\x03\x04", b"PK\5\6", b"PAR1", b"\x93NUMPY\x01\x00v\x00", b"\x1f\x8b\x08\x00",
             b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"[", b"{}", b"[]", b"{", b";", b"\n",
             b"\0")  # fmt: skip
    noise = draw.randbytes(draw.choice((0, 1, 60, 400)))
    mark = draw.choice(marks)
    return mark + noise + (mark if draw.random() < 0.3 else b"")


def wide(draw: random.Random) -> bytes:
    """Return a table of very many columns, or a line of very many characters."""
    many = draw.choice((10_000, 10_001, 50_000))
    form = draw.randrange(3)
    if form == 0:
        return b"," * many + b"\n" + b"," * many + b"\n"
    if form == 1:
        return b",".join(b"c%d" % n for n in range(many)) + b"\n" + b"1," * (many - 1) + b"1\n"
    return b"submit_s,service_s,gpus\n" + b"1" * (many * 10) + b",1,1\n"


def cells(draw: random.Random) -> bytes:
    """Return a table with a header that is understood, and odd cells."""
    names = [b"submit_s", b"service_s", b"gpus", *draw.sample(NAMES, draw.randrange(6))]
    names = list(dict.fromkeys(names)) if draw.random() < 0.9 else names
    rows = [[draw.choice((b"1", b"2", b"7.5"))] * len(names) for _ in range(draw.randrange(1, 6))]
    for _ in range(draw.randrange(1, 4)):
        row = draw.choice(rows)
        row[draw.randrange(len(row))] = draw.choice(ODD)
    return b"\n".join([b",".join(names), *map(b",".join, rows)]) + b"\n"


@functools.cache
def _zeros(num_mib: int) -> bytes:
    return gzip.compress(bytes(1 << 20), mtime=0) * num_mib


def gzip_bomb(draw: random.Random) -> bytes:
    """Return 1 MB of gzip or less that unpacks to up to 1 GiB."""
    begin = gzip.compress(draw.choice((b"", b"submit_s,service_s,gpus\n0,1,1\n", b"[")), mtime=0)
    return begin + _zeros(draw.choice((65, 128, 1024)))


def odd_json(draw: random.Random) -> bytes:
    """Return JSON of an odd shape: another type where a table, a list or a text should be."""

    def value(depth: int) -> Any:
        kind = draw.randrange(9 if depth else 7)
        if kind < 7:
            return draw.choice(
                (None, True, 0, -1, 1.5, 10**25, "", "x", "null", "2020-01-01 00:00:00", 1e308)
            )
        if kind == 7:
            return [value(depth - 1) for _ in range(draw.randrange(3))]
        return {draw.choice(_KEYS): value(depth - 1) for _ in range(draw.randrange(1, 4))}

    text = json.dumps({draw.choice(_KEYS): value(3), draw.choice(_KEYS): value(3)})
    if draw.random() < 0.3:
        text = f"[{text}]"
    if draw.random() < 0.1:
        text = text.replace(
            "1.5", draw.choice(("NaN", "Infinity", "-Infinity", "1e999", "01", "'"))
        )
    return text.encode()
