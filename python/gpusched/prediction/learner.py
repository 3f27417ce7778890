"""Predictors that learn from finished jobs: their history by key, and its files.

Includes the predictors without a model, which use a statistic of the same job template.
"""

from __future__ import annotations

import copy
import hashlib
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from gpusched.base import container
from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64
from gpusched.base.files import naming
from gpusched.base.ticks import MAX_SERVICE_US, us_to_seconds
from gpusched.prediction.choose import predictor
from gpusched.prediction.interface import UNKNOWN_US, Costs, Predictor
from gpusched.prediction.online import finish_ticks, replay_history
from gpusched.prediction.registry import PredictorChoice, register_predictor
from gpusched.traces.trace_store import stored_column
from gpusched.traces.workload import Trace

LABELS: Final = ("user", "group", "queue", "gpu_types", "model")
NONE: Final = -1
"""Code of a job without such a label."""

Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Records:
    """Finished jobs of earlier traces, in the order of their finishes.

    ``names``, ``codes``: for each of :data:`LABELS` the names, and per job the index of its name or
        -1.
    ``gpus``, ``service_us``: number of GPUs, and run time in microseconds.
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
    """One row per record and then one per job of the trace: label codes and templates.

    A code is the number of earlier names, so later jobs do not change it. A *kind* is a job
    template: the jobs of one user and group, or without a group of one user, queue and size.

    ``num_records``: number of rows before those of the trace.
    ``names``, ``codes``: as in :class:`Records`.
    ``gpus``: number of GPUs.
    ``kind``, ``width``: int32 keys: number of the template, and of the job size.
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
        """Number the labels of ``trace``; labels in ``records`` keep their codes."""
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

    def times_before(self) -> Int64:
        """Return the number of earlier rows of the same template."""
        order, is_first = _runs(self.kind)
        position = np.arange(len(order), dtype=np.int64)
        begin = np.maximum.accumulate(np.where(is_first, position, 0))
        counts = np.empty(len(order), np.int64)
        counts[order] = position - begin
        return counts

    def gap_s(self, submit_us: Int64) -> Float64:
        """Return the seconds since the last submission of the same template, -1 for none.

        Submissions of records are unknown.
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
    """Number ``names`` in the order of their first jobs, after the ``known`` ones."""
    number = {name: code for code, name in enumerate(known)}
    number[""] = NONE
    used, first = np.unique(codes, return_index=True)
    target = np.full(len(names) + 1, NONE, np.int32)  # the last entry is for code -1
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
    """Number the distinct rows of the columns, in any order."""
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
"""Number of last finished jobs in the global median."""


class History:
    """Finished rows of each key, the last one first.

    Rows without a key (-1) are omitted. Attributes count per key; the last entry is 0, for "no
    key", so that arrays may be indexed by keys.
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
        self._last[key] = rows  # the last row of a repeated key wins

    def finished(self, rows: Int64) -> Int64:
        """Return the number of finished jobs with each row's key."""
        return self.count[self.key[rows]]

    def mean_us(self, rows: Int64) -> Float64:
        """Return the mean run time, NaN without one."""
        return _ratio(self.total_us[self.key[rows]], self.finished(rows))

    def mean_log(self, rows: Int64) -> Float64:
        """Return the mean logarithm of the run time in seconds, NaN without one."""
        return _ratio(self.total_log[self.key[rows]], self.finished(rows))

    def recent(self, rows: Int64, depth: int) -> Int64:
        """Return the last ``depth`` rows that finished, the newest first, padded by -1.

        Columns beyond the longest history are omitted.
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
    """All finished rows in order, with histories by template, group, user, queue and size."""

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
        """Add ``rows`` in the order of their finishes."""
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

    def first_known(self, figure: Callable[[str, Int64], Float64], rows: Int64) -> Float64:
        """Return a statistic of each row's template, else group, else user; NaN for none."""
        known: Float64 = np.full(len(rows), np.nan)
        for level in ("kind", "group", "user"):
            missing = np.flatnonzero(np.isnan(known))
            if len(missing):
                known[missing] = figure(level, rows[missing])
        return known

    def recent_us(self) -> Int64:
        """Return the run times of the last :data:`RECENT` finished jobs."""
        return self.service_us[self.last(RECENT)]

    def quantile_us(self, level: str, rows: Int64, q: float, depth: int) -> Float64:
        """Return a quantile of the last ``depth`` run times of each row's key, NaN for none.

        Interpolated as by :func:`numpy.quantile`.
        """
        recent = self.of[level].recent(rows, depth)
        return quantiles(np.where(recent < 0, np.nan, self.service_us[recent]), (q,))[0]


def quantiles(values: Float64, shares: Sequence[float]) -> list[Float64]:
    """Return quantiles of each row of ``values``, ignoring NaNs; NaN if all are NaN."""
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


KIND: Final = container.Kind("gpusched-predictor", 2)


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Header of a file: the predictor as text, and the label names."""

    predictor: str
    names: dict[str, tuple[str, ...]]
    features: tuple[str, ...]


def write_model(
    path: str | os.PathLike[str], header: Header, arrays: Mapping[str, AnyArray]
) -> None:
    """Write a model atomically."""
    container.write(path, KIND, msgspec.json.encode(header), arrays)


def read_model(
    path: str | os.PathLike[str], *, max_bytes: int | None = None
) -> tuple[Header, dict[str, AnyArray]]:
    """Read the header and the arrays; the caller must check types and shapes."""
    encoded, arrays = container.read(path, KIND, max_bytes=max_bytes)
    return msgspec.json.decode(encoded, type=Header, strict=True), arrays


COUNTS: Final = ("service", "iterations")
"""What a learner learns from finished jobs."""
COUNTS_NOTE: Final = (
    "service: run time in seconds; iterations: their number, times the iteration time on the empty "
    "cluster, under speeds that have one"
)


class Learner(Predictor):
    """A predictor that learns from finished jobs of the same template.

    Subclasses implement :meth:`_predict`. With :attr:`counts_iterations` they see run times as
    iterations of one second. Earlier training (:meth:`train`,
    :func:`gpusched.prediction.load_predictor`) is kept when a run begins; labels match by name.
    """

    feature_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, counts: str = COUNTS[0]) -> None:
        self.counts = counts
        self.counts_iterations = counts == "iterations"
        self.records = Records()
        self.trace: Trace | None = None
        self._is_training = False

    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Number the labels and start with the records of earlier traces."""
        self.trace = trace
        self.seed = seed
        self.costs = Costs()
        self.keys = JobKeys.of(self.records, trace)
        self.log = CompletionLog(self.keys)
        self._unit_s = self._seconds_of_units()
        self._covered = np.zeros(len(trace), np.bool_)
        if len(self.records):
            rows = np.arange(len(self.records), dtype=np.int64)
            self.log.observe(rows, self.records.service_us)

    def observe(self, jobs: Int64, finish_s: Float64) -> None:
        """Add finished jobs to the histories."""
        assert self.trace is not None, "call begin() first"
        service_us = self.trace.service_us[jobs]
        if self._unit_s is not None:
            counted = np.rint(service_us / self._unit_s[jobs])
            service_us = np.clip(counted, 1, MAX_SERVICE_US).astype(np.int64)
        self.log.observe(jobs + len(self.records), service_us)

    def predict(self, jobs: Int64) -> Float64:
        """Predict, and record which jobs have a template with finished jobs."""
        rows = jobs + len(self.records)
        self._covered[jobs] = self.log.of["kind"].finished(rows) > 0
        found = self._predict(jobs, rows)
        if self._unit_s is not None:
            found = np.minimum(found * self._unit_s[jobs], MAX_SERVICE_US)
        predicted_us = np.maximum(np.rint(found), 1)
        return us_to_seconds(predicted_us.astype(np.int64))

    def _seconds_of_units(self) -> Float64 | None:
        """Return the iteration time of each job, None if run times are counted."""
        if not self.counts_iterations:
            return None
        if self.iteration_s is None:
            raise ValueError(
                f"predictor {self}: iteration times are known only in a run, from its cluster and "
                "speed"
            )
        return np.where(self.iteration_s > 0, self.iteration_s, 1.0)

    @abstractmethod
    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        """Return microseconds; ``rows`` are the rows of ``jobs`` in keys and histories."""

    @property
    def covered(self) -> Bool | None:
        """Per job, whether its template had a finished job when it was predicted."""
        return self._covered

    def clone(self) -> Self:
        """Return a copy outside any run, with the same records."""
        other = copy.copy(self)
        other.trace = other.poll = other.iteration_s = None
        other._is_training = False
        return other

    def train(self, trace: Trace, finish_s: ArrayLike | None = None, seed: int = 0) -> Self:
        """Return a copy that is also trained on ``trace``; this one is unchanged.

        ``finish_s``: finish time of each job, NaN if unfinished: a result's ``jobs["finish_s"]``.
            None: each job finished its run time after submission.
        ``seed``: seed of the predictor's random choices.
        """
        other = self.clone()
        other._is_training = True
        finish_us = None if finish_s is None else finish_ticks(finish_s, len(trace))
        replay_history(trace, other, finish_us, seed)
        return other._trained()

    def _trained(self) -> Self:
        other = self.clone()
        rows = self.log.last(len(self.log))
        codes = {label: codes[rows] for label, codes in self.keys.codes.items()}
        other.records = Records(
            self.keys.names, codes, self.keys.gpus[rows], self.log.service_us[rows]
        )
        return other

    @property
    def label(self) -> str:
        """The text, followed by a fingerprint of earlier training."""
        if not len(self.records):
            return str(self)
        names = {label: list(self.records.names[label]) for label in LABELS}
        sha = hashlib.sha256(msgspec.json.encode(names))
        for name, array in sorted(self._arrays().items()):
            sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
            sha.update(np.ascontiguousarray(array).tobytes())
        return f"{self}@{sha.hexdigest()[:12]}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the training for :func:`gpusched.prediction.load_predictor`.

        The file holds arrays and names only. It reveals users, groups and run times of the
        training jobs.
        """
        if not len(self.records):
            raise ValueError(f"predictor {self}: is untrained; save the result of train()")
        header, arrays = self.stored()
        write_model(path, header, arrays)

    def stored(self) -> tuple[Header, dict[str, AnyArray]]:
        """Return the contents of a file for :func:`trained`."""
        names = {label: tuple(self.records.names[label]) for label in LABELS}
        return Header(str(self), names, self.feature_names), self._arrays()

    def _arrays(self) -> dict[str, AnyArray]:
        """Return the training as plain arrays."""
        records = self.records
        return {
            **{f"records.{label}": records.codes[label] for label in LABELS},
            "records.gpus": records.gpus,
            "records.service_us": records.service_us,
        }

    def restore(self, header: Header, arrays: dict[str, Any]) -> None:
        """Restore what :meth:`save` wrote; check arrays and remove them from the mapping."""
        if header.features != self.feature_names:
            raise ValueError(f"header.features: expected {self.feature_names}")
        self.records = _checked_records(header.names, arrays)

    def _or_all(self, known: AnyArray, all_us: float) -> AnyArray:
        """Fill gaps with the value of all jobs, or an hour before any has finished."""
        return np.where(np.isnan(known), all_us if len(self.log) else UNKNOWN_US, known)


def _checked_records(names: Mapping[str, tuple[str, ...]], arrays: dict[str, Any]) -> Records:
    service_us = take(arrays, "records.service_us", np.int64, (None,))
    num = len(service_us)
    gpus = take(arrays, "records.gpus", np.int32, (num,))
    require(num > 0, "records.service_us", "is empty")
    require(
        0 < service_us.min() <= service_us.max() <= 2**53, "records.service_us", "is not a time"
    )
    require(bool(gpus.min() > 0), "records.gpus", "must be at least 1")
    codes = {}
    for label in LABELS:
        field = f"records.{label}"
        codes[label] = take(arrays, field, np.int32, (num,))
        is_inside = -1 <= codes[label].min() <= codes[label].max() < len(names[label])
        require(bool(is_inside), field, "is outside the names")
    return Records(names, codes, gpus, service_us)


def take(arrays: dict[str, Any], field: str, dtype: Any, shape: tuple[int | None, ...]) -> AnyArray:
    """Remove and return an array of this type and shape (None: any length); else ValueError."""
    array = stored_column(arrays, field, dtype, *shape)
    del arrays[field]
    return array


def require(holds: bool, field: str, problem: str) -> None:
    """Raise a ValueError that names the field of a file unless ``holds``."""
    if not holds:
        raise ValueError(f"{field} {problem}")


def load_predictor(
    path: str | os.PathLike[str], *, max_bytes: int | None = None, **parameters: Any
) -> Learner:
    """Load a trained predictor that was saved with its method ``save``.

    Nothing in the file is executed, and types, shapes, ranges and checksum are checked.

    Parameters
    ----------
    max_bytes
        Largest size of the file in bytes; default: 4 GiB.
    parameters
        Replacements for its saved parameters, such as ``mode="frozen"``.

    Returns
    -------
    Predictor
        As it was saved, ready for :func:`gpusched.simulate`.

    Raises
    ------
    ValueError
        If the file is not a saved predictor, or was changed; the message names file and field.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> gs.prediction.predictor("last-value").train(trace).save("model.npz")
    >>> str(gs.prediction.load_predictor("model.npz"))
    'last-value'
    """
    with naming(path, "not a readable gpusched predictor"):
        return trained(*read_model(path, max_bytes=max_bytes), **parameters)


def trained(header: Header, arrays: dict[str, AnyArray], **parameters: Any) -> Learner:
    """Return the predictor in a file's contents; a ValueError names the invalid field."""
    if set(header.names) != set(LABELS):
        raise ValueError(f"header.names: must hold {', '.join(LABELS)}")
    saved = PredictorChoice.parse(header.predictor)
    loaded = predictor(PredictorChoice(saved.name, **{**saved.parameters, **parameters}))
    if not isinstance(loaded, Learner):
        raise ValueError(f"header.predictor: {header.predictor!r} learns nothing")
    loaded.restore(header, arrays)
    if arrays:
        raise ValueError(f"{min(arrays)} is not expected")
    return loaded


_BATCH = (0, 1_000_000)
_BATCH_NOTE = "most jobs predicted together; 0: 1/500 of those so far (at most 1,000)"


class _OfKinds(Learner):
    """Predicts by a statistic of the same template, else of successively larger groups."""

    limits: ClassVar = {"batch_jobs": _BATCH}
    choices: ClassVar = {"counts": COUNTS}
    notes: ClassVar = {"batch_jobs": _BATCH_NOTE, "counts": COUNTS_NOTE}

    def __init__(self, batch_jobs: int, counts: str) -> None:
        super().__init__(counts)
        self.batch_jobs = batch_jobs


@register_predictor("group-mean")
class GroupMean(_OfKinds):
    """The mean run time of the same user and group, else of the group, the user, or the median."""

    source = "common practice; the order of the groups is ours"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known = self.log.first_known(lambda level, rows: self.log.of[level].mean_us(rows), rows)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("last-value")
class LastValue(_OfKinds):
    """The run time of the last finished job of the same user and group, else as group-mean."""

    source = "common practice (Tsafrir et al., TPDS 2007, average the last two of a user)"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        def last(level: str, rows: Int64) -> Float64:
            found = self.log.of[level].recent(rows, 1)[:, 0]
            return np.where(found < 0, np.nan, self.log.service_us[found])

        known = self.log.first_known(last, rows)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("quantile")
class Quantile(_OfKinds):
    """A quantile of recent run times of the same user and group, else of the group, user or all."""

    source = "common practice; a high quantile guards against underestimates"
    limits: ClassVar = {"q": (0, 1), "window": (1, 1000), "batch_jobs": _BATCH}
    notes: ClassVar = {
        "q": "quantile; 0.5 is the median",
        "window": "number of last finished jobs",
        "batch_jobs": _BATCH_NOTE,
        "counts": COUNTS_NOTE,
    }

    def __init__(
        self, q: float = 0.5, window: int = 100, batch_jobs: int = 0, counts: str = "service"
    ) -> None:
        super().__init__(batch_jobs, counts)
        self.q = q
        self.window = window

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known = self.log.first_known(
            lambda level, rows: self.log.quantile_us(level, rows, self.q, self.window), rows
        )
        finished = self.log.recent_us()
        everyone = float(np.quantile(finished, self.q)) if len(finished) else np.nan
        return self._or_all(known, everyone)


def _median(values: Int64) -> float:
    return float(np.median(values)) if len(values) else np.nan
