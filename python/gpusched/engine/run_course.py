"""Another name of :mod:`gpusched.engine.saved_run`."""

import sys

from gpusched.engine import saved_run

opened = saved_run.opened
sys.modules[__name__] = saved_run
