"""Names of :mod:`gpusched.gym.queue_env`."""

from gpusched.gym.queue_env import (
    CLUSTER_FEATURES as CLUSTER_FEATURES,
)
from gpusched.gym.queue_env import (
    JOB_FEATURES as JOB_FEATURES,
)
from gpusched.gym.queue_env import (
    REWARDS as REWARDS,
)
