from typing import Any

from gpusched.prediction.accuracy import Accuracy as Accuracy
from gpusched.prediction.accuracy import PredictionReport as PredictionReport
from gpusched.prediction.choose import predictor as predictor
from gpusched.prediction.interface import Predictor as Predictor
from gpusched.prediction.learner import load_predictor as load_predictor
from gpusched.prediction.online import predict as predict
from gpusched.prediction.registry import PredictorChoice as PredictorChoice
from gpusched.prediction.registry import predictors as predictors
from gpusched.prediction.registry import register_predictor as register_predictor

__all__: list[str]

def __getattr__(name: str) -> Any: ...
