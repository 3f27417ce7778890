"""From a study to its runs."""

from gpusched.sweeping.expansion import Expansion as Plan
from gpusched.sweeping.expansion import expand
from gpusched.sweeping.recipes import file_digest, jobs_of

__all__ = ["Plan", "expand", "file_digest", "jobs_of"]
