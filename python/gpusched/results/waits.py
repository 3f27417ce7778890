"""Names of :mod:`gpusched.results.explain`."""

from gpusched.results.explain import (
    EARLIER as EARLIER,
)
from gpusched.results.explain import (
    LATER as LATER,
)
from gpusched.results.explain import (
    RUNNING as RUNNING,
)
from gpusched.results.explain import (
    Wait as Wait,
)
from gpusched.results.explain import (
    Waits as Waits,
)
