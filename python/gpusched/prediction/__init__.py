"""Prediction of run times: recurring jobs take about as long as they did before.

A predictor sees what a live scheduler would see: jobs when they are submitted, and what they took
when they have finished. See docs/howto/prediction.md.
"""

from __future__ import annotations

from gpusched.prediction.accuracy import Accuracy, PredictionReport
from gpusched.prediction.choose import load_predictor, predict, predictor
from gpusched.prediction.interface import Predictor
from gpusched.prediction.registry import PredictorChoice, predictors, register_predictor

__all__ = [
    "Accuracy",
    "PredictionReport",
    "Predictor",
    "PredictorChoice",
    "load_predictor",
    "predict",
    "predictor",
    "predictors",
    "register_predictor",
]
