"""What ``chronus-leases`` knows of a job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpusched.plugins.schedulers.chronus_plans import Claim
from gpusched.plugins.schedulers.type_parts import Parts


@dataclass(slots=True)
class LeaseJob:
    """What is known of a job; ``kind`` is the GPU type of its leases, -1 if it can have none."""

    gpus: int
    rates: Sequence[float]
    greatest_rate: float
    is_whole: bool
    kind: int
    due_us: int
    """The end of the last lease that it can use once it is admitted; -1: none."""
    came_us: int
    service_us: int
    restart_us: int
    estimate_us: int
    is_admitted: bool = False
    is_late: bool = False
    has_outrun: bool = False
    attained_us: int = 0
    held: Parts = field(default_factory=list)
    has_run: bool = False
    restarts_until_us: int = 0

    @property
    def left_us(self) -> int:
        """What is left of the estimate."""
        return self.estimate_us - self.attained_us

    def claim(self, lease_us: int) -> Claim:
        """Return what it asks of leases of this length."""
        per_lease = lease_us * self.rates[self.kind]
        return Claim(self.gpus, math.ceil(self.left_us / per_lease), self.due_us // lease_us)

    def place(self, now_us: int) -> tuple[bool, bool, int, int]:
        """Return its place among those without a lease: the smallest goes first."""
        left = self.estimate_us - self.attained_us
        time = self.due_us - now_us - left if self.is_late else left
        return not self.has_outrun, self.is_late, time * self.gpus, self.came_us
