"""Predictors that learn from finished jobs: records, histories, and the files that keep them."""

from __future__ import annotations

import copy
import hashlib
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from gpusched.base import container
from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.files import naming
from gpusched.base.ticks import MAX_SERVICE_US, us_to_seconds
from gpusched.prediction.choose import predictor
from gpusched.prediction.history import LABELS, CompletionLog, JobKeys, Records
from gpusched.prediction.interface import UNKNOWN_US, Costs, Predictor
from gpusched.prediction.online import finish_ticks, replay_history
from gpusched.prediction.registry import PredictorChoice
from gpusched.traces.trace_store import stored_column
from gpusched.traces.workload import Trace

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
        """Return what a file holds of it; :func:`gpusched.prediction.choose.trained` reads it."""
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
