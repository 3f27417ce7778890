"""Names of :mod:`gpusched.results.explain`."""

from gpusched.results.explain import (
    _percent as _percent,
)
