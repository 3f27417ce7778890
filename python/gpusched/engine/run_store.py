"""Another name of :mod:`gpusched.engine.saved_run`."""

import sys

from gpusched.engine import saved_run

KIND = saved_run.KIND
sys.modules[__name__] = saved_run
