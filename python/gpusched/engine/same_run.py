"""Names of :mod:`gpusched.engine.prepare`."""

from gpusched.engine.prepare import (
    check_object as check_object,
)
from gpusched.engine.prepare import (
    check_same as check_same,
)
