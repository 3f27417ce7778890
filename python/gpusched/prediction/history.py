"""What finished jobs took, by key: counts, means and last values, updated in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64
from gpusched.base.ticks import us_to_seconds
from gpusched.prediction.keys import JobKeys

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
