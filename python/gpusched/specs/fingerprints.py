"""The fingerprint of a trace: SHA-256 over everything in it that a run may read.

It covers the fields of the data class, so new columns are included.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.labels import Labels
from gpusched.base.memo import Memo

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

DECIDES_NOTHING: Final[Mapping[str, str]] = {
    "name": "a title, which the specification holds",
    "source": "origin of the jobs, which the specification holds",
    "rejects": "rejected rows of the source",
    "notes": "remarks on how the source was read",
}
"""Fields of a trace that its fingerprint omits, and why."""

# The column that each index refers to. The entry is part of each job's value.
_TABLES: Final = {"type_set": "type_sets"}


def fingerprint(trace: Trace) -> str:
    """Return the SHA-256 of everything that a run may read of ``trace``, as hexadecimal text.

    Includes all fields except :data:`DECIDES_NOTHING`, by name, in the order of their names, and
    omits fields that are None, so a missing column differs from one of defaults. The result is
    independent of the layout of arrays, the machine and the numbering of texts:

    - integers: type, count, and values in the fewest bytes (1, 2, 4, 8; unsigned if none is
      negative; little-endian) that hold them all; only the first value if each is one more than
      the one before;
    - floats: the same as IEEE 754 doubles, bit by bit;
    - texts: the code points, padded by zeros to the longest, as such integers;
    - labels and sets of GPU types: those of the jobs, sorted, as JSON, and each job's index;
    - everything else (profiles, graphs, times): as JSON with sorted keys and every field.
    """
    return _fingerprints.of(trace, None, lambda: _computed(trace))


# A comparison needs it once per policy.
_fingerprints: Memo[Trace, str] = Memo(1)


def _computed(trace: Trace) -> str:
    sha = hashlib.sha256(b"gpusched trace 1")
    for name in sorted(field.name for field in dataclasses.fields(trace)):
        value = getattr(trace, name)
        if name in DECIDES_NOTHING or value is None:
            continue
        if name in _TABLES:
            _feed_numbered(sha, name, value, getattr(trace, _TABLES[name]))
        elif isinstance(value, Labels):
            _feed_numbered(sha, name, value.codes, value.names)
        elif isinstance(value, np.ndarray):
            _feed_array(sha, name, value)
        elif name not in _TABLES.values():
            _feed(sha, name, "json", _json(value))
    return sha.hexdigest()


def _feed(sha: Any, name: str, kind: str, data: Any, length: int | None = None) -> None:
    """Hash one piece, framed so that different lists of pieces differ."""
    size = memoryview(data).nbytes
    sha.update(_json([name, kind, size if length is None else length, size]) + b"\n")
    sha.update(data)


def _feed_numbered(sha: Any, name: str, codes: AnyArray, entries: Sequence[Any]) -> None:
    """Hash the entries of codes, independent of their numbering, without unused entries."""
    has_jobs = np.zeros(len(entries), np.bool_)
    has_jobs[codes] = True
    there = [*map(entries.__getitem__, np.flatnonzero(has_jobs).tolist())]
    used = sorted(set(there))
    stored = _fewest(0, len(used))
    if there == used:  # so numbered, but for those that no job has
        place = (np.cumsum(has_jobs) - 1).astype(stored)
    else:
        number = {entry: place for place, entry in enumerate(used)}
        place = np.array([number.get(entry, 0) for entry in entries], stored)
    _feed(sha, name, "entries", _json(used), len(used))
    _feed(sha, name, f"numbers {stored}", place[codes], len(codes))


def _feed_array(sha: Any, name: str, values: AnyArray) -> None:
    kind, length, called = values.dtype.kind, len(values), values.dtype.name
    if kind == "f":
        _feed(sha, name, called, np.ascontiguousarray(values, "<f8"), length)
        return
    if kind == "U":
        values, called = _code_points(values), "text"
    elif kind not in "iu":
        raise TypeError(f"trace.{name}: has no fingerprint, it holds {values.dtype}")
    elif _counts_up(values):
        _feed(sha, name, f"{called} from", b"%d" % values[0], length)
        return
    stored = _fewest(int(values.min(initial=0)), int(values.max(initial=0)))
    _feed(sha, name, f"{called} {stored}", np.ascontiguousarray(values, stored), length)


def _counts_up(values: AnyArray) -> bool:
    """Return whether each value is one more than the one before, with at least two."""
    if len(values) < 2 or int(values[-1]) - int(values[0]) != len(values) - 1:
        return False
    return bool((values[1:] - values[:-1] == 1).all())


def _code_points(texts: AnyArray) -> AnyArray:
    """Return a row of code points per text, without common padding."""
    width = texts.dtype.itemsize // 4
    if not (width and texts.size):
        return np.empty((len(texts), 0), "<u4")
    ordered = np.ascontiguousarray(texts, texts.dtype.newbyteorder("<"))
    points = ordered.view("<u4").reshape(-1, width)
    while width and not points[:, width - 1].any():
        width -= 1
    return points[:, :width]


def _fewest(low: int, high: int) -> str:
    """Return the narrowest integer type, unsigned if possible, that holds low to high."""
    for size in (1, 2, 4, 8):
        half = 1 << 8 * size - 1
        if low >= 0 and high < 2 * half:
            return f"<u{size}"
        if -half <= low and high < half:
            return f"<i{size}"
    raise OverflowError(f"no integer type holds {low} to {high}")


def _json(value: Any) -> bytes:
    return msgspec.json.encode(_plain(value), order="deterministic")


# By far the most frequent case.
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def _plain(value: Any) -> Any:
    """Turn records into mappings of all their fields.

    An encoder may omit a field that is identical to its default.
    """
    if type(value) in _SCALARS:
        return value
    if isinstance(value, msgspec.Struct):
        return {key: _plain(part) for key, part in msgspec.structs.asdict(value).items()}
    if isinstance(value, list | tuple):
        if _SCALARS.issuperset(map(type, value)):
            return value
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return value
