"""The first cases of the campaigns: of every seam, far more per second than Hypothesis draws."""

import pytest

from gpusched.reference import PREEMPTIVE
from tests.campaigns.seams import SEAMS
from tests.campaigns.trials import SAME, FastPath
from tests.each import each
from tests.random_cases import check
from tests.reference.drawing import Seeded
from tests.reference.large import deep_queues

TELLING = {
    (
        "scheduler",
        7,
        1260,
    ): "in a pool a head waits for an instant to come, though who runs is overdue",
    ("speed", 1, 63): "what is left is a whole number beyond 2^53, too",
    ("speed", 7, 428): "an uplink bounds what a spread gang can reserve",
}
"""Cases that alone told a mistake, and which rule was broken."""


@pytest.mark.long
@pytest.mark.parametrize("block", range(2))
@pytest.mark.parametrize("seam", SEAMS)
def test_the_first_cases_of_a_campaign_are_the_same_in_both_engines(seam, block):
    for index in range(30 * block, 30 * (block + 1)):
        verdict = check(seam, 1, index)[1]
        assert not verdict.startswith(("differs", "broken")), f"--seed 1 --only {index}: {verdict}"


@pytest.mark.long
@pytest.mark.parametrize(("seam", "seed", "index"), TELLING)
def test_cases_that_told_a_mistake_before_are_the_same_in_both_engines(seam, seed, index):
    verdict = check(seam, seed, index)[1]
    assert not verdict.startswith(("differs", "broken")), verdict


PLACEMENTS = ("count", "consolidated", "best-fit", "random", "topology")


@each("placement", PLACEMENTS)
@each("policy", PREEMPTIVE)
def test_a_deep_queue_is_served_as_by_the_slow_twin(policy, placement):
    for seed in range(2):
        case = deep_queues.draw(Seeded(f"{policy}/{placement}/{seed}"), policy, placement)
        assert FastPath(case).check() == SAME
