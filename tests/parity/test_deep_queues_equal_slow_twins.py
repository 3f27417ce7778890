"""Preemptive policies on queues too deep for the readable engine: as their slow twins decide."""

from __future__ import annotations

from gpusched.reference import PREEMPTIVE
from tests.campaigns.trials import SAME, FastPath
from tests.each import each
from tests.reference.drawing import Seeded
from tests.reference.large import deep_queues

PLACEMENTS = ("count", "consolidated", "best-fit", "random", "topology")


@each("placement", PLACEMENTS)
@each("policy", PREEMPTIVE)
def test_a_deep_queue_is_served_as_by_the_slow_twin(policy, placement):
    for seed in range(2):
        case = deep_queues.draw(Seeded(f"{policy}/{placement}/{seed}"), policy, placement)
        assert FastPath(case).check() == SAME
