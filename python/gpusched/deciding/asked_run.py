"""Names of :mod:`gpusched.deciding.cluster_state`."""

from gpusched.deciding.cluster_state import (
    asked as asked,
)
from gpusched.deciding.cluster_state import (
    standing_run as standing_run,
)
