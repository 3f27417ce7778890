"""Resolve a text to a predictor, or to the trace's column with its predictions."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeVar, cast

from gpusched.prediction.interface import Predictor
from gpusched.prediction.registry import PREDICTORS, PredictorChoice
from gpusched.specs.case import PredictedBy, has_all_estimates
from gpusched.traces.workload import Trace

AUTO: Final = "auto"
"""The trace's estimates if every job has one, else true run times."""
_Chosen = TypeVar("_Chosen")


def predictor(text: str | PredictorChoice) -> Predictor:
    """Make a predictor from a text such as ``"forest:trees=50"``.

    Returns
    -------
    Predictor
        A new, untrained predictor.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the nearest is suggested), or a value is out of
        range. TypeError if a value has another type than the parameter.

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


def for_trace(chosen: _Chosen, trace: Trace) -> _Chosen | str:
    """Resolve ``auto`` for these jobs; return any other predictor unchanged."""
    if not isinstance(chosen, str | PredictorChoice) or str(chosen) != AUTO:
        return chosen
    return "estimate" if has_all_estimates(trace) else "oracle"


def resolve(chosen: str | PredictorChoice | Predictor) -> Predictor | PredictedBy:
    """Return the predictor of one run, or the trace's column with its predictions.

    An object is copied with its training, so several runs may use it at a time.
    """
    if type(chosen) is str:
        known = _column(chosen, PREDICTORS.version)
        if known is not None:
            return known
    made = chosen if isinstance(chosen, Predictor) else predictor(chosen)
    return _column_of(made) or (made.clone() if made is chosen else made)


@lru_cache(maxsize=64)
def _column(text: str, version: int) -> PredictedBy | None:
    from gpusched.prediction import known  # noqa: F401 - columns need no other predictor

    info = PREDICTORS.loaded().get(text)
    column: str = getattr(getattr(info, "python_class", None), "column", "")
    return PredictedBy(column, text) if column else _column_of(predictor(text))


def _column_of(made: Predictor) -> PredictedBy | None:
    """Return the trace's column with its predictions, None if it computes them."""
    if made.registered_name and made.column:
        return PredictedBy(made.column, made.name)
    return None
