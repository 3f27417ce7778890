"""From a text or a file to a predictor."""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import AnyArray, Float64
from gpusched.base.files import naming
from gpusched.base.progress import OnProgress
from gpusched.base.ticks import us_to_seconds
from gpusched.prediction.accuracy import Accuracy
from gpusched.prediction.history import LABELS
from gpusched.prediction.interface import Predictor
from gpusched.prediction.learner import Header, Learner, read_model
from gpusched.prediction.online import finish_ticks, replay_history
from gpusched.prediction.registry import PREDICTORS, PredictorChoice
from gpusched.specs.case import PredictedBy
from gpusched.traces.workload import Trace


def predictor(text: str | PredictorChoice) -> Predictor:
    """Make a predictor of a text such as ``"forest:trees=50"``.

    Returns
    -------
    Predictor
        A new one, which knows no job yet.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the nearest is suggested), or a value is out of its
        range. TypeError if a value is of another type than the parameter.

    Examples
    --------
    >>> str(gs.prediction.predictor("noise:sigma=0.25"))
    'noise:sigma=0.25'
    """
    choice = PredictorChoice.parse(text) if isinstance(text, str) else text
    if not isinstance(choice, PredictorChoice):
        raise TypeError(f"predictor: expected a text, not {text!r}")
    made = choice.info.python_class
    assert made is not None
    return cast(Predictor, made(**choice.parameters))


# By another name, for functions whose parameter is called `predictor`.
_made = predictor


def resolve(chosen: str | PredictorChoice | Predictor) -> Predictor | PredictedBy:
    """Return the predictor for one run, or the column of the trace that has its predictions.

    An object is copied, so that several runs may use it at a time; what it was trained on stays.
    """
    if type(chosen) is str:
        known = _column(chosen, PREDICTORS.version)
        if known is not None:
            return known
    made = chosen if isinstance(chosen, Predictor) else predictor(chosen)
    return _column_of(made) or (made.clone() if made is chosen else made)


@lru_cache(maxsize=64)
def _column(text: str, version: int) -> PredictedBy | None:
    return _column_of(predictor(text))


def _column_of(made: Predictor) -> PredictedBy | None:
    """Return the column of the trace that has its predictions, None if it makes them itself."""
    if made.registered_name and made.column:
        return PredictedBy(made.column, made.name)
    return None


def predict(
    trace: Trace,
    predictor: str | PredictorChoice | Predictor = "forest",
    *,
    finish_s: ArrayLike | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> tuple[Float64, Accuracy]:
    """Predict the jobs of ``trace`` one after the other, without a cluster.

    Each job is predicted by what had finished before it arrived, as in a simulation.

    Parameters
    ----------
    predictor
        As for :func:`gpusched.simulate`; an object is copied and stays as it is.
    finish_s
        float64[num_jobs]: when the jobs finished, NaN for never, as in ``Result.jobs``. None: each
        job ended its service after its submission.
    seed
        Of what the predictor draws.
    progress
        As for :func:`gpusched.simulate`.
    stop
        Ends it when it is set, as for :func:`gpusched.simulate`.

    Returns
    -------
    tuple
        Predicted services, float64[num_jobs] seconds, and how good they were for the jobs that
        finished (after the first part, if that was for training).

    Raises
    ------
    ValueError, TypeError
        As :func:`predictor`; or if ``finish_s`` is not one time per job, or the trace lacks
        what the predictor needs.
    Cancelled
        If ``stop`` was set; it tells how many jobs had been predicted.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> predicted_s, accuracy = gs.prediction.predict(trace, "last-value")
    >>> predicted_s.shape
    (100,)
    """
    made = predictor.clone() if isinstance(predictor, Predictor) else _made(predictor)
    finish_us = None if finish_s is None else finish_ticks(finish_s, len(trace))
    predicted_us = replay_history(trace, made, finish_us, seed, stop, progress)
    counts = np.ones(len(trace), dtype=np.bool_) if finish_us is None else finish_us >= 0
    if made.cut_us is not None:
        counts &= trace.submit_us >= made.cut_us
    covered = None if made.covered is None else made.covered[counts]
    accuracy = Accuracy.of(predicted_us[counts], trace.service_us[counts], covered)
    return us_to_seconds(predicted_us), accuracy


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
