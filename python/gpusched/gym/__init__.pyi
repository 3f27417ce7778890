from typing import Any

from gpusched.gym.queue_env import QueueEnv as QueueEnv
from gpusched.gym.queue_env import QueueVectorEnv as QueueVectorEnv

__all__: list[str]

def __getattr__(name: str) -> Any: ...
