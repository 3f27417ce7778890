"""The first cases of the campaigns: of every seam, far more per second than Hypothesis draws."""

from __future__ import annotations

import pytest

from tests.campaigns.seams import SEAMS
from tests.random_cases import check

TELLING = {
    ("speed", 7, 428): "an uplink bounds what a spread gang can reserve",
}
"""Cases that alone told a fault from none, and of what."""


@pytest.mark.parametrize("block", range(2))
@pytest.mark.parametrize("seam", SEAMS)
def test_the_first_cases_of_a_campaign_are_the_same_in_both_engines(seam: str, block: int) -> None:
    for index in range(30 * block, 30 * (block + 1)):
        verdict = check(seam, 1, index)[1]
        assert not verdict.startswith(("differs", "broken")), f"--seed 1 --only {index}: {verdict}"


@pytest.mark.parametrize(("seam", "seed", "index"), TELLING)
def test_cases_that_told_a_fault_before_are_the_same_in_both_engines(
    seam: str, seed: int, index: int
) -> None:
    verdict = check(seam, seed, index)[1]
    assert not verdict.startswith(("differs", "broken")), verdict
