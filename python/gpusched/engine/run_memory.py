"""Names of :mod:`gpusched.engine.prepare`."""

from gpusched.engine.prepare import (
    least_bytes as least_bytes,
)
