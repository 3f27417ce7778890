"""Seeded changes of bytes and text: each takes what a file holds and returns something else."""

import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, Final

ODD: Final = (
    b"0", b"-1", b"1e400", b"-1e400", b"nan", b"inf", b"-inf", b"1e308", b"1e19",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551616", b"1" + b"0" * 400, b"9" * 5000, b"0x10", b"1_0", b"1.5", b"-0.0",
    b"1e-320", b"1e-400", b"4e9", b"2147483647", b"2147483648", b"0.1e-5", b"+1", b"1,5", b"1e",
    b"",
    b" ", b"true", b"null", b"None", b"NaN", b"Unknown", b"0000-00-00 00:00:00",
    b"0000-01-01 00:00:00", b"-0001-01-01 00:00:00", b"-1-01-01", b"9999-12-31 23:59:59",
    b"10000-01-01 00:00:00", b"2020-02-30 00:00:00", b"0001-01-01 00:00:00",
    b"2020-01-01 00:00:60", b"2020-01-01T00:00:00Z", b"2020-01-01T00:00:00+14:00", b"2020-01-01",
    b"0001-01-01T00:00:00+14:00", b"9999-12-31T23:59:59-14:00", b"2020-W01-1",
    b"1970-01-01 00:00:00.999999999999", b"262143-12-31 23:59:59",
    b"292277026596-01-01T00:00:00", b"1-00:00:00", b"999999-99:99:99", b"12:00", b"999999999999",
    b"[]", b"{}", b'""', b"[" * 100, b"[" * 5000, b'{"a":' * 3000, b"x" * 300, "ünï".encode(),
    "٣".encode(), "\uff11\uff12".encode(), "∞".encode(), b"\xff", b"\xed\xa0\x80", b"\0", b"\r",
    b"\xef\xbb\xbf", "\u202e".encode(), "\u2028".encode(), b"|", b'"', b"'", b",", b"\t", b"\n",
    b";", b"#", b"../../x", b"gpu:a100=4", b"\\ud800", b"\\u0000",
)  # fmt: skip
"""Words that have been taken for something else, somewhere, at some time."""

NAMES: Final = (
    b"id", b"job_id", b"submit_s", b"submit_time", b"service_s", b"duration", b"gpus", b"num_gpus",
    b"gpu_types", b"user", b"queue", b"status", b"deadline_s", b"value", b"min_gpus", b"max_gpus",
    b"weight", b"cpu", b"memory_gib", b"gpu_share", b"estimate_s", b"row", b"profile", b"graph",
)  # fmt: skip
"""Names of columns, ours and common ones."""

_WORD: Final = re.compile(rb"[0-9A-Za-z.:_-]+")

Damage = Callable[[bytes, random.Random], bytes]


def bytes_flipped(data: bytes, draw: random.Random) -> bytes:
    """Replace a few bytes by any others."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def bits_flipped(data: bytes, draw: random.Random) -> bytes:
    """Flip one bit."""
    changed = bytearray(data)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(data: bytes, draw: random.Random) -> bytes:
    """Truncate."""
    return data[: draw.randrange(len(data))]


def left_out(data: bytes, draw: random.Random) -> bytes:
    """Leave out a piece."""
    begin = draw.randrange(len(data))
    return data[:begin] + data[begin + draw.choice((1, 2, 8, 40)) :]


def repeated(data: bytes, draw: random.Random) -> bytes:
    """Repeat a piece."""
    begin = draw.randrange(len(data))
    end = begin + draw.choice((1, 8, 40, 200))
    return data[:end] + data[begin:end] * draw.choice((1, 2, 50)) + data[end:]


def put_in(data: bytes, draw: random.Random) -> bytes:
    """Insert a word of the dictionary anywhere."""
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice(ODD) + data[place:]


def word_replaced(data: bytes, draw: random.Random) -> bytes:
    """Replace a run of letters, digits and points by something odd: a number, a name, a time."""
    words = list(words_of(data[:20_000]))
    if not words:
        return put_in(data, draw)
    for begin, end in sorted(draw.sample(words, min(len(words), draw.choice((1, 1, 2)))))[::-1]:
        data = data[:begin] + draw.choice(ODD) + data[end:]
    return data


def words_of(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the words of a text begin and end."""
    return (found.span() for found in _WORD.finditer(data))


def word_moved(data: bytes, draw: random.Random) -> bytes:
    """Put one word of the file in the place of another: fields of other types."""
    words = list(words_of(data[:20_000]))
    if len(words) < 2:
        return bits_flipped(data, draw)
    (begin, end), (a, b) = draw.sample(words, 2)
    return data[:begin] + data[a:b] + data[end:]


def lines_moved(data: bytes, draw: random.Random) -> bytes:
    """Swap two lines, and now and then lose one."""
    lines = data.split(b"\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    if draw.random() < 0.3:
        del lines[draw.randrange(len(lines))]
    return b"\n".join(lines)


def columns_moved(data: bytes, draw: random.Random) -> bytes:
    """Swap, lose, double or rename a column of delimited text, or empty or spoil all of it."""
    mark = max((b",", b"\t", b" "), key=data[:2000].count)
    rows = [line.split(mark) for line in data[:50_000].split(b"\n")]
    width = len(rows[0])
    one, other = draw.randrange(width), draw.randrange(width)
    what, word = draw.randrange(6), draw.choice(ODD)
    for index, row in enumerate(rows):
        if len(row) <= max(one, other):
            continue
        if what == 0:
            row[one], row[other] = row[other], row[one]
        elif what == 1:
            del row[one]
        elif what == 2:
            row.insert(other, row[one])
        elif what == 3 and index == 0:
            row[one] = draw.choice(NAMES)
        elif what == 4 and index > 0:
            row[one] = b""
        elif what == 5 and index > 0:
            row[one] = word
    return b"\n".join(map(mark.join, rows))


def record_changed(data: bytes, draw: random.Random) -> bytes:
    """Change fields of JSON at any depth; text that is none has a word replaced."""
    try:
        record = json.loads(data)
        for _ in range(draw.choice((1, 1, 3))):
            change_record(record, draw)
    except (ValueError, LookupError, TypeError, RecursionError):
        return word_replaced(data, draw)
    made = json.dumps(record)
    if draw.random() < 0.2:
        made = made.replace("1" + "0" * 30, "9" * draw.choice((20, 400, 5000)))
    return made.encode()


def change_record(record: Any, draw: random.Random) -> None:
    """Change one field at a random depth of a JSON record."""
    paths = list(leaves(record))
    path = draw.choice(paths)
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    old, last = inner[path[-1]], path[-1]
    what = draw.random()
    if what < 0.15 and isinstance(inner, dict):
        inner[f"{last}x"] = inner.pop(last)
    elif what < 0.3:
        del inner[last]
    elif isinstance(old, bool):
        inner[last] = not old
    elif isinstance(old, int | float):
        inner[last] = draw.choice([old + 1, -old - 1, 10**30, str(old), None])
    elif isinstance(old, str):
        inner[last] = draw.choice([old + "x", old[1:] if old else "y", 7, None])
    else:
        inner[last] = [1] if old != [1] else [2]


def leaves(record: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = record.items() if isinstance(record, dict) else enumerate(record)
    for key, value in inside:
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def wrapped(data: bytes, draw: random.Random) -> bytes:
    """Nest what is there, a word or all, deeper and deeper."""
    depth = draw.choice((1, 2, 100, 1_000, 100_000))
    opening, closing = draw.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"[[", b"]]"), (b"{a=", b"}")))
    words = list(words_of(data[:5_000]))
    begin, end = draw.choice(words) if words and draw.random() < 0.7 else (0, len(data))
    inner = data[begin:end]
    closed = closing * depth if draw.random() < 0.5 else b""
    return data[:begin] + opening * depth + inner + closed + data[end:]


def recoded(data: bytes, draw: random.Random) -> bytes:
    """Write the text in another encoding."""
    code = draw.choice(("utf-16", "utf-8-sig", "utf-32", "utf-16-le", "utf-7", "cp037"))
    return data.decode("latin-1").encode(code)


def ends_changed(data: bytes, draw: random.Random) -> bytes:
    """Write the ends of all lines in another way."""
    ends = (b"\r\n", b"\r", b"\n\n", b"\n\r", b" \n", b"\x0b", b"\x85", "\u2028".encode())
    return data.replace(b"\n", draw.choice(ends))


def marks_changed(data: bytes, draw: random.Random) -> bytes:
    """Write another mark between fields."""
    old = draw.choice((b",", b"\t", b" ", b'"', b":", b"=", b"|"))
    return data.replace(old, draw.choice((b",", b"\t", b";", b"|", b"'", b'""', b"")))


def packed(data: bytes, draw: random.Random) -> bytes:
    """Pack a file once, twice, in part, or as the member of an archive."""
    form = draw.randrange(4)
    if form == 0:
        return gzip.compress(data, mtime=0)
    if form == 1:
        return gzip.compress(data, mtime=0)[: draw.randrange(1, 40)]
    if form == 2:
        return gzip.compress(gzip.compress(data, mtime=0), mtime=0)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        # Without the time of day: a case is always the same.
        archive.writestr(zipfile.ZipInfo(draw.choice(("a.npy", "a.csv", "header.npy"))), data)
    return file.getvalue()


def number_in_binary(data: bytes, draw: random.Random) -> bytes:
    """Replace some bytes by a number that a length or an offset may be taken for."""
    place = draw.randrange(len(data))
    width = draw.choice((2, 4, 8))
    value = draw.choice(
        (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, 255, 65535)
    )
    number = (value % 2 ** (8 * width)).to_bytes(width, draw.choice(("little", "big")))
    return data[:place] + number + data[place + width :]


DAMAGE: Final[tuple[Damage, ...]] = (
    bytes_flipped, bits_flipped, cut, left_out, repeated, put_in, put_in, word_replaced,
    word_replaced, word_replaced, word_replaced, word_moved, lines_moved, columns_moved,
    columns_moved, record_changed, record_changed, wrapped, recoded, ends_changed, marks_changed,
    packed, number_in_binary,
)  # fmt: skip


def damaged(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Damage a file once, or now and then more often; what is packed is often damaged inside."""
    names: list[str] = []
    is_gzip = data.startswith(b"\x1f\x8b") and draw.random() < 0.6
    if is_gzip:
        data = gzip.decompress(data)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 4))):
        change = draw.choice(DAMAGE)
        names.append(change.__name__)
        data = change(data, draw) if data else b"x"
    return ", ".join(names), gzip.compress(data, 1, mtime=0) if is_gzip else data
