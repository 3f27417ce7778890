"""The interface of predictors, and their costs."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.plugins.registry import check_spelling
from gpusched.prediction.registry import PREDICTORS, PredictorChoice
from gpusched.traces.workload import Trace

UNKNOWN_US: Final = 3600 * US_PER_S
"""Prediction before any job has finished: one hour."""


_READ: Final = frozenset({
    "name", "needs_truth", "learns", "limits", "choices", "notes", "batch_jobs", "begin", "observe",
    "predict", "covered", "cut_us", "source", "counts_iterations", "iteration_s",
})  # fmt: skip


@dataclass
class Costs:
    """A predictor's time in seconds, and its number of model fits."""

    num_fits: int = 0
    fit_s: float = 0.0
    features_s: float = 0.0


class Predictor(ABC):
    """Predicts run times of jobs at submission.

    A run calls :meth:`begin` once, then alternately :meth:`observe` with the jobs that have
    finished since, and :meth:`predict` with the next jobs to arrive. The truth stays hidden: unless
    :attr:`needs_truth`, the trace of :meth:`begin` has -1 in ``service_us`` (a negative
    ``service_s``) for each job not yet observed, and neither ``status`` nor ``source_wait_us``.

    A subclass registered with :func:`gpusched.register_predictor` can be named in texts.

    Attributes
    ----------
    needs_truth
        Whether it uses true run times, as the oracle does.
    learns
        Whether it uses finished jobs. If not, all jobs are predicted at once.
    column
        The trace's column with its predictions, ``service_us``, ``estimate_us`` or
        ``predicted_us``, which a run reads instead of calling the predictor. Empty if it computes
        them.
    batch_jobs
        Most jobs predicted together, from what is known at the arrival of the first one; 0: 1/500
        of the jobs that arrived so far, at least 1 and at most 1,000.
    counts_iterations
        Whether it needs :attr:`iteration_s` before :meth:`begin`.
    iteration_s
        Fastest iteration of each job on its requested number of GPUs, seconds; NaN if it can never
        run; None outside a run, and unless requested.
    costs
        Time and fits, reset by :meth:`begin`.
    poll
        Call it about once a second in long computations; it raises if the run must end.
    """

    name: ClassVar[str] = ""
    needs_truth: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    column: ClassVar[str] = ""
    limits: ClassVar[Mapping[str, tuple[float | None, float | None]]] = {}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    notes: ClassVar[Mapping[str, str]] = {}
    batch_jobs: int = 0
    counts_iterations: bool = False
    iteration_s: Float64 | None = None
    costs: Costs = Costs()
    poll: Callable[[], None] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Reject misspelt names when the class is defined."""
        super().__init_subclass__(**options)
        known = Predictor.__mro__
        own = {key for kind in cls.__mro__ if kind not in known for key in vars(kind)}
        check_spelling(f"predictor {cls.__name__}", own, _READ)

    @abstractmethod
    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Prepare for the jobs of ``trace``, before any has arrived.

        Returns
        -------
        None
            The predictor is ready for :meth:`observe` and :meth:`predict`.

        Raises
        ------
        ValueError
            If the trace lacks what the predictor needs; the message names it.

        Examples
        --------
        >>> import numpy as np
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 9], [4, 1], user=["ann", "ann"])
        >>> predictor = gs.prediction.predictor("last-value")
        >>> predictor.begin(jobs)
        >>> predictor.predict(np.array([0])).tolist()
        [3600.0]
        """

    def observe(self, jobs: Int64, finish_s: Float64) -> None:  # noqa: B027 - most may ignore it
        """Learn from ``jobs``, which have finished at ``finish_s``, in this order.

        Returns
        -------
        None
            Later predictions may change.

        Raises
        ------
        Exception
            Any error of a subclass; it ends the run.

        Examples
        --------
        >>> import numpy as np
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 9], [4, 1], user=["ann", "ann"])
        >>> predictor = gs.prediction.predictor("last-value")
        >>> predictor.begin(jobs)
        >>> predictor.observe(np.array([0]), np.array([60.0]))
        >>> predictor.predict(np.array([1])).tolist()
        [60.0]
        """

    @abstractmethod
    def predict(self, jobs: Int64) -> Float64:
        """Predict the run times of ``jobs``, which arrive now.

        Values are rounded half to even to microseconds and limited to 1 us and 285 years.

        Returns
        -------
        numpy.ndarray
            Seconds, one for each job, without NaN.

        Raises
        ------
        Exception
            Any error of a subclass; it ends the run.

        Examples
        --------
        >>> import numpy as np
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 9], [4, 1])
        >>> predictor = gs.prediction.predictor("oracle")
        >>> predictor.begin(jobs)
        >>> predictor.predict(np.array([0, 1])).tolist()
        [60.0, 9.0]
        """

    @property
    def covered(self) -> Bool | None:
        """Per job, whether its template had a finished job when it was predicted.

        None if the predictor does not use templates.
        """
        return None

    @property
    def cut_us(self) -> int | None:
        """First submit time whose predictions count, None for all."""
        return None

    def clone(self) -> Self:
        """Return a copy outside any run, with its training.

        Returns
        -------
        Predictor
            The same class and parameters.

        Examples
        --------
        >>> str(gs.prediction.predictor("noise:sigma=0.25").clone())
        'noise:sigma=0.25'
        """
        other = copy.copy(self)
        other.poll = other.iteration_s = None
        return copy.deepcopy(other)

    def predict_trace(self, trace: Trace, seed: int = 0) -> Float64:
        """Predict all jobs of ``trace`` in seconds from current knowledge; do not learn.

        For use outside a simulation. Run times in the trace are ignored unless
        :attr:`needs_truth`.

        Returns
        -------
        numpy.ndarray
            float64[num_jobs], seconds.

        Raises
        ------
        ValueError
            As :meth:`begin`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 9], [4, 1])
        >>> gs.prediction.predictor("last-value").train(jobs).predict_trace(jobs).shape
        (2,)
        """
        other = self.clone()
        other.begin(trace, seed)
        return other.predict(np.arange(len(trace), dtype=np.int64))

    @property
    def label(self) -> str:
        """The name in the specification of a run."""
        return str(self)

    def __str__(self) -> str:
        """Return the name with its non-default parameters."""
        if not self.registered_name:
            return f"python:{type(self).__qualname__}"
        given = {key: value for key, value in self._options().items() if value[0] != value[1]}
        return str(PredictorChoice(self.name, **{key: value[0] for key, value in given.items()}))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def registered_name(self) -> str:
        """The registered name of this class; empty if there is none.

        A subclass of a registered class does not inherit its name.
        """
        info = PREDICTORS.loaded().get(self.name)
        return self.name if info is not None and info.python_class is type(self) else ""

    def _options(self) -> dict[str, tuple[Any, Any]]:
        """Return each parameter of the constructor with its value and its default."""
        return {
            entry.name: (getattr(self, entry.name), entry.default)
            for entry in inspect.signature(type(self)).parameters.values()
            if entry.default is not inspect.Parameter.empty
        }
