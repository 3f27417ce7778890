"""Names of :mod:`gpusched.results.breakdown`."""

from gpusched.results.breakdown import (
    GROUPINGS as GROUPINGS,
)
