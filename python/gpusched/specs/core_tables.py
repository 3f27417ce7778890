"""Names of :mod:`gpusched.specs.case`."""

from gpusched.specs.case import (
    core_cluster as core_cluster,
)
from gpusched.specs.case import (
    job_table as job_table,
)
