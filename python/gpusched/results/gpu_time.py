"""Names of :mod:`gpusched.results.cost`."""

from gpusched.results.cost import (
    held_gpu_us as held_gpu_us,
)
