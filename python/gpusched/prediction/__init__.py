"""Prediction of run times from earlier jobs.

A predictor sees what a live scheduler would see: jobs at submission, and run times after they
finished. See docs/howto/prediction.md. Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.prediction.accuracy import Accuracy as Accuracy
    from gpusched.prediction.accuracy import PredictionReport as PredictionReport
    from gpusched.prediction.choose import predictor as predictor
    from gpusched.prediction.interface import Predictor as Predictor
    from gpusched.prediction.learner import load_predictor as load_predictor
    from gpusched.prediction.online import predict as predict
    from gpusched.prediction.registry import PredictorChoice as PredictorChoice
    from gpusched.prediction.registry import predictors as predictors
    from gpusched.prediction.registry import register_predictor as register_predictor

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Accuracy": "prediction.accuracy",
        "PredictionReport": "prediction.accuracy",
        "Predictor": "prediction.interface",
        "PredictorChoice": "prediction.registry",
        "load_predictor": "prediction.learner",
        "predict": "prediction.online",
        "predictor": "prediction.choose",
        "predictors": "prediction.registry",
        "register_predictor": "prediction.registry",
    },
)
