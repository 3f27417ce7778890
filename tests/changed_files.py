"""Changes saved results, predictors and runs in every way that is known here; each must be refused.

    python -m tests.changed_files --cases 100000 --seed 1 [--only result|model|monday]

Two families of changes. To the bytes: those of tests/fuzz, what is put around, and the fields of
the archive's own records. To what the archive says: it is taken apart, members are changed, added,
dropped, doubled, exchanged or renamed, fields of header and manifest are changed, and it is put
together again in our form, in NumPy's or compressed, with what is not a secret (sizes, CRCs) right
and the stored SHA-256 as they were.
"""

import argparse
import hashlib
import io
import json
import random
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import gpusched as gs
from gpusched.base import container
from tests.fuzz.damage import (
    bits_flipped,
    bytes_flipped,
    change_record,
    cut,
    left_out,
    number_in_binary,
    put_in,
    repeated,
)
from tests.learners import learner

MANIFEST = "manifest"


@dataclass(frozen=True)
class Parts:
    """A file taken apart: members by name, in order, and the manifest as a record."""

    manifest: dict[str, Any]
    members: tuple[tuple[str, np.ndarray[Any, Any]], ...]


def taken_apart(path: Path) -> Parts:
    """Read a file with NumPy alone."""
    with np.load(path) as archive:
        members = tuple((name, archive[name]) for name in archive.files if name != MANIFEST)
        return Parts(json.loads(archive[MANIFEST].tobytes()), members)


def put_together(parts: Parts) -> bytes:
    """Write a file in the form of the container, whatever its sums say."""
    manifest = json.dumps(parts.manifest, separators=(",", ":")).encode()
    members = ((MANIFEST, np.frombuffer(manifest, np.uint8)), *parts.members)
    plain = [(name, np.ascontiguousarray(array)) for name, array in members]
    return b"".join(container.archived(plain))


def zipped(parts: Parts, method: int) -> bytes:
    """Write a file as other software would."""
    manifest = json.dumps(parts.manifest, separators=(",", ":")).encode()
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")  # a member that is there twice is meant
        for name, array in ((MANIFEST, np.frombuffer(manifest, np.uint8)), *parts.members):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)
    return file.getvalue()


# Changes of bytes


def flipped_in_a_record(data: bytes, draw: random.Random) -> bytes:
    """Change a byte of the archive's own records, most of which no reader of zips looks at."""
    marks = [b"PK\3\4", b"PK\1\2", b"PK\6\6", b"PK\6\7", b"PK\5\6", b"\x93NUMPY"]
    places = [at for mark in marks for at in found(data, mark)]
    place = min(draw.choice(places) + draw.randrange(80), len(data) - 1)
    return data[:place] + bytes([data[place] ^ draw.randrange(1, 256)]) + data[place + 1 :]


def found(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)


def surrounded(data: bytes, draw: random.Random) -> bytes:
    """Put something before or behind."""
    more = draw.choice((b"\0", b"\n", b"#!/bin/sh\n", draw.randbytes(64), data))
    return data + more if draw.random() < 0.5 else more + data


def moved(data: bytes, draw: random.Random) -> bytes:
    """Exchange two blocks."""
    first, second = sorted(draw.sample(range(0, len(data) - 16, 16), 2))
    a, b = data[first : first + 16], data[second : second + 16]
    return data[:first] + b + data[first + 16 : second] + a + data[second + 16 :]


def swapped_case(data: bytes, draw: random.Random) -> bytes:
    """Change a letter of JSON text to the other case."""
    begin = data.find(b'{"')
    places = [
        at for at in range(begin, min(begin + 20_000, len(data))) if data[at : at + 1].isalpha()
    ]
    place = draw.choice(places)
    return data[:place] + data[place : place + 1].swapcase() + data[place + 1 :]


# Changes of what the archive says


def with_member(parts: Parts, index: int, name: str, array: Any) -> Parts:
    members = list(parts.members)
    members[index] = (name, array)
    return replace(parts, members=tuple(members))


def some(parts: Parts, draw: random.Random) -> tuple[int, str, Any]:
    index = draw.randrange(len(parts.members))
    return index, *parts.members[index]


def value_changed(parts: Parts, draw: random.Random) -> Parts:
    index, name, array = some(parts, draw)
    if not array.nbytes:
        return member_added(parts, draw)
    content = bytearray(array.tobytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    changed = np.frombuffer(bytes(content), array.dtype).reshape(array.shape)
    return with_member(parts, index, name, changed)


def dtype_changed(parts: Parts, draw: random.Random) -> Parts:
    index, name, array = some(parts, draw)
    if array.dtype.kind == "U":
        return with_member(parts, index, name, array.view(np.uint32))
    others = [d for d in ("<i8", "<u8", "<f8", "<i4", "<u4", "|u1") if array.dtype != np.dtype(d)]
    other = np.dtype(draw.choice(others))
    fits = array.nbytes % other.itemsize == 0
    changed = array.reshape(-1).view(other) if fits and draw.random() < 0.5 else array.astype(other)
    return with_member(parts, index, name, changed)


def shape_changed(parts: Parts, draw: random.Random) -> Parts:
    index, name, array = some(parts, draw)
    flat = array.reshape(-1)
    options = [array[None], flat[:0] if flat.size else array[None], np.repeat(array, 2, axis=0)]
    if array.shape[0] > 1:
        options += [array[1:], array[:-1]]
    return with_member(parts, index, name, draw.choice(options))


def order_changed(parts: Parts, draw: random.Random) -> Parts:
    """Exchange two members, or the values of one."""
    if draw.random() < 0.5:
        index, name, array = some(parts, draw)
        if array.shape[0] > 1 and array[::-1].tobytes() != array.tobytes():
            return with_member(parts, index, name, array[::-1].copy())
    members = list(parts.members)
    first, second = draw.sample(range(len(members)), 2)
    members[first], members[second] = members[second], members[first]
    return replace(parts, members=tuple(members))


def contents_exchanged(parts: Parts, draw: random.Random) -> Parts:
    """Exchange the arrays of two members that keep their names."""
    members = list(parts.members)
    for _ in range(50):
        first, second = draw.sample(range(len(members)), 2)
        (a, one), (b, other) = members[first], members[second]
        if (one.dtype, one.shape, one.tobytes()) != (other.dtype, other.shape, other.tobytes()):
            members[first], members[second] = (a, other), (b, one)
            return replace(parts, members=tuple(members))
    return member_dropped(parts, draw)


def member_added(parts: Parts, draw: random.Random) -> Parts:
    name = draw.choice(("more", "schedule.x", "trace.extra_us", "header2", "../x"))
    members = [*parts.members, (name, np.arange(draw.randrange(1, 4)))]
    return replace(parts, members=tuple(members))


def member_dropped(parts: Parts, draw: random.Random) -> Parts:
    index = draw.randrange(len(parts.members))
    return replace(parts, members=parts.members[:index] + parts.members[index + 1 :])


def member_doubled(parts: Parts, draw: random.Random) -> Parts:
    """Put a member in twice, changed or not: other readers of zips take the last."""
    index, name, array = some(parts, draw)
    second = array if draw.random() < 0.3 else np.zeros_like(array)
    place = draw.choice((index, index + 1, len(parts.members)))
    members = [*parts.members[:place], (name, second), *parts.members[place:]]
    return replace(parts, members=tuple(members))


def member_renamed(parts: Parts, draw: random.Random) -> Parts:
    index, name, array = some(parts, draw)
    return with_member(parts, index, draw.choice((name + "2", name.upper(), "x", name[1:])), array)


def header_changed(parts: Parts, draw: random.Random) -> Parts:
    """Change one field of the header, or drop, rename or add one."""
    index = [name for name, _ in parts.members].index(container.HEADER)
    record = json.loads(parts.members[index][1].tobytes())
    change_record(record, draw)
    encoded = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
    return with_member(parts, index, container.HEADER, np.frombuffer(encoded, np.uint8))


def header_spaced(parts: Parts, draw: random.Random) -> Parts:
    """Write the header's JSON in other words: equal in meaning, and another file."""
    index = [name for name, _ in parts.members].index(container.HEADER)
    encoded = json.dumps(json.loads(parts.members[index][1].tobytes()), indent=1).encode()
    return with_member(parts, index, container.HEADER, np.frombuffer(encoded, np.uint8))


def manifest_changed(parts: Parts, draw: random.Random) -> Parts:
    manifest = json.loads(json.dumps(parts.manifest))
    change_record(manifest, draw)
    return replace(parts, manifest=manifest)


def manifest_follows(parts: Parts, draw: random.Random) -> Parts:
    """Change a value and the stored SHA-256 of its member, but not that of the manifest."""
    index, name, array = some(parts, draw)
    changed = value_changed(Parts(parts.manifest, ((name, array),)), draw).members[0]
    members = [*parts.members]
    members[index] = changed
    manifest = json.loads(json.dumps(parts.manifest))
    sha256 = hashlib.sha256(changed[1].tobytes()).hexdigest()
    manifest["members"][index]["sha256"] = sha256
    if len(changed[1].tobytes()) != len(array.tobytes()) or changed[0] != name:
        return member_dropped(parts, draw)
    return Parts(manifest, tuple(members))


BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    bits_flipped, bytes_flipped, cut, left_out, number_in_binary, put_in, repeated,
    flipped_in_a_record, flipped_in_a_record, surrounded, moved, swapped_case,
)  # fmt: skip
MEMBERS: tuple[Callable[[Parts, random.Random], Parts], ...] = (
    value_changed, value_changed, dtype_changed, shape_changed, order_changed, contents_exchanged,
    member_added, member_dropped, member_doubled, member_renamed, header_changed, header_changed,
    header_spaced, manifest_changed, manifest_follows,
)  # fmt: skip


def changed(data: bytes, parts: Parts, draw: random.Random) -> tuple[str, bytes]:
    """Return a change's name and the changed file, which differs from ``data``."""
    if draw.random() < 0.4:
        change = draw.choice(BYTES)
        made = change(data, draw)
        while made == data:  # by chance it is what it was
            made = bits_flipped(data, draw)
        return change.__name__, made
    other = draw.choice(MEMBERS)
    altered = other(parts, draw)
    form = draw.random()
    if form < 0.7:
        return other.__name__, put_together(altered)
    method = zipfile.ZIP_STORED if form < 0.85 else zipfile.ZIP_DEFLATED
    return f"{other.__name__}, zipped", zipped(altered, method)


def check_refused(
    load: Callable[[Path], Any], path: Path, what: str, parts: Parts, data: bytes
) -> str:
    """Load a changed file: ValueError that names it, and what in it; else AssertionError."""
    path.write_bytes(data)
    try:
        load(path)
    except ValueError as error:
        message = str(error)
    else:
        raise AssertionError(f"{what}: was loaded")
    assert message.startswith(f"{path}: not a readable gpusched "), f"{what}: {message}"
    names = {MANIFEST, "archive", *(name for name, _ in parts.members)}
    assert any(name in message for name in names), f"{what}: {message}"
    return message


def saved_files(folder: Path) -> list[tuple[Callable[[Path], Any], Path]]:
    """Write a result with decisions, a predictor, and an open run that was changed."""

    trace = gs.generate("philly", jobs=60, load=0.9, seed=3)
    cluster = gs.traces.smallest_cluster(trace)
    result = gs.simulate(trace, cluster, policy="srtf", placement="consolidated")
    result.wall_s = 0.25  # the same file each time
    result.save(folder / "result.npz")
    learner("group-mean").train(trace).save(folder / "model.npz")
    run = gs.Simulation(trace, cluster, policy="srtf")
    run.run_until(3600)
    run.cancel(int(run.state.running[0]))
    run._wall_s = 0.25
    run.save(folder / "monday.run")
    return [
        (gs.load_result, folder / "result.npz"),
        (gs.prediction.load_predictor, folder / "model.npz"),
        (gs.resume, folder / "monday.run"),
    ]


def check(num_cases: int, seed: int, only: str = "") -> dict[str, int]:
    """Change files, or that one only, and load them; count the changes, which are all refused."""
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = saved_files(folder)
        whole = [
            (load, path.read_bytes(), taken_apart(path))
            for load, path in files
            if only in ("", path.stem)
        ]
        weights = (0.5, 0.25, 0.25) if len(whole) == 3 else (1.0,)
        for load, data, parts in whole:
            assert put_together(parts) == data
            path = folder / "same.npz"
            path.write_bytes(data)
            load(path)
        for case in range(num_cases):
            draw = random.Random(f"{seed}/{case}")
            load, data, parts = draw.choices(whole, weights)[0]
            what, made = changed(data, parts, draw)
            if made == data:  # a field that was changed to what it was
                continue
            check_refused(load, folder / "changed.npz", f"case {case}, {what}", parts, made)
            counts[what] = counts.get(what, 0) + 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("result", "model", "monday"), default="")
    given = parser.parse_args()
    counts = check(given.cases, given.seed, given.only)
    for what in sorted(counts):
        print(f"{counts[what]:8,}  {what}")
    print(f"{sum(counts.values()):8,}  changed files, each refused by name")


if __name__ == "__main__":
    main()
