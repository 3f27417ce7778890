"""Names of :mod:`gpusched.deciding.start_draws`."""

from gpusched.deciding.start_draws import (
    LEAST as LEAST,
)
from gpusched.deciding.start_draws import (
    KnownPast as KnownPast,
)
