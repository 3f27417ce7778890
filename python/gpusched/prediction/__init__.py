"""Prediction of run times from earlier jobs.

A predictor sees what a live scheduler would see: jobs at submission, and run times after they
finished. See docs/howto/prediction.md. Names load on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

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
