"""What a program of Gavel's knows of the active jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched.plugins.schedulers.gavel_warm import WarmStarts

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Jobs:
    """The active jobs of a round, one entry or row per job; times in seconds.

    Attributes
    ----------
    rates
        Service per second on each GPU type at the job's own width, float64[n, types]; each row
        has a positive entry.
    gpus, weight
        Width and weight of each job.
    remaining, elapsed, served
        Service left, time since the submit, service received.
    time_left
        Until the deadline; infinite without one.
    value
        What it is worth to meet the deadline.
    capacity
        GPUs of each type.
    iterations
        Iterations for a second of service, or 1 where services are what counts.
    price
        Of a GPU of each type.
    breaks_ties
        Whether of equally good answers the one with more throughput is wanted.
    isolated
        Time that what was done would have taken with an equal share of all GPUs; None: as much as
        it would with the present share.
    starts
        From which those of ``max-min`` may begin; None: each begins from nothing.
    """

    rates: Array
    gpus: Array
    weight: Array
    remaining: Array
    elapsed: Array
    served: Array
    time_left: Array
    value: Array
    capacity: Array
    iterations: Array | None = None
    price: Array | None = None
    breaks_ties: bool = True
    isolated: Array | None = None
    starts: WarmStarts | None = None

    def __len__(self) -> int:
        return len(self.gpus)


def iterations(state: Any, jobs: Array) -> Array:
    """Return how many iterations of each job a second of service is; 1 if it knows none."""
    ideal_s: Array = state.ideal_s(jobs)
    return np.where(ideal_s > 0, 1.0 / np.where(ideal_s > 0, ideal_s, 1.0), 1.0)
