"""The name under which Gymnasium knows the environment; it is registered on import."""

from __future__ import annotations

from typing import Final

import gymnasium

QUEUE: Final = "gpusched/Queue-v0"


def register_environments() -> None:
    """Register the environments, once."""
    if QUEUE not in gymnasium.registry:
        gymnasium.register(
            QUEUE,
            entry_point="gpusched.gym.queue_env:QueueEnv",
            vector_entry_point="gpusched.gym.queue_vector_env:QueueVectorEnv",
        )


register_environments()
