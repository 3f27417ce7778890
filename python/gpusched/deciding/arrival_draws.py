"""Names of :mod:`gpusched.deciding.start_draws`."""

from gpusched.deciding.start_draws import (
    ArrivalDraws as ArrivalDraws,
)
