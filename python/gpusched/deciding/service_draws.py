"""Names of :mod:`gpusched.deciding.start_draws`."""

from gpusched.deciding.start_draws import (
    ServiceDraws as ServiceDraws,
)
from gpusched.deciding.start_draws import (
    width_classes as width_classes,
)
