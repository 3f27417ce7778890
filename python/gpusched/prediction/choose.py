"""From a text or a file to a predictor."""

from __future__ import annotations

import os
from typing import Any, cast

# Imported for the names that they register.
from gpusched.prediction import forest, known, simple
from gpusched.prediction.base import Predictor
from gpusched.prediction.keys import LABELS
from gpusched.prediction.learner import Learner
from gpusched.prediction.registry import PredictorChoice
from gpusched.prediction.store import read_model

__all__ = ["forest", "known", "load_predictor", "predictor", "resolve", "simple"]

_WITHOUT_PREDICTOR = ("oracle", "estimate", "column")


def predictor(text: str | PredictorChoice) -> Predictor:
    """Make a predictor of a text such as ``"forest:trees=50"``.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the nearest is suggested), or a value is out of its
        range. TypeError if a value is of another type than the parameter.
    """
    choice = PredictorChoice.parse(text) if isinstance(text, str) else text
    if not isinstance(choice, PredictorChoice):
        raise TypeError(f"predictor: expected a text, not {text!r}")
    made = choice.info.python_class
    assert made is not None
    return cast(Predictor, made(**choice.parameters))


def resolve(chosen: str | PredictorChoice | Predictor) -> Predictor | None:
    """Return the predictor for one run, None where the core has the predictions already.

    None for ``oracle``, ``estimate`` and ``column``. An object is copied, so that several runs
    may use it at a time; what it was trained on stays.
    """
    if isinstance(chosen, Predictor):
        return None if chosen.name in _WITHOUT_PREDICTOR else chosen.clone()
    made = predictor(chosen)
    return None if made.name in _WITHOUT_PREDICTOR else made


def load_predictor(path: str | os.PathLike[str], **parameters: Any) -> Predictor:
    """Read a trained predictor that its method ``save`` wrote.

    Nothing in the file is run, and all of it is checked: types, shapes, ranges, checksum.

    Parameters
    ----------
    parameters
        Replace those that it was saved with, such as ``mode="frozen"``.

    Raises
    ------
    ValueError
        If the file is not a saved predictor, or was changed; the message names file and field.
    """
    name = os.fspath(path)
    try:
        header, arrays = read_model(path)
        if set(header.names) != set(LABELS):
            raise ValueError(f"header.names: must hold {', '.join(LABELS)}")
        saved = PredictorChoice.parse(header.predictor)
        loaded = predictor(PredictorChoice(saved.name, **{**saved.parameters, **parameters}))
        if not isinstance(loaded, Learner):
            raise ValueError(f"header.predictor: {header.predictor!r} learns nothing")
        loaded.restore(header, arrays)
        if arrays:
            raise ValueError(f"{min(arrays)} is not expected")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: not a readable gpusched predictor: {error}") from error
    return loaded
