"""The interface: what a predictor is told, what it is asked, and what that costs."""

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
"""Predicted while no job at all has finished: one hour."""


_READ: Final = frozenset({
    "name", "needs_truth", "learns", "limits", "choices", "notes", "batch_jobs", "begin", "observe",
    "predict", "covered", "cut_us", "source", "counts_iterations", "iteration_s",
})  # fmt: skip


@dataclass
class Costs:
    """Where a predictor's time went: seconds, and the number of fits of a model."""

    num_fits: int = 0
    fit_s: float = 0.0
    features_s: float = 0.0


class Predictor(ABC):
    """Says how long jobs will take when they are submitted.

    In a run :meth:`begin` is called once, then in turns :meth:`observe` with the jobs that have
    finished since, and :meth:`predict` with the next jobs to arrive. Nothing else tells a
    predictor the truth: unless :attr:`needs_truth`, the trace it is given has -1 in ``service_us``
    (a negative ``service_s``) for each job that it has not observed, and neither ``status`` nor
    ``source_wait_us``.

    A subclass that is registered with :func:`gpusched.register_predictor` can be named in texts.

    Attributes
    ----------
    needs_truth
        Whether it is made from the true services, such as the oracle.
    learns
        Whether what has finished matters. If not, all jobs are predicted at once.
    column
        The column of the trace that has its predictions, ``service_us``, ``estimate_us`` or
        ``predicted_us``: a run reads it there and asks nothing. Empty if it makes them.
    batch_jobs
        Most jobs that are predicted together, by what is known at the arrival of the first one;
        0 for 1/500 of the jobs that arrived so far, at least 1 and at most 1,000.
    counts_iterations
        Whether it wants to know :attr:`iteration_s` before :meth:`begin`.
    iteration_s
        Seconds of an iteration of each job, at its own width where it is fastest, NaN where it can
        never run; None outside of a run, and unless it is asked for.
    costs
        Reset by :meth:`begin`.
    poll
        To be called about once a second by what takes longer; raises if the run is to end.
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
        """Find misspelt names where the class is made."""
        super().__init_subclass__(**options)
        known = Predictor.__mro__
        own = {key for kind in cls.__mro__ if kind not in known for key in vars(kind)}
        check_spelling(f"predictor {cls.__name__}", own, _READ)

    @abstractmethod
    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Get ready for the jobs of ``trace``, none of which has arrived yet.

        Returns
        -------
        None
            It is ready for :meth:`observe` and :meth:`predict`.

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
            What it predicts next may differ.

        Raises
        ------
        Exception
            What a subclass raises; it ends the run.

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
        """Return the service of ``jobs``, which arrive now.

        They are rounded half to even to microseconds; what is less than one, or more than
        285 years, counts as just that.

        Returns
        -------
        numpy.ndarray
            Seconds, one for each job: numbers, none of them NaN.

        Raises
        ------
        Exception
            What a subclass raises; it ends the run.

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
        """Per job, whether its own kind had finished before when it was predicted.

        None if the predictor has no use for kinds.
        """
        return None

    @property
    def cut_us(self) -> int | None:
        """Submit from which on the predictions count, None for all of them."""
        return None

    def clone(self) -> Self:
        """Return a copy that takes part in no run; what was trained or loaded stays.

        Returns
        -------
        Predictor
            Of the same class and parameters.

        Examples
        --------
        >>> str(gs.prediction.predictor("noise:sigma=0.25").clone())
        'noise:sigma=0.25'
        """
        other = copy.copy(self)
        other.poll = other.iteration_s = None
        return copy.deepcopy(other)

    def predict_trace(self, trace: Trace, seed: int = 0) -> Float64:
        """Predict all jobs of ``trace``, seconds, by what is known now; this object stays as it is.

        For use outside of a simulation. The services in the trace are not looked at, unless
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
        """What the specification of a run calls it."""
        return str(self)

    def __str__(self) -> str:
        """Return the name with the parameters that are not the default ones."""
        if not self.registered_name:
            return f"python:{type(self).__qualname__}"
        given = {key: value for key, value in self._options().items() if value[0] != value[1]}
        return str(PredictorChoice(self.name, **{key: value[0] for key, value in given.items()}))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def registered_name(self) -> str:
        """The name that stands for this very class in texts; empty if none does.

        A subclass of a registered one is another predictor.
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
