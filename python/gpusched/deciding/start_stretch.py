"""Names of :mod:`gpusched.deciding.start_forecast`."""

from gpusched.deciding.start_forecast import (
    stretch_factors as stretch_factors,
)
from gpusched.deciding.start_forecast import (
    stretched as stretched,
)
