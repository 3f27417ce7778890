"""Predictors that learn, by name."""

from gpusched.prediction.choose import predictor
from gpusched.prediction.learner import Learner


def learner(text: str) -> Learner:
    """Make a predictor of a text, of which it is known that it can be trained and saved."""
    made = predictor(text)
    assert isinstance(made, Learner), text
    return made
