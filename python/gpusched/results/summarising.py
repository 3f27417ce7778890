"""Names of :mod:`gpusched.results.metric_registry`."""

from gpusched.results.metric_registry import (
    summarise as summarise,
)
