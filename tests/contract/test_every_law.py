"""Every registered policy, placement and speed under every law of gpusched.testing."""

import pytest

import gpusched as gs
from tests.campaigns.laws import COMBINED, PLACEMENTS, POLICIES, questions

pytestmark = pytest.mark.long


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_keeps_the_laws(policy):
    questions()["policy", policy](examples=4)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_placement_keeps_the_laws(placement):
    questions()["placement", placement](examples=4)


@pytest.mark.parametrize("name", COMBINED)
def test_every_speed_and_contention_keeps_the_laws(name):
    questions()["speed", name](examples=4)


def test_a_law_has_a_sentence_of_its_own():
    laws = gs.testing.laws()
    sentences = [law.sentence for law in laws.values()]
    assert len(set(sentences)) == len(laws)
    assert all(text[0].isupper() and text[-1] == "." and "\n" not in text for text in sentences)
    assert len(laws) >= 45
