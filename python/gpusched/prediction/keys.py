"""Who submitted what: the labels of jobs as numbers that depend on the past alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64
from gpusched.traces.workload import Trace

LABELS: Final = ("user", "group", "queue", "gpu_types", "model")
NONE: Final = -1
"""Code of a job without such a label."""

Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Records:
    """Finished jobs of earlier traces, in the order in which they finished.

    Attributes
    ----------
    names, codes
        For each of :data:`LABELS` the names, and per job the index of its name or -1.
    gpus, service_us
        Width, and service in microseconds.
    """

    names: Names = field(default_factory=lambda: dict.fromkeys(LABELS, ()))
    codes: Mapping[str, Int32] = field(
        default_factory=lambda: {label: np.empty(0, np.int32) for label in LABELS}
    )
    gpus: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    service_us: Int64 = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.gpus)


@dataclass(frozen=True, eq=False)
class JobKeys:
    """One row per record and then one per job of the trace: labels as codes, and kinds.

    A code tells how many other names came before: it does not change when later jobs do. A
    *kind* is what recurs: the jobs of one user and group; of jobs without a group those of one
    user, queue and width.

    Attributes
    ----------
    num_records
        Number of rows before those of the trace.
    names, codes
        As in :class:`Records`.
    gpus
        Width.
    kind, width
        int32 keys: number of the kind, and of the width.
    """

    num_records: int
    names: Names
    codes: Mapping[str, Int32]
    gpus: Int32
    kind: Int32
    width: Int32

    def __len__(self) -> int:
        return len(self.gpus)

    @classmethod
    def of(cls, records: Records, trace: Trace) -> JobKeys:
        """Number the labels of ``trace``; those that ``records`` know keep their codes."""
        names: dict[str, tuple[str, ...]] = {}
        codes: dict[str, Int32] = {}
        for label, (own_names, own_codes) in _labels_of(trace).items():
            names[label], numbered = _numbered(records.names[label], own_names, own_codes)
            codes[label] = np.concatenate([records.codes[label], numbered])
        gpus = np.concatenate([records.gpus, trace.gpus])
        is_alone = codes["group"] == NONE
        width = _key_of(gpus)
        kind = _key_of(
            codes["user"],
            codes["group"],
            np.where(is_alone, codes["queue"], NONE),
            np.where(is_alone, width, NONE),
        )
        return cls(len(records), names, codes, gpus, kind, width)

    def records_of(self, rows: Int64, service_us: Int64) -> Records:
        """Return what is known of finished ``rows`` as records for another trace."""
        return Records(
            self.names,
            {label: codes[rows] for label, codes in self.codes.items()},
            self.gpus[rows],
            service_us,
        )

    def times_before(self) -> Int64:
        """Return how many earlier rows are of the same kind."""
        order, is_first = _runs(self.kind)
        position = np.arange(len(order), dtype=np.int64)
        begin = np.maximum.accumulate(np.where(is_first, position, 0))
        counts = np.empty(len(order), np.int64)
        counts[order] = position - begin
        return counts

    def gap_s(self, submit_us: Int64) -> Float64:
        """Return the seconds since the last submission of the same kind, -1 for none.

        Submissions of records are not known.
        """
        order, is_first = _runs(self.kind[self.num_records :])
        gaps = np.empty(len(order), np.float64)
        ordered = submit_us[order]
        gaps[order] = np.where(is_first, -1.0, np.diff(ordered, prepend=0) / 1e6)
        return gaps


def _labels_of(trace: Trace) -> dict[str, tuple[Sequence[str], AnyArray]]:
    nothing = ((), np.full(len(trace), NONE, np.int32))
    found: dict[str, tuple[Sequence[str], AnyArray]] = dict.fromkeys(LABELS, nothing)
    for label in ("user", "group", "queue"):
        labels = getattr(trace, label)
        if labels is not None:
            found[label] = (labels.names, labels.codes)
    if trace.type_set is not None:
        found["gpu_types"] = (["|".join(names) for names in trace.type_sets], trace.type_set)
    for single, several in (("profile", "profiles"), ("graph", "graphs")):
        index = getattr(trace, single, None)
        if index is not None:
            found["model"] = ([model.name for model in getattr(trace, several)], index)
    return found


def _numbered(
    known: tuple[str, ...], names: Sequence[str], codes: AnyArray
) -> tuple[tuple[str, ...], Int32]:
    """Number ``names`` in the order in which jobs bring them up, after the ``known`` ones."""
    number = {name: code for code, name in enumerate(known)}
    number[""] = NONE
    used, first = np.unique(codes, return_index=True)
    target = np.full(len(names) + 1, NONE, np.int32)  # the last one stands for the code -1
    every = list(known)
    for code in used[np.argsort(first)].tolist():
        if code == NONE:
            continue
        if names[code] not in number:
            number[names[code]] = len(every)
            every.append(names[code])
        target[code] = number[names[code]]
    return tuple(every), target[codes]


def _key_of(*columns: AnyArray) -> Int32:
    """Number the distinct rows of the columns (in no order that matters)."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        joint = key * (int(code.max(initial=0)) + 1) + code
        _, key = np.unique(joint, return_inverse=True)
    return key.astype(np.int32)


def _runs(key: Int32) -> tuple[Int64, AnyArray]:
    """Return rows sorted by key and then by number, and where a new key begins."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    is_first = np.ones(len(key), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return order, is_first
