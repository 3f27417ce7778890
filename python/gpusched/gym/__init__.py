"""Gymnasium environments of a queue: the agent chooses which waiting job starts next.

The import registers ``gpusched/Queue-v0`` if Gymnasium is installed; names load on first use.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from gpusched.base.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {"QueueEnv": "gym.queue_env", "QueueVectorEnv": "gym.queue_env"},
)

_QUEUE: Final = "gpusched/Queue-v0"

if find_spec("gymnasium") is not None:
    import gymnasium

    if _QUEUE not in gymnasium.registry:
        gymnasium.register(
            _QUEUE,
            entry_point="gpusched.gym.queue_env:QueueEnv",
            vector_entry_point="gpusched.gym.queue_env:QueueVectorEnv",
        )
