"""Names of :mod:`gpusched.specs.case`."""

from gpusched.specs.case import (
    PredictedBy as PredictedBy,
)
