"""Names of :mod:`gpusched.schedules.jobs_table`."""

from gpusched.schedules.jobs_table import (
    write_jobs as write_jobs,
)
