"""Names of :mod:`gpusched.deciding.remembered`."""

from gpusched.deciding.remembered import (
    Memory as Memory,
)
