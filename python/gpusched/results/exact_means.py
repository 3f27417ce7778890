"""Names of :mod:`gpusched.results.run_facts`."""

from gpusched.results.run_facts import (
    exact_sum as exact_sum,
)
