"""Names of :mod:`gpusched.schedules.series`."""

from gpusched.schedules.series import (
    Contention as Contention,
)
