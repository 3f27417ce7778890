"""Names of :mod:`gpusched.deciding.start_forecast`."""

from gpusched.deciding.start_forecast import (
    StartCalibration as StartCalibration,
)
