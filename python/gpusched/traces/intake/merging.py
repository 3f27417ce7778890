"""Traces of several files as one, on one clock."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64, read_only
from gpusched.base.labels import Labels
from gpusched.base.rejects import Rejects
from gpusched.base.ticks import US_PER_S
from gpusched.traces.assembly import check_horizon
from gpusched.traces.intake.wall_clock import UNIX_EPOCH
from gpusched.traces.job_columns import JOB_COLUMNS, JobColumn, moved

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

_MODELS: Final = ("profile", "graph")
_TICK: Final = timedelta(microseconds=1)
_NUM_SHOWN: Final = 3


def merged(parts: Sequence[Trace], files: Sequence[str]) -> Trace:
    """Return the jobs of all ``parts`` in the order of their submission, then of the files.

    Rows count on from file to file; so do ids that are positions. All other ids stay.

    Parameters
    ----------
    files
        Names the source of each part in messages.

    Raises
    ------
    ValueError
        If the parts have no common clock, or an id is in two of them; the message names both
        files.
    """
    begins = _begins(parts, files)
    first = min(range(len(parts)), key=lambda part: begins[part])
    shifts = [begin - begins[first] for begin in begins]
    ids = _ids(parts, files)
    columns: dict[str, Any] = {"id": np.concatenate(ids), "row": np.concatenate(_rows(parts))}
    columns["submit_us"] = np.concatenate(
        [part.submit_us + shift for part, shift in zip(parts, shifts, strict=True)]
    )
    later = [moved(part, shift) for part, shift in zip(parts, shifts, strict=True)]
    for column in JOB_COLUMNS.values():
        if column.is_numeric and column.stored not in columns:
            columns[column.stored] = _joined(parts, column, later)
    order = np.argsort(columns["submit_us"], kind="stable")
    columns = {
        column: None if values is None else read_only(values[order])
        for column, values in columns.items()
    }
    check_horizon(files[0], columns["submit_us"], columns["service_us"])
    labels = [column for column in JOB_COLUMNS.values() if column.kind == "label"]
    columns |= {column.stored: _labels(parts, column, order) for column in labels}
    columns |= _types(parts, order)
    if any(getattr(part, model) is not None for part in parts for model in _MODELS):
        raise ValueError(f"{files[0]}: traces with profiles or graphs cannot be put together")
    return dataclasses.replace(
        parts[first],
        **columns,
        name=_listed([part.name for part in parts]),
        source=_listed([part.source for part in parts]),
        rejects=_rejects(parts, files),
        notes=_notes(parts),
    )


def _begins(parts: Sequence[Trace], files: Sequence[str]) -> list[int]:
    """Return the tick of each part's second 0 on the clock that all of them have."""

    def kind(part: Trace) -> str:
        if part.epoch is None:
            return "seconds without a date"
        return "dates without a zone" if part.epoch.tzinfo is None else "dates with a zone"

    kinds = [kind(part) for part in parts]
    for file, other in zip(files, kinds, strict=True):
        if other != kinds[0]:
            raise ValueError(
                f"{files[0]} counts submit times in {kinds[0]} and {file} in {other}; they "
                "have no common clock"
            )
    begins = []
    for part in parts:
        if part.epoch is None:
            begins.append(round(part.origin_s * US_PER_S))
        else:
            zone = UTC if part.epoch.tzinfo is not None else None
            begins.append((part.epoch - UNIX_EPOCH.replace(tzinfo=zone)) // _TICK)
    return begins


def _ids(parts: Sequence[Trace], files: Sequence[str]) -> list[AnyArray]:
    ids = [part.id for part in parts]
    if all(_are_positions(part) for part in parts):
        ends = np.cumsum([int(part.id.max()) + 1 for part in parts])
        return [given + end for given, end in zip(ids, [0, *ends[:-1]], strict=True)]
    if any(given.dtype.kind == "U" for given in ids):
        ids = [given.astype(np.str_) for given in ids]
    seen: dict[Any, int] = {}
    for place, given in enumerate(ids):
        for value in given.tolist():
            if seen.setdefault(value, place) != place:
                raise ValueError(
                    f"{files[seen[value]]} and {files[place]}: both have a job {value!r}; an id "
                    "must be unique in all files"
                )
    return ids


def _are_positions(part: Trace) -> bool:
    """Whether ids only count rows: they stand 0 to 2 lines behind them, all of them alike."""
    if part.id.dtype.kind != "i":
        return False
    behind = part.row - part.id
    return 0 <= int(behind[0]) <= 2 and bool((behind == behind[0]).all())


def _rows(parts: Sequence[Trace]) -> list[Int64]:
    ends = np.cumsum([int(part.row.max()) + 1 for part in parts])
    return [part.row + end for part, end in zip(parts, [0, *ends[:-1]], strict=True)]


def _joined(
    parts: Sequence[Trace], column: JobColumn, later: Sequence[Mapping[str, Int64]]
) -> AnyArray | None:
    """Return a column of all jobs; those of a part without it have the default."""
    given = [
        moments.get(column.stored, getattr(part, column.stored))
        for part, moments in zip(parts, later, strict=True)
    ]
    if all(values is None for values in given):
        return None
    return np.concatenate(
        [
            np.full(len(part), column.default, column.dtype) if values is None else values
            for part, values in zip(parts, given, strict=True)
        ]
    )


def _labels(parts: Sequence[Trace], column: JobColumn, order: Int64) -> Labels | None:
    given = [getattr(part, column.stored) for part in parts]
    if all(labels is None for labels in given):
        return None
    number: dict[str, int] = {}
    codes = []
    for part, labels in zip(parts, given, strict=True):
        names = (column.default,) if labels is None else labels.names
        ours = np.array([number.setdefault(name, len(number)) for name in names], np.int32)
        codes.append(ours[np.zeros(len(part), np.int32) if labels is None else labels.codes])
    return Labels(read_only(np.concatenate(codes)[order]), tuple(number))


def _types(parts: Sequence[Trace], order: Int64) -> dict[str, Any]:
    if all(part.type_set is None for part in parts):
        return {"type_sets": (), "type_set": None}
    number: dict[tuple[str, ...], int] = {}
    codes = []
    for part in parts:
        sets = part.type_sets if part.type_set is not None else ((),)
        ours = np.array([number.setdefault(allowed, len(number)) for allowed in sets], np.int32)
        codes.append(
            ours[np.zeros(len(part), np.int32) if part.type_set is None else part.type_set]
        )
    return {"type_sets": tuple(number), "type_set": read_only(np.concatenate(codes)[order])}


def _rejects(parts: Sequence[Trace], files: Sequence[str]) -> Rejects:
    counts, firsts = {}, {}
    for part, file in zip(parts, files, strict=True):
        for reason, count in part.rejects.counts.items():
            counts[f"{file}: {reason}"] = count
            firsts[f"{file}: {reason}"] = part.rejects.first[reason]
    return Rejects(counts, firsts, parts[0].rejects.unit)


def _notes(parts: Sequence[Trace]) -> tuple[str, ...]:
    """Return what all files say once, and what some say with their names."""
    shared = set(parts[0].notes).intersection(*(part.notes for part in parts))
    said = [note for note in parts[0].notes if note in shared]
    said += [f"{part.name}: {note}" for part in parts for note in part.notes if note not in shared]
    return tuple(said)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NUM_SHOWN} more" if len(names) > _NUM_SHOWN else ""
    return " + ".join(names[:_NUM_SHOWN]) + more
