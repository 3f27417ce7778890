"""Names of :mod:`gpusched.specs.case`."""

from gpusched.specs.case import (
    least_costs as least_costs,
)
