"""Predictors that learn from finished jobs: what is known of these by key, and the files of it.

Those that need no model are here as well: a figure of the jobs of the same kind.
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

    def first_known(self, figure: Callable[[str, Int64], Float64], rows: Int64) -> Float64:
        """Return a figure of each row's kind, else of its group, else of its user; NaN for none."""
        known: Float64 = np.full(len(rows), np.nan)
        for level in ("kind", "group", "user"):
            missing = np.flatnonzero(np.isnan(known))
            if len(missing):
                known[missing] = figure(level, rows[missing])
        return known

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


KIND: Final = container.Kind("gpusched-predictor", 2)


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of itself: the predictor as text, and the names of the labels."""

    predictor: str
    names: dict[str, tuple[str, ...]]
    features: tuple[str, ...]


def write_model(
    path: str | os.PathLike[str], header: Header, arrays: Mapping[str, AnyArray]
) -> None:
    """Write a model; a file that is already there is replaced only by a complete one."""
    container.write(path, KIND, msgspec.json.encode(header), arrays)


def read_model(
    path: str | os.PathLike[str], *, max_bytes: int | None = None
) -> tuple[Header, dict[str, AnyArray]]:
    """Read the header and the arrays, whose types and shapes the caller has still to check.

    Raises
    ------
    ValueError
        If the file is anything else, or was changed; the message names the member.
    """
    encoded, arrays = container.read(path, KIND, max_bytes=max_bytes)
    return msgspec.json.decode(encoded, type=Header, strict=True), arrays


COUNTS: Final = ("service", "iterations")
"""What is learned of finished jobs."""
COUNTS_NOTE: Final = (
    "service: in seconds; iterations: how many, times what one takes on the empty cluster, under "
    "speeds that know it"
)


class Learner(Predictor):
    """A predictor that learns from finished jobs of the same kind.

    Subclasses write :meth:`_predict`. With :attr:`counts_iterations` all that they see of services
    is their iterations, as if each took a second. What it was trained on before (:meth:`train`,
    :func:`gpusched.prediction.load_predictor`) stays when a run begins; labels are matched by name.
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
        assert self.trace is not None, "begin() comes first"
        service_us = self.trace.service_us[jobs]
        if self._unit_s is not None:
            counted = np.rint(service_us / self._unit_s[jobs])
            service_us = np.clip(counted, 1, MAX_SERVICE_US).astype(np.int64)
        self.log.observe(jobs + len(self.records), service_us)

    def predict(self, jobs: Int64) -> Float64:
        """Predict, and note which jobs are of a kind that has finished before."""
        rows = jobs + len(self.records)
        self._covered[jobs] = self.log.of["kind"].finished(rows) > 0
        found = self._predict(jobs, rows)
        if self._unit_s is not None:
            found = np.minimum(found * self._unit_s[jobs], MAX_SERVICE_US)
        predicted_us = np.maximum(np.rint(found), 1)
        return us_to_seconds(predicted_us.astype(np.int64))

    def _seconds_of_units(self) -> Float64 | None:
        """Return the seconds of an iteration of each job, None where seconds are counted."""
        if not self.counts_iterations:
            return None
        if self.iteration_s is None:
            raise ValueError(
                f"predictor {self}: how long iterations take is known in a run alone, by its "
                "cluster and its speed"
            )
        return np.where(self.iteration_s > 0, self.iteration_s, 1.0)

    @abstractmethod
    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        """Return microseconds; ``rows`` are the rows of ``jobs`` in keys and histories."""

    @property
    def covered(self) -> Bool | None:
        """Per job, whether one of its kind had finished before it was predicted."""
        return self._covered

    def clone(self) -> Self:
        """Return a copy with the same records that takes part in no run."""
        other = copy.copy(self)
        other.trace = other.poll = other.iteration_s = None
        other._is_training = False
        return other

    def train(self, trace: Trace, finish_s: ArrayLike | None = None, seed: int = 0) -> Self:
        """Return a predictor that also knows the jobs of ``trace``; this one stays as it is.

        Parameters
        ----------
        finish_s
            When each job finished, NaN for those that did not: a result's ``jobs["finish_s"]``.
            None: each job ended its service after its submission.
        seed
            Of what the predictor draws.
        """
        other = self.clone()
        other._is_training = True
        finish_us = None if finish_s is None else finish_ticks(finish_s, len(trace))
        replay_history(trace, other, finish_us, seed)
        return other._trained()

    def _trained(self) -> Self:
        other = self.clone()
        rows = self.log.last(len(self.log))
        other.records = self.keys.records_of(rows, self.log.service_us[rows])
        return other

    @property
    def label(self) -> str:
        """The text, followed by a fingerprint of what it was trained on before."""
        if not len(self.records):
            return str(self)
        names = {label: list(self.records.names[label]) for label in LABELS}
        sha = hashlib.sha256(msgspec.json.encode(names))
        for name, array in sorted(self._arrays().items()):
            sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
            sha.update(np.ascontiguousarray(array).tobytes())
        return f"{self}@{sha.hexdigest()[:12]}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what it was trained on; :func:`gpusched.prediction.load_predictor` reads it.

        The file holds arrays and names only. It tells users, groups and run times of the
        training jobs to anyone who reads it.

        Raises
        ------
        ValueError
            If nothing was trained.
        """
        if not len(self.records):
            raise ValueError(f"predictor {self}: nothing is trained; save what train() returns")
        header, arrays = self.stored()
        write_model(path, header, arrays)

    def stored(self) -> tuple[Header, dict[str, AnyArray]]:
        """Return what a file holds of it; :func:`trained` reads it."""
        names = {label: tuple(self.records.names[label]) for label in LABELS}
        return Header(str(self), names, self.feature_names), self._arrays()

    def _arrays(self) -> dict[str, AnyArray]:
        """Return all that was trained as plain arrays."""
        records = self.records
        return {
            **{f"records.{label}": records.codes[label] for label in LABELS},
            "records.gpus": records.gpus,
            "records.service_us": records.service_us,
        }

    def restore(self, header: Header, arrays: dict[str, Any]) -> None:
        """Take what :meth:`save` wrote; arrays are checked and taken out of the mapping."""
        if header.features != self.feature_names:
            raise ValueError(f"header.features: expected {self.feature_names}")
        self.records = _checked_records(header.names, arrays)

    def _or_all(self, known: AnyArray, all_us: float) -> AnyArray:
        """Fill up by what holds for all jobs, and by an hour while none has finished."""
        return np.where(np.isnan(known), all_us if len(self.log) else UNKNOWN_US, known)


def _checked_records(names: Mapping[str, tuple[str, ...]], arrays: dict[str, Any]) -> Records:
    service_us = take(arrays, "records.service_us", np.int64, (None,))
    num = len(service_us)
    gpus = take(arrays, "records.gpus", np.int32, (num,))
    require(num > 0, "records.service_us", "is empty")
    require(
        bool(service_us.min() > 0 and service_us.max() <= 2**53), "records.service_us", "is no time"
    )
    require(bool(gpus.min() > 0), "records.gpus", "has a width below 1")
    codes = {}
    for label in LABELS:
        field = f"records.{label}"
        codes[label] = take(arrays, field, np.int32, (num,))
        is_inside = -1 <= codes[label].min() <= codes[label].max() < len(names[label])
        require(bool(is_inside), field, "points outside of the names")
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
    """Read a trained predictor that its method ``save`` wrote.

    Nothing in the file is run, and all of it is checked: types, shapes, ranges, checksum.

    Parameters
    ----------
    max_bytes
        A longer file is refused before it is read; default: 4 GiB.
    parameters
        Replace those that it was saved with, such as ``mode="frozen"``.

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
    """Return the predictor that a file tells of; a ValueError names what is wrong with it."""
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
_BATCH_NOTE = "most jobs predicted together, 0 for 1/500 of those so far (at most 1,000)"


class _OfKinds(Learner):
    """Has a figure of the jobs of the same kind, and else of more and more other jobs."""

    limits: ClassVar = {"batch_jobs": _BATCH}
    choices: ClassVar = {"counts": COUNTS}
    notes: ClassVar = {"batch_jobs": _BATCH_NOTE, "counts": COUNTS_NOTE}

    def __init__(self, batch_jobs: int, counts: str) -> None:
        super().__init__(counts)
        self.batch_jobs = batch_jobs


@register_predictor("group-mean")
class GroupMean(_OfKinds):
    """The mean service of the same user and group, of the group, of the user, else the median."""

    source = "common practice; the order of what is asked is ours"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known = self.log.first_known(lambda level, rows: self.log.of[level].mean_us(rows), rows)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("last-value")
class LastValue(_OfKinds):
    """The service of the job of the same user and group that finished last, else as group-mean."""

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
    """A quantile of the last services of the same user and group, of the group, user, or all."""

    source = "common practice; a high quantile guards against underestimates"
    limits: ClassVar = {"q": (0, 1), "window": (1, 1000), "batch_jobs": _BATCH}
    notes: ClassVar = {
        "q": "0.5 is the median",
        "window": "of the last so many finished jobs",
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
