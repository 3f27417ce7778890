"""What finished jobs took, by key: counts, means and last values, updated in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64
from gpusched.base.ticks import us_to_seconds
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


LEVELS: Final = ("kind", "group", "user", "queue", "width")
RECENT: Final = 1000
"""The global median is that of the last so many finished jobs."""


class History:
    """Finished rows of each key, the last one first.

    Rows without a key (-1) are left out. Attributes count per key; the last entry is 0 and stands
    for "no key", so that arrays may be indexed by keys as they are.
    """

    def __init__(self, key: Int32) -> None:
        num_keys = int(key.max(initial=-1)) + 1
        self.key = key
        self.count = np.zeros(num_keys + 1, np.int64)
        self.total_us = np.zeros(num_keys + 1, np.int64)
        self.total_log = np.zeros(num_keys + 1, np.float64)
        self._last = np.full(num_keys + 1, -1, np.int64)
        self._before = np.full(len(key) + 1, -1, np.int64)

    def observe(self, rows: Int64, service_us: Int64, log_s: Float64) -> None:
        """Add ``rows`` in this order."""
        key = self.key[rows]
        if key.min(initial=0) < 0:
            known = key >= 0
            rows, service_us, log_s, key = rows[known], service_us[known], log_s[known], key[known]
        if not len(rows):
            return
        np.add.at(self.count, key, 1)
        np.add.at(self.total_us, key, service_us)
        np.add.at(self.total_log, key, log_s)
        order = np.argsort(key, kind="stable")
        rows, key = rows[order], key[order]
        is_new = np.ones(len(rows), np.bool_)
        is_new[1:] = key[1:] != key[:-1]
        self._before[rows[1:]] = rows[:-1]
        self._before[rows[is_new]] = self._last[key[is_new]]
        self._last[key] = rows  # of a key that occurs several times the last one stays

    def finished(self, rows: Int64) -> Int64:
        """Return how many jobs with the key of each row have finished."""
        return self.count[self.key[rows]]

    def mean_us(self, rows: Int64) -> Float64:
        """Return the mean service, NaN where there is none."""
        return _ratio(self.total_us[self.key[rows]], self.finished(rows))

    def mean_log(self, rows: Int64) -> Float64:
        """Return the mean of the logarithm of the service in seconds, NaN where there is none."""
        return _ratio(self.total_log[self.key[rows]], self.finished(rows))

    def recent(self, rows: Int64, depth: int) -> Int64:
        """Return the last ``depth`` rows that finished, the newest first, padded by -1.

        The columns beyond the longest history are left out.
        """
        row = self._last[self.key[rows]]
        columns = [row]
        for _ in range(depth - 1):
            row = self._before[row]
            if row.max(initial=-1) < 0:
                break
            columns.append(row)
        return np.stack(columns, axis=1)


class CompletionLog:
    """All finished rows in order, and their histories by kind, group, user, queue and width."""

    def __init__(self, keys: JobKeys) -> None:
        self.of = {
            "kind": History(keys.kind),
            "width": History(keys.width),
            **{label: History(keys.codes[label]) for label in ("group", "user", "queue")},
        }
        # One more entry, for "no row" (-1) in a padded matrix.
        self.service_us = np.zeros(len(keys) + 1, np.int64)
        self.log_s = np.full(len(keys) + 1, np.nan)
        self.total_log = 0.0
        self._order = np.empty(len(keys), np.int64)
        self._num = 0

    def __len__(self) -> int:
        return self._num

    def observe(self, rows: Int64, service_us: Int64) -> None:
        """Add ``rows`` in the order in which they finished."""
        log_s = np.log(us_to_seconds(service_us))
        self.service_us[rows] = service_us
        self.log_s[rows] = log_s
        self.total_log += float(log_s.sum())
        self._order[self._num : self._num + len(rows)] = rows
        self._num += len(rows)
        for history in self.of.values():
            history.observe(rows, service_us, log_s)

    def last(self, num: int) -> Int64:
        """Return the last ``num`` finished rows (all, if there are fewer), the oldest first."""
        return self._order[max(0, self._num - num) : self._num]

    def recent_us(self) -> Int64:
        """Return the services of the last :data:`RECENT` finished jobs."""
        return self.service_us[self.last(RECENT)]

    def quantile_us(self, level: str, rows: Int64, q: float, depth: int) -> Float64:
        """Return a quantile of the last ``depth`` services of each row's key, NaN for none.

        Between two services it is interpolated, as :func:`numpy.quantile` does.
        """
        recent = self.of[level].recent(rows, depth)
        return quantiles(np.where(recent < 0, np.nan, self.service_us[recent]), (q,))[0]


def quantiles(values: Float64, shares: Sequence[float]) -> list[Float64]:
    """Return quantiles of each row of ``values`` without its NaNs, NaN if it has no others."""
    ordered = np.sort(values, axis=1)  # NaNs last
    last = np.maximum(np.count_nonzero(~np.isnan(values), axis=1) - 1, 0)
    each = np.arange(len(values))
    found = []
    for share in shares:
        place = share * last
        below = place.astype(np.int64)
        low, high = ordered[each, below], ordered[each, np.minimum(below + 1, last)]
        found.append(low + (high - low) * (place - below))
    return found


def _ratio(total: AnyArray, count: Int64) -> Float64:
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
